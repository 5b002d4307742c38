// CSV, TSV and their kin, read so that no row is ever lost without a word.
//
// DuckDB's own CSV reader is not used for this: where a quote is opened and never closed, version 1.4.4 drops the rows
// behind it without a reject (docs/decisions/0002-reading-delimited-text.md). Here a record that breaks the rules of
// quoting costs its first line, which is rejected with its number, and reading goes on at the next line.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "desirepath/ingest/record_reader.h"
#include "desirepath/ingest/rejects.h"
#include "desirepath/ingest/row_source.h"
#include "desirepath/ingest/text_decoder.h"

namespace desirepath::inline ingest {

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

  const std::vector<std::string>& columns() const override { return rules_.columns; }
  bool next(RowBatch& batch) override;
  bool begin_pieces() override;
  std::unique_ptr<RowPiece> next_piece() override;
  std::int64_t records_before_pieces() const override { return records_.record(); }
  std::string description() const override;
  double fraction() const override { return text_->fraction(); }

 private:
  bool fill();
  bool read_header(const std::string& file);

  std::unique_ptr<TextDecoder> text_;
  std::size_t source_;
  RejectLog& rejects_;
  RecordRules rules_;
  RecordReader records_;
  bool text_ended_ = false;
  std::string line_begun_;  // behind the last piece
  bool pieces_ended_ = false;
};

}  // namespace desirepath::inline ingest
