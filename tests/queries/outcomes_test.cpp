// Questions about attributes, outcomes and enrollment: against likelihoods of what is asked, which the engine's own
// tests hold against all worlds.
#include <algorithm>
#include <cmath>
#include <map>

#include <nlohmann/json.hpp>

#include "support/emission_truths.h"
#include "support/example_cohorts.h"
#include "support/fits.h"
#include "support/support.h"
#include "support/worlds.h"

#include "desirepath/core/error.h"
#include "desirepath/emissions/hidden_tree.h"
#include "desirepath/queries/enrollment_chances.h"
#include "desirepath/queries/evidence_settings.h"
#include "desirepath/queries/plan.h"
#include "desirepath/queries/prerequisites.h"
#include "desirepath/queries/query.h"
#include "desirepath/queries/trait_conditions.h"
#include "desirepath/transcripts/align.h"

namespace desirepath::outcomes_test {
namespace {

using Texts = std::vector<std::string>;
constexpr Id courses = 3, periods = 3;

/// Courses, periods, and in this order residence, the last period, score (numbers) and graduated.
Schema schema_with_traits() {
  const Schema bare = test::small_schema(courses, periods);
  return bare.with_traits({{"residence", TraitKind::attribute, {"campus", "commuter", "other"}, {}, {}},
                           departure_trait(bare.periods()),
                           {"score", TraitKind::attribute, {"up to 2", "over 2 to 3.5", "over 3.5"}, {2, 3.5}, {}},
                           {"graduated", TraitKind::outcome, {"no", "yes"}, {}, "degree is not null"}});
}

Answer ask_of(const StoredModel& stored, const std::string& query, const SettingValues& settings,
              const Cohort* cohort = nullptr, bool students_wanted = false) {
  const Executor executor(2);
  for (const Query& entry : query_catalog()) {
    if (entry.name == query)
      return entry.ask({stored, cohort, nullptr, settings, students_wanted, false, RandomStream(1), executor});
  }
  throw OptionError("no such query");
}

/// A committee with drawn parameters.
class OutcomeQuestions : public testing::Test {
 protected:
  void SetUp() override {
    const Schema schema = schema_with_traits();
    RandomStream stream(7);
    ChainParameters parameters;
    parameters.prior.initial = Vector::Constant(2, 0.5);
    for (const test::EmissionTruth& truth : test::emission_truths()) {
      if (truth.family == HiddenTreeEmission::family_name)
        parameters.emissions.push_back(
            truth.draw(StepLayout::of(TimeStructure::one_step, schema).shape(schema), 2, stream));
    }
    stored_.model = std::make_unique<HiddenChain>(
        ChainIdentity{"hct", "hidden-tree", true, TimeStructure::one_step, schema}, std::move(parameters));
  }
  const Schema& schema() const { return stored_.model->schema(); }
  nlohmann::ordered_json ask(const std::string& query, const SettingValues& settings) const {
    return ask_of(stored_, query, settings).to_json();
  }
  /// One student of whom these courses of the first period are known, and values of traits where they are named.
  EvidenceBatch student(bool took_first, const std::map<Id, TraitValues>& traits = {}) const {
    EvidenceBuilder builder(periods, courses);
    builder.begin_student("anyone");
    PeriodEvidence first;
    if (took_first) first.set(0, true);
    builder.add(first);
    builder.add({});
    builder.add({});
    std::vector<TraitValues> known;
    for (Id i = 0; i < schema().trait_count(); ++i) {
      const auto named = traits.find(i);
      known.push_back(named == traits.end() ? schema().traits()[static_cast<std::size_t>(i)].all() : named->second);
    }
    return std::move(builder).build().with_traits(schema().traits(), known);
  }
  double log_p(const EvidenceBatch& evidence) const {
    return stored_.model->log_likelihood(evidence, LikelihoodKind::mass, executor_).value(0, 0);
  }
  /// P(one | other), where it says more.
  double ratio(const EvidenceBatch& one, const EvidenceBatch& other) const {
    return std::exp(log_p(one) - log_p(other));
  }
  /// The student, who has left by the period.
  EvidenceBatch gone_by(const EvidenceBatch& known, Id period) const {
    EvidenceBuilder builder(known);
    builder.begin_student(known, 0);
    for (Id t = 0; t < periods; ++t)
      builder.add(t < period ? PeriodEvidence::of(known, 0, t) : PeriodEvidence{Presence::left, {}, {}});
    return std::move(builder).build();
  }
  /// The student, who took, or did not take, one more course.
  EvidenceBatch with_bit(const EvidenceBatch& known, Id bit, bool taken) const {
    EvidenceBuilder builder(known);
    builder.begin_student(known, 0);
    for (Id t = 0; t < periods; ++t) {
      PeriodEvidence period = PeriodEvidence::of(known, 0, t);
      if (t == schema().period_of(bit)) period.set(bit, taken);
      builder.add(period);
    }
    return std::move(builder).build();
  }

