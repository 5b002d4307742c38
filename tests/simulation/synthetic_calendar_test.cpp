// Edition 3 of the synthetic university: what is planted, worked out again from the rows that were written.
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "support/support.h"

#include "desirepath/core/digest.h"
#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/ingest/prepare.h"
#include "desirepath/simulation/synthetic_university.h"

namespace desirepath::synthetic_calendar_test {
namespace {

using test::TemporaryFolder;

SyntheticOptions calendar_options() {
  SyntheticOptions options;
  options.students = 4000;
  options.courses = 150;
  options.seed = 5;
  options.edition = 3;
  options.student_truth = true;
  return options;
}

/// A line of a table, its cells by the names of their columns.
struct TextRow {
  std::shared_ptr<const std::map<std::string, std::size_t>> columns;
  std::vector<std::string> cells;
  const std::string& at(const std::string& column) const { return cells.at(columns->at(column)); }
};
std::vector<TextRow> rows_of_file(const std::filesystem::path& path) {
  std::istringstream lines(read_text_file(path));
  std::string line;
  std::getline(lines, line);
  auto columns = std::make_shared<std::map<std::string, std::size_t>>();
  for (const std::string& column : split(line, ','))
    columns->emplace(column, columns->size());
  std::vector<TextRow> rows;
  while (std::getline(lines, line)) {
    rows.push_back({columns, split(line, ',')});
    EXPECT_EQ(rows.back().cells.size(), columns->size());
  }
  return rows;
}

/// "2004-05 Spring": three terms a year, in order.
int term_number(const std::string& label) {
  static const std::map<std::string, int> seasons = {{"Fall", 0}, {"Spring", 1}, {"Summer", 2}};
  return 3 * std::stoi(label.substr(0, 4)) + seasons.at(label.substr(8));
}

/// A student as the rows tell it.
struct Record {
  TextRow last;               // the last row, for what is the same on all
  std::map<int, int> rows;    // period -> number of them
  std::map<int, int> failed;  // period -> F and W of the autumn
};

/// The files of one university, read back as text. Nothing here is made by the generator but what it wrote.
class SyntheticCalendarFiles : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_.emplace();
    write_synthetic_university(calendar_options(), folder_->path(), Overwrite::refuse, Executor(2));
    truth_ = nlohmann::json::parse(read_text_file(*folder_ / "truth.json"));
    for (TextRow& row : rows_of_file(*folder_ / "enrollments.csv")) {
      Record& record = records_[row.at("student")];
      const int period = std::stoi(row.at("period"));
      ++record.rows[period];
      const bool failed = row.at("grade") == "F" || row.at("grade") == "W";
      if (failed && row.at("term").ends_with("Fall")) ++record.failed[period];
      ++rows_of_term_[term_number(row.at("term"))];
      ++takers_[std::stoi(row.at("term").substr(0, 4))][row.at("course")];
      record.last = std::move(row);
    }
    for (TextRow& row : rows_of_file(*folder_ / "status.csv")) {
      const int period = std::stoi(row.at("period"));
      status_[row.at("student")][period] = std::move(row);
    }
  }
  static void TearDownTestSuite() {
    folder_.reset();
    truth_ = nullptr;
    records_.clear();
    rows_of_term_.clear();
    takers_.clear();
    status_.clear();
  }

  static const nlohmann::json& calendar() { return truth_.at("calendar"); }
  static int year_of(const Record& record, int period) { return std::stoi(record.last.at("cohort")) + period - 1; }

  /// The last term that holds at least a third of the rows of the same term one year earlier.
  static int data_end() {
    int end = 0;
    for (const auto& [term, rows] : rows_of_term_) {
      const auto before = rows_of_term_.find(term - 3);
      if (before != rows_of_term_.end() && 3 * rows >= before->second) end = term;
    }
    return end;
  }

