#include "desirepath/ingest/delimited_reader.h"

#include "support/support.h"
#include "support/text_tables.h"

#include "desirepath/core/error.h"
#include "desirepath/core/table.h"
#include "desirepath/core/text.h"

namespace desirepath::delimited_reader_test {
namespace {

struct ReadBack {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::int64_t> records;
  RejectLog rejects;
  std::string description;
};

ReadBack read(const std::string& text, DelimitedOptions options = {}) {
  ReadBack result;
  DelimitedReader reader(std::make_unique<TextDecoder>(bytes_of_text(text), "file", options.encoding), "file", 0,
                         options, result.rejects);
  result.columns = reader.columns();
  RowBatch batch;
  while (reader.next(batch)) {
    for (std::size_t r = 0; r < batch.row_count(); ++r) {
      result.rows.emplace_back();
      for (std::size_t c = 0; c < batch.column_count; ++c)
        result.rows.back().emplace_back(batch.cell(r, c));
      result.records.push_back(batch.records[r]);
    }
  }
  result.description = reader.description();
  return result;
}

using Rows = std::vector<std::vector<std::string>>;

TEST(DelimitedReader, ReadsDialects) {
  const Rows expected = {{"1", "a b"}, {"2", "c"}};
  EXPECT_EQ(read("x,y\n1,a b\n2,c\n").rows, expected);
  EXPECT_EQ(read("x;y\r\n1;a b\r\n2;c\r\n").rows, expected);
  EXPECT_EQ(read("x\ty\n1\ta b\n2\tc").rows, expected);
  EXPECT_EQ(read("x|y\r1|a b\r2|c\r").rows, expected);
  EXPECT_EQ(read("sep=;\nx;y\n1;a b\n2;c\n").rows, expected);
  EXPECT_EQ(read("\"x\",\"y\"\n\"1\",\"a b\"\n2,\"c\"\n").rows, expected);
  EXPECT_EQ(read("'x','y'\n'1','a b'\n'2','c'\n").rows, expected);
  EXPECT_EQ(read("\n\nx,y\n\n1,a b\n   \n2,c\n\n").rows, expected);
}

TEST(DelimitedReader, ReadsQuotedDelimitersNewlinesAndQuotes) {
  EXPECT_EQ(read("x,y\n\"1,5\",\"a\nb\"\n2,\"say \"\"hi\"\"\"\n").rows, (Rows{{"1,5", "a\nb"}, {"2", "say \"hi\""}}));
  EXPECT_EQ(read("x,y\n1,\"say \\\"hi\\\"\"\n2,\"b\"\n").rows, (Rows{{"1", "say \"hi\""}, {"2", "b"}}));
  EXPECT_EQ(read("x,y\n1,\"\"\n,\n").rows, (Rows{{"1", ""}, {"", ""}}));
}

TEST(DelimitedReader, RejectsBadRowsWithTheirRecordAndGoesOn) {
  const ReadBack result = read("x,y\n1,a\n2\n3,b,c\n\"4\"d,e\n5,f\n");
  EXPECT_EQ(result.rows, (Rows{{"1", "a"}, {"5", "f"}}));
  EXPECT_EQ(result.records, (std::vector<std::int64_t>{2, 6}));
  ASSERT_EQ(result.rejects.count(), 3);
  EXPECT_EQ(result.rejects.kept()[0].record, 3);
  EXPECT_EQ(result.rejects.kept()[1].record, 4);
  EXPECT_EQ(result.rejects.kept()[2].record, 5);
  EXPECT_EQ(result.rejects.by_reason().size(), 3U);  // each for a reason of its own
}

TEST(DelimitedReader, AnUnclosedQuoteCostsItsLineOnly) {
  std::string text = "x,y\n";
  for (int i = 0; i < 300000; ++i)
    text += concat(i == 1000 ? "\"" : "", i, ",value\n");
  const ReadBack result = read(text);
  EXPECT_EQ(result.rows.size(), 299999U);
  EXPECT_EQ(result.rejects.count(), 1);
  EXPECT_EQ(result.rejects.kept()[0].record, 1002);
  EXPECT_EQ(result.records.back(), 300001);
}

TEST(DelimitedReader, ALineTooLongCostsItselfOnly) {
  const std::string text = concat("x,y\n1,a\n2,", std::string(10'000'000, 'z'), "\n3,b\n");
  const ReadBack result = read(text);
  EXPECT_EQ(result.rows, (Rows{{"1", "a"}, {"3", "b"}}));
  ASSERT_EQ(result.rejects.count(), 1);
  EXPECT_EQ(result.rejects.kept()[0].record, 3);
  EXPECT_TRUE(test::says(result.rejects.kept()[0].reason, {"1.0 MiB"}));
  EXPECT_EQ(result.records.back(), 4);
}

TEST(DelimitedReader, DecodesEncodings) {
  const Rows expected = {{"1", "Ästhetik €"}};
  EXPECT_EQ(read("\xEF\xBB\xBFx,y\n1,Ästhetik €\n").rows, expected);
  EXPECT_EQ(read("x,y\n1,\xC4sthetik \x80\n").rows, expected);  // Windows-1252
  EXPECT_NE(read("x,y\n1,\xC4sthetik\n").description.find("Windows-1252"), std::string::npos);
  const auto utf16 = [](bool big, bool mark) {
    std::string out = mark ? (big ? "\xFE\xFF" : "\xFF\xFE") : "";
    for (const char16_t c : u"x,y\n1,Ästhetik €\n") {
      if (c == 0) continue;
      const char high = static_cast<char>(c >> 8), low = static_cast<char>(c & 255);
      out += big ? high : low;
      out += big ? low : high;
    }
    return out;
  };
  for (const bool big : {false, true}) {
    for (const bool mark : {false, true})
      EXPECT_EQ(read(utf16(big, mark)).rows, expected) << big << mark;
  }
  EXPECT_EQ(read("x,y\n1,\xE4\xF6\n", {.encoding = "latin1"}).rows, (Rows{{"1", "äö"}}));
  EXPECT_THROW(read("x,y\n", {.encoding = "klingon"}), OptionError);
}

TEST(DelimitedReader, ALateForeignByteInAnAsciiFileIsWindows1252) {
  std::string text = "x,y\n";
  for (int i = 0; i < 600000; ++i)
    text += "1,plain\n";
  text += "2,\xC4\n";
  const ReadBack result = read(text);
  EXPECT_EQ(result.rows.back()[1], "Ä");
  EXPECT_EQ(result.rejects.count(), 0);
}

TEST(DelimitedReader, MixedEncodingsAreRejectedRowByRow) {
  const ReadBack result = read("x,y\n1,Ä\n2,Ö\n3,\xC4\n4,Ü\n");
  EXPECT_EQ(result.rows.size(), 3U);
  ASSERT_EQ(result.rejects.count(), 1);
  EXPECT_EQ(result.rejects.kept()[0].column, "y");
  EXPECT_TRUE(test::says(result.rejects.kept()[0].reason, {"UTF-8"}));
}

TEST(DelimitedReader, RefusesWhatIsNoTable) {
  EXPECT_THROW(read(std::string("a\0b\0\x01,,,", 9)), InputError);
  EXPECT_THROW(read("\n\n"), InputError);
  EXPECT_THROW(read("x,x\n1,2\n"), InputError);
  EXPECT_THROW(read("\"x,y\n1,2\n"), InputError);
}

TEST(DelimitedReaderProperty, WhatCsvFieldWritesComesBack) {
  test::expect_property("any cells survive quoting", [] {
    const auto cell = rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab,;\"'\n\r\t |0")));
    const auto rows =
        *rc::gen::nonEmpty(rc::gen::container<Rows>(rc::gen::container<std::vector<std::string>>(3, cell)));
    std::string text = "first column,second column,third column\n";
    for (const auto& row : rows) {
      // A first cell that is not blank: a line of blanks is passed over.
      text += concat("x", csv_field(row[0]).starts_with('"') ? "" : csv_field(row[0]), ",\"", "\",", csv_field(row[2]),
                     "\n");
    }
    const ReadBack result = read(text, {.delimiter = ','});
    RC_ASSERT(result.rows.size() == rows.size());
    for (std::size_t r = 0; r < rows.size(); ++r)
      RC_ASSERT(result.rows[r][2] == rows[r][2]);
  });
}

}  // namespace
}  // namespace desirepath::delimited_reader_test
