// Delays where nothing is late, and pairs of courses that students took together.
#include "desirepath/queries/delays.h"

#include "support/example_cohorts.h"
#include "support/worlds.h"

namespace desirepath::delays_test {
namespace {

JudgedStudent student_with(std::int64_t number, Id first_of_0, Id first_of_1) {
  return {number, {{0, first_of_0, {0.5, 0.5}}, {1, first_of_1, {0.5, 0.5}}}, {}};
}

TEST(Delays, StudentsOfOnePeriodTookEverythingTogether) {
  // 40 students have the two courses in different periods, half of them either way round. 30 are enrolled in one period
  // only, 20 of them in both courses.
  std::vector<std::vector<std::string>> records;
  std::vector<JudgedStudent> students;
  for (int s = 0; s < 40; ++s) {
    records.push_back(s % 2 == 0 ? std::vector<std::string>{"10", "01"} : std::vector<std::string>{"01", "10"});
    students.push_back(student_with(s, s % 2, 1 - s % 2));
  }
  for (int s = 0; s < 30; ++s) {
    const std::string taken = s < 10 ? "10" : "11";
    records.push_back(s % 2 == 0 ? std::vector<std::string>{taken, "-"} : std::vector<std::string>{"-", taken});
  }
  const Cohort cohort = test::cohort_of(test::small_schema(2, 2), records);
  ASSERT_EQ(find_apart(students, 2, Disclosure(10)).size(), 1U);
  EXPECT_EQ(one_period_students(cohort, 20, RandomStream(1)).size(), 15U);  // as if half of the others were judged
  const std::vector<JudgedStudent> single = one_period_students(cohort, 40, RandomStream(1));
  ASSERT_EQ(single.size(), 30U);
  students.insert(students.end(), single.begin(), single.end());
  EXPECT_TRUE(find_apart(students, 2, Disclosure(10)).empty());  // 20 of 60 have both in one period, 40 are expected to
  students.erase(students.end() - 10, students.end());
  const auto apart = find_apart(students, 2, Disclosure(10));
  ASSERT_EQ(apart.size(), 1U);
  EXPECT_EQ(apart[0].both, 50);
  EXPECT_EQ(apart[0].together, 10);
  EXPECT_EQ(apart[0].a_first, 20);
  EXPECT_NEAR(apart[0].expected, 30, 1e-12);
}

TEST(Delays, ARetakeInThePeriodOfTheOtherCourseIsTogether) {
  std::vector<JudgedStudent> students;
  for (int s = 0; s < 40; ++s) {
    students.push_back(student_with(s, s % 2, 1 - s % 2));
    if (s % 2 == 0 && s < 16) students.back().courses[0].again = {1};
  }
  const auto apart = find_apart(students, 2, Disclosure(10));
  ASSERT_EQ(apart.size(), 1U);
  EXPECT_EQ(apart[0].together, 8);
  EXPECT_EQ(apart[0].a_first, 12);
}

TEST(Delays, NumbersOfStudentsTellOfNoFewBesideThoseOfAll) {
  // 40 students are enrolled in both periods, half of them here and half there; all take both courses. Further students
  // are enrolled in one period, of whom some take the first.
  const auto asked = [](int once, int takers, bool by) {
    std::vector<std::vector<std::string>> records;
    std::vector<JudgedStudent> judged;
    StudentGroups groups;
    if (by) groups.names = {"here", "there"};
    for (int s = 0; s < 40 + once; ++s) {
      const bool is_judged = s < 40;
      records.push_back(is_judged ? std::vector<std::string>{"10", "01"}
                                  : std::vector<std::string>{s < 40 + takers ? "10" : "00", "-"});
      if (is_judged) judged.push_back({s, {{0, s % 2, {0.5, 0.5}}, {1, 1, {0.5, 0.5}}}, {}});
      groups.of_student.push_back(s % 2);
    }
    const Cohort cohort = test::cohort_of(test::small_schema(2, 2), records);
    auto delays = find_delays(judged, by ? groups.of_student : std::vector<Id>(), groups.names, 2, Disclosure(10));
    disclose_students(delays, judged, cohort, groups, Disclosure(10));
    std::vector<char> disclosed(2, -1);
    for (const GroupDelay& delay : delays)
      disclosed[static_cast<std::size_t>(delay.course)] = delay.students_disclosed ? 1 : 0;
    disclosed.push_back(disclosed_judged(std::ssize(judged), cohort, Disclosure(10)) ? 1 : 0);
    return disclosed;
  };
  EXPECT_EQ(asked(0, 0, false), (std::vector<char>{1, 1, 1}));
  EXPECT_EQ(asked(30, 0, false), (std::vector<char>{1, 1, 1}));
  EXPECT_EQ(asked(30, 7, false), (std::vector<char>{0, 1, 1}));  // 47 takers among all
  EXPECT_EQ(asked(30, 15, false), (std::vector<char>{1, 1, 1}));
  EXPECT_EQ(asked(7, 0, false), (std::vector<char>{0, 0, 0}));  // 7 who did not, 7 of one period
  EXPECT_EQ(asked(30, 15, true)[0], 0);                         // 7 or 8 in each group
  EXPECT_EQ(asked(60, 40, true)[0], 1);
}

TEST(Delays, AreNoneOnTheModelsOwnDraws) {
  // Ten models with retakes, twelve courses each: one interval in twenty leaves zero out. More than 13 of 120 would be
  // so for 3 seeds in 1,000; the seeds are fixed.
  constexpr std::int64_t students = 300;
  const auto cases = test::chain_cases({"nb"});
  const auto tree = std::ranges::find_if(
      cases, [](const test::ChainCase& one) { return !one.left && one.truth->family == "hidden-tree"; });
  ASSERT_TRUE(tree != cases.end());
  const Executor executor(2);
  int courses = 0, without_zero = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const HiddenChain model = test::random_chain("nb", *tree->truth, 12, 3, 2, false, RandomStream(seed));
    EvidenceBuilder nothing(3, 12);
    for (std::int64_t s = 0; s < students; ++s) {
      nothing.begin_student(std::to_string(s));
      for (Id t = 0; t < 3; ++t)
        nothing.add({});
    }
    const EvidenceBatch drawn = model.complete(std::move(nothing).build(), RandomStream(seed).child("draws"), executor);
    std::vector<std::vector<Id>> records(students);
    for (std::int64_t s = 0; s < students; ++s) {
      for (Id t = 0; t < 3; ++t) {
        for (const Id bit : drawn.taken(s, t))
          records[static_cast<std::size_t>(s)].push_back(bit);
      }
    }
    const Cohort cohort = test::cohort_of_bits(model.schema(), records);
    const auto judged = judge_timings(model, cohort, students, false, RandomStream(seed), executor);
    for (const GroupDelay& delay : find_delays(judged, {}, {}, 12, Disclosure(10))) {
      ++courses;
      without_zero += delay.certain() > 0 ? 1 : 0;
    }
  }
  EXPECT_EQ(courses, 120);
  EXPECT_LE(without_zero, 13);
  RecordProperty("without_zero", without_zero);
}

}  // namespace
}  // namespace desirepath::delays_test
