#include "desirepath/ingest/evidence_table.h"

#include "support/example_cohorts.h"
#include "support/support.h"
#include "support/text_tables.h"

#include "desirepath/core/error.h"

namespace desirepath::evidence_table_test {
namespace {

EvidenceBatch evidence(const std::string& text) {
  return evidence_from_table(test::small_schema(3, 2), test::small_table(text, "e.csv"));
}
std::string refusal(const std::string& text) {
  return test::message_of<InputError>([&] { evidence(text); });
}
std::string refused_row(const std::string& row) {
  return refusal("student,period,course,taken\nSECRET 1,1,c1,1\n" + row + "\n");
}

TEST(EvidenceTable, AnyDialectOrderOfColumnsAndMoreOfThem) {
  const EvidenceBatch read = evidence("taken;note;course;period;student\n1;x;c2;1;ann\n0;;*;1;ann\n;;c3;2;bob\n");
  EXPECT_EQ(read.students(), (std::vector<std::string>{"ann", "bob"}));
  EXPECT_EQ(read.presence(0, 0), Presence::present);
  EXPECT_EQ(read.taken(0, 0).size(), 1U);
  EXPECT_TRUE(read.is_unknown(1, 1));
}

TEST(EvidenceTable, HeaderAloneKnowsNobody) {
  EXPECT_EQ(evidence("student,period,course,taken\n").student_count(), 0);
}

TEST(EvidenceTable, BadTablesAreRefusedWithTheirPlace) {
  EXPECT_EQ(refusal("student,period,course\nSECRET 1,1,c1\n"),
            "e.csv: no column 'taken'; its columns are student, period, course");
  EXPECT_EQ(refusal("student,course,taken\nSECRET 1,c1,1\n"),
            "e.csv: no column 'period'; its columns are student, course, taken");
  EXPECT_EQ(refusal("SECRET 1,1,c1,1\nSECRET 1,1,c2,1\n"),
            "e.csv:1:4: columns 2 and 4 have the same name; rename one of them");
  EXPECT_EQ(refusal("SECRET 1,1,c1,0\nSECRET 1,1,c2,1\n"),
            "e.csv: no column 'student'; its first line has no column name known here (is it data?)");
  EXPECT_EQ(refusal(""), "e.csv: there is no header line; the first line must name the columns");
  EXPECT_EQ(refused_row("SECRET 1,1,c1,yes"), "e.csv:3:4: taken must be 1, 0 or empty");
  EXPECT_EQ(refused_row("SECRET 1,1,c1,2"), "e.csv:3:4: taken must be 1, 0 or empty");
  EXPECT_EQ(refused_row(",1,c1,1"), "e.csv:3: no student");
  EXPECT_EQ(refused_row("SECRET 1,7,c1,1"), "e.csv:3: no period '7' (there are 1, 2)");
  EXPECT_EQ(refused_row("SECRET 1,,c1,1"), "e.csv:3: no period '' (there are 1, 2)");
  EXPECT_EQ(refused_row("SECRET 1,1,c11,1"), "e.csv:3: no course 'c11' (did you mean 'c1'?)");
  EXPECT_EQ(refused_row("SECRET 1,1,,1"), "e.csv:3: no course ''");
  EXPECT_EQ(refused_row("SECRET 1,1,c1,0"), "e.csv:3: course 'c1' is given twice, differently");
  EXPECT_EQ(refused_row("SECRET 1,1,*,1"), "e.csv:3: course * closes a period and needs taken = 0");
  EXPECT_EQ(refused_row("SECRET 1,1,c1"), "e.csv:3: too few fields");
  EXPECT_EQ(refused_row("SECRET 1,1,c1,1,1"), "e.csv:3: too many fields");
  EXPECT_EQ(refused_row("\"SECRET 1,1,c1,1"), "e.csv:3: quotes do not close, or text follows a closing quote");
}

}  // namespace
}  // namespace desirepath::evidence_table_test