  StoredModel stored_;
  Executor executor_{2};
};

TEST_F(OutcomeQuestions, AreGivenAttributesAndOutcomes) {
  const auto json = ask("infer", {{"took", Texts{"c1@1"}}, {"given", Texts{"residence=commuter, score=3.5"}}});
  const EvidenceBatch known = student(true, {{0, 2}, {2, 2}});
  ASSERT_EQ(json["courses"].size(), static_cast<std::size_t>(courses * periods));
  for (const auto& row : json["courses"]) {
    const Id bit = schema().bit(schema().require_period(row["period"].get<std::string>()),
                                schema().require_course(row["course"].get<std::string>()));
    EXPECT_NEAR(row["probability"].get<double>(), ratio(with_bit(known, bit, true), known), 1e-9) << bit;
  }
  for (const auto& row : json["left"]) {
    const Id period = schema().require_period(row["period"].get<std::string>());
    EXPECT_NEAR(row["probability"].get<double>(), ratio(gone_by(known, period), known), 1e-9);
  }
}

TEST_F(OutcomeQuestions, ConditionsAreReadWithTheirFaults) {
  const auto read = [&](const Texts& texts) { return parse_conditions(schema(), texts); };
  const auto conditions = read({"residence=commuter,score=9", "graduated = yes"});
  ASSERT_EQ(conditions.size(), 3U);
  EXPECT_EQ(conditions[1].trait, 2);
  EXPECT_EQ(conditions[1].value, 2);
  EXPECT_EQ(conditions[2].value, 1);
  EXPECT_EQ(words_for(schema(), conditions), "residence = commuter and score = over 3.5 and graduated = yes");
  const auto option = [&](const Texts& texts) { return test::message_of<OptionError>([&] { read(texts); }); };
  const auto input = [&](const Texts& texts) { return test::message_of<InputError>([&] { read(texts); }); };
  EXPECT_TRUE(test::says(option({"residence"}), {"--given", "NAME=VALUE"}));
  EXPECT_TRUE(test::says(option({"=x"}), {"--given", "NAME=VALUE"}));
  EXPECT_TRUE(test::says(option({"residence=campus", "residence=commuter"}), {"--given", "residence"}));
  EXPECT_TRUE(test::says(option({"last period=2"}), {"--given", "last period"}));
  EXPECT_TRUE(test::says(input({"residense=campus"}), {"residense", "residence"}));
  EXPECT_TRUE(test::says(input({"residence=campsu"}), {"campsu", "campus", "commuter"}));
  // A comma may be part of a value.
  EXPECT_TRUE(test::says(input({"residence=campus, north,graduated=yes"}), {"campus, north"}));
}

TEST_F(OutcomeQuestions, OutcomesOfAStudentAreConditionalProbabilities) {
  const auto json = ask("infer", {{"took", Texts{"c1@1"}},
                                  {"given", Texts{"residence=campus"}},
                                  {"outcome", Texts{"graduated", "last period", "enrolled"}},
                                  {"period", Texts{"2", "3"}}});
  const EvidenceBatch known = student(true, {{0, 1}});
  ASSERT_EQ(json["outcomes"].size(), 2U + 2 + 3);
  for (const auto& row : json["outcomes"]) {
    const auto outcome = row["outcome"].get<std::string>();
    const double found = row["probability"].get<double>();
    if (outcome == "enrolled") {
      const Id period = schema().require_period(row["period"].get<std::string>());
      EXPECT_NEAR(found, 1 - ratio(gone_by(known, period), known), 1e-9);
    } else if (outcome == "graduated") {
      const TraitValues value = row["value"] == "yes" ? 2 : 1;
      EXPECT_NEAR(found, ratio(student(true, {{0, 1}, {3, value}}), known), 1e-9);
    } else {
      const Id last = schema().require_period(row["value"].get<std::string>());
      const double not_after = last + 1 < periods ? ratio(gone_by(known, last + 1), known) : 1;
      EXPECT_NEAR(found, not_after - (last > 0 ? ratio(gone_by(known, last), known) : 0), 1e-9);
    }
  }
}

TEST_F(OutcomeQuestions, AnAttributeIsAReason) {
  const auto json = ask("infer", {{"took", Texts{"c1@1"}},
                                  {"given", Texts{"residence=campus"}},
                                  {"period", Texts{"2"}},
                                  {"explain", std::int64_t{9}}});
  const EvidenceBatch known = student(true, {{0, 1}}), without = student(true);
  int seen = 0;
  for (const auto& row : json["reasons"]) {
    if (!row.contains("known_trait")) continue;
    ++seen;
    const Id bit = schema().bit(1, schema().require_course(row["course"].get<std::string>()));
    EXPECT_EQ(row["known_trait"], "residence");
    EXPECT_TRUE(row["known_period"].is_null() && row["known_course"].is_null());
    EXPECT_NEAR(row["probability"].get<double>(), ratio(with_bit(known, bit, true), known), 1e-9);
    EXPECT_NEAR(row["without"].get<double>(), ratio(with_bit(without, bit, true), without), 1e-9);
  }
  EXPECT_EQ(seen, courses);
}

TEST_F(OutcomeQuestions, RefuseWhatTheyCannotAnswer) {
  const auto refused = [&](SettingValues settings) {
    settings.emplace("outcome", Texts{"graduated"});
    return test::message_of<OptionError>([&] { ask("infer", settings); });
  };
  EXPECT_TRUE(test::says(refused({{"explain", std::int64_t{2}}}), {"--explain", "--outcome"}));
  EXPECT_TRUE(test::says(refused({{"refits", std::int64_t{20}}}), {"--refits", "--outcome"}));
  EXPECT_TRUE(test::says(refused({{"period", Texts{"2"}}}), {"--period", "enrolled"}));
  EXPECT_TRUE(test::says(refused({{"by", std::string("residence")}}), {"--by", "COHORT"}));
  const auto unknown = test::message_of<InputError>([&] { ask("infer", {{"outcome", Texts{"graduate"}}}); });
  EXPECT_TRUE(test::says(unknown, {"graduate", "graduated", "residence"}));
  EXPECT_TRUE(test::says(test::message_of<OptionError>([&] {
                           ask("infer", {{"by", std::string("residence")}});
                         }),
                         {"--by", "--outcome"}));
}

TEST_F(OutcomeQuestions, PlansReachOutcomes) {
  const SettingValues settings = {{"took", Texts{"c1@1"}},
                                  {"given", Texts{"residence=commuter"}},
                                  {"goal", Texts{"graduated=yes", "c2@3"}},
                                  {"period", std::string("2")},
                                  {"min-probability", 0.0},
                                  {"draws", std::int64_t{2000}},
                                  {"ways", std::int64_t{1}}};
  const auto json = ask("plan", settings);
  // The student is supposed to be enrolled in the second period.
  const auto enrolled = [&](TraitValues graduated) {
    EvidenceBuilder builder(student(true));
    builder.begin_student(student(true, {{0, 2}, {3, graduated}}), 0);
    builder.add(PeriodEvidence{Presence::unknown, {0}, {}});
    builder.add(PeriodEvidence{Presence::present, {}, {3, 4, 5}});
    builder.add({});
    return std::move(builder).build();
  };
  const EvidenceBatch known = enrolled(3), graduates = with_bit(enrolled(2), 7, true);
  EXPECT_NEAR(json["probability"].get<double>(), ratio(graduates, known), 1e-9);
  ASSERT_EQ(json["courses"].size(), static_cast<std::size_t>(courses));
  for (const auto& row : json["courses"]) {
    const Id bit = schema().bit(1, schema().require_course(row["course"].get<std::string>()));
    for (const auto& [taken, field] : {std::pair(true, "goal_with"), std::pair(false, "goal_without")}) {
      EXPECT_NEAR(row[field].get<double>(), ratio(with_bit(graduates, bit, taken), with_bit(known, bit, taken)), 1e-8)
          << bit << field;
    }
  }
  for (const auto& entry : json["ways"][0]["courses"]) {
    const Id bit = schema().bit(schema().require_period(entry["period"].get<std::string>()),
                                schema().require_course(entry["course"].get<std::string>()));
    const double p = ratio(with_bit(graduates, bit, true), graduates);
    EXPECT_NEAR(entry["share"].get<double>(), p, 4 * std::sqrt(p * (1 - p) / 2000) + 1e-9);
  }
}

TEST_F(OutcomeQuestions, SamplesDrawAttributesOutcomesAndWhoLeaves) {
  constexpr std::int64_t count = 4000;
  const auto json = ask("sample", {{"count", count}, {"given", Texts{"residence=commuter"}}, {"took", Texts{"c1@1"}}});
  std::map<std::string, std::string> graduated;
  std::map<std::string, std::set<std::string>> seen;
  for (const auto& row : json["rows"]) {
    const auto who = row["student"].get<std::string>();
    EXPECT_EQ(row["residence"], "commuter");
    EXPECT_TRUE(graduated.emplace(who, row["graduated"].get<std::string>()).first->second == row["graduated"]);
    seen[who].insert(row["period"].get<std::string>());
  }
  ASSERT_EQ(seen.size(), static_cast<std::size_t>(count));
  const EvidenceBatch known = student(true, {{0, 2}});
  const auto near = [&](std::int64_t number, double p) {
    EXPECT_NEAR(static_cast<double>(number) / count, p, 4 * std::sqrt(p * (1 - p) / count));
  };
  near(std::ranges::count_if(graduated, [](const auto& one) { return one.second == "yes"; }),
       ratio(student(true, {{0, 2}, {3, 2}}), known));
  near(std::ranges::count_if(seen, [](const auto& one) { return !one.second.contains("3"); }),
       ratio(gone_by(known, 2), known));
  for (const auto& [who, own] : seen)
    EXPECT_TRUE(own.contains("1") && (own.contains("2") || !own.contains("3")));
}

/// Students of two kinds, who differ in courses, residence, and whether they stay and graduate; a few live elsewhere,
/// and the last hundred are in their first year.
Cohort two_kinds(std::int64_t students, RandomStream stream) {
  test::CohortMaker made(6, 3);
  Attribute home{"residence", {"campus", "commuter"}, {}}, degree{"degree", {"BA"}, {}};
  Attribute few{"hall", {"east", "tiny", "west"}, {}};
  for (std::int64_t s = 0; s < students; ++s) {
    made.add_student();
    const bool stays = stream.bernoulli(0.6), odd = stream.bernoulli(0.1), is_open = s >= students - 100;
    const Id years = stays != odd ? 3 : 1;
    home.codes.push_back(stays ? 0 : 1);
    few.codes.push_back(s < 4 ? 1 : s % 2 == 0 ? 0 : 2);
    degree.codes.push_back(years == 3 && !is_open ? 0 : -1);
    for (Id t = 0; t < 3; ++t) {
      made.set(t, t == 0      ? EnrollmentStatus::enrolled
                  : is_open   ? EnrollmentStatus::not_yet
                  : t < years ? EnrollmentStatus::enrolled
                              : EnrollmentStatus::left);
      for (Id c = 0; c < 6 && (is_open ? t == 0 : t < years); ++c) {
        if (stream.bernoulli((c < 3) == stays ? 0.5 : 0.1)) made.take(t, c);
      }
    }
  }
  CohortParts parts = made.build().parts();
  parts.attributes = {degree, few, home};
  return Cohort(std::move(parts));
}

class OutcomesOfStudents : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const Cohort raw = two_kinds(800, RandomStream(21));
    FitOptions options("hct");
    options.set("trees", 2).set("tree-states", 4).set("iterations", 15).set("tolerance", 0.0);
    options.set("attributes", "residence").set("outcomes", "graduated=degree is not null");
    stored_ = new StoredModel(test::fitted(raw, options));
    cohort_ = new Cohort(align_to(raw, stored_->model->schema(), UnseenCourses::refuse).cohort);
  }
  static void TearDownTestSuite() {
    delete stored_;
    delete cohort_;
  }
  static nlohmann::ordered_json ask(const std::string& query, const SettingValues& settings,
                                    const Cohort& cohort = *cohort_) {
    return ask_of(*stored_, query, settings, &cohort).to_json();
  }
  static std::map<std::string, double> by_student(const nlohmann::ordered_json& json) {
    std::map<std::string, double> found;
    for (const auto& row : json["outcomes"]) {
      if (row["value"] == "yes") found[row["student"].get<std::string>()] = row["probability"].get<double>();
    }
    return found;
  }
  static const StoredModel* stored_;
  static const Cohort* cohort_;
};
const StoredModel* OutcomesOfStudents::stored_ = nullptr;
const Cohort* OutcomesOfStudents::cohort_ = nullptr;

