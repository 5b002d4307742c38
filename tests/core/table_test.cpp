#include "desirepath/core/table.h"

#include <limits>

#include <nlohmann/json.hpp>

#include "support/support.h"

#include "desirepath/core/answer.h"
#include "desirepath/core/error.h"
#include "desirepath/core/spreadsheet_csv.h"

namespace desirepath::table_test {
namespace {

struct Row {
  Named course;
  std::optional<std::int64_t> takers;
  double share;
  bool is_core;
};

Table example() {
  return {std::vector<Row>{{{"AES 1", "Ästhetik, 1"}, 12345, 0.5, true},
                           {{"B", "B"}, std::nullopt, std::numeric_limits<double>::infinity(), false}},
          {{"course", &Row::course},
           {"takers", &Row::takers},
           {"share", &Row::share, share(2)},
           {"core", &Row::is_core, {.shown = Shown::to_programs, .flag = FlagForm::digit}},
           {"title", [](const Row& row) { return row.course.title; }, {.shown = Shown::in_csv}},
           {"percentage", &Row::share, {.percent = Percent::whole, .shown = Shown::if_picked}},
           {"absent", &Row::share, {.is_there = false}}}};
}

std::string text_of(const Table& table) {
  std::ostringstream out;
  table.print_text(out);
  return out.str();
}
std::string csv_of(const Table& table) {
  std::ostringstream out;
  table.print_csv(out);
  return out.str();
}

TEST(Table, TextIsAlignedAndNamesThingsAsPeopleDo) {
  EXPECT_EQ(text_of(example()),
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
  EXPECT_EQ(csv_of(example()), "course,takers,share,core,title\nAES 1,12345,0.5,1,\"Ästhetik, 1\"\nB,,,0,B\n");
  EXPECT_EQ(csv_field("a\"b"), "\"a\"\"b\"");
  EXPECT_EQ(csv_field(" a"), "\" a\"");
}

TEST(Table, JsonHasTheSameCells) {
  EXPECT_EQ(example().to_json().dump(), R"([{"course":"AES 1","takers":12345,"share":0.5,"core":1},)"
                                        R"({"course":"B","takers":null,"share":null,"core":0}])");
}

TEST(Table, AnEmptyCellMayHaveNoKey) {
  const Table table(std::vector<Row>{{{}, std::nullopt, 0, false}, {{}, 3, 0, false}},
                    {{"takers", &Row::takers, {.may_lack = true}}});
  EXPECT_EQ(table.to_json().dump(), R"([{},{"takers":3}])");
}

TEST(Table, PickedColumnsAreShownByEveryRendering) {
  const Table picked = example().first(1).pick({"percentage", {"core", "required"}});
  EXPECT_EQ(text_of(picked),
            "percentage  required\n"
            "----------  --------\n"
            "50 %        yes\n");
  EXPECT_EQ(csv_of(picked), "percentage,core\n0.5,1\n");
  EXPECT_EQ(picked.to_json().dump(), R"([{"percentage":0.5,"core":1}])");
  EXPECT_THROW(example().pick({"seats"}), Error);
}

TEST(Table, TypesAreThoseOfTheCellsUnlessDeclared) {
  const Table table = example();
  std::vector<ColumnType> types;
  for (const Column& column : table.columns())
    types.push_back(column.look.type.value());
  using enum ColumnType;
  EXPECT_EQ(types, (std::vector{text, whole, share, flag, text, share, number}));
}

TEST(Table, NestedCellsAreForJsonAlone) {
  const Table table(std::vector<int>{2}, {{"half", [](int number) { return nlohmann::ordered_json{number, 0.5}; }}});
  EXPECT_EQ(table.to_json().dump(), R"([{"half":[2,0.5]}])");
  EXPECT_EQ(csv_of(table), "\n\n");
}

TEST(Answer, IsWrittenInPiecesAsItIsWhole) {
  Answer answer;
  answer.set("none", std::optional<double>());
  answer.add("courses", example());
  answer.set("empty", example().first(0));
  answer.set("nested", {{"a", {1, 2}}});
  std::string text;
  answer.write_json("test/1", [&](const std::string& piece) { text += piece; });
  nlohmann::ordered_json whole = {{"schema", "test/1"}};
  whole.update(answer.to_json());
  EXPECT_EQ(text, whole.dump(2) + "\n");
}

TEST(Answer, ShowsTheChosenTableWhereItHasNoWords) {
  Answer answer;
  answer.add_table("all", example());
  answer.add_table("some", example().pick({"takers"}));
  std::ostringstream out;
  answer.print(out);
  EXPECT_EQ(out.str(), text_of(example()));
  answer.choose("some");
  EXPECT_EQ(csv_of(answer.chosen_table()), "takers\n12345\n\n");
  EXPECT_THROW(answer.choose("none"), OptionError);
  EXPECT_THROW(Answer().chosen_table(), Error);
}

}  // namespace
}  // namespace desirepath::table_test
