// What chance gives: q-values against their formula, shuffles and permutations against enumeration.
#include "desirepath/queries/chance.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "support/example_cohorts.h"
#include "support/support.h"

#include "desirepath/queries/company.h"
#include "desirepath/queries/enrollment_shuffle.h"
#include "desirepath/queries/label_permutation.h"

namespace desirepath::queries_test {
namespace {

TEST(Chance, MisfitIsByHowMuchTheMiddleIsTooFarFromZero) {
  EXPECT_EQ(misfit({}), 1);
  EXPECT_EQ(misfit({0.1, -0.2, 0.3}), 1);  // no less than it should be
  EXPECT_NEAR(misfit({-2 * 0.6744897501960817, 0.01, 1000}), 2, 1e-12);
}

TEST(Chance, IsTheFormulaWithARunningMinimum) {
  NullCounts counts({5, 1, 3, -infinity, 3});
  counts.add({4, 0.5, 2});
  counts.add({});
  counts.add({3, 6});
  const ChanceOfFindings chance = counts.chance();
  // Null scores at or above 5, 3 and 1: one, three, four; three null data sets.
  EXPECT_DOUBLE_EQ(chance.by_chance[0], 2.0 / 4);
  EXPECT_DOUBLE_EQ(chance.by_chance[2], 4.0 / 4);
  EXPECT_DOUBLE_EQ(chance.by_chance[1], 5.0 / 4);
  EXPECT_DOUBLE_EQ(chance.q[1], 5.0 / 4 / 4);
  EXPECT_DOUBLE_EQ(chance.q[2], 5.0 / 4 / 4);  // 1/3 by itself: not above that of a weaker one
  EXPECT_DOUBLE_EQ(chance.q[4], chance.q[2]);
  EXPECT_DOUBLE_EQ(chance.q[0], 5.0 / 4 / 4);  // 1/2 by itself
  EXPECT_EQ(chance.q[3], 1);
  EXPECT_EQ(chance.cut(0.3).findings, 0);
  EXPECT_EQ(chance.cut(0.4).findings, 4);
  EXPECT_DOUBLE_EQ(chance.cut(0.4).by_chance, 5.0 / 4);
}

TEST(Chance, NothingReachesAFindingThatStandsOut) {
  NullCounts counts({10, 0.1});
  for (int set = 0; set < 99; ++set)
    counts.add({0.5, 0.2});
  const ChanceOfFindings chance = counts.chance();
  EXPECT_DOUBLE_EQ(chance.q[0], 0.01);
  EXPECT_DOUBLE_EQ(chance.q[1], 1.99 / 2);
  EXPECT_EQ(chance.cut(0.05).findings, 1);
  EXPECT_DOUBLE_EQ(chance.cut(0.05).by_chance, 0.01);
}

TEST(Chance, FromPValuesIsBenjaminiAndHochberg) {
  // Their example of 1995: 15 tests, the first four rejected at 0.05.
  const std::vector<double> p = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                                 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
  const ChanceOfFindings chance = chance_from_p_values(p, 15);
  EXPECT_EQ(chance.cut(0.05).findings, 4);
  EXPECT_DOUBLE_EQ(chance.cut(0.05).by_chance, 15 * 0.0095);
  EXPECT_DOUBLE_EQ(chance.q[3], 0.0095 * 15 / 4);
  EXPECT_DOUBLE_EQ(chance.q[4], 0.0201 * 15 / 5);
  EXPECT_DOUBLE_EQ(chance.q[5], 0.0298 * 15 / 7);  // less than its own 0.0695
}

TEST(Chance, IsToldInWordsAndTwoDigits) {
  EXPECT_EQ(rounded_chance(0.012345), 0.012);
  EXPECT_EQ(rounded_chance(123.4), 120);
  EXPECT_EQ(rounded_chance(0), 0);
  EXPECT_NE(chance_words({21, 2.2}, "pair", "pairs").find("21 pairs; about 2 "), std::string::npos);
  EXPECT_EQ(chance_words({21, 0.4}, "pair", "pairs").find("about 0"), std::string::npos);
}

using Rows = std::vector<std::vector<Id>>;

Rows rows_of(const EnrollmentRows& table) {
  Rows rows;
  for (std::size_t r = 0; r < table.row_count(); ++r)
    rows.emplace_back(table.row(r).begin(), table.row(r).end());
  return rows;
}

std::vector<int> takers_of(const Rows& rows, Id courses) {
  std::vector<int> takers(static_cast<std::size_t>(courses), 0);
  for (const auto& row : rows) {
    for (const Id course : row)
      ++takers[static_cast<std::size_t>(course)];
  }
  return takers;
}

/// All tables with the margins of one.
void enumerate(const Rows& like, Id courses, const std::vector<int>& left, Rows& so_far, std::set<Rows>& all) {
  if (so_far.size() == like.size()) {
    if (std::ranges::all_of(left, [](int count) { return count == 0; })) all.insert(so_far);
    return;
  }
  for (unsigned set = 0; set < 1U << courses; ++set) {
    std::vector<Id> row;
    std::vector<int> rest = left;
    for (Id c = 0; c < courses; ++c) {
      if ((set >> c & 1U) == 0) continue;
      row.push_back(c);
      --rest[static_cast<std::size_t>(c)];
    }
    if (row.size() != like[so_far.size()].size() || std::ranges::min(rest) < 0) continue;
    so_far.push_back(row);
    enumerate(like, courses, rest, so_far, all);
    so_far.pop_back();
  }
}

double chi_squared(const Rows& start, const std::set<Rows>& all, int rounds, int draws) {
  std::map<Rows, int> counts;
  for (int i = 0; i < draws; ++i) {
    EnrollmentRows table;
    for (const auto& row : start)
      table.add_row(row);
    table.shuffle(rounds, RandomStream(5).child(static_cast<std::uint64_t>(i)));
    ++counts[rows_of(table)];
  }
  const double expected = static_cast<double>(draws) / static_cast<double>(all.size());
  double sum = 0;
  for (const Rows& rows : all)
    sum += std::pow(counts[rows] - expected, 2) / expected;
  EXPECT_EQ(counts.size(), all.size());
  return sum;
}

TEST(EnrollmentShuffle, EveryTableWithTheMarginsIsEquallyLikely) {
  // An odd number of rows, a row of nobody, unequal loads and popularity.
  for (const Rows& start : {Rows{{0, 1, 2}, {0, 1}, {0}, {}, {1}, {2, 3}}, Rows{{0}, {1}, {2}}, Rows{{0, 1}, {2}},
                            Rows{{0, 1, 2}, {0, 1, 3}, {0, 2}, {3}}}) {
    std::set<Rows> all;
    Rows so_far;
    enumerate(start, 4, takers_of(start, 4), so_far, all);
    ASSERT_GT(all.size(), 2U);
    const int draws = 200 * static_cast<int>(all.size());
    const auto freedom = static_cast<double>(all.size() - 1);
    // Fails by chance once in 100,000 for each.
    const double most = freedom + 4.3 * std::sqrt(2 * freedom) + 12;
    EXPECT_LT(chi_squared(start, all, EnrollmentTable::rounds, draws), most) << all.size();
  }
}

TEST(EnrollmentShuffle, OneRoundIsNotEnoughAndIsNoticed) {
  const Rows start = {{0, 1, 2}, {0, 1}, {0}, {}, {1}, {2, 3}};
  std::set<Rows> all;
  Rows so_far;
  enumerate(start, 4, takers_of(start, 4), so_far, all);
  std::map<Rows, int> counts;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    EnrollmentRows table;
    for (const auto& row : start)
      table.add_row(row);
    table.shuffle(1, RandomStream(5).child(i));
    ++counts[rows_of(table)];
  }
  EXPECT_LT(counts.size(), all.size());
}

/// Students of some periods, each course with a chance of its own.
Cohort random_students(int students, Id courses, Id periods, RandomStream stream, double together = 0) {
  std::vector<Course> list;
  for (Id c = 0; c < courses; ++c) {
    Course course;
    course.name = "C" + std::to_string(c);
    course.subject = "S" + std::to_string(c % 4);
    list.push_back(course);
  }
  std::vector<std::string> names;
  for (Id t = 0; t < periods; ++t)
    names.push_back(std::to_string(t + 1));
  test::CohortMaker made{Schema(list, names)};
  for (int s = 0; s < students; ++s) {
    made.add_student();
    const double load = 0.5 + stream.uniform();
    for (Id t = 0; t < periods; ++t) {
      for (Id c = 0; c < courses; ++c) {
        if (stream.bernoulli(load * (0.05 + 0.25 * static_cast<double>(c) / static_cast<double>(courses))))
          made.take(t, c);
      }
    }
    if (stream.bernoulli(together)) {  // courses of different subjects
      made.take(0, 1);
      made.take(periods - 1, 2);
    }
  }
  return made.build();
}

TEST(EnrollmentShuffle, KeepsLoadsAndPopularityOfEveryPeriod) {
  const Cohort cohort = random_students(120, 12, 3, RandomStream(2));
  for (Id t = 0; t < 3; ++t) {
    EnrollmentRows table;
    Rows before;
    for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
      before.emplace_back();
      for (const Id bit : cohort.bits(s, t))
        before.back().push_back(cohort.schema().course_of(bit));
      table.add_row(before.back());
    }
    table.shuffle(EnrollmentTable::rounds, RandomStream(3));
    const Rows after = rows_of(table);
    ASSERT_EQ(after.size(), before.size());
    EXPECT_EQ(takers_of(after, 12), takers_of(before, 12));
    int unchanged = 0;
    for (std::size_t s = 0; s < after.size(); ++s) {
      EXPECT_EQ(after[s].size(), before[s].size());
      EXPECT_TRUE(std::ranges::is_sorted(after[s]));
      EXPECT_EQ(std::set<Id>(after[s].begin(), after[s].end()).size(), after[s].size());
      unchanged += !before[s].empty() && after[s] == before[s] ? 1 : 0;
    }
    EXPECT_LT(unchanged, 40);
  }
}