  static std::string status_by_rows(const Record& record, int period, int end) {
    if (record.rows.contains(period)) return "enrolled";
    if (period < record.rows.begin()->first) return "before_entry";
    if (period < record.rows.rbegin()->first) return "away";
    if (3 * year_of(record, period) + 2 > end) return "not_yet";
    return record.last.at("degree").empty() ? "left" : "finished";
  }

  static std::optional<TemporaryFolder> folder_;
  static nlohmann::json truth_;
  static std::map<std::string, Record> records_;
  static std::map<int, int> rows_of_term_;
  static std::map<int, std::map<std::string, int>> takers_;      // academic year, course
  static std::map<std::string, std::map<int, TextRow>> status_;  // student, period
};
std::optional<TemporaryFolder> SyntheticCalendarFiles::folder_;
nlohmann::json SyntheticCalendarFiles::truth_;
std::map<std::string, Record> SyntheticCalendarFiles::records_;
std::map<int, int> SyntheticCalendarFiles::rows_of_term_;
std::map<int, std::map<std::string, int>> SyntheticCalendarFiles::takers_;
std::map<std::string, std::map<int, TextRow>> SyntheticCalendarFiles::status_;

TEST_F(SyntheticCalendarFiles, TheDataEndWhereTheTruthSays) {
  EXPECT_EQ(calendar().at("last_complete_term"), "2011-12 Summer");
  EXPECT_EQ(data_end(), term_number("2011-12 Summer"));
}

TEST_F(SyntheticCalendarFiles, OfTheLastYearThereIsOnlyAPart) {
  const int last = rows_of_term_.rbegin()->first;
  EXPECT_EQ(last, term_number("2012-13 Fall"));
  EXPECT_EQ(calendar().at("unfinished_term"), "2012-13 Fall");
  const double share = static_cast<double>(rows_of_term_[last]) / rows_of_term_[last - 3];
  EXPECT_GT(share, 0.15);
  EXPECT_LT(share, 0.31);
  EXPECT_EQ(calendar().at("rows_of_unfinished_year"), rows_of_term_[last]);
  // Nobody has a grade in it, everybody elsewhere.
  for (const TextRow& row : rows_of_file(*folder_ / "enrollments.csv"))
    ASSERT_EQ(row.at("grade").empty(), term_number(row.at("term")) == last);
  // Of those who are enrolled in it, most are not in the file.
  double enrolled = 0, in_file = 0;
  for (const auto& [student, history] : status_) {
    for (const auto& [period, row] : history) {
      const bool enters = row.at("year") == "2012" && period == records_.at(student).rows.begin()->first;
      if (row.at("year") != "2012" || row.at("fate") != "enrolled" || enters) continue;
      enrolled += 1;
      in_file += row.at("rows") == "0" ? 0 : 1;
    }
  }
  // Registered, and not every one of about four rows left out.
  const double planted = CalendarRates{}.registered;
  EXPECT_NEAR(in_file / enrolled, planted, 0.02 + 5 * std::sqrt(planted * (1 - planted) / enrolled));
}

TEST_F(SyntheticCalendarFiles, EveryStatusFollowsFromTheRows) {
  const int end = data_end();
  std::map<std::string, int> seen;
  ASSERT_EQ(status_.size(), records_.size());
  for (const auto& [student, record] : records_) {
    const auto& history = status_.at(student);
    ASSERT_EQ(history.size(), 5U);
    for (const auto& [period, row] : history) {
      const std::string status = status_by_rows(record, period, end);
      ASSERT_EQ(row.at("status"), status) << student << " in period " << period;
      EXPECT_EQ(row.at("complete") == "yes", 3 * year_of(record, period) + 2 <= end);
      const auto rows = record.rows.find(period);
      EXPECT_EQ(std::stoi(row.at("rows")), rows == record.rows.end() ? 0 : rows->second);
      EXPECT_EQ(std::stoi(row.at("year")), year_of(record, period));
      ++seen[status];
    }
  }
  for (const char* status : {"enrolled", "before_entry", "away", "left", "finished", "not_yet"})
    EXPECT_GT(seen[status], 50) << status;
}

