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
  std::vector<std::string> messages;
  const auto expect = [&](const std::string& message, const std::vector<std::string>& facts) {
    EXPECT_TRUE(test::says(message, facts));
    EXPECT_EQ(message.find("SECRET"), std::string::npos);
    EXPECT_EQ(std::ranges::count(messages, message), 0) << message;  // no two faults are told alike
    messages.push_back(message);
  };
  expect(refusal("student,period,course\nSECRET 1,1,c1\n"), {"e.csv", "'taken'", "student", "period", "course"});
  expect(refusal("student,course,taken\nSECRET 1,c1,1\n"), {"e.csv", "'period'", "student", "course", "taken"});
  expect(refusal("SECRET 1,1,c1,1\nSECRET 1,1,c2,1\n"), {"e.csv:1:4", "2", "4"});
  expect(refusal("SECRET 1,1,c1,0\nSECRET 1,1,c2,1\n"), {"e.csv", "'student'"});
  expect(refusal(""), {"e.csv"});
  expect(refused_row("SECRET 1,1,c1,yes"), {"e.csv:3:4", "taken", "1", "0"});
  EXPECT_EQ(refused_row("SECRET 1,1,c1,2"), messages.back());
  expect(refused_row(",1,c1,1"), {"e.csv:3", "student"});
  expect(refused_row("SECRET 1,7,c1,1"), {"e.csv:3", "period", "'7'", "1", "2"});
  expect(refused_row("SECRET 1,,c1,1"), {"e.csv:3", "period", "''", "1", "2"});
  expect(refused_row("SECRET 1,1,c11,1"), {"e.csv:3", "course", "'c11'", "'c1'"});
  expect(refused_row("SECRET 1,1,,1"), {"e.csv:3", "course", "''"});
  expect(refused_row("SECRET 1,1,c1,0"), {"e.csv:3", "course", "'c1'"});
  expect(refused_row("SECRET 1,1,*,1"), {"e.csv:3", "*", "taken = 0"});
  for (const char* row : {"SECRET 1,1,c1", "SECRET 1,1,c1,1,1", "\"SECRET 1,1,c1,1"})
    expect(refused_row(row), {"e.csv:3"});
}

}  // namespace
}  // namespace desirepath::evidence_table_test