TEST_F(OutcomesOfStudents, WhatIsAskedIsForgottenFirst) {
  const SettingValues asked = {{"outcome", Texts{"graduated"}}, {"known-periods", Texts{"1"}}};
  const auto known = by_student(ask("infer", asked));
  ASSERT_EQ(known.size(), 800U);
  for (const auto& [student, chance] : known)
    EXPECT_TRUE(chance > 0.005 && chance < 0.995) << student;
  // As if nobody's degree were recorded.
  const Cohort without =
      test::changed(*cohort_, [](CohortParts& parts) { parts.attributes.erase(parts.attributes.begin()); });
  EXPECT_EQ(by_student(ask("infer", asked, without)), known);
  // Of courses, too, outcomes say nothing where later periods are not known; attributes do.
  const SettingValues courses_asked = {{"known-periods", Texts{"1"}}, {"period", Texts{"2"}}};
  EXPECT_EQ(ask("infer", courses_asked, without), ask("infer", courses_asked));
  const Cohort homeless = test::changed(*cohort_, [](CohortParts& parts) { parts.attributes.pop_back(); });
  EXPECT_NE(ask("infer", courses_asked, homeless), ask("infer", courses_asked));
  // What is said wins over what is recorded.
  const auto commuters = by_student(
      ask("infer",
          {{"outcome", Texts{"graduated"}}, {"known-periods", Texts{"1"}}, {"given", Texts{"residence=commuter"}}}));
  const auto& home = cohort_->attribute("residence").codes;
  for (std::int64_t s = 0; s < 800; ++s) {
    const std::string& name = cohort_->students()[static_cast<std::size_t>(s)];
    if (home[static_cast<std::size_t>(s)] == 1)
      EXPECT_EQ(commuters.at(name), known.at(name));
    else
      EXPECT_LT(commuters.at(name), known.at(name));
  }
}