TEST_F(SyntheticCalendarFiles, WhatHappenedAgreesWithWhatIsSeen) {
  std::map<std::pair<std::string, std::string>, int> pairs;
  for (const auto& [student, history] : status_) {
    for (const auto& [period, row] : history)
      ++pairs[{row.at("status"), row.at("fate")}];
  }
  // Who paused when the data end looks like a leaver; of what comes after nothing is seen; all else is as it looks.
  const std::set<std::pair<std::string, std::string>> possible = {
      {"left", "away"}, {"not_yet", "away"}, {"not_yet", "enrolled"}, {"not_yet", "left"}, {"not_yet", "finished"}};
  for (const auto& [pair, count] : pairs) {
    EXPECT_TRUE(pair.first == pair.second || possible.contains(pair)) << pair.first << ", " << pair.second;
    EXPECT_GT(count, 0);
  }
  for (const auto& pair : possible)
    EXPECT_GT(pairs[pair], 0) << pair.first << ", " << pair.second;
}

TEST_F(SyntheticCalendarFiles, ChancesToLeaveAreThePlantedProducts) {
  std::map<std::string, TextRow> students;
  for (TextRow& row : rows_of_file(*folder_ / "students.csv"))
    students[row.at("student")] = row;
  // By residence, first generation and status: a list of years, each with a list of periods.
  std::map<std::string, nlohmann::json> kinds;
  for (const auto& kind : calendar().at("leaving"))
    kinds[concat(kind.at("residence").get<std::string>(), " ", kind.at("first_generation").get<std::string>(), " ",
                 kind.at("status").get<std::string>())] = kind.at("years");
  ASSERT_EQ(kinds.size(), 8U);
  const nlohmann::json& rates = calendar().at("rates");
  const double ambitious = truth_.at("rates").at("ambitious");
  std::int64_t checked = 0;
  for (const auto& [student, history] : status_) {
    const Record& record = records_.at(student);
    const double ambition = std::stod(students.at(student).at("ambition"));
    if (std::abs(std::abs(ambition) - ambitious) < 0.001) continue;  // three decimals do not tell
    const std::vector<std::string> disengaged = split(students.at(student).at("disengaged"), ';');
    for (const auto& [period, row] : history) {
      if (row.at("leaving_probability").empty() || period == 5) continue;
      const auto& years = kinds.at(
          concat(record.last.at("residence"), " ", record.last.at("first_generation"), " ", record.last.at("status")));
      const auto year = static_cast<std::size_t>(std::stoi(row.at("year")) - 2001);
      ASSERT_EQ(years.at(year).at("year"), std::stoi(row.at("year")));
      double expected = rates.at("leaving").at(std::min<std::size_t>(static_cast<std::size_t>(period) - 1, 2));
      expected *= calendar().at("leaving_factor").at(year).get<double>();
      if (record.last.at("residence") == "commuter") {
        expected *= rates.at("leaving_commuter").get<double>() *
                    calendar().at("leaving_factor_of_commuters").at(year).get<double>();
      }
      if (record.last.at("first_generation") == "yes") expected *= rates.at("leaving_first_generation").get<double>();
      if (record.last.at("status") == "part-time") expected *= rates.at("leaving_part_time").get<double>();
      const double by_kind = years.at(year).at("after_period").at(static_cast<std::size_t>(period) - 1);
      ASSERT_NEAR(by_kind, expected, 1e-12);
      if (ambition > ambitious) expected *= rates.at("leaving_ambitious").get<double>();
      if (ambition < -ambitious) expected *= rates.at("leaving_low_ambition").get<double>();
      const bool is_disengaged = std::ranges::find(disengaged, std::to_string(period)) != disengaged.end();
      if (is_disengaged) expected *= rates.at("leaving_disengaged").get<double>();
      const auto failed = record.failed.find(period);
      if (failed != record.failed.end() && failed->second >= 2) expected *= rates.at("leaving_failed").get<double>();
      ASSERT_NEAR(std::stod(row.at("leaving_probability")), std::min(0.75, expected), 2e-6)
          << student << " in period " << period;
      ++checked;
    }
  }
  EXPECT_GT(checked, 10000);
}

