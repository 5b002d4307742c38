#include "desirepath/ingest/synthetic_university.h"

#include <algorithm>
#include <deque>
#include <future>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "desirepath/core/digest.h"
#include "desirepath/core/table.h"
#include "desirepath/core/text.h"
#include "desirepath/ingest/synthetic_truth.h"

namespace desirepath::inline ingest {

namespace {

/// Students made and written as one piece of work; about 2 MB of rows.
constexpr std::int64_t block_size = 512;

constexpr std::string_view enrollment_columns =
    "student,period,term,course,grade,units,subject,school,major,second_major,entry_major,cohort,admission,status,"
    "residence,first_generation\n";
constexpr std::string_view course_columns =
    "course,label,subject,school,concentration,prerequisites,level,units,first_year,last_year\n";
constexpr std::string_view student_columns =
    "student,ambition,pace,enthusiast,concentration,interest,company,detour,detour_given_up,switched_after,left_after,"
    "leave_period,meets_conflict,transferred\n";

void append(std::string& text, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts)
    text += part;
}

std::string yes_or_no(bool value) {
  return value ? "yes" : "no";
}

std::string subject_name(const SyntheticCatalog& catalog, Id subject) {
  return subject < 0 ? "" : catalog.subject(subject).name;
}

/// What every row of a course holds behind the grade.
std::vector<std::string> course_fields(const SyntheticCatalog& catalog) {
  std::vector<std::string> fields;
  for (const SyntheticCourse& course : catalog.courses) {
    fields.push_back(concat(",", course.units, ",", csv_field(catalog.subject(course.subject).name), ",",
                            csv_field(catalog.school_of_subject(course.subject)), ","));
  }
  return fields;
}

void append_enrollments(std::string& text, const SyntheticUniversity& university, const SyntheticStudent& student,
                        const std::vector<std::string>& fields_of_course) {
  const SyntheticCatalog& catalog = university.catalog();
  const std::string id = SyntheticUniversity::student_id(student.number);
  std::string of_student;
  append(of_student,
         {subject_name(catalog, student.major), ",", subject_name(catalog, student.second_major), ",",
          subject_name(catalog, student.entry_major), ",", std::to_string(student.cohort), ",",
          student.entry_period > 1 ? "transfer" : "first-year", ",", student.part_time ? "part-time" : "full-time", ",",
          student.commuter ? "commuter" : "campus", ",", yes_or_no(student.first_generation), "\n"});
  for (const SyntheticEnrollment& enrollment : student.enrollments) {
    const int year = student.cohort + enrollment.period - 1;
    const char period = static_cast<char>('0' + enrollment.period);
    append(text, {id, ",", std::string_view(&period, 1), ",", SyntheticUniversity::term_label(year, enrollment.term),
                  ",", catalog.name_in(enrollment.course, year), ",", to_string(enrollment.grade),
                  fields_of_course[static_cast<std::size_t>(enrollment.course)], of_student});
  }
}

void append_student(std::string& text, const SyntheticCatalog& catalog, const SyntheticStudent& student) {
  std::vector<std::string> transferred;
  for (const Id course : student.transferred)
    transferred.push_back(catalog.course(course).name);
  const auto& concentrations = catalog.subject(student.major).concentrations;
  const std::string detour = student.detour < 0 ? "" : catalog.detours[static_cast<std::size_t>(student.detour)].name;
  const std::string pace = student.pace < 0 ? "early" : student.pace > 0 ? "late" : "usual";
  text += join(
      {SyntheticUniversity::student_id(student.number), fixed(student.ambition, 3), pace, yes_or_no(student.enthusiast),
       concentrations[static_cast<std::size_t>(student.concentration)].name, subject_name(catalog, student.interest),
       yes_or_no(student.company >= 0), detour, yes_or_no(student.detour_given_up),
       std::to_string(student.switched_after), std::to_string(student.left_after), std::to_string(student.leave_period),
       yes_or_no(student.meets_conflict), join(transferred, ";")},
      ",");
  text += '\n';
}

std::string courses_file(const SyntheticCatalog& catalog) {
  std::string text(course_columns);
  for (Id id = 0; id < static_cast<Id>(catalog.courses.size()); ++id) {
    const SyntheticCourse& course = catalog.course(id);
    const SyntheticSubject& subject = catalog.subject(course.subject);
    std::vector<std::string> prerequisites;
    for (const Id prerequisite : course.prerequisites)
      prerequisites.push_back(catalog.course(prerequisite).name);
    const std::string concentration =
        course.concentration < 0 ? "" : subject.concentrations[static_cast<std::size_t>(course.concentration)].name;
    const std::string fields =
        concat(csv_field(course.label), ",", csv_field(subject.name), ",",
               csv_field(catalog.school_of_subject(course.subject)), ",", csv_field(concentration), ",",
               csv_field(join(prerequisites, ";")), ",", 100 * course.level, ",", course.units);
    const bool is_renamed = catalog.renamed && catalog.renamed->course == id;
    if (is_renamed)
      append(text,
             {catalog.renamed->old_name, ",", fields, ",,", std::to_string(catalog.renamed->first_year - 1), "\n"});
    append(text, {course.name, ",", fields, ",", is_renamed ? std::to_string(catalog.renamed->first_year) : "", ",\n"});
  }
  return text;
}

/// What one block of students gives.
struct Block {
  std::string enrollments;
  std::string students;
  SyntheticSummary summary;
};

Block make_block(const SyntheticUniversity& university, const std::vector<std::string>& fields_of_course,
                 std::int64_t first, std::int64_t end) {
  const SyntheticOptions& options = university.options();
  Block block;
  block.enrollments.reserve(static_cast<std::size_t>(end - first) * 5000);
  for (std::int64_t number = first; number < end; ++number) {
    const SyntheticStudent student = university.student(number);
    append_enrollments(block.enrollments, university, student, fields_of_course);
    if (options.student_truth) append_student(block.students, university.catalog(), student);
    block.summary.add(student, options.periods);
  }
  return block;
}

void add_to(std::vector<std::int64_t>& counts, const std::vector<std::int64_t>& more) {
  counts.resize(std::max(counts.size(), more.size()));
  for (std::size_t i = 0; i < more.size(); ++i)
    counts[i] += more[i];
}

}  // namespace