TEST_F(OutcomesOfStudents, TotalsAddUpWhatIsExpectedOfEach) {
  const SettingValues each = {
      {"outcome", Texts{"graduated", "enrolled"}}, {"known-periods", Texts{"1"}}, {"period", Texts{"2", "3"}}};
  std::map<std::string, double> sums;
  const auto of_each = ask("infer", each);
  for (const auto& row : of_each["outcomes"])
    sums[row["outcome"].get<std::string>() + row["value"].get<std::string>() +
         (row["period"].is_null() ? "" : row["period"].get<std::string>())] += row["probability"].get<double>();
  SettingValues total = each;
  total["total"] = true;
  total["period"] = Texts{"3"};  // hardly anybody leaves after the second, which both periods together would tell
  const auto json = ask("infer", total);
  ASSERT_EQ(json["outcomes"].size(), 3U);
  for (const auto& row : json["outcomes"]) {
    const double expected = row["expected"].get<double>();
    EXPECT_NEAR(expected,
                sums.at(row["outcome"].get<std::string>() + row["value"].get<std::string>() +
                        (row["period"].is_null() ? "" : row["period"].get<std::string>())),
                1e-7);
    EXPECT_LT(row["low"].get<double>(), expected);
    EXPECT_GT(row["high"].get<double>(), expected);
    EXPECT_EQ(row["of"], 800);
  }
  EXPECT_EQ(json["withheld_outcomes"], 0);
  // The courses' totals expect as many students to be enrolled.
  const auto seats = ask("infer", {{"total", true}, {"known-periods", Texts{"1"}}, {"period", Texts{"2"}}});
  EXPECT_EQ(seats["returning"][0]["expected_enrolled"], std::round(sums.at("enrolledyes2")));
  EXPECT_EQ(seats["all_return"], false);
}