TEST_F(SyntheticCalendarFiles, ReturnsComeAtTheirRatesByKindAndYear) {
  struct Sums {
    double students = 0, expected = 0, variance = 0, returned = 0, left = 0, expected_left = 0;
  };
  std::map<std::string, Sums> groups;
  for (const auto& [student, history] : status_) {
    const Record& record = records_.at(student);
    for (const auto& [period, row] : history) {
      if (row.at("return_probability").empty() || period == 5) continue;
      // Whether the student returned is read off the rows, as far as the data reach.
      if (row.at("year") == "2011") continue;
      const double chance = std::stod(row.at("return_probability"));
      const std::string kind =
          concat(record.last.at("residence"), ", first generation ", record.last.at("first_generation"));
      for (const std::string& group : {row.at("year"), kind, concat(kind, " in ", row.at("year")),
                                       concat("period ", period), row.at("year") + kind, record.last.at("status")}) {
        Sums& sums = groups[group];
        sums.students += 1;
        sums.expected += chance;
        sums.variance += chance * (1 - chance);
        sums.returned += record.rows.contains(period + 1) ? 1 : 0;
        sums.left += history.at(period + 1).at("fate") == "left" ? 1 : 0;
        sums.expected_left += std::stod(row.at("leaving_probability"));
      }
    }
  }
  EXPECT_GT(groups.size(), 50U);
  for (const auto& [name, sums] : groups)
    EXPECT_NEAR(sums.returned, sums.expected, 5 * std::sqrt(sums.variance) + 1) << name;
  const auto leaving = [&](const std::string& name) { return groups.at(name).left / groups.at(name).students; };
  EXPECT_GT(leaving("period 1"), 0.09);
  EXPECT_LT(leaving("period 1"), 0.2);
  EXPECT_GT(leaving("period 1"), leaving("period 2"));
  EXPECT_GT(leaving("period 2"), leaving("period 3"));
  EXPECT_GT(leaving("commuter, first generation yes"), 1.3 * leaving("campus, first generation no"));
  EXPECT_GT(leaving("part-time"), leaving("full-time"));
}

TEST_F(SyntheticCalendarFiles, TheTruthCountsWhoReturned) {
  std::map<std::string, std::array<int, 4>> found;  // enrolled, returned, left, finished
  for (const auto& [student, history] : status_) {
    const Record& record = records_.at(student);
    for (const auto& [period, row] : history) {
      if (row.at("return_probability").empty()) continue;
      const auto next = history.find(period + 1);
      const std::string fate = next == history.end() ? "" : next->second.at("fate");
      const bool is_over = period == record.rows.rbegin()->first;
      auto& counts = found[concat(row.at("year"), " ", period, " ", record.last.at("residence"), " ",
                                  record.last.at("first_generation"))];
      ++counts[0];
      counts[1] += fate == "enrolled" ? 1 : 0;
      const bool has_degree = !record.last.at("degree").empty() && is_over;
      counts[2] += fate == "left" || (fate.empty() && !has_degree) ? 1 : 0;
      counts[3] += has_degree ? 1 : 0;
    }
  }
  ASSERT_EQ(calendar().at("returns").size(), found.size());
  double expected = 0, returned = 0;
  for (const auto& entry : calendar().at("returns")) {
    const auto& counts = found.at(concat(entry.at("year").get<int>(), " ", entry.at("period").get<int>(), " ",
                                         entry.at("residence").get<std::string>(), " ",
                                         entry.at("first_generation").get<std::string>()));
    EXPECT_EQ(entry.at("enrolled"), counts[0]);
    EXPECT_EQ(entry.at("returned"), counts[1]);
    EXPECT_EQ(entry.at("left"), counts[2]);
    EXPECT_EQ(entry.at("finished"), counts[3]);
    expected += entry.at("expected_returns").get<double>();
    returned += entry.at("returned").get<double>();
  }
  EXPECT_NEAR(returned, expected, 0.02 * expected);
}

