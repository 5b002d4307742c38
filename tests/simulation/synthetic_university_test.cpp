#include "desirepath/simulation/synthetic_university.h"

#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "support/support.h"

#include "desirepath/core/digest.h"
#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::synthetic_university_test {
namespace {

SyntheticOptions small_options() {
  SyntheticOptions options;
  options.students = 700;
  options.courses = 120;
  options.seed = 7;
  return options;
}

std::string file_digest(const std::filesystem::path& path) {
  return digest_of(read_file(path)).hex();
}

std::vector<std::vector<std::string>> read_table(const std::filesystem::path& path) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(read_text_file(path));
  for (std::string line; std::getline(lines, line);)
    rows.push_back(split(line, ','));
  return rows;
}

TEST(SyntheticUniversity, SameSeedSameBytesForAnyNumberOfThreads) {
  for (const int threads : {1, 2, 3, 7}) {
    const test::TemporaryFolder folder;
    SyntheticOptions options = small_options();
    write_synthetic_university(options, folder.path(), Overwrite::refuse, Executor(threads));
    // Kept from an earlier run: other compilers, machines and versions must give these bytes too. A wanted change of
    // the generator changes them; results published with the old university are then no longer comparable.
    EXPECT_EQ(file_digest(folder / "enrollments.csv"), "681c1c6931b572daae0f9ae615040ed0");
    EXPECT_EQ(file_digest(folder / "courses.csv"), "a2f366a9a1a4f6f118e248d06e36dc3b");
  }
}

TEST(SyntheticUniversity, TheSecondEditionRepeatsAsRealStudentsDo) {
  const auto share_of_repeats = [](int edition) {
    SyntheticOptions options;
    options.students = 2000;
    options.courses = 120;
    options.edition = edition;
    const SyntheticUniversity university(options);
    double all = 0, again = 0;
    for (std::int64_t number = 1; number <= options.students; ++number) {
      std::map<Id, int> first;  // the period a course was first taken in
      std::set<std::pair<int, Id>> seen;
      for (const SyntheticEnrollment& row : university.student(number).enrollments) {
        if (!seen.emplace(row.period, row.course).second) continue;
        all += 1;
        again += first.emplace(row.course, row.period).first->second < row.period ? 1 : 0;
      }
    }
    return again / all;
  };
  EXPECT_LT(share_of_repeats(1), 0.02);
  // A real programme 15 %, a college 13 %.
  EXPECT_GT(share_of_repeats(2), 0.12);
  EXPECT_LT(share_of_repeats(2), 0.17);
}

TEST(SyntheticUniversity, TheTruthSaysWhichCoursesAreTakenAgain) {
  const test::TemporaryFolder folder;
  SyntheticOptions options = small_options();
  write_synthetic_university(options, folder / "1", Overwrite::refuse, Executor(2));
  EXPECT_EQ(read_text_file(folder / "1/truth.json").find("taken_again"), std::string::npos);
  options.edition = 2;
  write_synthetic_university(options, folder / "2", Overwrite::refuse, Executor(2));
  EXPECT_NE(read_text_file(folder / "2/truth.json").find("\"taken_again\""), std::string::npos);
  EXPECT_EQ(file_digest(folder / "2/enrollments.csv"), "0c361c2866bbb433f82a6919abe94617");
  // The catalog is the same.
  EXPECT_EQ(file_digest(folder / "1/courses.csv"), file_digest(folder / "2/courses.csv"));
}

TEST(SyntheticUniversity, AnotherSeedIsAnotherUniversity) {
  const test::TemporaryFolder a, b;
  SyntheticOptions options = small_options();
  write_synthetic_university(options, a.path(), Overwrite::refuse, Executor(2));
  ++options.seed;
  write_synthetic_university(options, b.path(), Overwrite::refuse, Executor(2));
  for (const char* name : {"enrollments.csv", "courses.csv", "truth.json"})
    EXPECT_NE(file_digest(a / name), file_digest(b / name)) << name;
}

