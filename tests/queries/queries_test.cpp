// Questions through the catalog, on few bits, against enumeration of all worlds.
#include <cmath>
#include <set>

#include <nlohmann/json.hpp>

#include "support/example_cohorts.h"
#include "support/support.h"
#include "support/worlds.h"

#include "desirepath/core/error.h"
#include "desirepath/queries/company.h"
#include "desirepath/queries/curriculum_text.h"
#include "desirepath/queries/delays.h"
#include "desirepath/queries/evidence_settings.h"
#include "desirepath/queries/pathways.h"
#include "desirepath/queries/plan.h"
#include "desirepath/queries/prerequisites.h"
#include "desirepath/queries/typicality.h"

namespace desirepath::queries_test {
namespace {

using test::World;

class Questions : public testing::TestWithParam<test::ChainCase> {
 protected:
  void SetUp() override {
    auto chain = std::make_unique<HiddenChain>(
        test::random_chain(GetParam().model, *GetParam().truth, 3, 3, 2, GetParam().left, RandomStream(5)));
    worlds_ = test::enumerate_worlds(*chain, *GetParam().truth);
    stored_.model = std::move(chain);
  }
  const Schema& schema() const { return stored_.model->schema(); }
  std::string named(Id course, Id period) const { return schema().course(course).name + "@" + schema().period(period); }
  nlohmann::ordered_json ask(const std::string& query, const SettingValues& settings,
                             const EvidenceBatch* given = nullptr) const {
    for (const Query& entry : query_catalog()) {
      if (entry.name == query)
        return entry.ask({stored_, nullptr, given, settings, false, false, RandomStream(1), executor_}).to_json();
    }
    throw OptionError("no such query");
  }
  /// P(what | evidence), over worlds.
  template <class What>
  double truth(const EvidenceBatch& evidence, std::int64_t student, const What& what) const {
    double all = 0, some = 0;
    for (const World& world : worlds_) {
      if (!test::agrees(world, evidence, student)) continue;
      all += world.probability;
      some += what(world) ? world.probability : 0;
    }
    return some / all;
  }

