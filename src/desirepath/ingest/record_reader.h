// Records of delimited text, from where one begins to where more text is needed.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "desirepath/ingest/row_source.h"

namespace desirepath::inline ingest {

struct Dialect {
  char delimiter = ',';
  char quote = '"';
  bool backslash_escapes = false;  // \" inside quotes, where "" is not used
  std::string name() const;        // "comma", "tab" ...
};

/// How the text of one file is cut.
struct RecordRules {
  Dialect dialect;
  std::vector<std::string> columns;
  bool carriage_returns = false;  // lines end in \r alone
  std::size_t longest_record = std::size_t{1} << 20;

  char line_end() const { return carriage_returns ? '\r' : '\n'; }
};

class RecordReader {
 public:
  enum class Outcome { record, need_more, broken_quotes };
  using Rejecter = std::function<void(std::int64_t record, const std::string& column, const std::string& reason)>;

  /// The rules are kept by reference.
  explicit RecordReader(const RecordRules& rules, std::string text = {}) : rules_(&rules), text_(std::move(text)) {}

  /// To append to; ends what batches point to. `is_last`: nothing comes behind what is there then.
  std::string& room_for_more();
  void set_last(bool is_last) { is_last_ = is_last; }
  void set_encoding(std::string encoding) { encoding_ = std::move(encoding); }  // for messages
  /// Where the text before breaks off: its rest, and whether a rejected line is still to be passed over.
  void begin_with(std::string_view rest, bool is_skipping);

  std::string_view rest() const { return std::string_view(text_).substr(position_); }
  bool is_skipping() const { return skipping_line_; }
  std::int64_t record() const { return record_; }  // number of the last one read

  /// The record that begins where reading stands, in cells(); `end` is set behind it.
  Outcome parse(std::size_t& end);
  const std::vector<std::string_view>& cells() const { return row_; }
  void go_on_at(std::size_t end) {
    position_ = end;
    ++record_;
  }
  std::size_t position() const { return position_; }

  /// All records there are. One that breaks the rules of quoting costs its first line.
  void read(RowBatch& batch, const Rejecter& reject);

 private:
  /// Of the text to be read: what makes looking at every line for it needless.
  struct Contents {
    bool zero_bytes, ascii;
  };
  bool is_good(std::string_view line, const Contents& contents, const Rejecter& reject) const;
  Outcome parse_quoted(const char* at, std::size_t& end);

  const RecordRules* rules_;
  std::string text_;
  std::string encoding_;
  std::size_t position_ = 0;  // of the next record in the text
  bool is_last_ = false;
  bool has_quotes_ = true;      // somewhere in the text, or not looked for
  bool skipping_line_ = false;  // the rest of a rejected line is still to be passed over
  std::int64_t record_ = 0;
  std::vector<std::string_view> row_;  // cells of the record being parsed
  std::deque<std::string> unescaped_;  // cells that had to be rewritten; a deque keeps views valid
};

}  // namespace desirepath::inline ingest