TEST(SyntheticUniversity, AStudentDoesNotDependOnHowManyThereAre) {
  SyntheticOptions more = small_options();
  more.students = 1'000'000;
  const SyntheticStudent a = SyntheticUniversity(small_options()).student(500);
  const SyntheticStudent b = SyntheticUniversity(more).student(500);
  ASSERT_EQ(a.enrollments.size(), b.enrollments.size());
  for (std::size_t i = 0; i < a.enrollments.size(); ++i)
    EXPECT_EQ(a.enrollments[i].course, b.enrollments[i].course);
}

TEST(SyntheticUniversity, RefusesWhatItCannotBeAndSaysWhatItCan) {
  const auto refusal = [](auto change) {
    SyntheticOptions options;
    change(options);
    return test::message_of<OptionError>([&] { SyntheticUniversity university(options); });
  };
  EXPECT_TRUE(test::says(refusal([](auto& o) { o.students = 0; }), {"--students", "1", "10,000,000"}));
  EXPECT_TRUE(test::says(refusal([](auto& o) { o.students = 10'000'001; }), {"--students", "1", "10,000,000"}));
  EXPECT_TRUE(test::says(refusal([](auto& o) { o.courses = 19; }), {"--courses", "20", "5,000"}));
  EXPECT_TRUE(test::says(refusal([](auto& o) { o.periods = 9; }), {"--periods", "1", "8"}));
}

TEST(SyntheticUniversity, KnowsWhichRatesArePossible) {
  const auto is_possible = [](auto change) {
    SyntheticOptions options;
    change(options);
    return options.is_possible();
  };
  EXPECT_TRUE(is_possible([](auto&) {}));
  EXPECT_FALSE(is_possible([](auto& o) { o.edition = 4; }));
  EXPECT_FALSE(is_possible([](auto& o) { o.rates.taken_again_every = 0; }));
  EXPECT_FALSE(is_possible([](auto& o) { o.first_year = 12; }));
  EXPECT_FALSE(is_possible([](auto& o) { o.cohorts = 0; }));
  EXPECT_FALSE(is_possible([](auto& o) { o.rates.failure = std::nan(""); }));
  EXPECT_FALSE(is_possible([](auto& o) { o.rates.pace_early = 0.9; }));
  EXPECT_FALSE(is_possible([](auto& o) { o.rates.drop_out[1] = 1.5; }));
}

TEST(SyntheticUniversity, EverySettingIsReadAndRecorded) {
  SyntheticOptions options;
  options.students = 500;
  options.courses = 60;
  options.periods = 3;
  options.student_truth = true;
  options.edition = 3;
  options.years = 9;
  const SettingValues recorded = record_of(options);
  const std::vector<Setting> settings = list_settings(declaration_of<SyntheticOptions>());
  EXPECT_EQ(recorded.size(), settings.size());
  for (const Setting& info : settings)
    EXPECT_NE(recorded.at(info.name), info.standard) << info.name;
  EXPECT_EQ(record_of(settings_from<SyntheticOptions>(recorded)), recorded);
}

TEST(SyntheticUniversity, ExistsAtItsExtremes) {
  struct Extreme {
    std::int64_t students;
    int courses, periods, cohorts;
  };
  for (const Extreme& extreme : {Extreme{1, 20, 1, 1}, Extreme{1, 400, 4, 18}, Extreme{50, 20, 8, 18},
                                 Extreme{50, 20, 2, 1}, Extreme{50, 5000, 8, 100}, Extreme{50, 400, 1, 2}}) {
    const test::TemporaryFolder folder;
    SyntheticOptions options;
    options.students = extreme.students;
    options.courses = extreme.courses;
    options.periods = extreme.periods;
    options.cohorts = extreme.cohorts;
    const SyntheticSummary summary =
        write_synthetic_university(options, folder / "new folder", Overwrite::refuse, Executor(2)).summary;
    EXPECT_EQ(summary.students, extreme.students);
    std::set<std::string> students;
    const auto rows = read_table(folder / "new folder/enrollments.csv");
    EXPECT_EQ(static_cast<std::int64_t>(rows.size()) - 1, summary.enrollments);
    for (std::size_t i = 1; i < rows.size(); ++i)
      students.insert(rows[i].at(0));
    EXPECT_EQ(static_cast<std::int64_t>(students.size()), extreme.students);
    EXPECT_EQ(static_cast<int>(read_table(folder / "new folder/courses.csv").size()), extreme.courses + 2);
  }
}