TEST(Company, OfShuffledStudentsIsChance) {
  const Executor executor(2);
  int runs_with_findings = 0;
  constexpr std::uint64_t runs = 20;
  for (std::uint64_t run = 0; run < runs; ++run) {
    const Cohort cohort = random_students(150, 16, 2, RandomStream(7).child(run));
    const FoundCompany found = find_company(cohort, Disclosure(10), 0.05, RandomStream(run), executor);
    runs_with_findings += found.found.findings > 0 ? 1 : 0;
    EXPECT_EQ(found.found.findings, std::ssize(found.course_pairs) + std::ssize(found.concentration_pairs));
  }
  EXPECT_LE(runs_with_findings, 4);  // of 20 at 5 %: more in 0.3 % of all cases
}

TEST(Company, PlantedIsFoundForAnyNumberOfThreads) {
  const Cohort cohort = random_students(300, 16, 2, RandomStream(8), /*together=*/0.15);
  const Executor one(1), three(3);
  const FoundCompany found = find_company(cohort, Disclosure(10), 0.05, RandomStream(1), one);
  ASSERT_FALSE(found.course_pairs.empty());
  const Company& first = found.course_pairs.front();
  EXPECT_EQ(std::pair(first.a, first.b), std::pair(1, 2));
  EXPECT_LE(first.q, 0.05);
  EXPECT_LE(found.course_pairs.size(), 3U);
  const FoundCompany again = find_company(cohort, Disclosure(10), 0.05, RandomStream(1), three);
  ASSERT_EQ(again.course_pairs.size(), found.course_pairs.size());
  for (std::size_t i = 0; i < again.course_pairs.size(); ++i) {
    EXPECT_EQ(again.course_pairs[i].q, found.course_pairs[i].q);
    EXPECT_EQ(again.course_pairs[i].expected, found.course_pairs[i].expected);
  }
  EXPECT_EQ(again.found.by_chance, found.found.by_chance);
}

