// What is read side by side is what is read one after the other.
#include <random>

#include "support/support.h"
#include "support/text_tables.h"

#include "desirepath/core/text.h"
#include "desirepath/ingest/delimited_reader.h"

namespace desirepath::pieces_test {
namespace {

struct Reading {
  std::vector<std::string> rows;  // the record and its cells
  std::vector<std::string> rejects;
  bool operator==(const Reading&) const = default;
};

class ReadText {
 public:
  explicit ReadText(const std::string& text)
      : reader_(std::make_unique<TextDecoder>(bytes_of_text(text), "file", ""), "file", 0, {}, rejects_) {}

  Reading one_after_the_other() {
    while (reader_.next(batch_))
      add_batch(0);
    for (const Reject& reject : rejects_.kept())
      add(reject, 0);
    return reading_;
  }
  /// pieces: how many there were; again: how many had to be read twice.
  Reading in_pieces(int& pieces, int& again) {
    EXPECT_TRUE(reader_.begin_pieces());
    std::int64_t records = reader_.records_before_pieces();
    std::unique_ptr<RowPiece> before;
    while (auto piece = reader_.next_piece()) {
      const std::size_t rows_before = reading_.rows.size();
      const auto read = [&] {
        reading_.rows.resize(rows_before);
        while (piece->next(batch_))
          add_batch(records);
      };
      read();
      if (before && piece->is_changed_by(*before)) {
        read();
        ++again;
      }
      for (const Reject& reject : piece->take_rejects())
        add(reject, records);
      records += piece->record_count();
      before = std::move(piece);
      ++pieces;
    }
    return reading_;
  }

 private:
  void add_batch(std::int64_t before) {
    for (std::size_t r = 0; r < batch_.row_count(); ++r) {
      std::string row = std::to_string(before + batch_.records[r]);
      for (std::size_t c = 0; c < batch_.column_count; ++c)
        row += concat("|", batch_.cell(r, c));
      reading_.rows.push_back(std::move(row));
    }
  }
  void add(const Reject& reject, std::int64_t before) {
    reading_.rejects.push_back(concat(before + reject.record, " ", reject.column, ": ", reject.reason));
  }

  RejectLog rejects_;
  DelimitedReader reader_;
  RowBatch batch_;
  Reading reading_;
};

/// Records of two cells, some over many lines, some broken; about as many bytes.
std::string hostile_text(std::size_t bytes, unsigned seed) {
  std::mt19937 draw(seed);
  std::string text = "x,y\n";
  while (text.size() < bytes) {
    const unsigned kind = draw() % 100;
    const std::string number = std::to_string(draw() % 1000);
    if (kind < 40) {
      text += concat(number, ",plain\n");
    } else if (kind < 60) {
      text += concat(number, ",\"say \"\"hi\"\", twice\"\r\n");
    } else if (kind < 62) {
      text += concat(number, ",\"", std::string(draw() % 200'000, '\n'), "\"\n");  // lines of a cell
    } else if (kind < 63) {
      text += concat(number, ",\"", std::string(draw() % 40, 'z'), "\n");  // a quote that does not close here
    } else if (kind < 64) {
      text += concat(number, ",", std::string(draw() % 1'300'000, 'l'), "\n");
    } else if (kind < 66) {
      text += concat(number, draw() % 2 == 0 ? ",a,b\n" : "\n");
    } else if (kind < 67) {
      text += concat(number, ",\xC3\n");
    } else if (kind < 70) {
      text += "\n";
    } else {
      text += concat(number, ",\xC3\xA9t\xC3\xA9\n");
    }
  }
  if (seed % 2 == 0) text += "9,the end";
  if (seed % 3 == 0) text += "\n9,\"open";
  return text;
}

TEST(DelimitedReader, PiecesHoldTheSameRows) {
  int again = 0;
  for (unsigned seed = 1; seed <= 12; ++seed) {
    const std::string text = hostile_text(std::size_t{17} << 20, seed);
    int pieces = 0;
    const Reading cut = ReadText(text).in_pieces(pieces, again);
    EXPECT_GE(pieces, 4);
    const Reading whole = ReadText(text).one_after_the_other();
    EXPECT_FALSE(whole.rejects.empty());
    EXPECT_TRUE(cut == whole) << "seed " << seed << ": " << cut.rows.size() << " rows of " << whole.rows.size() << ", "
                              << cut.rejects.size() << " rejects of " << whole.rejects.size();
  }
  EXPECT_GT(again, 0);  // some cuts were inside of a cell
}

TEST(DelimitedReader, PiecesOfAShortText) {
  for (const char* text : {"x,y\n", "x,y", "x,y\n1,2", "x,y\n1,2\n\n", "x,y\n1,\"2", "sep=;\nx;y\n1;2\n"}) {
    int pieces = 0, again = 0;
    EXPECT_TRUE(ReadText(text).in_pieces(pieces, again) == ReadText(text).one_after_the_other()) << text;
  }
}

}  // namespace
}  // namespace desirepath::pieces_test
