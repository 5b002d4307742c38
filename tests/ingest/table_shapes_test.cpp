#include "desirepath/ingest/table_shapes.h"

#include "support/support.h"
#include "support/text_tables.h"

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::table_shapes_test {
namespace {

/// The rows of a table, a few at a time.
class TableRows : public RowSource {
 public:
  explicit TableRows(SmallTable table, std::size_t batch = 2) : table_(std::move(table)), batch_(batch) {}
  const std::vector<std::string>& columns() const override { return table_.columns; }
  std::string description() const override { return "a table"; }
  double fraction() const override { return 0; }
  bool next(RowBatch& batch) override {
    batch.clear();
    batch.column_count = table_.columns.size();
    for (; next_ < table_.rows.size() && batch.row_count() < batch_; ++next_) {
      batch.cells.insert(batch.cells.end(), table_.rows[next_].begin(), table_.rows[next_].end());
      batch.records.push_back(table_.records[next_]);
    }
    return batch.row_count() > 0;
  }

 private:
  SmallTable table_;
  std::size_t batch_, next_ = 0;
};

std::unique_ptr<RowSource> rows_of(const std::string& text) {
  return std::make_unique<TableRows>(test::small_table(text, "t.csv"));
}
std::vector<std::string> columns_of(const std::string& text) {
  return test::small_table(text, "t.csv").columns;
}
/// A line a row, the record number before it.
std::string all_of(RowSource& rows) {
  std::string text = join(rows.columns(), ",") + "\n";
  RowBatch batch;
  while (rows.next(batch)) {
    for (std::size_t r = 0; r < batch.row_count(); ++r) {
      text += std::to_string(batch.records[r]);
      for (std::size_t c = 0; c < rows.columns().size(); ++c)
        text += concat(" ", batch.cell(r, c).empty() ? "." : batch.cell(r, c));
      text += "\n";
    }
  }
  return text;
}
std::string joined(const std::string& text, const std::string& table, const std::string& on) {
  const auto rows = join_rows(rows_of(text), columns_of(text), test::small_table(table, "more.csv"), on);
  return all_of(*rows);
}
std::string unfolded(const std::string& text, const std::vector<std::string>& kept = {}) {
  const auto rows =
      unfold_rows(rows_of(text), columns_of(text), kept, MissingValues({"NA"}), WideCells::taken, "t.csv");
  return all_of(*rows);
}

TEST(JoinedRows, EveryRowStays) {
  EXPECT_EQ(joined("student,course\na,A\nb,B\na,C\n", "student,major\na,x\nc,y\n", "student"),
            "student,course,major\n2 a A x\n3 b B .\n4 a C x\n");
  EXPECT_EQ(joined("id,t,major\na,1,p\na,2,q\n", "who,when,major\na,2,x\n", "id=who+t=when"),
            "id,t,major,more_major\n2 a 1 p .\n3 a 2 q x\n");
}

TEST(JoinedRows, FaultsAreNamed) {
  const auto fault = [](const std::string& table, const std::string& on) {
    return test::message_of<Error>([&] { joined("student,course\na,A\n", table, on); });
  };
  EXPECT_TRUE(test::says(fault("student,major\na,x\nb,y\na,z\n", "student"), {"more.csv:4", "student", "--on A+B"}));
  EXPECT_TRUE(test::says(fault("id,major\na,x\n", "student"), {"--on", "more.csv", "'student'"}));
  EXPECT_TRUE(test::says(fault("id,major\na,x\n", "studnt=id"), {"--on", "'studnt'", "'student'"}));
}

TEST(UnfoldedRows, ACourseAColumn) {
  EXPECT_EQ(unfolded("student,sex,MATH 101,CHEM_10,BIO\na,F,1,0,x\nb,M,0,no,NA\nc,F,NA,,\n"),
            "student,sex,period,course,grade\n2 a F 1 MATH 101 .\n2 a F 1 BIO .\n3 b M 1 . .\n");
}

TEST(UnfoldedRows, ACourseAndPeriodAColumn) {
  const std::string cells = "\na,1,0,0,1\nb,1,,0,NA\n";
  const std::string expected = "student,period,course,grade\n2 a 1 M .\n2 a 2 C .\n3 b 1 M .\n";
  for (const char* names :
       {"student,M@1,M@2,C@1,C@2", "student,M (1),M (2),C (1),C (2)", "student,M_1,M_2,C_1,C_2",
        "student,M year 1,M year 2,C year 1,C year 2", "student,M_p1,M_p2,C_p1,C_p2", "student,M.1,M.2,C.1,C.2"})
    EXPECT_EQ(unfolded(names + cells), expected) << names;
}

TEST(UnfoldedRows, CellsMayBeGrades) {
  EXPECT_EQ(unfolded("student,M@1,C@1\na,B+,1\nb,NA,0\n"),
            "student,period,course,grade\n2 a 1 M B+\n2 a 1 C .\n3 b 1 . .\n");
}

TEST(UnfoldedRows, NumbersThatAreNoMarksAreNotLostInSilence) {
  const std::string table = "student,outcome,A,B,C,D\na,1,0.0,3.5,-2.0,1\nb,0,2,NA,4,3\n";
  EXPECT_EQ(
      test::message_of<InputError>([&] { unfolded(table); }),
      "t.csv: --wide: 4 columns hold numbers other than 0 and 1 ('A', 'B', 'C', 'D'), and only 'outcome' would be "
      "read as a course; if the numbers are the periods in which courses were taken, --wide-cells period reads them "
      "so; if they describe students, name them by --map NAME=COLUMN");
  EXPECT_EQ(unfolded(table, {"A", "B", "C", "D"}),
            "student,A,B,C,D,period,course,grade\n2 a 0.0 3.5 -2.0 1 1 outcome .\n3 b 2 NA 4 3 1 . .\n");
  const auto rows =
      unfold_rows(rows_of(table), columns_of(table), {}, MissingValues({"NA"}), WideCells::period, "t.csv");
  EXPECT_EQ(all_of(*rows),
            "student,outcome,period,course,grade\n2 a 1 3.5 B .\n2 a 1 -2.0 C .\n2 a 1 1 D .\n3 b 0 2 A .\n"
            "3 b 0 4 C .\n3 b 0 3 D .\n");
  EXPECT_EQ(rows->notes().size(), 1U);
  // Few numbers beside courses describe students.
  const std::string few = "student,points,age,A,B\na,3.5,20,1,0\n";
  const auto with_few =
      unfold_rows(rows_of(few), columns_of(few), {}, MissingValues({"NA"}), WideCells::taken, "t.csv");
  ASSERT_EQ(with_few->notes().size(), 1U);
  EXPECT_EQ(render_settings(with_few->notes().front(), "--"),
            "--wide: 2 columns are taken to describe students, not for courses: 'points', 'age'");
}

TEST(UnfoldedRows, WhatIsKeptIsNoCourse) {
  EXPECT_EQ(unfolded("id,first,M,C\na,1,1,0\n", {"id", "first"}), "id,first,period,course,grade\n2 a 1 1 M .\n");
  EXPECT_EQ(unfolded("student,term,M,C\na,F18,1,0\na,S19,0,1\n"),
            "student,term,course,grade\n2 a F18 M .\n3 a S19 C .\n");
  EXPECT_TRUE(test::says(test::message_of<InputError>([] { unfolded("student,plan\na,abc\n"); }), {"t.csv", "--wide"}));
}

}  // namespace
}  // namespace desirepath::table_shapes_test
