#include "desirepath/ingest/term.h"

#include "support/support.h"
#include "support/text_tables.h"

#include "desirepath/core/error.h"
#include "desirepath/ingest/course_list.h"

namespace desirepath {
namespace {

std::optional<Term> term(std::string_view label) {
  return TermRules().parse(label);
}
int year(std::string_view label) {
  return term(label) ? term(label)->academic_year : -1;
}

TEST(Term, SeasonsFallIntoAcademicYears) {
  EXPECT_EQ(year("2018 Fall"), 2018);
  EXPECT_EQ(year("Fall 2018"), 2018);
  EXPECT_EQ(year("FA1991"), 1991);
  EXPECT_EQ(year("SP1992"), 1991);
  EXPECT_EQ(year("F18"), 2018);
  EXPECT_EQ(year("Spring 2019"), 2018);
  EXPECT_EQ(year("Summer 2019"), 2018);
  EXPECT_TRUE(term("Summer 2019")->summer);
  EXPECT_EQ(year("2018-19 Spring"), 2018);
  EXPECT_EQ(year("WiSe 2018/19"), 2018);
  EXPECT_EQ(year("SoSe 2019"), 2018);
  EXPECT_EQ(year("Fall Semester 2018"), 2018);
  EXPECT_LT(term("Fall 2018")->key(), term("Winter 2019")->key());
  EXPECT_LT(term("Winter 2019")->key(), term("Spring 2019")->key());
  EXPECT_LT(term("Spring 2019")->key(), term("Summer 2019")->key());
  EXPECT_LT(term("Summer 2019")->key(), term("Fall 2019")->key());
}

TEST(Term, CodesSortWithinTheirYear) {
  EXPECT_EQ(year("2018-1"), 2018);
  EXPECT_EQ(year("2018/2"), 2018);
  EXPECT_EQ(year("201830"), 2018);
  EXPECT_EQ(year("19881"), 1988);
  EXPECT_EQ(year("2013J"), 2013);
  EXPECT_EQ(year("2018"), 2018);
  EXPECT_EQ(year("20182019"), 2018);
  EXPECT_LT(term("2018-1")->key(), term("2018-2")->key());
  EXPECT_LT(term("201810")->key(), term("201830")->key());
  EXPECT_LT(term("2013B")->key(), term("2013J")->key());
  EXPECT_LT(term("2013J")->key(), term("2014B")->key());
  EXPECT_TRUE(TermRules({}, {"4", "5", "6"}, TermCoding::labels).parse("19884")->summer);
}

TEST(Term, PeopleSoftCodes) {
  const TermRules rules({}, {}, TermCoding::century_year_term);
  EXPECT_EQ(rules.parse("2187")->academic_year, 2018);
  EXPECT_EQ(rules.parse("2193")->academic_year, 2018);
  EXPECT_TRUE(rules.parse("2195")->summer);
  EXPECT_EQ(rules.parse("2197")->academic_year, 2019);
  EXPECT_LT(rules.parse("2187")->key(), rules.parse("2193")->key());
  EXPECT_EQ(rules.parse("x187"), std::nullopt);
}

TEST(Term, WhatIsNotATerm) {
  for (const char* label :
       {"", "autumn", "17", "99999", "2018 Foo", "Fall Spring 2018", "123456789012", "hello", "2018-1-2-3"}) {
    EXPECT_FALSE(term(label).has_value()) << label;
  }
}

TEST(Term, HouseCodes) {
  const auto codes =
      terms_from_table(test::small_table("code,year,order,summer\nA,2018,1,0\nB,2018,2,\nC,2018,3,yes\n", "t.csv"));
  const TermRules rules(codes, {}, TermCoding::labels);
  EXPECT_EQ(rules.parse("B")->academic_year, 2018);
  EXPECT_TRUE(rules.parse("C")->summer);
  EXPECT_FALSE(rules.parse("2018 Fall").has_value());
  EXPECT_EQ(test::message_of<InputError>([] { terms_from_table(test::small_table("code,year\nA,20x8\n", "t.csv")); }),
            "t.csv:2: year is not a calendar year");
}

TEST(Aliases, FollowChainsAndRefuseCircles) {
  const auto aliases = aliases_from_table(test::small_table("alias,course\nA,B\nB,C\n", "a.csv"));
  EXPECT_EQ(aliases.at("A"), "C");
  EXPECT_EQ(
      test::message_of<InputError>([] { aliases_from_table(test::small_table("alias,course\nA,B\nB,A\n", "a.csv")); }),
      "a.csv: aliases go round in a circle at 'A'");
}

TEST(TermProperty, AnyTextIsATermOrNot) {
  test::expect_property(
      "parsing never fails otherwise", [](const std::string& label) { (void)term(label); }, 2000);
}

}  // namespace
}  // namespace desirepath