TEST(SyntheticUniversityProperty, EveryStudentKeepsTheRules) {
  test::expect_property(
      "prerequisites passed in earlier terms, no course after a pass, rows only while here",
      [](std::uint64_t seed) {
        SyntheticOptions options;
        options.seed = seed;
        options.courses = *rc::gen::inRange(20, 500);
        options.periods = *rc::gen::inRange(1, 9);
        options.cohorts = *rc::gen::inRange(1, 30);
        options.edition = *rc::gen::inRange(1, 4);
        const SyntheticUniversity university(options);
        const SyntheticCatalog& catalog = university.catalog();
        for (std::int64_t number = 1; number <= 40; ++number) {
          const SyntheticStudent student = university.student(number);
          RC_ASSERT(!student.enrollments.empty());
          // Where there is a calendar, the class of a late entrant may be older than the file.
          const int oldest = options.first_year - (options.has_calendar() ? student.entry_period - 1 : 0);
          RC_ASSERT(student.cohort >= oldest);
          RC_ASSERT(student.cohort < options.first_year + (options.has_calendar() ? 12 : options.cohorts));
          std::map<Id, int> passed_in;  // course -> running number of the term
          for (const Id course : student.transferred)
            passed_in[course] = 0;
          std::map<Id, int> tried;
          std::set<std::pair<int, Id>> seen;
          int previous = 0;
          for (const SyntheticEnrollment& row : student.enrollments) {
            const int term = 3 * row.period + static_cast<int>(row.term);
            RC_ASSERT(term >= previous);
            previous = term;
            RC_ASSERT(row.period >= student.entry_period && row.period <= options.last_period());
            RC_ASSERT(row.period != student.leave_period);
            RC_ASSERT(student.left_after == 0 || row.period <= student.left_after);
            RC_ASSERT(seen.emplace(term, row.course).second);
            if (passed_in.count(row.course) != 0) {
              RC_ASSERT(catalog.is_taken_again(row.course, options));
              RC_ASSERT(row.term == SyntheticTerm::autumn);
              continue;
            }
            RC_ASSERT(++tried[row.course] <= 3);
            for (const Id prerequisite : catalog.course(row.course).prerequisites) {
              RC_ASSERT(passed_in.count(prerequisite) == 1);
              RC_ASSERT(passed_in[prerequisite] < term);
            }
            if (is_pass(row.grade)) passed_in[row.course] = term;
            if (student.meets_conflict && row.course == catalog.conflict->course) {
              RC_ASSERT(row.period >= catalog.conflict->usual_period + catalog.conflict->delay);
            }
          }
        }
      },
      60);
}