TEST_F(OutcomesOfStudents, GroupsAreTotalsOfTheirStudentsAndSmallOnesAreMerged) {
  const SettingValues settings = {
      {"outcome", Texts{"graduated"}}, {"known-periods", Texts{"1"}}, {"by", std::string("hall")}};
  const auto each = by_student(ask("infer", {{"outcome", Texts{"graduated"}}, {"known-periods", Texts{"1"}}}));
  const auto json = ask("infer", settings);
  std::set<std::string> groups;
  double sum = 0, all = 0;
  for (const auto& [name, chance] : each)
    all += chance;
  for (const auto& row : json["outcomes"]) {
    groups.insert(row["group"].get<std::string>());
    if (row["value"] == "yes") sum += row["expected"].get<double>();
  }
  EXPECT_EQ(groups.size(), 2U);  // four students of a hall are told with those of another
  EXPECT_TRUE(groups.contains("other"));
  EXPECT_FALSE(groups.contains("tiny"));
  EXPECT_NEAR(sum, all, 1e-7);
}

TEST_F(OutcomesOfStudents, FewExpectedStudentsAreWithheld) {
  std::vector<std::int64_t> some;
  for (std::int64_t s = 0; s < 30; ++s)
    some.push_back(s);
  const Cohort cohort = cohort_->select(some);
  const auto each = by_student(ask("infer", {{"outcome", Texts{"graduated"}}}, cohort));
  double graduates = 0;
  for (const auto& [name, chance] : each)
    graduates += chance;
  const auto told = ask("infer", {{"outcome", Texts{"graduated"}}, {"total", true}}, cohort)["outcomes"];
  EXPECT_EQ(told.empty(), graduates < 10 || graduates > 20) << graduates;
  // Of nearly all who stay, those who do not would follow.
  std::vector<std::int64_t> stayed;
  for (std::int64_t s = 0; s < 700 && stayed.size() < 40; ++s) {
    if (cohort_->enrolled(s, 2)) stayed.push_back(s);
  }
  const auto staying =
      ask("infer", {{"outcome", Texts{"graduated"}}, {"total", true}, {"known-periods", Texts{"1", "2", "3"}}},
          cohort_->select(stayed));
  EXPECT_EQ(staying["outcomes"].size(), 0U);
  EXPECT_EQ(staying["withheld_outcomes"], 2);
  test::message_of<PrivacyError>([&] {
    const std::vector<std::int64_t> nine(stayed.begin(), stayed.begin() + 9);
    ask("infer", {{"outcome", Texts{"graduated"}}, {"total", true}}, cohort_->select(nine));
  });
}

