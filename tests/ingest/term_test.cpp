#include "desirepath/ingest/term.h"

#include "support/support.h"
#include "support/text_tables.h"

#include "desirepath/core/error.h"
#include "desirepath/ingest/course_list.h"
#include "desirepath/ingest/term_labels.h"

namespace desirepath::term_test {
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
  EXPECT_EQ(rules.parse("2018 Fall")->academic_year, 2018);  // what is not listed speaks for itself
  EXPECT_FALSE(rules.parse("D").has_value());
  EXPECT_TRUE(test::says(
      test::message_of<InputError>([] { terms_from_table(test::small_table("code,year\nA,20x8\n", "t.csv")); }),
      {"t.csv:2", "year"}));
}

TEST(Term, WritingsOfManyHouses) {
  const std::vector<std::pair<const char*, int>> years = {{"2008-12", 2008},
                                                          {"2009-01-15", 2008},
                                                          {"20090115", 2008},
                                                          {"2018-09-03 00:00:00", 2018},
                                                          {"2018-19 T2", 2018},
                                                          {"T1 2019", 2019},
                                                          {"1189", 2018},
                                                          {"1182", 2017},
                                                          {"Q2 2019", 2019},
                                                          {"2018 Trimester 1", 2018},
                                                          {"Sem 1 2018", 2018},
                                                          {"Sem 2, 2018-19", 2018},
                                                          {"18/FA", 2018},
                                                          {"19/SP", 2018},
                                                          {"WS 18/19", 2018},
                                                          {"Wintersemester 2018/19", 2018},
                                                          {"Sommersemester 2019", 2018},
                                                          {"Frühjahr 2019", 2018},
                                                          {"Herbst 2018", 2018},
                                                          {"Automne 2018", 2018},
                                                          {"Hiver 2019", 2018},
                                                          {"Été 2019", 2018},
                                                          {"ÉTÉ 2019", 2018},
                                                          {"Printemps 2019", 2018},
                                                          {"Semestre 1 2018-2019", 2018},
                                                          {"S1 2018/2019", 2018},
                                                          {"1st Semester 2018", 2018},
                                                          {"Second Semester 2018", 2018},
                                                          {"Sep 2018", 2018},
                                                          {"September 2018", 2018},
                                                          {"Jan-2019", 2018},
                                                          {"août 2018", 2018},
                                                          {"2018S2", 2018},
                                                          {"S18", 2017},
                                                          {"2010.1", 2010},
                                                          {"Semester II 2018", 2018}};
  for (const auto& [label, expected] : years)
    EXPECT_EQ(year(label), expected) << label;
  EXPECT_TRUE(term("Été 2019")->summer);
  EXPECT_FALSE(term("Sommersemester 2019")->summer);
  EXPECT_LT(term("18/FA")->key(), term("19/SP")->key());
  EXPECT_LT(term("Herbst 2018")->key(), term("Frühjahr 2019")->key());
  EXPECT_LT(term("2008-12")->key(), term("2009-01-15")->key());
}

TEST(Term, TheYearBeginsWhenTheHouseSaysSo) {
  const auto in = [](const char* label, int month) {
    return TermRules({}, {}, TermCoding::labels, month).parse(label)->academic_year;
  };
  EXPECT_EQ(in("2018-12", 1), 2018);
  EXPECT_EQ(in("2019-01-07", 1), 2019);
  EXPECT_EQ(in("2019-07-30", 8), 2018);
  EXPECT_EQ(in("2019-08-01", 8), 2019);
  EXPECT_EQ(in("2019-09-15", 10), 2018);
  EXPECT_EQ(in("Fall 2018", 10), 2018);
  EXPECT_EQ(in("Spring 2019", 10), 2018);
  EXPECT_EQ(in("Spring 2019", 2), 2019);
  EXPECT_EQ(in("Q4 2018", 7), 2018);
  EXPECT_EQ(in("Q2 2018", 7), 2017);
}

TermLabels::Understood together(const std::vector<std::string>& labels, const TermRules& rules = {}) {
  TermLabels all;
  all.begin_file(rules);
  for (const std::string& label : labels)
    EXPECT_GE(all.number_of(label), 0) << label;
  return all.understand();
}
std::vector<int> years_of(const std::vector<std::string>& labels) {
  const TermLabels::Understood understood = together(labels);
  std::vector<int> years;
  for (const std::int32_t number : understood.of_label)
    years.push_back(number < 0 ? -1 : understood.terms[static_cast<std::size_t>(number)].academic_year);
  return years;
}
using Years = std::vector<int>;

