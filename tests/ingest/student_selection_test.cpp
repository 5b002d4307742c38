#include "desirepath/ingest/student_selection.h"

#include <fstream>

#include <nlohmann/json.hpp>

#include "support/support.h"

#include "desirepath/core/error.h"
#include "desirepath/ingest/prepare.h"
#include "desirepath/transcripts/outcome_expression.h"
#include "desirepath/transcripts/traits.h"

namespace desirepath::student_selection_test {
namespace {

using Names = std::vector<std::string>;

class StudentSelectionTest : public testing::Test {
 protected:
  static Cohort cohort() {
    const test::TemporaryFolder folder;
    std::ofstream(folder / "t.csv") << "student,term,course,major,score\n"
                                       "ann,Fall 2010,A,Biology,9\nann,Fall 2011,B,Biology,9\n"
                                       "bob,Fall 2011,A,Physics,10\n"
                                       "cid,Fall 2010,A,,x7\ncid,Fall 2010,B,,x7\ncid,Fall 2012,A,,x7\n";
    TableOptions options;
    options.min_takers = 1;
    return prepare_cohort({(folder / "t.csv").string()}, options, Executor(1)).cohort;
  }
  static Names selected(const std::string& condition) { return select_students(cohort(), condition).students(); }
  static std::string refusal(const std::string& condition) {
    return test::message_of<OptionError>([&] { select_students(cohort(), condition); });
  }
};

TEST_F(StudentSelectionTest, ByAttributesAndFacts) {
  EXPECT_EQ(selected("major = 'Biology'"), (Names{"ann"}));
  EXPECT_EQ(selected("major IS NULL"), (Names{"cid"}));
  EXPECT_EQ(selected("major <> 'Biology'"), (Names{"bob"}));  // not known is not true
  EXPECT_EQ(selected("entry = 2010"), (Names{"ann", "cid"}));
  EXPECT_EQ(selected("entry BETWEEN 2011 AND 2012 OR enrollments >= 3"), (Names{"bob", "cid"}));
  EXPECT_EQ(selected("periods = 2"), (Names{"ann", "cid"}));
  EXPECT_EQ(selected("first_period = 1 AND last_period = 3"), (Names{"cid"}));
  EXPECT_EQ(selected("student IN ('ann', 'bob')"), (Names{"ann", "bob"}));
}

// DuckDB is the truth for conditions on columns where all periods are over.
TEST_F(StudentSelectionTest, OutcomeExpressionsHoldWhereTheSameConditionDoes) {
  const test::TemporaryFolder folder;
  {
    std::ofstream file(folder / "t.csv");
    file << "student,period,course,degree,gpa\n";
    for (int s = 0; s < 60; ++s) {
      file << 's' << s << ",1,A," << (s % 4 == 0 ? "" : s % 4 == 1 ? "BA" : s % 4 == 2 ? "B'Sc" : "MA") << ',';
      if (s % 7 != 0) file << s % 5 << '.' << s % 3;
      file << '\n';
    }
  }
  TableOptions options;
  options.min_takers = 1;
  const Cohort students = prepare_cohort({(folder / "t.csv").string()}, options, Executor(1)).cohort;
  const Names conditions = {"degree is not null",
                            "degree IS NULL",
                            "gpa >= 3",
                            "gpa < 2.1",
                            "not gpa > 1.5",
                            "gpa <> 4.1 and degree <> 'BA'",
                            "degree in ('BA', 'B''Sc') or gpa <= 1",
                            "degree not in ('BA', 'MA')",
                            "not (degree = 'BA' and gpa > 2)",
                            "not (degree = 'BA' or gpa > 2) or degree is null",
                            "gpa in (1.1, 2.2, 3)",
                            "degree >= 'BA' and degree < 'MA'",
                            "\"gpa\" != 4.1 or degree is null and not gpa = 0.0",
                            "(gpa > 1 or degree is null) and (gpa < 3 or degree = 'MA')"};
  for (const std::string& condition : conditions) {
    Names chosen;
    const auto holds = OutcomeExpression::parse(condition).evaluate(students);
    for (std::size_t s = 0; s < holds.size(); ++s) {
      ASSERT_TRUE(holds[s]) << condition;
      if (*holds[s]) chosen.push_back(students.students()[s]);
    }
    EXPECT_EQ(chosen, select_students(students, condition).students()) << condition;
    EXPECT_LT(chosen.size(), holds.size()) << condition;
  }
}

TEST_F(StudentSelectionTest, ColumnsThatChangeWithinStudentsAreRememberedForTraits) {
  const test::TemporaryFolder folder;
  {
    std::ofstream file(folder / "t.csv");
    file << "student,period,course,major,residence\n";
    for (int s = 0; s < 40; ++s) {
      for (int t = 1; t <= 2; ++t)
        file << 's' << s << ',' << t << ",A" << t << ",M" << (s % 2 + (s < 20 ? t - 1 : 0)) % 2 << ",R" << s % 2
             << '\n';
    }
  }
  const Cohort students = prepare_cohort({(folder / "t.csv").string()}, TableOptions(), Executor(1)).cohort;
  const auto warnings = trait_warnings(students, traits_named(students, "major,residence", ""));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(test::says(warnings[0], {"major"}));
}

TEST_F(StudentSelectionTest, CoursesAndPeriodsStayAndTheConditionIsRecorded) {
  const Cohort whole = cohort(), part = select_students(whole, "major = 'Physics'");
  EXPECT_EQ(part.schema().course_count(), whole.schema().course_count());
  EXPECT_EQ(part.schema().period_count(), whole.schema().period_count());
  EXPECT_NE(part.fingerprint(), whole.fingerprint());
  const auto selections = nlohmann::json::parse(part.provenance())["selected"];
  ASSERT_EQ(selections.size(), 1U);
  EXPECT_EQ(selections[0]["where"], "major = 'Physics'");
  EXPECT_EQ(selections[0]["students_before"], 3);
  EXPECT_EQ(selections[0]["students"], 1);
  const auto stage = nlohmann::json::parse(part.provenance())["stages"].back();
  EXPECT_EQ(stage["rows"], 1);
  EXPECT_EQ(stage["students"], 1);
  EXPECT_EQ(stage["courses"], 1);
}

TEST_F(StudentSelectionTest, FaultsAreNamed) {
  EXPECT_TRUE(test::says(refusal("majr = 'Biology'"), {"--where", "'majr'", "'major'"}));
  EXPECT_TRUE(
      test::says(refusal("score > 8"), {"--where", "'score'", "try_cast"}));  // one student's score is no number
  EXPECT_TRUE(test::says(test::message_of<InputError>([] { select_students(cohort(), "entry > 2020"); }),
                         {"--where", "3", "desirepath inspect"}));
  EXPECT_THROW(selected("EXISTS (SELECT * FROM read_text('/etc/passwd'))"), OptionError);
}

}  // namespace
}  // namespace desirepath::student_selection_test