TEST_F(SyntheticCalendarFiles, EntrantsVaryAsPlanted) {
  std::map<int, int> entrants;
  for (const auto& [student, record] : records_)
    ++entrants[year_of(record, record.rows.begin()->first)];
  const nlohmann::json& planted = calendar().at("entrants");
  ASSERT_EQ(planted.size(), 12U);
  const double registered = calendar().at("rates").at("registered");
  const auto students = static_cast<double>(records_.size());
  double sum = 0;
  for (const auto& entry : planted)
    sum += entry.at("factor").get<double>() * (entry.at("year") == 2012 ? registered : 1);
  for (const auto& entry : planted) {
    const int year = entry.at("year");
    EXPECT_EQ(entrants[year], entry.at("in_file")) << year;
    const double share = entry.at("factor").get<double>() * (year == 2012 ? registered : 1) / sum;
    EXPECT_NEAR(entrants[year], students * share, 5 * std::sqrt(students * share * (1 - share))) << year;
  }
}

TEST_F(SyntheticCalendarFiles, CoursesAreTakenOnlyWhenTheyAreOffered) {
  std::map<std::string, nlohmann::json> courses;
  for (const auto& course : calendar().at("courses"))
    courses[course.at("course")] = course;
  const auto& renamed = truth_.at("renamed_course");
  courses[renamed.at("old")] = courses.at(renamed.at("new"));
  for (const auto& [year, takers] : takers_) {
    for (const auto& [course, count] : takers)
      EXPECT_GT(courses.at(course).at("popularity").at(static_cast<std::size_t>(year - 2001)), 0)
          << course << " in " << year;
  }
  // courses.csv says the same years, and what is offered is taken.
  int begun = 0, ended = 0;
  for (const TextRow& row : rows_of_file(*folder_ / "courses.csv")) {
    if (row.at("course") == renamed.at("old") || row.at("course") == renamed.at("new")) continue;
    const nlohmann::json& course = courses.at(row.at("course"));
    const auto year_text = [&](const char* key) {
      return course.at(key).is_null() ? std::string() : std::to_string(course.at(key).get<int>());
    };
    EXPECT_EQ(row.at("first_year"), year_text("first_year"));
    EXPECT_EQ(row.at("last_year"), year_text("last_year"));
    begun += course.at("first_year").is_null() ? 0 : 1;
    ended += course.at("last_year").is_null() ? 0 : 1;
    for (int year = 2001; year <= 2012; ++year) {
      const bool is_outside = (!course.at("first_year").is_null() && year < course.at("first_year")) ||
                              (!course.at("last_year").is_null() && year > course.at("last_year"));
      const double popularity = course.at("popularity").at(static_cast<std::size_t>(year - 2001));
      if (!course.at("every_second_year").get<bool>()) {
        EXPECT_EQ(popularity == 0, is_outside) << row.at("course");
      }
    }
  }
  EXPECT_GT(begun, 10);
  EXPECT_GT(ended, 10);
}

