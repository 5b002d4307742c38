#include "desirepath/ingest/grades.h"

#include <sstream>

#include "support/support.h"

#include "desirepath/core/error.h"
#include "desirepath/ingest/missing_values.h"

namespace desirepath::grades_test {
namespace {

TEST(MissingValues, WhateverTheCase) {
  const MissingValues missing({"NA", "N/A", "-", ""});
  for (const char* text : {"NA", "na", "n/a", "-"})
    EXPECT_TRUE(missing.contains(text)) << text;
  for (const char* text : {"", "NAN", "N", "--", "A/N"})
    EXPECT_FALSE(missing.contains(text)) << text;
  EXPECT_FALSE(MissingValues({std::string(80, 'x')}).contains(std::string(80, 'x')));
}

GradeMeaning usual(std::string_view grade) {
  return GradeRules({}, {}, {}).meaning_of(grade);
}

TEST(Grades, LettersAndWords) {
  for (const char* grade :
       {"F", "f-", "F+", "FX", "Fail", "below_C", "below c", "NOT_PASSED", "not-passed", "NP", "0", "F*"})
    EXPECT_EQ(usual(grade), GradeMeaning::failed) << grade;
  for (const char* grade : {"W", "wd", "Withdrawn", "dropped"})
    EXPECT_EQ(usual(grade), GradeMeaning::withdrawn) << grade;
  for (const char* grade : {"A", "A-", "B+", "D", "pass", "P", "5", "3.7", "CR"})
    EXPECT_EQ(usual(grade), GradeMeaning::taken) << grade;
}

TEST(Grades, PassMarks) {
  const auto mark = [](std::string_view text) {
    PassMark read;
    from_text(text, read);
    return read;
  };
  const GradeRules dutch({}, {}, mark("5,5")), german({}, {}, mark("<=4"));
  EXPECT_EQ(dutch.meaning_of("5,4"), GradeMeaning::failed);
  EXPECT_EQ(dutch.meaning_of("5,5"), GradeMeaning::taken);
  EXPECT_EQ(dutch.meaning_of("10"), GradeMeaning::taken);
  EXPECT_EQ(german.meaning_of("4,0"), GradeMeaning::taken);
  EXPECT_EQ(german.meaning_of("5.0"), GradeMeaning::failed);
  EXPECT_EQ(german.meaning_of("F"), GradeMeaning::failed);
  EXPECT_EQ(to_text(mark("<= 4")), "<=4");
  EXPECT_EQ(to_text(mark("5.5")), "5.5");
  EXPECT_THROW(mark("five"), OptionError);
}

TEST(Grades, AHouseListIsAllThereIs) {
  const GradeRules house({"Durchgefallen", "5"}, {"X"}, {});
  EXPECT_EQ(house.meaning_of("durchgefallen"), GradeMeaning::failed);
  EXPECT_EQ(house.meaning_of("5"), GradeMeaning::failed);
  EXPECT_EQ(house.meaning_of("F"), GradeMeaning::taken);
  EXPECT_EQ(house.meaning_of("x"), GradeMeaning::withdrawn);
}

std::string csv_of(const Table& table) {
  std::ostringstream text;
  table.print_csv(text);
  return text.str();
}

TEST(Grades, WhatFewStudentsHaveIsPooled) {
  GradeTally tally(GradeRules({}, {}, {}));
  for (std::uint32_t student = 0; student < 12; ++student) {
    tally.count("A", student);
    tally.count("A", student);
    tally.count(student < 6 ? "B" : "C", student);
  }
  for (std::uint32_t student = 0; student < 9; ++student)
    tally.count("F", student);
  for (int row = 0; row < 50; ++row)
    tally.count("W", 3);  // many rows of one student
  EXPECT_EQ(
      csv_of(tally.table()),
      "grade,rows,counts as\nA,24,taken\n2 other grades,12,taken\n1 other grade,,failed\n1 other grade,,withdrawn\n");
  EXPECT_EQ(tally.rows(), 95);
  EXPECT_EQ(tally.rows_of(GradeMeaning::failed), 9);
}

TEST(Grades, ManyNumbersAreOneLine) {
  GradeTally tally(GradeRules({}, {}, PassMark{50, false}));
  for (std::uint32_t student = 0; student < 400; ++student)
    tally.count(std::to_string(student % 100), student);
  EXPECT_EQ(csv_of(tally.table()),
            "grade,rows,counts as\n\"numbers, half of them 62 to 87\",200,taken\n"
            "\"numbers, half of them 12 to 37\",200,failed\n");
  EXPECT_EQ(tally.rows_of(GradeMeaning::failed), 200);
}

}  // namespace
}  // namespace desirepath::grades_test
