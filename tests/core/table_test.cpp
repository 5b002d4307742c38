#include "desirepath/core/table.h"

#include "support/support.h"

#include "desirepath/core/error.h"
#include "desirepath/core/spreadsheet_csv.h"

namespace desirepath::table_test {
namespace {

Table example() {
  Table table({{"course"}, {"takers"}, {"share", 2}});
  table.add_row({std::string("Ästhetik, 1"), std::int64_t{12345}, 0.5});
  table.add_row({std::string("B"), std::monostate(), 1.0 / 0.0});
  return table;
}

TEST(Table, TextIsAligned) {
  std::ostringstream out;
  example().print_text(out);
  EXPECT_EQ(out.str(),
            "course       takers  share\n"
            "-----------  ------  -----\n"
            "Ästhetik, 1  12,345   0.50\n"
            "B                 -      -\n");
}

TEST(SpreadsheetCsv, NoCellIsAFormula) {
  std::ostringstream out;
  {
    SpreadsheetCsv filter(out);
    std::ostream csv(&filter);
    csv << "course,share\n=1+1,-0.5\n\"@SUM(A1,2)\",+3\n-x,\"a,=b\"\n\"say \"\"=x\"\"\",1e-5\n+";
  }
  EXPECT_EQ(out.str(), "course,share\n'=1+1,-0.5\n\"'@SUM(A1,2)\",'+3\n'-x,\"a,=b\"\n\"say \"\"=x\"\"\",1e-5\n'+");
}

TEST(Table, CsvQuotesWhereNeededAndHoldsNoInfinity) {
  std::ostringstream out;
  example().print_csv(out);
  EXPECT_EQ(out.str(), "course,takers,share\n\"Ästhetik, 1\",12345,0.5\nB,,\n");
  EXPECT_EQ(csv_field("a\"b"), "\"a\"\"b\"");
  EXPECT_EQ(csv_field(" a"), "\" a\"");
}

TEST(Table, JsonHasTheSameCells) {
  EXPECT_EQ(example().to_json().dump(),
            R"([{"course":"Ästhetik, 1","takers":12345,"share":0.5},{"course":"B","takers":null,"share":null}])");
}

TEST(Table, RefusesRowsOfAnotherWidth) {
  Table table({{"a"}});
  EXPECT_THROW(table.add_row({}), Error);
}

}  // namespace
}  // namespace desirepath::table_test