TEST_F(SyntheticCalendarFiles, WhoHasADegreeIsGoneAfterIt) {
  int early = 0, usual = 0, late = 0;
  for (const auto& [student, record] : records_) {
    const std::string& term = record.last.at("degree_term");
    EXPECT_EQ(term.empty(), record.last.at("degree").empty());
    if (term.empty()) continue;
    // The degree is that of the last period, its term the last of the year or the autumn before.
    EXPECT_EQ(std::stoi(term.substr(0, 4)), year_of(record, record.rows.rbegin()->first));
    EXPECT_GE(term_number(term), term_number(record.last.at("term")));
    EXPECT_LE(std::stoi(term.substr(0, 4)), 2011);
    const int period = record.rows.rbegin()->first;
    (period < 4 ? early : period == 4 ? usual : late) += 1;
  }
  EXPECT_GT(early, 20);
  EXPECT_GT(usual, 4 * late);
  EXPECT_GT(late, 100);
  EXPECT_EQ(calendar().at("degrees"), early + usual + late);
}

TEST_F(SyntheticCalendarFiles, PrepareCountsYearsSinceEntry) {
  for (const bool by_terms : {false, true}) {
    TableOptions options;
    options.courses_file = *folder_ / "courses.csv";
    options.keep_periods = 5;
    if (by_terms) options.periods = PeriodRule::years_since_entry;
    const Prepared prepared = prepare_cohort({(*folder_ / "enrollments.csv").string()}, options, Executor(2));
    const Cohort& cohort = prepared.cohort;
    ASSERT_EQ(cohort.schema().period_count(), 5);
    ASSERT_EQ(cohort.student_count(), calendar_options().students);
    ASSERT_TRUE(cohort.has_calendar());
    for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
      const Record& record = records_.at(cohort.students()[static_cast<std::size_t>(s)]);
      // By terms a late entrant's first year is the first; the file says which year of the class it is.
      const int first = by_terms ? record.rows.begin()->first : 1;
      for (int period = first; period <= 5; ++period) {
        ASSERT_EQ(cohort.enrolled(s, period - first), record.rows.contains(period));
        if (record.rows.contains(period)) {
          EXPECT_EQ(cohort.academic_year(s, period - first), year_of(record, period));
        }
      }
    }
  }
}

TEST(SyntheticCalendar, SameSeedSameBytesForAnyNumberOfThreads) {
  for (const int threads : {1, 3}) {
    const TemporaryFolder folder;
    SyntheticOptions options = calendar_options();
    options.students = 700;
    options.courses = 120;
    write_synthetic_university(options, folder.path(), Overwrite::refuse, Executor(threads));
    const auto digest = [&](const char* name) { return digest_of(read_file(folder / name)).hex(); };
    // As for editions 1 and 2: other compilers and machines must give these bytes too.
    EXPECT_EQ(digest("enrollments.csv"), "39425586a6697a58cc3f45d7a878dfdc");
    EXPECT_EQ(digest("courses.csv"), "f4c00b17e692b4d1c9d86fd131f69d24");
    EXPECT_EQ(digest("status.csv"), "ebc9d02e25381f51aacd22a80df1d4d3");
    EXPECT_EQ(digest("students.csv"), "660e6466931fb05c0a531826ba1e2ba1");
    DigestBuilder calendar;
    calendar.add(nlohmann::json::parse(read_text_file(folder / "truth.json")).at("calendar").dump());
    EXPECT_EQ(calendar.finish().hex(), "50a1902082c0c02d40349728c02d277a");
  }
}