TEST_F(OutcomesOfStudents, EnrollmentIsToldInPeriodsThatTellNoFewStudents) {
  // Of 60 students, whose periods are all known, 10 leave after the first period and `later` after the second.
  const auto told = [&](int later) {
    test::CohortMaker made(6, 3);
    for (int s = 0; s < 60; ++s) {
      made.add_student();
      made.take(0, s % 6);
      if (s < 10) made.set(1, Presence::left);
      if (s < 10 + later) made.set(2, Presence::left);
    }
    const Cohort cohort = align_to(made.build(), stored_->model->schema(), UnseenCourses::refuse).cohort;
    const auto json =
        ask("infer", {{"outcome", Texts{"enrolled"}}, {"period", Texts{"1", "2", "3"}}, {"total", true}}, cohort);
    std::map<std::string, double> numbers;
    for (const auto& row : json["outcomes"])
      numbers[row["period"].get<std::string>()] = std::round(1e6 * row["expected"].get<double>()) / 1e6;
    return numbers;
  };
  using Numbers = std::map<std::string, double>;
  EXPECT_EQ(told(20), (Numbers{{"1", 60}, {"2", 50}, {"3", 30}}));
  EXPECT_EQ(told(0), (Numbers{{"1", 60}, {"2", 50}, {"3", 50}}));
  EXPECT_EQ(told(3), (Numbers{{"1", 60}, {"3", 47}}));  // 50 would tell of the 3
}

