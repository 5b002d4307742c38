#include "desirepath/transcripts/traits.h"

#include <bit>
#include <functional>

#include "support/example_cohorts.h"
#include "support/support.h"

#include "desirepath/core/error.h"
#include "desirepath/transcripts/evidence.h"
#include "desirepath/transcripts/outcome_expression.h"

namespace desirepath::traits_test {
namespace {

/// A column by student; "" where it is not known.
using Column = std::function<std::string(int student)>;

Attribute attribute_of(const std::string& name, int students, const Column& column) {
  Attribute attribute{name, {}, {}};
  std::set<std::string> values;
  for (int s = 0; s < students; ++s)
    values.insert(column(s));
  values.erase("");
  attribute.values.assign(values.begin(), values.end());
  for (int s = 0; s < students; ++s) {
    const auto found = std::ranges::find(attribute.values, column(s));
    attribute.codes.push_back(column(s).empty() ? -1 : static_cast<Id>(found - attribute.values.begin()));
  }
  return attribute;
}

/// Students of two periods, the last `open` of whom have a second period after the data end.
Cohort students_with(int students, int open, const std::vector<std::pair<std::string, Column>>& columns) {
  test::CohortMaker maker(2, 2);
  for (int s = 0; s < students; ++s) {
    maker.add_student();
    maker.take(0, s % 2);
    if (s >= students - open) maker.set(1, EnrollmentStatus::not_yet);
  }
  return test::changed(maker.build(), [&](CohortParts& parts) {
    for (const auto& [name, column] : columns)
      parts.attributes.push_back(attribute_of(name, students, column));
    std::ranges::sort(parts.attributes, {}, &Attribute::name);
  });
}

/// 60 students, the last 20 with open periods. Degrees: BA, BSc, none, by turns; gpa 0.0 .. 5.9 with every tenth
/// missing.
Cohort example() {
  return students_with(
      60, 20,
      {{"degree", [](int s) { return std::string(s % 3 == 0   ? "BA"
                                                 : s % 3 == 1 ? "BSc"
                                                              : ""); }},
       {"gpa",
        [](int s) { return s % 10 == 9 ? std::string() : std::to_string(s / 10) + "." + std::to_string(s % 10); }},
       {"residence", [](int s) { return std::string(s % 2 == 0 ? "commuter" : "campus"); }},
       {"it's odd", [](int s) { return std::string(s < 30 ? "O'Hara" : "x"); }}});
}

using Truths = std::vector<std::optional<bool>>;

Truths by_student(int students, const std::function<std::optional<bool>(int)>& truth) {
  Truths truths;
  for (int s = 0; s < students; ++s)
    truths.push_back(truth(s));
  return truths;
}

TEST(OutcomeExpression, HoldsAsInSqlWherePeriodsAreOver) {
  const Cohort cohort = students_with(40, 0,
                                      {{"degree", [](int s) { return std::string(s % 3 ? "BA" : ""); }},
                                       {"year", [](int s) { return s % 5 ? std::to_string(s) : ""; }}});
  const auto holds = [&](const std::string& text) { return OutcomeExpression::parse(text).evaluate(cohort); };
  const auto expect = [&](const std::string& text, const std::function<bool(int)>& truth) {
    EXPECT_EQ(holds(text), by_student(40, truth)) << text;
  };
  const auto has = [](int s) { return s % 3 != 0; };
  const auto known = [](int s) { return s % 5 != 0; };
  expect("degree is not null", has);
  expect("Degree IS NULL", [&](int s) { return !has(s); });
  expect("not degree is null", has);
  expect("\"degree\" = 'BA'", has);
  expect("degree <> 'BA'", [](int) { return false; });
  expect("not (degree = 'BA')", [](int) { return false; });  // a missing degree is neither
  expect("year < 7", [&](int s) { return known(s) && s < 7; });
  expect("year <= 7", [&](int s) { return known(s) && s <= 7; });
  expect("year > 7", [&](int s) { return known(s) && s > 7; });
  expect("year >= 7.0", [&](int s) { return known(s) && s >= 7; });
  expect("year != 1.1e1", [&](int s) { return known(s) && s != 11; });
  expect("year = '11'", [&](int s) { return s == 11; });
  expect("year > -1 and year<=+3", [&](int s) { return known(s) && s <= 3; });
  expect("year in (3, 4, '6', 5)", [](int s) { return s == 3 || s == 4 || s == 6; });
  expect("year not in (3,4)", [&](int s) { return known(s) && s != 3 && s != 4; });
  expect("year = 3 or degree is null and not year = 9",
         [&](int s) { return s == 3 || (!has(s) && known(s) && s != 9); });
  expect("(year = 3 or degree is null) and not year = 9",
         [&](int s) { return known(s) && s != 9 && (s == 3 || !has(s)); });
  expect("year > 10 or degree is null", [&](int s) { return (known(s) && s > 10) || !has(s); });
  expect("degree < 3", [](int) { return false; });
}

TEST(OutcomeExpression, IsSettledBeforePeriodsAreOverOnlyWhereNothingCanChangeIt) {
  const Cohort cohort = example();
  const auto holds = [&](const std::string& text) { return OutcomeExpression::parse(text).evaluate(cohort); };
  const auto expect = [&](const std::string& text, const std::function<std::optional<bool>(int)>& open) {
    const Truths found = holds(text);
    for (int s = 40; s < 60; ++s)
      EXPECT_EQ(found[static_cast<std::size_t>(s)], open(s)) << text << ", student " << s;
    for (int s = 0; s < 40; ++s)
      EXPECT_TRUE(found[static_cast<std::size_t>(s)].has_value()) << text << ", student " << s;
  };
  const auto has = [](int s) { return s % 3 != 2; };
  const auto nothing = [](int) { return std::optional<bool>(); };
  const auto only = [](bool is, bool truth) { return is ? std::optional(truth) : std::nullopt; };
  expect("degree is not null", [&](int s) { return only(has(s), true); });
  expect("degree is null", [&](int s) { return only(has(s), false); });
  expect("degree = 'BA'", nothing);
  expect("gpa >= 0", nothing);
  expect("degree is not null and gpa >= 0", nothing);
  expect("degree is not null or gpa >= 0", [&](int s) { return only(has(s), true); });
  expect("degree is null and gpa >= 0", [&](int s) { return only(has(s), false); });
  EXPECT_EQ(holds("degree is null and unheard_of = 1"), Truths(60));
  EXPECT_EQ(OutcomeExpression::parse("gpa > 1 or GPA < 0 and \"it's odd\" = 'O''Hara'").columns(),
            (std::vector<std::string>{"gpa", "it's odd"}));
}

TEST(OutcomeExpression, FaultsAreNamed) {
  for (const std::string text : {"",
                                 "degree",
                                 "degree is",
                                 "degree is not",
                                 "degree =",
                                 "= 3",
                                 "degree = BA",
                                 "degree in",
                                 "degree in ()",
                                 "degree in ('a'",
                                 "degree = 'a",
                                 "degree = 3x",
                                 "degree not null",
                                 "(degree is null",
                                 "degree is null)",
                                 "degree is null and",
                                 "degree is null degree is null",
                                 "degree ; 3",
                                 "and = 3",
                                 "'degree' = 3",
                                 "3 < degree",
                                 "degree = 1.2.3",
                                 "degree = -"}) {
    EXPECT_FALSE(test::message_of<OptionError>([&] { OutcomeExpression::parse(text); }).empty()) << text;
  }
  const std::string deep(100'000, '(');
  test::message_of<OptionError>([&] { OutcomeExpression::parse(deep + "a is null"); });
  std::string many_nots;
  for (int i = 0; i < 100'000; ++i)
    many_nots += "not ";
  test::message_of<OptionError>([&] { OutcomeExpression::parse(many_nots + "a is null"); });
  EXPECT_TRUE(test::says(test::message_of<OptionError>([] { OutcomeExpression::parse("gpa >= ?"); }), {"8"}));
}

TEST(Traits, AreNamedByColumnsAndExpressions) {
  const Cohort cohort = example();
  const std::vector<Trait> traits = traits_named(
      cohort, "residence, gpa", "degree,done=degree is not null, two = degree in ('BA', 'BSc') or gpa > 3");
  ASSERT_EQ(traits.size(), 5U);
  EXPECT_EQ(traits[0], (Trait{"residence", TraitKind::attribute, {"campus", "commuter"}, {}, {}}));
  EXPECT_EQ(traits[1].name, "gpa");
  EXPECT_EQ(traits[1].values.size(), 5U);
  EXPECT_EQ(traits[1].bounds.size(), 4U);
  EXPECT_EQ(traits[1].require("0.05"), 0);
  EXPECT_EQ(traits[1].require("100"), 4);
  EXPECT_EQ(traits[2], (Trait{"degree", TraitKind::outcome, {"BA", "BSc", "none"}, {}, {}}));
  EXPECT_EQ(traits[3], (Trait{"done", TraitKind::outcome, {"no", "yes"}, {}, "degree is not null"}));
  EXPECT_EQ(traits[4].expression, "degree in ('BA', 'BSc') or gpa > 3");
  EXPECT_TRUE(traits_named(cohort, "", " ").empty());
  for (const Trait& trait : traits)
    EXPECT_EQ(Trait::from_json(nlohmann::json::parse(trait.to_json().dump())), trait) << trait.name;
}

TEST(Traits, FaultsOfNamesAreNamed) {
  const Cohort cohort = example();
  const auto message = [&](const std::string& attributes, const std::string& outcomes) {
    return test::message_of<OptionError>([&] { traits_named(cohort, attributes, outcomes); });
  };
  EXPECT_TRUE(test::says(message("residense", ""), {"residense", "residence", "gpa", "degree"}));
  EXPECT_TRUE(test::says(message("", "done=degre is null"), {"degre", "degree", "gpa"}));
  EXPECT_TRUE(test::says(message("gpa", "gpa"), {"gpa", "--attributes", "--outcomes"}));
  EXPECT_TRUE(test::says(message("gpa", "gpa=degree is null"), {"gpa"}));
  EXPECT_TRUE(test::says(message("", "last period=degree is null"), {"last period"}));
  EXPECT_TRUE(test::says(message("", "=degree is null"), {"NAME=EXPRESSION"}));
  EXPECT_TRUE(test::says(message("", "gpa>=3"), {"NAME=EXPRESSION"}));
  EXPECT_TRUE(test::says(message("", "gpa="), {"NAME=EXPRESSION"}));
  EXPECT_TRUE(test::says(message("", "never=gpa > 5"), {"never", "10"}));
  EXPECT_TRUE(test::says(message("", "never=degree = 'MA'"), {"never", "10"}));
}

TEST(Traits, NoValueStandsForFewStudents) {
  const Column column = [](int s) {
    return std::string(s < 40 ? "a" : s < 70 ? "b" : s < 85 ? "c" : s < 89 ? "d" : "e");
  };
  const auto values = [&](int students) {
    return trait_from(students_with(students, 0, {{"x", column}}), "x", TraitKind::attribute, 10).values;
  };
  EXPECT_EQ(values(110), (std::vector<std::string>{"a", "b", "e", "other"}));  // 4 d take the 15 c with them
  EXPECT_EQ(values(85), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(values(75), (std::vector<std::string>{"a", "other"}));  // 5 c take the 30 b with them
  test::message_of<OptionError>([&] { values(45); });
  const Trait trait = trait_from(students_with(110, 0, {{"x", column}}), "x", TraitKind::attribute, 10);
  const auto known = known_traits(students_with(110, 0, {{"x", column}}), std::vector<Trait>{trait});
  EXPECT_EQ(known[75], TraitValues{1} << trait.require("other"));
  EXPECT_EQ(known[0], TraitValues{1} << trait.require("a"));
}

TEST(Traits, NumbersAreCutWhereThereAreEnoughStudents) {
  const auto cut = [](int students, const std::function<int(int)>& number) {
    const Cohort cohort = students_with(students, 0, {{"x", [&](int s) { return std::to_string(number(s)); }}});
    const Trait trait = trait_from(cohort, "x", TraitKind::attribute, 10);
    std::vector<int> of_value(trait.values.size(), 0);
    for (const TraitValues known : known_traits(cohort, std::vector<Trait>{trait}))
      ++of_value[static_cast<std::size_t>(std::countr_zero(known))];
    return of_value;
  };
  EXPECT_EQ(cut(100, [](int s) { return s; }), (std::vector<int>{21, 20, 20, 20, 19}));
  EXPECT_EQ(cut(25, [](int s) { return s; }), (std::vector<int>{11, 14}));
  EXPECT_EQ(cut(100, [](int s) { return s < 80 ? 0 : s; }), (std::vector<int>{80, 20}));
}

TEST(Traits, WhatIsKnownOfAnOutcomeDependsOnWhetherPeriodsAreOver) {
  const Cohort cohort = example();
  const std::vector<Trait> traits = traits_named(cohort, "gpa", "degree,done=degree is not null,best=gpa>=2");
  const std::vector<TraitValues> known = known_traits(cohort, traits);
  for (int s = 0; s < 60; ++s) {
    const TraitValues* own = known.data() + s * 4;
    const bool is_over = s < 40, has_degree = s % 3 != 2;
    EXPECT_EQ(own[0] == traits[0].all(), s % 10 == 9) << s;
    EXPECT_EQ(own[1], has_degree ? (s % 3 == 0 ? 1U : 2U) : is_over ? 4U : 7U) << s;
    EXPECT_EQ(own[2], has_degree ? 2U : is_over ? 1U : 3U) << s;
    EXPECT_EQ(own[3], !is_over ? 3U : s >= 20 && s % 10 != 9 ? 2U : 1U) << s;
  }
  // Students of whom nobody has recorded it: everything is possible.
  const Cohort others = students_with(3, 0, {{"gpa", [](int) { return std::string("2.0"); }}});
  const std::vector<TraitValues> unknown = known_traits(others, traits);
  EXPECT_EQ(unknown[1], traits[1].all());
  EXPECT_EQ(unknown[2], traits[2].all());
  EXPECT_EQ(unknown[3], 2U);
}

TEST(Traits, AWarningTellsOfAttributesThatAreOutcomes) {
  const Cohort cohort = example();
  const auto warnings = [&](const Cohort& students, const std::string& attributes, const std::string& outcomes) {
    std::vector<std::string> texts = trait_warnings(students, traits_named(students, attributes, outcomes));
    for (std::string& text : texts)
      text = render_settings(text, "--");
    return texts;
  };
  EXPECT_TRUE(warnings(cohort, "residence,gpa", "done=degree is not null").empty());
  EXPECT_TRUE(test::any_says(warnings(cohort, "degree", "done=degree is not null"), {"degree", "done", "--outcomes"}));
  EXPECT_TRUE(test::any_says(warnings(cohort, "degree", "stem=degree = 'BSc'"), {"degree", "stem"}));
  EXPECT_TRUE(warnings(cohort, "", "degree,done=degree is not null").empty());  // outcomes may follow from each other

  const Cohort changing = test::changed(
      cohort, [](CohortParts& parts) { parts.provenance = R"({"changing_columns": ["major", "residence"]})"; });
  EXPECT_TRUE(test::any_says(warnings(changing, "gpa,residence", ""), {"residence", "--outcomes"}));
  EXPECT_EQ(warnings(changing, "gpa,residence", "").size(), 1U);

  const Cohort late = students_with(60, 30, {{"award", [](int s) {
                                                return std::string(s >= 30 ? "" : s % 2 ? "with" : "without");
                                              }}});
  EXPECT_TRUE(test::any_says(warnings(late, "award", ""), {"award", "--outcomes"}));
}

TEST(Traits, DamagedOnesAreRefused) {
  const Trait good{"done", TraitKind::outcome, {"no", "yes"}, {}, "degree is not null"};
  const auto refuse = [&](const std::function<void(nlohmann::json&)>& damage) {
    auto json = nlohmann::json::parse(good.to_json().dump());
    damage(json);
    test::message_of<InputError>([&] { Trait::from_json(json); });
  };
  EXPECT_EQ(Trait::from_json(nlohmann::json::parse(good.to_json().dump())), good);
  refuse([](nlohmann::json& json) { json["expression"] = "degree is"; });
  refuse([](nlohmann::json& json) { json["values"] = {"yes", "no"}; });
  refuse([](nlohmann::json& json) { json["kind"] = "attribute"; });
  refuse([](nlohmann::json& json) { json["bounds"] = {1.0, 2.0}; });
}

}  // namespace
}  // namespace desirepath::traits_test
