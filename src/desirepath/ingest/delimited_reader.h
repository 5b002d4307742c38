// CSV, TSV and their kin, read so that no row is ever lost without a word.
//
// DuckDB's own CSV reader is not used for this: where a quote is opened and never closed, version 1.4.4 drops the rows
// behind it without a reject (docs/decisions/0002-reading-delimited-text.md). Here a record that breaks the rules of
// quoting costs its first line, which is rejected with its number, and reading goes on at the next line.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "desirepath/ingest/rejects.h"
#include "desirepath/ingest/row_source.h"
#include "desirepath/ingest/text_decoder.h"

namespace desirepath::inline ingest {

struct Dialect {
  char delimiter = ',';
  char quote = '"';
  bool backslash_escapes = false;  // \" inside quotes, where "" is not used
  std::string name() const;        // "comma", "tab" ...
};

/// Chosen by how evenly each candidate cuts the first records.
Dialect sniff_dialect(std::string_view sample);

struct DelimitedOptions {
  std::string encoding;           // empty: detect
  std::optional<char> delimiter;  // empty: sniff
  std::size_t longest_record = std::size_t{1} << 20;
};

class DelimitedReader : public RowSource {
 public:
  /// source: number of the file in the reject log. Throws InputError when there is no header.
  DelimitedReader(std::unique_ptr<TextDecoder> text, const std::string& file, std::size_t source,
                  const DelimitedOptions& options, RejectLog& rejects);

  const std::vector<std::string>& columns() const override { return columns_; }
  bool next(RowBatch& batch) override;
  std::string description() const override;
  double fraction() const override { return text_->fraction(); }

 private:
  enum class Outcome { record, need_more, broken_quotes };
  bool fill();
  Outcome parse(std::size_t& position, bool at_end);
  void reject(const std::string& column, const std::string& reason);
  bool read_header(const std::string& file);

  std::unique_ptr<TextDecoder> text_;
  std::size_t source_;
  DelimitedOptions options_;
  RejectLog& rejects_;
  Dialect dialect_;
  std::vector<std::string> columns_;
  std::string buffer_;
  std::size_t position_ = 0;  // of the next record in buffer_
  bool text_ended_ = false;
  bool has_zero_bytes_ = false;        // somewhere in the text so far
  bool skipping_line_ = false;         // the rest of a rejected line is still to be passed over
  bool carriage_returns_ = false;      // lines end in \r alone
  std::int64_t record_ = 0;            // number of the record last read
  std::vector<std::string_view> row_;  // cells of the record being parsed
  std::deque<std::string> unescaped_;  // cells that had to be rewritten; a deque keeps views valid
};

}  // namespace desirepath::inline ingest