TEST(SyntheticUniversityProperty, EveryCatalogHasItsParts) {
  test::expect_property("schools, levels, cores, concentrations, planted facts", [](std::uint64_t seed) {
    SyntheticOptions options;
    options.seed = seed;
    options.courses = *rc::gen::inRange(20, 5001);
    options.periods = *rc::gen::inRange(1, 9);
    const SyntheticCatalog catalog = make_synthetic_catalog(options);
    RC_ASSERT(static_cast<int>(catalog.courses.size()) == options.courses);
    RC_ASSERT(catalog.schools.size() >= 4U && catalog.schools.size() <= 6U);
    std::set<std::string> names;
    std::size_t tacit = 0;
    for (Id id = 0; id < options.courses; ++id) {
      const SyntheticCourse& course = catalog.course(id);
      RC_ASSERT(names.insert(course.name).second);
      RC_ASSERT(course.usual_period >= 1 && course.usual_period <= options.periods);
      for (const Id prerequisite : course.prerequisites) {
        const SyntheticCourse& earlier = catalog.course(prerequisite);
        RC_ASSERT(earlier.level < course.level || (earlier.subject == course.subject && prerequisite < id));
        if (catalog.conflict) RC_ASSERT(prerequisite != catalog.conflict->course);  // RC_ASSERT takes both sides of ||
        RC_ASSERT(prerequisite != catalog.renamed->course && prerequisite != course.tacit_prerequisite);
      }
      if (course.tacit_prerequisite < 0) continue;
      ++tacit;
      RC_ASSERT(catalog.course(course.tacit_prerequisite).level < course.level);
      RC_ASSERT(course.tacit_prerequisite != catalog.renamed->course && course.tacit_strength > 1);
    }
    RC_ASSERT(names.insert(catalog.renamed->old_name).second);
    RC_ASSERT(tacit >= 1U && tacit <= catalog.courses.size() / 16);
    RC_ASSERT(catalog.conflict.has_value() == (options.periods > 1));
    RC_ASSERT(!catalog.companies.empty());
    for (const SyntheticSubject& subject : catalog.subjects) {
      RC_ASSERT(!subject.introduction.empty());
      RC_ASSERT(subject.concentrations.size() >= 2U && subject.concentrations.size() <= 4U);
      for (const SyntheticConcentration& concentration : subject.concentrations)
        RC_ASSERT(!concentration.courses.empty());
    }
  });
}

// What is planted, looked for in 12,000 students of the default university. A check that compares a count with its rate
// is 5 standard errors wide: it fails by chance once in 1.7 million seeds, and the seed is fixed.
class PlantedFacts : public testing::Test {
 protected:
  static constexpr std::int64_t count = 12000;

  PlantedFacts() : university(SyntheticOptions{}), catalog(university.catalog()), rates(university.options().rates) {
    for (std::int64_t number = 1; number <= count; ++number)
      students.push_back(university.student(number));
  }

  static void expect_binomial(std::int64_t hits, double expected, double variance, const char* what) {
    EXPECT_NEAR(static_cast<double>(hits), expected, 5 * std::sqrt(variance)) << what;
  }
  static void expect_share(std::int64_t hits, std::int64_t trials, double share, const char* what) {
    const auto n = static_cast<double>(trials);
    expect_binomial(hits, n * share, n * share * (1 - share), what);
  }

  /// Running number of the term in which the student first enrolled in the course; 0: never.
  static int first_term(const SyntheticStudent& student, Id course) {
    for (const SyntheticEnrollment& row : student.enrollments) {
      if (row.course == course) return 3 * row.period + static_cast<int>(row.term);
    }
    return 0;
  }
  /// Full-time from the first period to the last: the students of the paper.
  bool is_whole(const SyntheticStudent& student) const {
    return student.entry_period == 1 && student.left_after == 0 && student.leave_period == 0 && !student.part_time;
  }
  template <class Condition>
  std::int64_t count_if(Condition condition) const {
    return std::count_if(students.begin(), students.end(), condition);
  }
  Id subject_of_code(const std::string& code) const {
    for (std::size_t i = 0; i < catalog.subjects.size(); ++i) {
      if (catalog.subjects[i].code == code) return static_cast<Id>(i);
    }
    return -1;
  }

  SyntheticUniversity university;
  const SyntheticCatalog& catalog;
  const SyntheticRates& rates;
  std::vector<SyntheticStudent> students;
};