  StoredModel stored_;
  std::vector<World> worlds_;
  Executor executor_{2};
};

TEST_P(Questions, InferEqualsEnumeration) {
  const SettingValues settings = {{"took", std::vector<std::string>{named(0, 0)}},
                                  {"not", std::vector<std::string>{named(1, 0), named(2, 1)}}};
  const auto json = ask("infer", settings);
  EvidenceBuilder builder(3, 3);
  builder.begin_student("anyone");
  builder.add({Presence::unknown, {schema().bit(0, 0)}, {schema().bit(0, 1)}});
  builder.add({Presence::unknown, {}, {schema().bit(1, 2)}});
  builder.add({});
  const EvidenceBatch known = std::move(builder).build();
  ASSERT_EQ(json["courses"].size(), 9U);
  for (const auto& row : json["courses"]) {
    const Id bit = schema().bit(schema().require_period(row["period"].get<std::string>()),
                                schema().require_course(row["course"].get<std::string>()));
    EXPECT_NEAR(row["probability"].get<double>(),
                truth(known, 0, [&](const World& world) { return world.taken[static_cast<std::size_t>(bit)]; }), 1e-10);
  }
  EXPECT_EQ(json.contains("left"), GetParam().left);
  if (!GetParam().left) return;
  ASSERT_EQ(json["left"].size(), 1U);  // only of the last period nothing is known
  EXPECT_NEAR(json["left"][0]["probability"].get<double>(),
              truth(known, 0, [](const World& world) { return world.left[2]; }), 1e-10);
}

TEST_P(Questions, InferExplainsByWhatChangesWithoutEachThingKnown) {
  const SettingValues settings = {{"took", std::vector<std::string>{named(0, 0)}},
                                  {"not", std::vector<std::string>{named(1, 0), named(2, 1)}},
                                  {"explain", std::int64_t{9}}};
  const auto json = ask("infer", settings);
  // Known: one course of the first period, and something not taken in each of two.
  const auto known = [&](bool course, bool rest_of_first, bool rest_of_second) {
    EvidenceBuilder builder(3, 3);
    builder.begin_student("anyone");
    PeriodEvidence first, second;
    if (course) first.taken = {schema().bit(0, 0)};
    if (rest_of_first) first.exceptions = {schema().bit(0, 1)};
    if (rest_of_second) second.exceptions = {schema().bit(1, 2)};
    builder.add(first);
    builder.add(second);
    builder.add({});
    return std::move(builder).build();
  };
  const auto odds = [](double p) { return std::log(p) - std::log1p(-p); };
  std::set<std::string> seen;
  double last = 0;
  std::string last_asked;
  for (const auto& row : json["reasons"]) {
    const Id bit = schema().bit(schema().require_period(row["period"].get<std::string>()),
                                schema().require_course(row["course"].get<std::string>()));
    const bool is_course = !row["known_course"].is_null();
    const bool is_first = row["known_period"] == schema().period(0);
    const auto p = [&](const EvidenceBatch& evidence) {
      return truth(evidence, 0, [&](const World& world) { return world.taken[static_cast<std::size_t>(bit)]; });
    };
    const double with = p(known(true, true, true)),
                 without = p(known(!is_course, is_course || !is_first, is_course || is_first));
    EXPECT_NEAR(row["probability"].get<double>(), with, 1e-10);
    EXPECT_NEAR(row["without"].get<double>(), without, 1e-10);
    const double change = row["log_odds"].get<double>();
    if (with > 0 && with < 1) {
      EXPECT_NEAR(change, odds(with) - odds(without), 1e-8);
    }
    const std::string asked = row["period"].get<std::string>() + row["course"].get<std::string>();
    if (asked == last_asked) {
      EXPECT_LE(std::abs(change), last);
    }
    last = std::abs(change);
    last_asked = asked;
    seen.insert(row["known_period"].get<std::string>() + (is_course ? "a course" : "the rest"));
  }
  EXPECT_EQ(seen.size(), 3U);
  EXPECT_GE(json["reasons"].size(), 18U);
}

TEST_P(Questions, SampleDrawsTheJointDistribution) {
  constexpr int draws = 20'000;
  const SettingValues settings = {{"took", std::vector<std::string>{named(0, 0)}}, {"count", std::int64_t{draws}}};
  const auto json = ask("sample", settings);
  std::vector<std::vector<bool>> drawn(draws, std::vector<bool>(9, false));
  for (const auto& row : json["rows"]) {
    if (row["course"].get<std::string>().empty()) continue;
    const Id bit = schema().bit(schema().require_period(row["period"].get<std::string>()),
                                schema().require_course(row["course"].get<std::string>()));
    drawn[std::stoul(row["student"].get<std::string>()) - 1][static_cast<std::size_t>(bit)] = true;
  }
  EvidenceBuilder builder(3, 3);
  builder.begin_student("anyone");
  builder.add({Presence::unknown, {0}, {}});
  builder.add({});
  builder.add({});
  const EvidenceBatch known = std::move(builder).build();
  for (std::size_t a = 0; a < 9; ++a) {
    for (std::size_t b = a; b < 9; ++b) {  // pairs: a sampler with right margins and wrong ties fails here
      const double expected = truth(known, 0, [&](const World& world) { return world.taken[a] && world.taken[b]; });
      double found = 0;
      for (const auto& row : drawn)
        found += row[a] && row[b] ? 1.0 / draws : 0;
      EXPECT_NEAR(found, expected, 4.5 * std::sqrt(expected * (1 - expected) / draws) + 1e-12) << a << ' ' << b;
    }
  }
}

TEST_P(Questions, SurprisesAreGivenTheRest) {
  const EvidenceBatch known = test::random_evidence(schema(), 12, GetParam().left, RandomStream(3).child("evidence"));
  const Vector usual = Vector::Ones(9);
  int surprises = 0;
  for (std::int64_t s = 0; s < 12; ++s) {
    double last = 0;
    for (const Surprise& surprise : find_surprises(*stored_.model, known, s, usual, executor_)) {
      EXPECT_GE(surprise.probability, last);
      last = surprise.probability;
      ++surprises;
      EvidenceBuilder rest(3, 3);
      rest.begin_student({});
      for (Id t = 0; t < 3; ++t) {
        PeriodEvidence period = PeriodEvidence::of(known, s, t);
        EXPECT_TRUE(t != schema().period_of(surprise.bit) || period.known(surprise.bit) == surprise.taken);
        if (t == schema().period_of(surprise.bit)) period.set(surprise.bit, std::nullopt);
        rest.add(period);
      }
      const EvidenceBatch without = std::move(rest).build();
      EXPECT_NEAR(surprise.probability,
                  truth(without, 0,
                        [&](const World& world) {
                          return world.taken[static_cast<std::size_t>(surprise.bit)] == surprise.taken;
                        }),
                  1e-9);
    }
  }
  EXPECT_GT(surprises, 12);
}

TEST_P(Questions, PrerequisitesAreDifferencesOfProbabilities) {
  // Two periods: the course before stands in the first for everybody, so no period is drawn.
  const HiddenChain chain =
      test::random_chain(GetParam().model, *GetParam().truth, 3, 2, 2, GetParam().left, RandomStream(8));
  const std::vector<World> worlds = test::enumerate_worlds(chain, *GetParam().truth);
  const std::vector<std::vector<Id>> records = {{0, 4}, {0, 1, 5}, {1}, {0, 4, 5}, {2, 4}};
  const Cohort cohort = test::cohort_of_bits(chain.schema(), records);
  std::vector<std::vector<Id>> often;  // fewer are told nowhere
  for (int i = 0; i < 5; ++i)
    often.insert(often.end(), records.begin(), records.end());
  PrerequisiteOptions options;
  options.disclosure = Disclosure(5);
  const auto pairs =
      find_prerequisites(chain, test::cohort_of_bits(chain.schema(), often), options, RandomStream(1), executor_);
  const auto chance = [&](std::size_t s, Id p, bool with, Id c) {
    double all = 0, some = 0;
    for (const World& world : worlds) {
      bool fits = !world.left[0];
      for (Id bit = 0; bit < 3; ++bit) {
        const bool own = std::ranges::find(records[s], bit) != records[s].end();
        fits = fits && world.taken[static_cast<std::size_t>(bit)] == (bit == p ? with : own);
      }
      if (!fits) continue;
      all += world.probability;
      some += world.taken[static_cast<std::size_t>(3 + c)] ? world.probability : 0;
    }
    return some / all;
  };
  bool seen = false;
  for (const PrerequisitePair& pair : pairs) {
    if (pair.prerequisite != 0 || pair.course != 1) continue;
    seen = true;
    double mean = 0;
    for (std::size_t s = 0; s < records.size(); ++s)
      mean += (chance(s, 0, true, 1) - chance(s, 0, false, 1)) / static_cast<double>(records.size());
    EXPECT_EQ(pair.takers, 25);
    EXPECT_EQ(pair.before, 10);  // another five took both at once
    EXPECT_DOUBLE_EQ(pair.coverage, 0.4);
    EXPECT_EQ(pair.asymmetry, 1);
    EXPECT_NEAR(pair.effect, mean, 1e-10);
  }
  EXPECT_TRUE(seen);
  // The direct effects by their definition: residuals of the second period on the first, centred by their variance.
  const auto expected = [&](std::size_t s, Id c) {
    double all = 0, some = 0;
    for (const World& world : worlds) {
      bool fits = !world.left[0] && !world.left[1];
      for (Id bit = 0; bit < 3; ++bit)
        fits = fits &&
               world.taken[static_cast<std::size_t>(bit)] == (std::ranges::find(records[s], bit) != records[s].end());
      if (!fits) continue;
      all += world.probability;
      some += world.taken[static_cast<std::size_t>(3 + c)] ? world.probability : 0;
    }
    return some / all;
  };
  const DirectEffects effects = direct_effects(chain, cohort, 100, RandomStream(1), executor_);
  EXPECT_EQ(effects.students, 5);
  int compared = 0;
  for (Id p = 0; p < 3; ++p) {
    for (Id c = 0; c < 3; ++c) {
      std::vector<double> had, residual, variance, shares;
      for (std::size_t s = 0; s < records.size(); ++s) {
        const auto has = [&](Id bit) { return std::ranges::find(records[s], bit) != records[s].end(); };
        if (has(c)) continue;
        const double share = expected(s, c);
        had.push_back(has(p) ? 1 : 0);
        residual.push_back((has(3 + c) ? 1 : 0) - share);
        variance.push_back(share * (1 - share));
        shares.push_back(share);
      }
      double mean = 0, weight = 0, score = 0, information = 0, spread = 0, takers = 0;
      for (std::size_t i = 0; i < had.size(); ++i) {
        mean += had[i] * variance[i];
        weight += variance[i];
      }
      mean /= weight;
      for (std::size_t i = 0; i < had.size(); ++i) {
        score += (had[i] - mean) * residual[i];
        information += (had[i] - mean) * (had[i] - mean) * variance[i];
        spread += std::pow((had[i] - mean) * residual[i], 2);
        takers += had[i] * shares[i];
      }
      EXPECT_NEAR(effects.expected(p, c), takers, 1e-8) << p << " " << c;
      if (information < 1e-9) continue;
      ++compared;
      EXPECT_NEAR(effects.log_odds(p, c), score / information, 1e-8) << p << " " << c;
      EXPECT_NEAR(effects.error(p, c), std::sqrt(std::max(spread, information)) / information, 1e-8) << p << " " << c;
    }
  }
  EXPECT_GE(compared, 4);
}

TEST_P(Questions, PlansEqualEnumeration) {
  // Known: a course of the first period, and one not taken. The goals: a bit of the last period, and a course any time.
  EvidenceBuilder builder(3, 3);
  builder.begin_student("s");
  PeriodEvidence first;
  first.set(0, true);
  first.set(1, false);
  builder.add(first);
  builder.add({});
  builder.add({});
  const EvidenceBatch known = std::move(builder).build();
  const auto taken = [](const World& world, Id bit) { return bool(world.taken[static_cast<std::size_t>(bit)]); };
  const std::vector<PlanGoal> goals = {{{8}, {}}, {{8}, {{4, 7}}}, {{}, {{4, 7}}}, {{}, {{4, 7}, {3, 6}, {5}}}};
  for (const PlanGoal& goal : goals) {
    const PlanTask task{known, goal, 1, Conditioning::exact};
    const auto reached = [&](const World& world) {
      const auto has = [&](Id bit) { return taken(world, bit); };
      return std::ranges::all_of(goal.all, has) &&
             std::ranges::all_of(goal.any, [&](const auto& group) { return std::ranges::any_of(group, has); });
    };
    const Plan plan = make_plan(*stored_.model, task, executor_);
    EXPECT_NEAR(plan.chance, truth(known, 0, reached), 1e-9);
    EXPECT_EQ(plan.steps.size(), 3U);
    for (const PlanStep& step : plan.steps) {
      const Id bit = 3 + step.course;
      const double own = truth(known, 0, [&](const World& world) { return taken(world, bit); });
      const double both = truth(known, 0, [&](const World& world) { return taken(world, bit) && reached(world); });
      EXPECT_NEAR(step.chance, own, 1e-9);
      EXPECT_NEAR(step.with, both / own, 1e-8);
      EXPECT_NEAR(step.without, (plan.chance - both) / (1 - own), 1e-8);
    }
    for (std::size_t i = 1; i < plan.steps.size(); ++i)
      EXPECT_GE(plan.steps[i - 1].raises(), plan.steps[i].raises());
  }
  // One way is all pathways: its shares are the chances given known and goal, within four standard errors.
  PlanTask task{known, {{8}, {}}, 1, Conditioning::exact};
  const auto ways = find_ways(*stored_.model, task, 4000, 1, RandomStream(3), executor_);
  ASSERT_EQ(ways.size(), 1U);
  EXPECT_EQ(ways[0].share, 1);
  EXPECT_GE(ways[0].courses.size(), 1U);
  for (const PlanWay::Entry& entry : ways[0].courses) {
    const double reached = truth(known, 0, [&](const World& world) { return taken(world, 8); });
    const double p =
        truth(known, 0, [&](const World& world) { return taken(world, 8) && taken(world, entry.bit); }) / reached;
    EXPECT_NEAR(entry.share, p, 4 * std::sqrt(p * (1 - p) / 4000) + 1e-9);
  }
}

TEST_P(Questions, TimingsAreJudgedByTheOtherCourses) {
  // Three courses in five parts: each is judged alone, by all others. The last student is away in the second period.
  const std::vector<std::vector<Id>> records = {{0, 4, 8}, {1, 3, 5, 6}, {2, 6}, {4, 5, 7}, {0, 2, 7}};
  const auto is_away = [](std::int64_t s, Id t) { return s == 4 && t == 1; };
  const Cohort cohort = test::changed(test::cohort_of_bits(schema(), records),
                                      [](CohortParts& parts) { parts.status[4 * 3 + 1] = EnrollmentStatus::unknown; });
  const auto judged = judge_timings(*stored_.model, cohort, 100, true, RandomStream(2), executor_);
  ASSERT_EQ(judged.size(), records.size());
  for (const JudgedStudent& student : judged) {
    const std::vector<Id>& own = records[static_cast<std::size_t>(student.student)];
    const auto has = [&](Id bit) { return std::ranges::find(own, bit) != own.end(); };
    for (Id c = 0; c < 3; ++c) {
      std::vector<double> chance(3, 0), first(3, 0);  // of an enrollment; of the first one
      double all = 0;
      for (const World& world : worlds_) {
        bool fits = !world.left[2];
        for (Id bit = 0; bit < 9; ++bit) {
          fits = fits && (bit % 3 == c || is_away(student.student, bit / 3) ||
                          world.taken[static_cast<std::size_t>(bit)] == has(bit));
        }
        if (!fits) continue;
        all += world.probability;
        bool before = false;
        for (Id t = 0; t < 3; ++t) {
          if (is_away(student.student, t) || !world.taken[static_cast<std::size_t>(3 * t + c)]) continue;
          chance[static_cast<std::size_t>(t)] += world.probability;
          first[static_cast<std::size_t>(t)] += before ? 0 : world.probability;
          before = true;
        }
      }
      for (Id t = 0; t < 3; ++t)
        EXPECT_NEAR(student.probability[static_cast<std::size_t>(3 * t + c)], chance[static_cast<std::size_t>(t)] / all,
                    1e-6);
      const auto found = std::ranges::find(student.courses, c, &JudgedCourse::course);
      ASSERT_EQ(found != student.courses.end(), has(c) || has(3 + c) || has(6 + c));
      if (found == student.courses.end()) continue;
      EXPECT_EQ(found->first, has(c) ? 0 : has(3 + c) ? 1 : 2);
      const double taken = first[0] + first[1] + first[2];
      for (std::size_t t = 0; t < 3; ++t)
        EXPECT_NEAR(found->chance[t], first[t] / taken, 1e-8);
      EXPECT_NEAR(found->expected(), (first[1] + 2 * first[2]) / taken, 1e-8);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, Questions, testing::ValuesIn(test::chain_cases({"nb", "cmm"})),
                         [](const auto& tested) {
                           std::string name = tested.param.model + "_" + tested.param.truth->family +
                                              (tested.param.left ? "_left_" : "_") + std::to_string(tested.index);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(Prerequisites, AreOrderedByTheFirstTimeOfEachCourse) {
  const HiddenChain chain =
      test::random_chain("nb", test::emission_truths().front(), 3, 3, 2, /*left=*/false, RandomStream(8));
  // Course 0, then 1, then 0 again; and some who take 1 before 0.
  std::vector<std::vector<Id>> records(25, {0, 4, 6});
  records.resize(40, {1, 3});
  PrerequisiteOptions options;
  const auto pairs =
      find_prerequisites(chain, test::cohort_of_bits(chain.schema(), records), options, RandomStream(1), Executor(1));
  const auto pair =
      std::ranges::find_if(pairs, [](const PrerequisitePair& one) { return one.prerequisite == 0 && one.course == 1; });
  ASSERT_NE(pair, pairs.end());
  EXPECT_EQ(pair->takers, 40);
  EXPECT_EQ(pair->before, 25);
  EXPECT_DOUBLE_EQ(pair->coverage, 25.0 / 40);
  ASSERT_TRUE(pair->asymmetry);
  EXPECT_DOUBLE_EQ(*pair->asymmetry, (25.0 - 15) / 40);
}

TEST(CurriculumText, LeavesOutWhatWouldCloseACircle) {
  Course calculus{.name = "MATH 51", .label = "Calculus, I"};
  calculus.attributes["units"] = "5";
  const Schema schema({calculus, {.name = "CS 1"}, {.name = "Thesis"}}, {"1", "2"});
  const std::vector<std::pair<Id, Id>> links = {{0, 1}, {1, 2}, {2, 0}, {0, 2}};
  const Curriculum made = curriculum_of(schema, {1, 1, 1}, links, "all");
  EXPECT_EQ(made.left_out, 1);
  EXPECT_TRUE(
      made.text.ends_with("Canonical Name\n1,\"Calculus, I\",MATH,51,,,,5,,\n2,CS 1,CS,1,1,,,0,,\n"
                          "3,Thesis,,Thesis,2;1,,,0,,\n"))
      << made.text;
  // Of a course that may not be named nothing is left, not even a gap in the numbers.
  EXPECT_TRUE(curriculum_of(schema, {1, 0, 1}, links, "all")
                  .text.ends_with("Canonical Name\n1,\"Calculus, I\",MATH,51,2,,,5,,\n2,Thesis,,Thesis,,,,0,,\n"));
}

JudgedStudent judged_student(std::int64_t number, std::vector<std::pair<Id, Id>> firsts) {
  JudgedStudent student{number, {}, {}};
  for (const auto& [course, first] : firsts)
    student.courses.push_back({course, first, {0.5, 0.5}});
  return student;
}

TEST(Delays, AreDifferencesOfMeansBetweenGroups) {
  std::vector<JudgedStudent> students;
  std::vector<Id> group;
  for (int s = 0; s < 40; ++s) {  // the second group a period later, but for one of its ten
    group.push_back(s % 4 == 0 ? 1 : 0);
    students.push_back(judged_student(s, {{0, group.back() == 1 && s != 0 ? 1 : 0}, {1, s < 5 ? 0 : 1}}));
  }
  const auto delays = find_delays(students, group, {"here", "there"}, 2, Disclosure(10));
  ASSERT_EQ(delays.size(), 2U);  // two groups mirror each other: the later one is told
  EXPECT_EQ(delays[0].group, "there");
  EXPECT_EQ(delays[0].own.students, 10);
  EXPECT_EQ(delays[0].others.students, 30);
  EXPECT_NEAR(delays[0].effect(), 0.9, 1e-12);
  EXPECT_NEAR(delays[0].error(), std::sqrt(0.1 / 10), 1e-12);  // 9 of 10: variance 0.1 over n - 1 = 9
  EXPECT_NEAR(delays[0].certain(), 0.9 - 1.96 * 0.1, 1e-12);
  EXPECT_TRUE(find_delays(students, group, {"here", "there"}, 2, Disclosure(11)).empty());
  EXPECT_NEAR(find_delays(students, {}, {}, 2, Disclosure(10))[0].effect(), 0.375,
              1e-12);  // 35 of 40 late by a half, 5 early
}

TEST(Delays, PairsKeptApartByTheScheduleNotByTheirOrder) {
  std::vector<JudgedStudent> students;
  for (int s = 0; s < 40; ++s) {
    const Id first = s % 2;
    // 0 and 1 never together, either way round; 2 is free; 3 always before 4.
    students.push_back(judged_student(s, {{0, first}, {1, 1 - first}, {2, (s / 2) % 2}, {3, 0}, {4, 1}}));
  }
  const auto apart = find_apart(students, 5, Disclosure(10));
  ASSERT_EQ(apart.size(), 1U);
  EXPECT_EQ(std::pair(apart[0].a, apart[0].b), std::pair(0, 1));
  EXPECT_EQ(apart[0].both, 40);
  EXPECT_EQ(apart[0].together, 0);
  EXPECT_NEAR(apart[0].expected, 20, 1e-12);
  EXPECT_NEAR(apart[0].chance(0), std::exp(-20.0), 1e-15);
  EXPECT_NEAR(apart[0].chance(2), std::exp(-20.0) * (1 + 20 + 200), 1e-13);
}

TEST(Delays, OnlyPairsSurelyApartAreTold) {
  // 80 students, half of whom are expected to have two courses together; `together` of them do.
  const auto sure = [](int together, double most_by_chance) {
    std::vector<JudgedStudent> students;
    for (int s = 0; s < 80; ++s)
      students.push_back(judged_student(s, {{0, s % 2}, {1, s < together ? s % 2 : 1 - s % 2}}));
    return surely_apart(students, 2, most_by_chance, Disclosure(10)).size();
  };
  EXPECT_EQ(sure(0, 1e-16), 1U);  // e^-40 = 4e-18
  EXPECT_EQ(sure(0, 1e-18), 0U);
  // Of one to nine nothing is told but that they are at most nine: 4e-9, were 40 expected.
  EXPECT_EQ(sure(1, 5e-9), 1U);
  EXPECT_EQ(sure(1, 3e-9), 0U);
  EXPECT_EQ(sure(12, 3e-7), 1U);  // 2.1e-7
  EXPECT_EQ(sure(12, 2e-7), 0U);
  EXPECT_EQ(sure(20, 1), 0U);  // half of what is expected
}

TEST(Delays, DetoursAreEnrollmentsBeyondThoseExpectedBeforeTheGoal) {
  // Course 2 is the goal, reached in the third period by all but the last five.
  const Schema schema = test::small_schema(4, 3);
  test::CohortMaker made(schema);
  std::vector<JudgedStudent> students;
  for (int s = 0; s < 45; ++s) {
    made.add_student();
    if (s < 38) made.take(0, 0);
    if (s < 30) made.take(1, 0);
    made.take(2, 0);  // with the goal, not before it
    if (s < 20) made.take(0, 1);
    if (s < 9) made.take(1, 3);
    if (s < 40) made.take(2, 2);
    if (s == 39) made.set(1, Presence::unknown);
    JudgedStudent student{s, {{0, 0, {1, 0, 0}}}, std::vector<float>(12, 0.25F)};
    if (s < 40) student.courses.push_back({2, 2, {0.25, 0.25, 0.5}});
    students.push_back(student);
  }
  const auto detours = find_detours(students, made.build(), 2, Disclosure(10));
  // Course 1 is taken as often as expected, course 3 by too few to be told.
  ASSERT_EQ(detours.size(), 1U);
  EXPECT_EQ(detours[0].course, 0);
  EXPECT_EQ(detours[0].taken, 38 + 30);
  EXPECT_EQ(detours[0].students, 38);
  EXPECT_DOUBLE_EQ(detours[0].expected, 79 * 0.25);  // two periods of 40 students, one of them away in one
  EXPECT_DOUBLE_EQ(detours[0].variance, 79 * 0.25 * 0.75);
  EXPECT_DOUBLE_EQ(detours[0].certain(), 68 - 79 * 0.25 - 1.96 * std::sqrt(79 * 0.25 * 0.75));
}

TEST(Company, IsMoreThanTheSubjectsShareSays) {
  // Two subjects of two things each; 100 students have something of both, and 0 with 2 goes further than its share.
  CompanyThings things{{"a", "b", "c", "d"}, {"X", "X", "Y", "Y"}, {}};
  const auto add = [&](int count, std::vector<std::int64_t> own) {
    for (int i = 0; i < count; ++i)
      things.of_student.push_back(own);
  };
  add(40, {0, 2});
  add(10, {0, 3});
  add(10, {1, 2});
  add(40, {1, 3});
  add(50, {0});
  add(50, {1});
  add(9, {0, 1});  // of one subject: no company
  const auto pairs = count_company(things);
  ASSERT_EQ(pairs.size(), 4U);                             // those of different subjects
  const double x = 209, share_a = (40 + 10 + 50 + 9) / x;  // of the students of X
  const auto first = std::ranges::find_if(pairs, [](const Company& pair) { return pair.a == 0 && pair.b == 2; });
  ASSERT_NE(first, pairs.end());
  EXPECT_EQ(first->students, 40);
  EXPECT_NEAR(first->expected, 100 * share_a * 0.5, 1e-12);
  EXPECT_NEAR(first->certain_lift(), 40 / first->expected * std::exp(-1.96 / std::sqrt(40.0)), 1e-12);
}

TEST(Pathways, ExpectedPathsAreTheChain) {
  const HiddenChain chain =
      test::random_chain("cmm", test::emission_truths().front(), 3, 3, 2, /*left=*/false, RandomStream(6));
  const HiddenStates& states = *chain.hidden_states();
  const PathCounts counts = expected_paths(states, 1000);
  EXPECT_EQ(counts.size(), 8U);
  double sum = 0;
  for (const auto& [path, count] : counts) {
    sum += count;
    EXPECT_NEAR(count,
                1000 * states.share(0)[path[0]] * states.transition(0)(path[0], path[1]) *
                    states.transition(1)(path[1], path[2]),
                1e-9);
  }
  EXPECT_NEAR(sum, 1000, 1e-9);
  const StateFlows flows = flows_of(counts, chain, Disclosure(10), {{{0, 1}, "Engineers"}});
  double flowing = 0;
  for (const PathFlow& flow : flows.flows) {
    flowing += flow.students;
    EXPECT_GE(flow.students, 10);
    const PathNode &from = flows.nodes[flow.from], &to = flows.nodes[flow.to];
    EXPECT_NEAR(flow.probability, states.transition(from.step)(from.states[0], to.states[0]), 1e-9);
  }
  EXPECT_GE(flows.flows.size(), 4U);
  EXPECT_NEAR(flowing + flows.withheld, 2000, 1e-9);  // two steps on
  EXPECT_TRUE(std::ranges::any_of(flows.nodes, [](const PathNode& node) { return node.name == "Engineers"; }));
}

TEST(Pathways, SmallStatesAndFlowsAreNotTold) {
  const HiddenChain chain =
      test::random_chain("cmm", test::emission_truths().front(), 3, 2, 3, /*left=*/false, RandomStream(7));
  // State 2 of the first period has 4 students, who take state 1 with them; 7 of the rest go from 0 to 2.
  const StateFlows flows =
      flows_of({{{0, 0}, 60}, {{0, 1}, 25}, {{0, 2}, 7}, {{1, 1}, 30}, {{2, 1}, 4}}, chain, Disclosure(10));
  for (const PathNode& node : flows.nodes)
    EXPECT_GE(node.students, 10) << node.name;
  double disclosed = 0;
  for (const PathFlow& flow : flows.flows) {
    EXPECT_GE(flow.students, 10);
    disclosed += flow.students;
  }
  EXPECT_GE(flows.nodes.size(), 2U);
  EXPECT_GT(disclosed, 0);
  EXPECT_EQ(disclosed + flows.withheld, 126);
  EXPECT_TRUE(flows.withheld == 0 || flows.withheld >= 10);
  for (const StatePath& path : flows.paths)
    EXPECT_GE(path.students, 10);
}

TEST(Pathways, GroupsAreComparedByTheirShares) {
  StateFlows flows;
  flows.periods = {"1"};
  flows.nodes = {{0, {0}, "a", 60}, {0, {1}, "b", 60}};
  std::vector<std::vector<Id>> paths;
  StudentGroups groups{{"here", "there"}, {}};
  for (int s = 0; s < 120; ++s) {
    groups.of_student.push_back(s < 40 ? 1 : 0);
    paths.push_back({s < 30 || (s >= 40 && s < 70) ? 0 : 1});  // 30 of 40 there, 30 of 80 here
  }
  const Executor executor(2);
  const LabelNull null{std::vector<Id>(120, 0), RandomStream(1), executor};
  const auto [shares, found] = compare_groups(flows, paths, groups, Disclosure(10), null, 1);
  ASSERT_EQ(shares.size(), 2U);  // of two groups the larger share is told
  const GroupShare& first = shares[0];
  EXPECT_EQ(first.group, "there");
  EXPECT_EQ(shares[1].group, "here");
  EXPECT_NEAR(first.difference(), 0.75 - 0.375, 1e-12);
  EXPECT_NEAR(first.error(), std::sqrt(0.75 * 0.25 / 40 + 0.375 * 0.625 / 80), 1e-12);
  // Both nodes say the same; so large a difference came in 0.01 % of all permutations.
  EXPECT_EQ(found.findings, 2);
  EXPECT_LT(first.q, 0.005);
  EXPECT_EQ(first.q, shares[1].q);
  // 10 of those there are not in it
  EXPECT_TRUE(compare_groups(flows, paths, groups, Disclosure(11), null, 1).shares.empty());
}

}  // namespace
}  // namespace desirepath::queries_test