TEST(SyntheticCalendar, FactorsOfTheYearsHaveTheirSpreads) {
  // Entrants and leaving over 60 universities, popularity over the courses of one.
  double deviation = 0, leaving = 0, years = 0;
  SyntheticOptions options = calendar_options();
  options.rates.intake_growth = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    options.seed = seed;
    const SyntheticCalendar calendar = *make_synthetic_catalog(options).calendar;
    for (std::size_t year = 0; year < calendar.entrants.size(); ++year) {
      deviation += (calendar.entrants[year] - 1) * (calendar.entrants[year] - 1);
      leaving += (calendar.leaving[year] - 1) * (calendar.leaving[year] - 1);
      years += 1;
    }
  }
  const CalendarRates& rates = options.calendar;
  EXPECT_NEAR(std::sqrt(deviation / years), rates.entrants_spread, 0.15 * rates.entrants_spread);
  EXPECT_NEAR(std::sqrt(leaving / years), rates.leaving_spread, 0.15 * rates.leaving_spread);

  options.courses = 2000;
  const SyntheticCatalog catalog = make_synthetic_catalog(options);
  double change = 0, changes = 0;
  for (const CourseCalendar& course : catalog.calendar->courses) {
    if (course.first_year > 0 || course.last_year >= 0 || course.every_second_year) continue;
    for (std::size_t year = 1; year < course.popularity.size(); ++year) {
      const double log_change = std::log(course.popularity[year] / course.popularity[year - 1]);
      change += log_change * log_change;
      changes += 1;
    }
  }
  const double planted = std::sqrt(rates.popularity_walk * rates.popularity_walk +
                                   2 * rates.popularity_passing * rates.popularity_passing +
                                   rates.popularity_trend * rates.popularity_trend);
  EXPECT_NEAR(std::sqrt(change / changes), planted, 0.1 * planted);
}

TEST(SyntheticCalendar, AsManyCoursesBeginAsEnd) {
  SyntheticOptions options = calendar_options();
  options.courses = 400;
  const SyntheticCatalog catalog = make_synthetic_catalog(options);
  std::map<int, int> begun, ended;
  int offered = 0;
  std::set<Id> fixed;  // on which something planted rests
  for (std::size_t id = 0; id < catalog.courses.size(); ++id) {
    const SyntheticCourse& course = catalog.courses[id];
    if (course.core || course.tacit_prerequisite >= 0) fixed.insert(static_cast<Id>(id));
    fixed.insert(course.tacit_prerequisite);
    fixed.insert(course.prerequisites.begin(), course.prerequisites.end());
  }
  fixed.insert({catalog.renamed->course, catalog.conflict->course, catalog.writing_course});
  for (std::size_t id = 0; id < catalog.courses.size(); ++id) {
    const CourseCalendar& course = catalog.calendar->courses[id];
    begun[course.first_year] += 1;
    ended[course.last_year] += course.first_year == 0 ? 1 : 0;
    for (std::size_t year = 0; year < course.popularity.size(); ++year)
      offered += course.popularity[year] > 0 ? 1 : 0;
    if (!fixed.contains(static_cast<Id>(id))) continue;
    EXPECT_EQ(course.first_year, 0) << catalog.courses[id].name;
    EXPECT_EQ(course.last_year, -1) << catalog.courses[id].name;
    EXPECT_FALSE(course.every_second_year) << catalog.courses[id].name;
  }
  for (int year = 1; year <= 11; ++year) {
    // 1 to 2 % of 400 each way.
    EXPECT_GE(begun[year], 4) << year;
    EXPECT_LE(begun[year], 8) << year;
    EXPECT_GE(ended[year - 1], 4) << year;
    EXPECT_LE(ended[year - 1], 8) << year;
  }
  EXPECT_GT(offered, 12 * 300);
}