TEST_F(OutcomesOfStudents, RefitsKnowWhatTheModelKnows) {
  const SettingValues totals = {
      {"total", true}, {"known-periods", Texts{"1"}}, {"period", Texts{"2"}}, {"given", Texts{"residence=commuter"}}};
  SettingValues refitted = totals;
  refitted["refits"] = std::int64_t{2};
  const auto once = ask("infer", totals), again = ask("infer", refitted);
  ASSERT_EQ(once["courses"].size(), again["courses"].size());
  ASSERT_GT(once["courses"].size(), 0U);
  EXPECT_EQ(once["courses"][0]["expected"], again["courses"][0]["expected"]);
  EXPECT_NE(once["courses"][0]["low"], again["courses"][0]["low"]);
}

TEST_F(OutcomesOfStudents, ScoresCountThemOrNot) {
  const auto scores = [&](const std::string& rule) {
    std::vector<double> values;
    const Answer answer = ask_of(*stored_, "score", {{"traits", rule}, {"leave-one-out", std::string("off")}}, cohort_);
    for (const auto& row : answer.chosen_table().to_json())
      values.push_back(row["log_likelihood"].get<double>());
    return values;
  };
  const auto with = scores("on"), without = scores("off");
  const Executor executor(2);
  const auto log_p = [&](const Cohort& students) {
    return stored_->model->log_likelihood(EvidenceBatch::of(students), LikelihoodKind::mass, executor).value;
  };
  const RowMatrix all = log_p(*cohort_);
  const RowMatrix courses_alone = log_p(test::changed(*cohort_, [](CohortParts& parts) { parts.attributes.clear(); }));
  for (std::size_t s = 0; s < with.size(); ++s) {
    EXPECT_NEAR(with[s], all(static_cast<Index>(s), 0), 1e-9);
    EXPECT_NEAR(without[s], courses_alone(static_cast<Index>(s), 0), 1e-9);
    EXPECT_LT(with[s], without[s]);
  }
  const auto both = test::message_of<OptionError>([&] {
    ask("score", {{"traits", std::string("off")}, {"leave-one-out", std::string("on")}});
  });
  EXPECT_TRUE(test::says(both, {"--leave-one-out", "--traits"}));
}