TEST_F(PlantedFacts, BackgroundsComeAtTheirRates) {
  const auto commuters = count_if([](const auto& s) { return s.commuter; });
  expect_share(commuters, count, rates.commuter_share, "commuters");
  expect_share(count_if([](const auto& s) { return s.commuter && s.first_generation; }), commuters,
               rates.first_generation_commuter, "first generation among commuters");
  expect_share(count_if([](const auto& s) { return !s.commuter && s.part_time; }), count - commuters,
               rates.part_time_campus, "part-time on campus");
  const auto late = count_if([](const auto& s) { return s.entry_period > 1; });
  expect_share(late, count, rates.late_entrant_share, "late entrants");
  expect_share(count_if([](const auto& s) { return s.entry_period == 3; }), late, rates.late_entrant_third_period,
               "late entrants in the third period");
  expect_share(count_if([](const auto& s) { return s.enthusiast; }), count, rates.enthusiast_share, "enthusiasts");
  expect_share(count_if([](const auto& s) { return s.meets_conflict; }), commuters, rates.conflict_share_of_group,
               "commuters in the conflict");
  expect_share(count_if([](const auto& s) { return s.detour == 1; }), count, rates.prelaw, "pre-law");
  const auto ambitious = count_if([&](const auto& s) { return s.ambition > rates.ambitious; });
  // Some second majors end in a switch to the same subject: under a hundredth.
  const double expected = static_cast<double>(ambitious) * rates.second_major_ambitious +
                          static_cast<double>(count - ambitious) * rates.second_major;
  expect_binomial(count_if([](const auto& s) { return s.second_major >= 0; }), 0.995 * expected, expected,
                  "second majors");
}

TEST_F(PlantedFacts, LeavingComesAtItsRates) {
  for (int period = 1; period < 4; ++period) {
    double expected = 0, variance = 0;
    for (const SyntheticStudent& student : students) {
      const bool here = student.entry_period <= period && student.leave_period != period &&
                        (student.left_after == 0 || student.left_after >= period);
      if (!here) continue;
      const double rate = rates.drop_out.at(static_cast<std::size_t>(period) - 1) *
                          (student.commuter ? rates.drop_out_commuter : 1) *
                          (student.first_generation ? rates.drop_out_first_generation : 1);
      expected += rate;
      variance += rate * (1 - rate);
    }
    expect_binomial(count_if([&](const auto& s) { return s.left_after == period; }), expected, variance, "drop-outs");
  }
  const auto stayed_two = count_if([](const auto& s) { return s.left_after == 0 || s.left_after > 1; });
  const auto switched = count_if([](const auto& s) { return s.switched_after == 1; });
  expect_share(switched, stayed_two, rates.switch_major * rates.switch_after_first, "switches after the first period");
  for (const SyntheticStudent& student : students)
    EXPECT_EQ(student.switched_after > 0, student.major != student.entry_major);
}

TEST_F(PlantedFacts, ResultsComeAtTheirRates) {
  SyntheticSummary summary;
  for (const SyntheticStudent& student : students)
    summary.add(student, university.options());
  expect_share(summary.withdrawals, summary.enrollments, rates.withdrawal, "withdrawals");
  // Failures differ by ambition and tacit prerequisites; the factors balance within a tenth.
  EXPECT_NEAR(static_cast<double>(summary.failures) / static_cast<double>(summary.enrollments), rates.failure,
              0.1 * rates.failure);
  const double tried_again =
      static_cast<double>(summary.repeats) / static_cast<double>(summary.failures + summary.withdrawals);
  EXPECT_GT(tried_again, rates.repeat_elective);
  EXPECT_LT(tried_again, rates.repeat_required);
  EXPECT_GT(summary.summer_rows, summary.enrollments / 200);
}