TEST(TermLabels, NeighboursDecide) {
  EXPECT_EQ(years_of({"2008-09", "2008-12", "2009-01", "2009-08"}), (Years{2008, 2008, 2008, 2009}));
  EXPECT_EQ(years_of({"2008-09", "2009-10", "2010-11"}), (Years{2008, 2009, 2010}));
  EXPECT_EQ(years_of({"201810", "201820", "201830"}), (Years{2018, 2018, 2018}));
  EXPECT_EQ(years_of({"201808", "201901", "201905", "201810"}), (Years{2018, 2018, 2018, 2018}));
  EXPECT_EQ(years_of({"2018-01", "2018-02", "2019-01"}), (Years{2018, 2018, 2019}));
  EXPECT_EQ(years_of({"2018-1", "2018-2", "2018-12"}), (Years{2017, 2017, 2018}));
  EXPECT_EQ(years_of({"2010", "2011", "2012"}), (Years{2010, 2011, 2012}));
  EXPECT_EQ(years_of({"2187", "2191", "2007"}), (Years{2018, 2018, 2000}));
}

TEST(TermLabels, WhatDoesNotFitIsNamed) {
  const auto odd = together({"2010.1", "2010.2", "2010", "2011.1"});
  EXPECT_EQ(odd.misfits, std::vector<std::string>{"2010"});
  EXPECT_EQ(odd.of_label[2], -1);
  EXPECT_EQ(odd.others, (std::vector<std::string>{"2010.1", "2010.2"}));
  EXPECT_EQ(together({"Fall 2018", "Spring 2019", "2018-3"}).misfits, std::vector<std::string>{"2018-3"});
  EXPECT_TRUE(together({"Fall 2018", "Jan 2019", "2019-06-01"}).misfits.empty());
  const TermRules listed({{"2010", {2010, 3, false}}}, {}, TermCoding::labels);
  EXPECT_TRUE(together({"2010.1", "2010.2", "2010"}, listed).misfits.empty());
}

TEST(TermLabels, WhatMayBeIdsIsNotNamed) {
  std::vector<std::string> ids;
  for (int i = 0; i < 500; ++i)
    ids.push_back(std::to_string(20180101 + i % 12 * 100 + i / 12 % 28 + i / 336 * 10'000));
  const auto understood = together(ids);
  EXPECT_FALSE(understood.may_be_named);
  EXPECT_EQ(understood.note.find("2018"), std::string::npos);
  EXPECT_NE(together({"2018-09-03", "2019-01-15"}).note.find("'2018-09-03'"), std::string::npos);
}

TEST(TermLabels, SortBeforeTheyAreUnderstood) {
  for (const std::vector<std::string>& labels : {std::vector<std::string>{"2008-08", "2008-09", "2008-10", "2008-12",
                                                                          "2009-01", "2009-10", "2011-11", "2011-12"},
                                                 {"Fall 2018", "Jan 2019", "Spring 2019", "Summer 2019", "Fall 2019"},
                                                 {"WiSe 2018/19", "SoSe 2019", "WiSe 2019/20"},
                                                 {"2187", "2192", "2195", "2199"},
                                                 {"201810", "201820", "201830", "201910"}}) {
    TermLabels all;
    all.begin_file({});
    for (const std::string& label : labels)
      all.number_of(label);
    const auto understood = all.understand();
    for (std::int32_t i = 1; i < std::ssize(labels); ++i) {
      const auto key = [&](std::int32_t label) {
        return understood.terms[static_cast<std::size_t>(understood.of_label[static_cast<std::size_t>(label)])].key();
      };
      EXPECT_LT(all.rough_key(i - 1), all.rough_key(i)) << labels[static_cast<std::size_t>(i)];
      EXPECT_LT(key(i - 1), key(i)) << labels[static_cast<std::size_t>(i)];
    }
  }
}

TEST(Aliases, FollowChainsAndRefuseCircles) {
  const auto aliases = aliases_from_table(test::small_table("alias,course\nA,B\nB,C\n", "a.csv"));
  EXPECT_EQ(aliases.at("A"), "C");
  EXPECT_TRUE(test::says(
      test::message_of<InputError>([] { aliases_from_table(test::small_table("alias,course\nA,B\nB,A\n", "a.csv")); }),
      {"a.csv", "'A'"}));
}

TEST(TermProperty, AnyTextIsATermOrNot) {
  test::expect_property(
      "parsing never fails otherwise", [](const std::string& label) { (void)term(label); }, 2000);
}

}  // namespace
}  // namespace desirepath::term_test