TEST(Company, WithoutSubjectsIsHeldAgainstAllStudents) {
  CompanyThings things{{"a", "b"}, {"a", "b"}, {{0, 1}, {0, 1}, {0}, {1}, {}, {}, {}, {}}};
  const std::vector<Company> pairs = count_company(things);
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs[0].students, 2);
  EXPECT_DOUBLE_EQ(pairs[0].expected, 3.0 * 3 / 8);
}

/// All ways to choose `some` of the numbers first .. first + count - 1.
std::vector<std::vector<std::size_t>> choices(std::size_t first, std::size_t count, int some) {
  std::vector<std::vector<std::size_t>> all;
  for (unsigned set = 0; set < 1U << count; ++set) {
    if (__builtin_popcount(set) != some) continue;
    all.emplace_back();
    for (std::size_t i = 0; i < count; ++i) {
      if ((set >> i & 1U) != 0) all.back().push_back(first + i);
    }
  }
  return all;
}

TEST(LabelPermutation, ScoresHaveUnitVarianceOverAllPermutations) {
  // Two entry years of six students each, three of them of the group: the plain difference and that within years agree.
  const std::vector<double> values = {0.3, -1, 2.5, 0.4, 0, 1, 10, 12, 9.5, 11, 14, 10.2};
  GroupMeasure measure;
  std::vector<std::int64_t> everybody;
  for (std::size_t s = 0; s < values.size(); ++s) {
    everybody.push_back(static_cast<std::int64_t>(s));
    if (values[s] != 0) measure.values.push_back({static_cast<std::int64_t>(s), values[s]});
  }
  double sum = 0;
  int count = 0;
  for (const auto& early : choices(0, 6, 3)) {
    for (const auto& late : choices(6, 6, 3)) {
      LabelledStudents students{std::vector<Id>(12, 1), {}, {"in", "out"}};
      for (std::size_t s = 0; s < 12; ++s)
        students.stratum.push_back(s < 6 ? 0 : 1);
      for (const auto* chosen : {&early, &late}) {
        for (const std::size_t s : *chosen)
          students.group[s] = 0;
      }
      const GroupDifferences differences(students, {everybody}, {measure});
      EXPECT_EQ(differences.score(0, 0), differences.score(0, 1));
      sum += std::pow(differences.score(0, 0), 2);
      ++count;
    }
  }
  EXPECT_EQ(count, 400);
  EXPECT_NEAR(sum / count, 1, 1e-9);
}

