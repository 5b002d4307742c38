#include "desirepath/simulation/synthetic_university.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "desirepath/core/digest.h"
#include "desirepath/core/file_set.h"
#include "desirepath/core/table.h"
#include "desirepath/core/text.h"
#include "desirepath/simulation/synthetic_rows.h"
#include "desirepath/simulation/synthetic_status.h"
#include "desirepath/simulation/synthetic_truth.h"
#include "desirepath/simulation/synthetic_years.h"

namespace desirepath::inline simulation {

namespace {

constexpr std::string_view student_columns =
    "student,ambition,pace,enthusiast,concentration,interest,company,detour,detour_given_up,switched_after,left_after,"
    "leave_period,meets_conflict,transferred";
constexpr std::string_view calendar_student_columns = ",finished_after,disengaged";
constexpr std::string_view status_columns =
    "student,period,year,complete,rows,status,fate,leaving_probability,finishing_probability,pausing_probability,"
    "return_probability\n";

void append_student(std::string& text, const SyntheticUniversity& university, const SyntheticStudent& student) {
  const SyntheticCatalog& catalog = university.catalog();
  std::vector<std::string> transferred;
  for (const Id course : student.transferred)
    transferred.push_back(catalog.course(course).name);
  const auto& concentrations = catalog.subject(student.major).concentrations;
  const std::string detour = student.detour < 0 ? "" : catalog.detours[static_cast<std::size_t>(student.detour)].name;
  const std::string pace = student.pace < 0 ? "early" : student.pace > 0 ? "late" : "usual";
  text += join(
      {SyntheticUniversity::student_id(student.number), fixed(student.ambition, 3), pace, word_for(student.enthusiast),
       concentrations[static_cast<std::size_t>(student.concentration)].name, subject_name(catalog, student.interest),
       word_for(student.company >= 0), detour, word_for(student.detour_given_up),
       std::to_string(student.switched_after), std::to_string(student.left_after), std::to_string(student.leave_period),
       word_for(student.meets_conflict), join(transferred, ";")},
      ",");
  if (university.options().has_calendar()) {
    std::vector<std::string> disengaged;
    for (const SyntheticYear& year : student.years) {
      if (year.disengaged) disengaged.push_back(std::to_string(year.period));
    }
    append_texts(text, {",", std::to_string(student.finished_after), ",", join(disengaged, ";")});
  }
  text += '\n';
}

void append_status(std::string& text, const SyntheticOptions& options, const SyntheticStudent& student) {
  for (const StudentPeriod& at : enrollment_history(options, student)) {
    const auto year = std::ranges::find(student.years, at.period, &SyntheticYear::period);
    const bool has_chances = year != student.years.end() && year->end != YearEnd::after_the_file;
    append_texts(text, {SyntheticUniversity::student_id(student.number), ",", std::to_string(at.period), ",",
                        std::to_string(at.year), ",", word_for(at.is_complete), ",", std::to_string(at.rows), ",",
                        name_of(at.status), ",", name_of(at.fate)});
    for (const auto chance :
         {&SyntheticYear::leaving, &SyntheticYear::finishing, &SyntheticYear::pausing, &SyntheticYear::returning})
      append_texts(text, {",", has_chances ? fixed(*year.*chance, 6) : ""});
    text += '\n';
  }
}

/// What one block of students gives.
struct Block {
  std::string enrollments;
  std::string students;
  std::string status;
  SyntheticSummary summary;
};

Block make_block(const EnrollmentRows& rows, Range numbers) {
  const SyntheticUniversity& university = rows.university();
  const SyntheticOptions& options = university.options();
  Block block;
  block.enrollments.reserve(static_cast<std::size_t>(numbers.size()) * 5000);
  for (std::int64_t number = numbers.first; number < numbers.last; ++number) {
    const SyntheticStudent student = university.student(number);
    rows.append(block.enrollments, student);
    if (options.student_truth) append_student(block.students, university, student);
    if (options.student_truth && options.has_calendar()) append_status(block.status, options, student);
    block.summary.add(student, options);
  }
  return block;
}

void add_to(std::vector<std::int64_t>& counts, const std::vector<std::int64_t>& more) {
  counts.resize(std::max(counts.size(), more.size()));
  for (std::size_t i = 0; i < more.size(); ++i)
    counts[i] += more[i];
}

}  // namespace

void ReturnCount::add(const ReturnCount& other) {
  enrolled += other.enrolled;
  returned += other.returned;
  paused += other.paused;
  finished += other.finished;
  left += other.left;
  expected_returns += other.expected_returns;
  expected_leavers += other.expected_leavers;
}

void SyntheticSummary::add(const SyntheticStudent& student, const SyntheticOptions& options) {
  ++students;
  enrollments += std::ssize(student.enrollments);
  commuters += student.commuter ? 1 : 0;
  first_generation += student.first_generation ? 1 : 0;
  part_time += student.part_time ? 1 : 0;
  late_entrants += student.entry_period > 1 ? 1 : 0;
  enthusiasts += student.enthusiast ? 1 : 0;
  const auto archetype = 4 * static_cast<std::size_t>(student.major) + static_cast<std::size_t>(student.concentration);
  archetypes.resize(std::max(archetypes.size(), archetype + 1));
  ++archetypes[archetype];
  switches += student.switched_after > 0 ? 1 : 0;
  second_majors += student.second_major >= 0 ? 1 : 0;
  companies += student.company >= 0 ? 1 : 0;
  detours.resize(2);
  if (student.detour >= 0) ++detours[static_cast<std::size_t>(student.detour)];
  if (options.has_calendar()) {
    add_years(student, options);
  } else {
    at_risk.resize(static_cast<std::size_t>(options.periods) - 1);
    drop_outs.resize(at_risk.size());
    const int last = student.left_after > 0 ? student.left_after : options.periods - 1;
    for (int period = student.entry_period; period <= last; ++period) {
      if (period != student.leave_period) ++at_risk[static_cast<std::size_t>(period) - 1];
    }
    if (student.left_after > 0) ++drop_outs[static_cast<std::size_t>(student.left_after) - 1];
  }
  leaves_of_absence += student.leave_period > 0 ? 1 : 0;
  reduced_years += std::ssize(student.reduced_periods);
  commuters_in_conflict += student.meets_conflict ? 1 : 0;
  std::set<Id> seen;
  for (const SyntheticEnrollment& row : student.enrollments) {
    summer_rows += row.term == SyntheticTerm::summer ? 1 : 0;
    withdrawals += row.grade == SyntheticGrade::w ? 1 : 0;
    failures += row.grade == SyntheticGrade::f ? 1 : 0;
    repeats += seen.insert(row.course).second ? 0 : 1;
  }
}

void SyntheticSummary::add_years(const SyntheticStudent& student, const SyntheticOptions& options) {
  const int years = options.calendar_years();
  const int first = student.cohort - options.first_year;  // of period 1, from 0
  entrants.resize(static_cast<std::size_t>(years));
  ++entrants[static_cast<std::size_t>(first + student.entry_period - 1)];
  at_risk.resize(static_cast<std::size_t>(options.last_period()));
  drop_outs.resize(at_risk.size());
  returns.resize(return_count(options, years, 1, 0));
  const int background = (student.commuter ? 1 : 0) + (student.first_generation ? 2 : 0);
  for (const SyntheticYear& year : student.years) {
    if (year.end == YearEnd::after_the_file) continue;
    ++at_risk[static_cast<std::size_t>(year.period) - 1];
    if (year.end == YearEnd::leaves) ++drop_outs[static_cast<std::size_t>(year.period) - 1];
    ReturnCount& count = returns[return_count(options, first + year.period - 1, year.period, background)];
    count.add({1, year.end == YearEnd::returns ? 1 : 0, year.end == YearEnd::pauses ? 1 : 0,
               year.end == YearEnd::finishes ? 1 : 0, year.end == YearEnd::leaves ? 1 : 0, year.returning,
               year.leaving});
  }
  degrees += student.finished_after > 0 ? 1 : 0;
  rows_of_unfinished_year += courses_in(student, years - first);
}

void SyntheticSummary::add(const SyntheticSummary& other) {
  using Summary = SyntheticSummary;
  for (const auto count :
       {&Summary::students, &Summary::enrollments, &Summary::commuters, &Summary::first_generation, &Summary::part_time,
        &Summary::late_entrants, &Summary::enthusiasts, &Summary::switches, &Summary::second_majors,
        &Summary::companies, &Summary::leaves_of_absence, &Summary::reduced_years, &Summary::summer_rows,
        &Summary::withdrawals, &Summary::failures, &Summary::repeats, &Summary::commuters_in_conflict,
        &Summary::degrees, &Summary::rows_of_unfinished_year})
    this->*count += other.*count;
  for (const auto counts :
       {&Summary::archetypes, &Summary::detours, &Summary::at_risk, &Summary::drop_outs, &Summary::entrants})
    add_to(this->*counts, other.*counts);
  returns.resize(std::max(returns.size(), other.returns.size()));
  for (std::size_t i = 0; i < other.returns.size(); ++i)
    returns[i].add(other.returns[i]);
}

Answer SyntheticFiles::answer() const {
  Answer answer;
  answer.set({{"folder", folder}, {"students", summary.students}, {"enrollments", summary.enrollments}});
  answer.say("wrote ", folder, "/enrollments.csv: ", counted(summary.students, "student", "students"), ", ",
             counted(summary.enrollments, "enrollment", "enrollments"), "; courses.csv and truth.json beside it");
  if (last_complete_term.empty()) return answer;
  answer.set("last_complete_term", last_complete_term);
  answer.say("complete up to ", last_complete_term, "; ",
             counted(summary.rows_of_unfinished_year, "enrollment", "enrollments"), " of the unfinished year after it");
  return answer;
}

SyntheticUniversity::SyntheticUniversity(const SyntheticOptions& options)
    : options_(options), catalog_(make_synthetic_catalog(options)), tables_(make_choice_tables(options, catalog_)) {}

SyntheticStudent SyntheticUniversity::student(std::int64_t number) const {
  return make_synthetic_student(options_, catalog_, tables_, number);
}

std::string SyntheticUniversity::student_id(std::int64_t number) {
  const std::string digits = std::to_string(number);
  return "S" + std::string(digits.size() < 8 ? 8 - digits.size() : 0, '0') + digits;
}

std::string SyntheticUniversity::term_label(int year, SyntheticTerm term) {
  static constexpr std::array<std::string_view, 3> seasons = {" Fall", " Spring", " Summer"};
  const int next = (year + 1) % 100;
  std::string label = std::to_string(year);
  append_texts(label, {next < 10 ? "-0" : "-", std::to_string(next), seasons.at(static_cast<std::size_t>(term) - 1)});
  return label;
}

std::string SyntheticUniversity::last_complete_term() const {
  return term_label(options_.first_year + options_.calendar_years() - 2, SyntheticTerm::summer);
}

SyntheticFiles write_synthetic_university(const SyntheticOptions& options, const std::filesystem::path& folder,
                                          Overwrite overwrite, const Executor& executor, const ProgressSink& progress) {
  const SyntheticUniversity university(options);
  FileSet files(folder, overwrite);
  AtomicFile& enrollments = files.add("enrollments.csv");
  AtomicFile& courses = files.add("courses.csv");
  AtomicFile& truth = files.add("truth.json");
  AtomicFile* students = options.student_truth ? &files.add("students.csv") : nullptr;
  AtomicFile* status = options.student_truth && options.has_calendar() ? &files.add("status.csv") : nullptr;

  DigestBuilder digest;
  const auto write_enrollments = [&](std::string_view text) {
    digest.add(text);
    enrollments.write(text);
  };
  const bool has_calendar = options.has_calendar();
  const EnrollmentRows rows(university);
  write_enrollments(rows.columns() + "\n");
  if (students != nullptr) students->write(concat(student_columns, has_calendar ? calendar_student_columns : "", "\n"));
  if (status != nullptr) status->write(status_columns);
  courses.write(course_table(university));

  SyntheticFiles written;
  written.folder = folder.string();
  if (has_calendar) written.last_complete_term = university.last_complete_term();
  SyntheticSummary& summary = written.summary;
  std::int64_t next = 1;
  const auto give = [&] { return next_students(options, next); };
  const auto make = [&](Range numbers) { return make_block(rows, numbers); };
  const auto write = [&](const Block& block) {
    write_enrollments(block.enrollments);
    if (students != nullptr) students->write(block.students);
    if (status != nullptr) status->write(block.status);
    summary.add(block.summary);
    if (progress) progress({"simulate", static_cast<double>(summary.students) / static_cast<double>(options.students)});
  };
  executor.ordered(give, make, write);
  truth.write(synthetic_truth(university, summary, digest.finish().hex()));
  files.commit();
  return written;
}

}  // namespace desirepath::inline simulation