TEST(SyntheticCalendar, TakersFollowPopularity) {
  // Slope of the log change of takers on that of the planted popularity, courses that only choice decides on: below 1,
  // as some are taken again and others were passed by those who would take them.
  SyntheticOptions options = calendar_options();
  options.students = 8000;
  const SyntheticUniversity university(options);
  const SyntheticCatalog& catalog = university.catalog();
  std::vector<std::vector<double>> takers(catalog.courses.size(), std::vector<double>(12));
  std::vector<double> all(12);
  for (std::int64_t number = 1; number <= options.students; ++number) {
    const SyntheticStudent student = university.student(number);
    for (const SyntheticEnrollment& row : student.enrollments) {
      const auto year = static_cast<std::size_t>(student.cohort + row.period - 1 - options.first_year);
      takers[static_cast<std::size_t>(row.course)][year] += 1;
      all[year] += 1;
    }
  }
  double products = 0, squares = 0;
  for (std::size_t id = 0; id < catalog.courses.size(); ++id) {
    const std::vector<double>& popularity = catalog.calendar->courses[id].popularity;
    if (catalog.courses[id].core || catalog.courses[id].level > 1) continue;
    for (std::size_t year = 4; year < 10; ++year) {
      if (popularity[year] == 0 || popularity[year + 1] == 0 || takers[id][year] < 30 || takers[id][year + 1] < 30)
        continue;
      const double x = std::log(popularity[year + 1] / popularity[year]);
      products += x * std::log(takers[id][year + 1] / all[year + 1] / (takers[id][year] / all[year]));
      squares += x * x;
    }
  }
  ASSERT_GT(squares, 5);
  EXPECT_GT(products / squares, 0.4);
  EXPECT_LT(products / squares, 1.1);
}

TEST(SyntheticCalendar, YearsBelongToEditionThree) {
  SyntheticOptions options;
  options.years = 9;
  EXPECT_TRUE(test::says(test::message_of<OptionError>([&] { SyntheticUniversity university(options); }),
                         {"--years", "--edition"}));
  options.edition = 3;
  EXPECT_EQ(SyntheticUniversity(options).catalog().calendar->years, 9);
  options.years = 1;
  EXPECT_TRUE(test::says(test::message_of<OptionError>([&] { SyntheticUniversity university(options); }),
                         {"--years", "2", "100"}));
  options.years = 9;
  options.calendar.most_leaving = 1.1;
  EXPECT_FALSE(options.is_possible());
}

TEST(SyntheticCalendarProperty, EveryHistoryIsAHistory) {
  test::expect_property(
      "rows within the file, enrolled where the years say so, chances that sum to 1",
      [](std::uint64_t seed) {
        SyntheticOptions options;
        options.seed = seed;
        options.edition = 3;
        options.courses = *rc::gen::inRange(20, 300);
        options.periods = *rc::gen::inRange(1, 9);
        options.years = *rc::gen::inRange(2, 20);
        const SyntheticUniversity university(options);
        for (std::int64_t number = 1; number <= 40; ++number) {
          const SyntheticStudent student = university.student(number);
          RC_ASSERT(!student.enrollments.empty());
          RC_ASSERT(!student.years.empty());
          RC_ASSERT(student.years.front().period == student.entry_period);
          const int first = student.cohort - options.first_year;
          RC_ASSERT(first + student.entry_period - 1 >= 0 && first + student.entry_period - 1 < *options.years);
          std::set<int> enrolled;
          for (const SyntheticYear& year : student.years) {
            enrolled.insert(year.period);
            const bool is_unfinished = first + year.period == *options.years;
            RC_ASSERT((year.end == YearEnd::after_the_file) == is_unfinished);
            const double sum = year.leaving + year.finishing + year.pausing + year.returning;
            RC_ASSERT(is_unfinished || std::abs(sum - 1) < 1e-12);
            RC_ASSERT((year.end == YearEnd::leaves) == (student.left_after == year.period));
            RC_ASSERT((year.end == YearEnd::finishes) == (student.finished_after == year.period));
          }
          RC_ASSERT(*enrolled.rbegin() <= options.last_period());
          for (const SyntheticEnrollment& row : student.enrollments) {
            RC_ASSERT(enrolled.contains(row.period));
            const int year = first + row.period - 1;
            RC_ASSERT(year < *options.years);
            RC_ASSERT(university.catalog().calendar->is_offered(row.course, year));
            const bool is_unfinished = year == *options.years - 1;
            RC_ASSERT(is_unfinished == (row.grade == SyntheticGrade::none_yet));
            if (is_unfinished) RC_ASSERT(row.term == SyntheticTerm::autumn);
          }
        }
      },
      60);
}

}  // namespace
}  // namespace desirepath::synthetic_calendar_test