TEST(LabelPermutation, SharesAreJudgedAsByCochranMantelAndHaenszel) {
  // By hand, from two tables: 12 of 20 and 9 of 30; 15 of 25 and 10 of 25.
  LabelledStudents students{{}, {}, {"in", "out"}};
  GroupMeasure measure;
  measure.is_share = true;
  std::vector<std::int64_t> everybody;
  const auto add = [&](int count, int ones, Id group, Id stratum) {
    for (int i = 0; i < count; ++i) {
      const auto s = static_cast<std::int64_t>(students.group.size());
      everybody.push_back(s);
      students.group.push_back(group);
      students.stratum.push_back(stratum);
      if (i < ones) measure.values.push_back({s, 1});
    }
  };
  add(20, 12, 0, 0);
  add(30, 9, 1, 0);
  add(25, 15, 0, 1);
  add(25, 10, 1, 1);
  const GroupDifferences differences(students, {everybody}, {measure});
  const double surplus = 12 + 15 - (20 * 21.0 / 50 + 25 * 25.0 / 50);
  const double variance = 20 * 30 * 21 * 29.0 / (50.0 * 50 * 49) + 25 * 25 * 25 * 25.0 / (50.0 * 50 * 49);
  EXPECT_NEAR(differences.score(0, 1), surplus / std::sqrt(variance), 1e-12);
}

TEST(LabelPermutation, WhatFollowsFromTheEntryYearIsNoDifference) {
  // Early students are mostly of one group and mostly late; within a year nothing differs.
  RandomStream stream(4);
  LabelledStudents students{{}, {}, {"in", "out"}};
  GroupMeasure measure;
  std::vector<std::int64_t> everybody;
  for (std::int64_t s = 0; s < 400; ++s) {
    const bool early = s % 2 == 0;
    students.group.push_back(stream.bernoulli(early ? 0.8 : 0.2) ? 0 : 1);
    students.stratum.push_back(early ? 0 : 1);
    measure.values.push_back({s, (early ? 1.0 : 0.0) + stream.normal()});
    everybody.push_back(s);
  }
  const Executor executor(2);
  const auto q_of = [&](const LabelledStudents& labelled) {
    return GroupDifferences(labelled, {everybody}, {measure})
        .chance({{0, 0}}, {labelled.stratum, RandomStream(1), executor})
        .q.front();
  };
  EXPECT_GT(q_of(students), 0.05);
  students.stratum.assign(400, 0);
  EXPECT_LT(q_of(students), 0.002);
}

TEST(LabelPermutation, RandomGroupsDifferInOneRunOfTwenty) {
  // Thirty measures that hang together, three groups: at most 5 % of runs find anything.
  constexpr std::uint64_t runs = 100;
  const Executor executor(2);
  int with_findings = 0;
  for (std::uint64_t run = 0; run < runs; ++run) {
    RandomStream stream = RandomStream(9).child(run);
    LabelledStudents students{{}, {}, {"a", "b", "c"}};
    std::vector<std::int64_t> everybody;
    std::vector<GroupMeasure> measures(30);
    for (std::int64_t s = 0; s < 120; ++s) {
      everybody.push_back(s);
      students.group.push_back(static_cast<Id>(stream.below(3)));
      students.stratum.push_back(static_cast<Id>(s % 3));
      const double shared = stream.normal();
      for (std::size_t m = 0; m < measures.size(); ++m) {
        measures[m].is_share = m % 2 == 0;
        const double value = shared + stream.normal();
        if (m % 2 == 1 || value > 0.5) measures[m].values.push_back({s, m % 2 == 1 ? value : 1});
      }
    }
    std::vector<GroupDifferences::Cell> cells;
    for (std::size_t m = 0; m < measures.size(); ++m) {
      for (std::size_t g = 0; g < 3; ++g)
        cells.push_back({m, g});
    }
    const std::vector<Id> strata = students.stratum;
    const GroupDifferences differences(std::move(students), {everybody}, std::move(measures));
    const auto chance = differences.chance(cells, {strata, RandomStream(run), executor});
    with_findings += chance.findings.cut(0.05).findings > 0 ? 1 : 0;
  }
  EXPECT_LE(with_findings, 12);  // of 100 at 5 %: more in 0.1 % of all cases
}

}  // namespace
}  // namespace desirepath::queries_test