TEST_F(PlantedFacts, CoursesOfWholeStudentsAreAboutGaussian) {
  double sum = 0, squares = 0, cubes = 0, n = 0;
  for (const SyntheticStudent& student : students) {
    if (!is_whole(student)) continue;
    const auto x = static_cast<double>(student.enrollments.size()) - 38;
    sum += x;
    squares += x * x;
    cubes += x * x * x;
    ++n;
  }
  const double mean = sum / n, variance = squares / n - mean * mean;
  EXPECT_NEAR((mean + 38) / 4, 9.5, 0.5);
  EXPECT_NEAR(std::sqrt(variance), 4.8, 0.6);
  const double skew = (cubes / n - 3 * mean * variance - mean * mean * mean) / std::pow(variance, 1.5);
  EXPECT_NEAR(skew, 0, 0.35);
}

TEST_F(PlantedFacts, TacitPrerequisitesRaiseTheOdds) {
  // Over all planted pairs, among students of the later course's major: who takes the course has the earlier one behind
  // them far more often than who does not.
  double takers = 0, takers_with = 0, others = 0, others_with = 0;
  for (Id id = 0; id < static_cast<Id>(catalog.courses.size()); ++id) {
    const SyntheticCourse& course = catalog.course(id);
    if (course.tacit_prerequisite < 0) continue;
    for (const SyntheticStudent& student : students) {
      if (student.major != course.subject || !is_whole(student)) continue;
      const int earlier = first_term(student, course.tacit_prerequisite);
      const int later = first_term(student, id);
      if (later > 0) {
        ++takers;
        takers_with += earlier > 0 && earlier < later ? 1 : 0;
      } else {
        ++others;
        others_with += earlier > 0 ? 1 : 0;
      }
    }
  }
  ASSERT_GT(takers, 500);
  const double with = takers_with / takers, without = others_with / others;
  const double odds_ratio = with / (1 - with) / (without / (1 - without));
  RecordProperty("odds_ratio", std::to_string(odds_ratio));
  EXPECT_GT(odds_ratio, 3) << with << " against " << without;
}

TEST_F(PlantedFacts, TheConflictDelaysOneCourseForOneGroup) {
  const Id course = catalog.conflict->course;
  double campus = 0, campus_in_time = 0, commuters = 0, commuters_in_time = 0;
  for (const SyntheticStudent& student : students) {
    const int term = first_term(student, course);
    if (term == 0 || student.major != catalog.course(course).subject || student.switched_after > 0) continue;
    const bool in_time_here = (term - 1) / 3 <= catalog.conflict->usual_period;
    (student.commuter ? commuters : campus) += 1;
    (student.commuter ? commuters_in_time : campus_in_time) += in_time_here ? 1 : 0;
  }
  ASSERT_GT(commuters, 50);
  EXPECT_GT(campus_in_time / campus, 0.6);
  EXPECT_LT(commuters_in_time / commuters, 0.2);
}

TEST_F(PlantedFacts, SubjectsDrift) {
  const auto share = [&](const std::string& code, int from, int to) {
    double all = 0, of = 0;
    for (const SyntheticStudent& student : students) {
      if (student.cohort < from || student.cohort > to) continue;
      ++all;
      of += student.entry_major == subject_of_code(code) ? 1 : 0;
    }
    return of / all;
  };
  // About 2,600 students on either side; planted 2.4 and 0.55 times over all cohorts, less against the others' growth.
  EXPECT_GT(share("CS", 2015, 2018), 1.5 * share("CS", 2001, 2004));
  EXPECT_LT(share("ENGL", 2015, 2018), 0.8 * share("ENGL", 2001, 2004));
}