TEST_F(OutcomesOfStudents, PrerequisitesAndDelaysLookAtStudentsOfWhomItHolds) {
  const auto& home = cohort_->attribute("residence").codes;
  const std::int64_t commuters = std::ranges::count(home, 1);
  const SettingValues given = {{"given", Texts{"residence=commuter"}}};
  EXPECT_EQ(ask("prerequisites", given)["students"], commuters);
  EXPECT_EQ(ask("delays", given)["given"], "residence = commuter");
  // The same as for a cohort of them alone, since all of them have the attribute.
  std::vector<std::int64_t> chosen;
  for (std::int64_t s = 0; s < cohort_->student_count(); ++s) {
    if (home[static_cast<std::size_t>(s)] == 1) chosen.push_back(s);
  }
  const Cohort alone = cohort_->select(chosen);
  EXPECT_EQ(ask("prerequisites", given)["pairs"], ask("prerequisites", {}, alone)["pairs"]);
  // Of graduates the model expects what it expects of graduates, not of all.
  const Executor executor(2);
  PrerequisiteOptions options{.students = 50};
  const auto free = find_prerequisites(*stored_->model, alone, options, RandomStream(3), executor);
  options.given = parse_conditions(stored_->model->schema(), {"graduated=yes"});
  const auto graduates = find_prerequisites(*stored_->model, alone, options, RandomStream(3), executor);
  ASSERT_EQ(free.size(), graduates.size());
  double with = 0, without = 0;
  for (std::size_t i = 0; i < free.size(); ++i) {
    without += free[i].without;
    with += graduates[i].without;
  }
  EXPECT_GT(with, 1.2 * without);  // who graduates stays, and takes more
  // Drawn students have what is given too.
  const Executor one(1);
  const QueryInput drawn{*stored_, nullptr, nullptr, given, false, false, RandomStream(1), one};
  for (const Query& query : query_catalog()) {
    if (query.name != "prerequisites") continue;
    EXPECT_EQ(query.ask(drawn).to_json()["students"], 2000);
  }
  const auto refused = test::message_of<InputError>([&] { ask("delays", {{"given", Texts{"hall=east"}}}); });
  EXPECT_TRUE(test::says(refused, {"hall", "residence", "graduated"}));
}

TEST_F(OutcomesOfStudents, FewStudentsWithOrWithoutItAreNotLookedAt) {
  std::vector<std::int64_t> some;
  const auto& home = cohort_->attribute("residence").codes;
  std::int64_t commuters = 0;
  for (std::int64_t s = 0; s < cohort_->student_count(); ++s) {
    const bool commutes = home[static_cast<std::size_t>(s)] == 1;
    if (commutes && ++commuters > 9) continue;
    some.push_back(s);
  }
  const Cohort cohort = cohort_->select(some);
  for (const char* value : {"commuter", "campus"}) {
    test::message_of<PrivacyError>([&] {
      ask("prerequisites", {{"given", Texts{std::string("residence=") + value}}}, cohort);
    });
  }
}

TEST(OutcomesUnknownToAModel, AreRefusedByName) {
  const Cohort cohort = test::random_cohort({.students = 60}, RandomStream(2));
  FitOptions options("nb");
  options.set("states", 2).set("iterations", 5);
  const StoredModel stored = test::fitted(cohort, options);
  const auto graduated = test::message_of<InputError>([&] {
    ask_of(stored, "infer", {{"outcome", Texts{"graduated"}}});
  });
  EXPECT_TRUE(test::says(graduated, {"graduated"}));
  const auto enrolled = test::message_of<OptionError>([&] {
    ask_of(stored, "infer", {{"outcome", Texts{"enrolled"}}});
  });
  EXPECT_TRUE(test::says(enrolled, {"nb"}));
  const auto given = test::message_of<InputError>([&] { ask_of(stored, "infer", {{"given", Texts{"a=b"}}}); });
  EXPECT_TRUE(test::says(given, {"a"}));
}

TEST(OutcomesUnknownToAModel, EnrollmentIsAskedOfModelsWhoseStatesKnowIt) {
  const Cohort cohort = test::random_cohort({.students = 200, .unknown = 0, .left = 0.3}, RandomStream(2));
  FitOptions options("nb");
  options.set("states", 3).set("iterations", 10);
  const StoredModel stored = test::fitted(cohort, options);
  const Executor executor(2);
  const EvidenceBatch anyone = nothing_known(stored.model->schema(), 1);
  const std::vector<Id> asked = {0, 1, 2};
  const RowMatrix enrolled = enrollment_chances(*stored.model, anyone, asked, executor);
  for (const Id t : asked) {
    double there = 0;
    for (std::int64_t s = 0; s < 200; ++s)
      there += cohort.enrolled(s, t) ? 1.0 / 200 : 0;
    EXPECT_NEAR(enrolled(0, t), there, 0.03) << t;
  }
  const auto json = ask_of(stored, "infer", {{"outcome", Texts{"enrolled"}}, {"known-periods", Texts{"1"}}}, &cohort);
  EXPECT_EQ(json.to_json()["outcomes"].size(), 400U);
}

}  // namespace
}  // namespace desirepath::outcomes_test