void SyntheticSummary::add(const SyntheticStudent& student, int periods) {
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
  at_risk.resize(static_cast<std::size_t>(periods) - 1);
  drop_outs.resize(at_risk.size());
  const int last = student.left_after > 0 ? student.left_after : periods - 1;
  for (int period = student.entry_period; period <= last; ++period) {
    if (period != student.leave_period) ++at_risk[static_cast<std::size_t>(period) - 1];
  }
  if (student.left_after > 0) ++drop_outs[static_cast<std::size_t>(student.left_after) - 1];
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

void SyntheticSummary::add(const SyntheticSummary& other) {
  using Summary = SyntheticSummary;
  for (const auto count :
       {&Summary::students, &Summary::enrollments, &Summary::commuters, &Summary::first_generation, &Summary::part_time,
        &Summary::late_entrants, &Summary::enthusiasts, &Summary::switches, &Summary::second_majors,
        &Summary::companies, &Summary::leaves_of_absence, &Summary::reduced_years, &Summary::summer_rows,
        &Summary::withdrawals, &Summary::failures, &Summary::repeats, &Summary::commuters_in_conflict})
    this->*count += other.*count;
  for (const auto counts : {&Summary::archetypes, &Summary::detours, &Summary::at_risk, &Summary::drop_outs})
    add_to(this->*counts, other.*counts);
}

nlohmann::ordered_json SyntheticFiles::to_json() const {
  return {{"folder", folder}, {"students", summary.students}, {"enrollments", summary.enrollments}};
}

Table SyntheticFiles::table() const {
  Table table({{"folder"}, {"students"}, {"enrollments"}});
  table.add_row({folder, summary.students, summary.enrollments});
  return table;
}

void SyntheticFiles::print(std::ostream& out) const {
  out << "wrote " << folder << "/enrollments.csv: " << counted(summary.students, "student", "students") << ", "
      << counted(summary.enrollments, "enrollment", "enrollments") << "; courses.csv and truth.json beside it\n";
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
  append(label, {next < 10 ? "-0" : "-", std::to_string(next), seasons.at(static_cast<std::size_t>(term) - 1)});
  return label;
}

SyntheticFiles write_synthetic_university(const SyntheticOptions& options, const std::filesystem::path& folder,
                                          Overwrite overwrite, const ProgressSink& progress) {
  const SyntheticUniversity university(options);
  make_folder(folder);
  AtomicFile enrollments(folder / "enrollments.csv", overwrite);
  AtomicFile courses(folder / "courses.csv", overwrite);
  AtomicFile truth(folder / "truth.json", overwrite);
  std::optional<AtomicFile> students;
  if (options.student_truth) students.emplace(folder / "students.csv", overwrite);

  DigestBuilder digest;
  const auto write_enrollments = [&](std::string_view text) {
    digest.add(text);
    enrollments.write(text);
  };
  write_enrollments(enrollment_columns);
  if (students) students->write(student_columns);
  courses.write(courses_file(university.catalog()));

  // Blocks are made by several threads and written in their order, a few ahead of the writer at most.
  const std::vector<std::string> fields_of_course = course_fields(university.catalog());
  const unsigned threads =
      options.threads > 0 ? static_cast<unsigned>(options.threads) : std::max(1U, std::thread::hardware_concurrency());
  std::deque<std::future<Block>> under_way;
  std::int64_t next = 1;
  SyntheticFiles written;
  written.folder = folder.string();
  SyntheticSummary& summary = written.summary;
  while (next <= options.students || !under_way.empty()) {
    while (next <= options.students && under_way.size() < threads) {
      const std::int64_t end = std::min(next + block_size, options.students + 1);
      const auto launch = [&](std::launch how) {
        return std::async(how, make_block, std::cref(university), std::cref(fields_of_course), next, end);
      };
      try {
        under_way.push_back(launch(std::launch::async));
      } catch (const std::system_error&) {  // no more threads to be had
        under_way.push_back(launch(std::launch::deferred));
      }
      next = end;
    }
    const Block block = under_way.front().get();
    under_way.pop_front();
    write_enrollments(block.enrollments);
    if (students) students->write(block.students);
    summary.add(block.summary);
    if (progress) {
      progress({"simulate", static_cast<double>(summary.students) / static_cast<double>(options.students)});
    }
  }
  truth.write(synthetic_truth(university, summary, digest.finish().hex()));

  enrollments.commit();
  courses.commit();
  if (students) students->commit();
  truth.commit();
  return written;
}

}  // namespace desirepath::inline ingest