TEST_F(PlantedFacts, GroupsDiffer) {
  double courses[2] = {}, whole[2] = {}, health[2] = {}, background[2] = {};
  for (const SyntheticStudent& student : students) {
    background[student.first_generation] += 1;
    health[student.first_generation] += catalog.school_of_subject(student.entry_major) == "Health" ? 1 : 0;
    if (!is_whole(student)) continue;
    whole[student.commuter] += 1;
    courses[student.commuter] += static_cast<double>(student.enrollments.size()) / 4;
  }
  EXPECT_NEAR(courses[1] / whole[1] - courses[0] / whole[0], rates.commuter_load, 0.15);
  EXPECT_GT(health[1] / background[1], 1.25 * health[0] / background[0]);
}

TEST_F(PlantedFacts, UnexpectedCompanyIsKept) {
  const UnexpectedCompany& company = catalog.companies.front();
  const auto& courses = catalog.subject(company.companion_subject)
                            .concentrations[static_cast<std::size_t>(company.companion_concentration)]
                            .courses;
  double of[2] = {}, with[2] = {};
  for (const SyntheticStudent& student : students) {
    if (student.major != company.subject || !is_whole(student)) continue;
    const bool planted = student.concentration == company.concentration;
    of[planted] += 1;
    with[planted] +=
        std::any_of(courses.begin(), courses.end(), [&](Id course) { return first_term(student, course) > 0; }) ? 1 : 0;
  }
  EXPECT_GT(with[1] / of[1], 2 * with[0] / of[0]);
}

TEST_F(PlantedFacts, DetoursPutOffDepth) {
  double depth[2] = {}, whole[2] = {}, steps[2] = {};
  for (const SyntheticStudent& student : students) {
    if (!is_whole(student) || student.major != subject_of_code("CS") || student.switched_after > 0) continue;
    const bool detour = student.detour == 0;
    whole[detour] += 1;
    for (const SyntheticEnrollment& row : student.enrollments) {
      const SyntheticCourse& course = catalog.course(row.course);
      depth[detour] += course.subject == student.major && course.level >= 3 && row.period <= 3 ? 1 : 0;
    }
    for (const DetourStep& step : catalog.detours[0].steps) {
      const int term = first_term(student, step.course);
      steps[detour] += term > 0 && (term - 1) / 3 <= 2 ? 1 : 0;
    }
  }
  ASSERT_GT(whole[1], 30);
  EXPECT_LT(depth[1] / whole[1], 0.6 * depth[0] / whole[0]);
  EXPECT_GT(steps[1] / whole[1], 2 * steps[0] / whole[0]);
}

TEST(SyntheticFiles, HoldWhatTheirColumnsSay) {
  const test::TemporaryFolder folder;
  SyntheticOptions options = small_options();
  options.student_truth = true;
  const SyntheticSummary summary =
      write_synthetic_university(options, folder.path(), Overwrite::refuse, Executor(2)).summary;
  const auto rows = read_table(folder / "enrollments.csv");
  EXPECT_EQ(join(rows[0], ","),
            "student,period,term,course,grade,units,subject,school,major,second_major,entry_major,cohort,admission,"
            "status,residence,first_generation");
  const auto courses = read_table(folder / "courses.csv");
  EXPECT_EQ(join(courses[0], ","),
            "course,label,subject,school,concentration,prerequisites,level,units,first_year,last_year");
  std::map<std::string, std::vector<std::string>> by_name;
  for (std::size_t i = 1; i < courses.size(); ++i) {
    ASSERT_EQ(courses[i].size(), courses[0].size());
    by_name[courses[i][0]] = courses[i];
  }
  for (std::size_t i = 1; i < rows.size(); ++i) {
    ASSERT_EQ(rows[i].size(), rows[0].size()) << i;
    const int year = std::stoi(rows[i][2].substr(0, 4));
    EXPECT_EQ(year, std::stoi(rows[i][11]) + std::stoi(rows[i][1]) - 1);
    const auto course = by_name.find(rows[i][3]);
    ASSERT_NE(course, by_name.end());
    EXPECT_EQ(rows[i][6], course->second[2]);
    EXPECT_EQ(rows[i][7], course->second[3]);
    EXPECT_EQ(rows[i][5], course->second[7]);
    // The renamed course: each name in its own years.
    EXPECT_TRUE(course->second[8].empty() || year >= std::stoi(course->second[8]));
    EXPECT_TRUE(course->second[9].empty() || year <= std::stoi(course->second[9]));
  }
  EXPECT_EQ(static_cast<std::int64_t>(rows.size()) - 1, summary.enrollments);
  EXPECT_EQ(static_cast<std::int64_t>(read_table(folder / "students.csv").size()) - 1, summary.students);
}

TEST(SyntheticFiles, BothNamesOfTheRenamedCourseAreTaken) {
  const test::TemporaryFolder folder;
  write_synthetic_university(small_options(), folder.path(), Overwrite::refuse, Executor(2));
  const auto truth = nlohmann::json::parse(read_text_file(folder / "truth.json")).at("renamed_course");
  std::set<std::string> names;
  for (const auto& row : read_table(folder / "enrollments.csv"))
    names.insert(row.at(3));
  EXPECT_TRUE(names.contains(truth.at("old").get<std::string>()));
  EXPECT_TRUE(names.contains(truth.at("new").get<std::string>()));
}

TEST(SyntheticFiles, TheTruthIsThatOfTheCatalogAndNamesNoStudent) {
  const test::TemporaryFolder folder;
  const SyntheticSummary summary =
      write_synthetic_university(small_options(), folder.path(), Overwrite::refuse, Executor(2)).summary;
  const std::string text = read_text_file(folder / "truth.json");
  EXPECT_EQ(text.find("S000"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder / "students.csv"));
  const auto truth = nlohmann::json::parse(text);
  const SyntheticCatalog catalog = make_synthetic_catalog(small_options());
  std::size_t listed = 0, tacit = 0;
  for (const SyntheticCourse& course : catalog.courses) {
    listed += course.prerequisites.size();
    tacit += course.tacit_prerequisite >= 0 ? 1 : 0;
  }
  EXPECT_EQ(truth.at("prerequisites").at("listed").size(), listed);
  EXPECT_EQ(truth.at("prerequisites").at("tacit").size(), tacit);
  EXPECT_EQ(truth.at("majors").size(), catalog.subjects.size());
  std::int64_t students = 0;
  for (const auto& major : truth.at("majors")) {
    for (const auto& concentration : major.at("concentrations"))
      students += concentration.at("students").get<std::int64_t>();
  }
  EXPECT_EQ(students, summary.students);
  EXPECT_EQ(truth.at("scheduling_conflict").at("course"), catalog.course(catalog.conflict->course).name);
  EXPECT_EQ(truth.at("realised").at("enrollments"), summary.enrollments);
  EXPECT_EQ(truth.at("rates").at("withdrawal"), SyntheticRates{}.withdrawal);
  EXPECT_EQ(truth.at("enrollments_digest"), file_digest(folder / "enrollments.csv"));
}

TEST(SyntheticFiles, NothingIsReplacedWithoutLeave) {
  const test::TemporaryFolder folder;
  write_text_file(folder / "truth.json", "mine", Overwrite::refuse);
  EXPECT_TRUE(test::says(test::message_of<FileError>([&] {
                           write_synthetic_university(small_options(), folder.path(), Overwrite::refuse, Executor(2));
                         }),
                         {"truth.json", "--force"}));
  EXPECT_EQ(read_text_file(folder / "truth.json"), "mine");
  EXPECT_FALSE(std::filesystem::exists(folder / "enrollments.csv"));
  double last = 0;
  write_synthetic_university(small_options(), folder.path(), Overwrite::allow, Executor(2),
                             [&](const ProgressEvent& event) { last = event.fraction; });
  EXPECT_EQ(last, 1);
  EXPECT_NE(read_text_file(folder / "truth.json"), "mine");
}

}  // namespace
}  // namespace desirepath::synthetic_university_test
