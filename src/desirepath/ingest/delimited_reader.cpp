#include "desirepath/ingest/delimited_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/ingest/column_names.h"

namespace desirepath::inline ingest {

namespace {

constexpr std::array delimiters = {',', ';', '\t', '|', '^', '~'};
constexpr std::size_t sample_records = 200;
constexpr std::size_t most_table_columns = 10'000;

/// Numbers of fields of the first records when cut by this delimiter; quotes respected.
std::vector<int> field_counts(std::string_view sample, char delimiter, char quote) {
  std::vector<int> counts;
  bool quoted = false, at_field_start = true, blank = true;
  int fields = 1;
  for (const char c : sample) {
    if (quoted) {
      if (c == quote) quoted = false;
      continue;
    }
    if (c == '\n' || c == '\r') {
      if (!blank) counts.push_back(fields);
      if (counts.size() >= sample_records) return counts;
      fields = 1;
      at_field_start = blank = true;
      continue;
    }
    blank = false;
    if (c == quote && at_field_start) {
      quoted = true;
    } else if (c == delimiter) {
      ++fields;
      at_field_start = true;
      continue;
    }
    at_field_start = false;
  }
  if (!blank) counts.push_back(fields);  // a last line without its end
  return counts;
}

}  // namespace

std::string Dialect::name() const {
  switch (delimiter) {
    case ',':
      return "comma";
    case ';':
      return "semicolon";
    case '\t':
      return "tab";
    case '|':
      return "bar";
    default:
      return concat("'", delimiter, "'");
  }
}

Dialect sniff_dialect(std::string_view sample) {
  Dialect dialect;
  // Quotes inside a quoted cell: doubled, or behind a backslash. A pair that is a whole cell, or ends one, tells
  // nothing.
  int doubled = 0, escaped = 0;
  for (std::size_t at = 1; at + 1 < sample.size(); ++at) {
    if (sample[at] != '"') continue;
    const auto parts_cells = [](char c) {
      return c == '\n' || c == '\r' || std::ranges::find(delimiters, c) != delimiters.end();
    };
    if (sample[at - 1] == '\\') ++escaped;
    if (sample[at + 1] == '"' && sample[at - 1] != '\\' && !parts_cells(sample[at - 1])) ++doubled;
  }
  const bool double_quotes = sample.find('"') != std::string_view::npos;
  const auto starts_quoted = [&](char quote) { return !sample.empty() && sample.front() == quote; };
  if (!double_quotes && starts_quoted('\'')) dialect.quote = '\'';
  dialect.backslash_escapes = escaped > 0 && doubled == 0;

  double best = 0;
  for (const char delimiter : delimiters) {
    const std::vector<int> counts = field_counts(sample, delimiter, dialect.quote);
    if (counts.empty() || counts.front() < 2) continue;
    const auto even = static_cast<double>(std::ranges::count(counts, counts.front()));
    // Evenness first; among equally even ones more fields are less likely an accident.
    const double score = even / static_cast<double>(counts.size()) + 1e-3 * std::min(counts.front(), 100);
    if (score > best) {
      best = score;
      dialect.delimiter = delimiter;
    }
  }
  return dialect;
}

DelimitedReader::DelimitedReader(std::unique_ptr<TextDecoder> text, const std::string& file, std::size_t source,
                                 const DelimitedOptions& options, RejectLog& rejects)
    : text_(std::move(text)), source_(source), rejects_(rejects), records_(rules_) {
  rules_.longest_record = options.longest_record;
  fill();
  std::string_view sample = records_.rest().substr(0, std::size_t{1} << 20);
  rules_.carriage_returns = sample.find('\n') == std::string_view::npos && sample.find('\r') != std::string_view::npos;
  // Excel's own way to name the delimiter: a first line "sep=;".
  std::optional<char> named;
  if (sample.size() > 5 && lower_case(sample.substr(0, 4)) == "sep=" && (sample[5] == '\n' || sample[5] == '\r')) {
    named = sample[4];
    records_.go_on_at(std::min(sample.find_first_not_of("\r\n", 5), records_.rest().size()));
    sample = sample.substr(std::min(records_.position(), sample.size()));
  }
  rules_.dialect = sniff_dialect(sample);
  if (named) rules_.dialect.delimiter = *named;
  if (options.delimiter) rules_.dialect.delimiter = *options.delimiter;
  if (!read_header(file))
    throw InputError(concat(file, ": there is no header line; the first line must name the columns"));
}

using Outcome = RecordReader::Outcome;

bool DelimitedReader::read_header(const std::string& file) {
  while (true) {
    std::size_t end = 0;
    Outcome outcome = records_.parse(end);
    while (outcome == Outcome::need_more && !text_ended_ && records_.rest().size() <= rules_.longest_record) {
      fill();
      outcome = records_.parse(end);
    }
    const std::size_t size = outcome == Outcome::record ? end - records_.position() : records_.rest().size();
    if (size > rules_.longest_record) {
      throw InputError(
          {file, records_.record() + 1, 0},
          concat("the first line is longer than ", as_bytes_text(static_cast<double>(rules_.longest_record)),
                 ": not a table with a line of column names; give CSV or Parquet"));
    }
    if (outcome != Outcome::record) {
      if (records_.rest().empty()) return false;
      throw InputError({file, records_.record() + 1, 0},
                       "the line of column names has a quote that does not close; mend that line");
    }
    records_.go_on_at(end);
    const bool blank = records_.cells().size() == 1 && trimmed(records_.cells()[0]).empty();
    if (!blank) break;
  }
  const std::vector<std::string_view>& row = records_.cells();
  const std::int64_t record = records_.record();
  if (row.size() > most_table_columns) {
    throw InputError({file, record, 0},
                     concat("the line of column names has ", with_separators(std::ssize(row)), " columns, over ",
                            with_separators(most_table_columns), "; give a table with one row an enrollment"));
  }
  for (std::size_t c = 0; c < row.size(); ++c) {
    if (is_valid_utf8(row[c])) continue;
    throw InputError({file, record, static_cast<std::int64_t>(c) + 1},
                     concat("the column's name is not valid ", text_->encoding(), "; give ", setting_name("encoding")));
  }
  rules_.columns = column_names(row, file, record);
  return true;
}

bool DelimitedReader::fill() {
  if (text_ended_) return false;
  text_ended_ = !text_->append_block(records_.room_for_more());
  records_.set_last(text_ended_);
  records_.set_encoding(text_->encoding());
  return !text_ended_;
}

bool DelimitedReader::next(RowBatch& batch) {
  const auto reject = [&](std::int64_t record, const std::string& column, const std::string& reason) {
    rejects_.add(source_, record, column, reason);
  };
  while (true) {
    const bool was_all = text_ended_;
    records_.read(batch, reject);
    if (batch.row_count() > 0) return true;
    if (was_all) return false;
    fill();
  }
}

namespace {

/// Text from the beginning of a line, as far as can be told before what comes before it is read, to the end of one.
class TextPiece : public RowPiece {
 public:
  explicit TextPiece(RecordReader records) : records_(std::move(records)) {}

  bool next(RowBatch& batch) override {
    if (std::exchange(done_, true)) {
      batch.clear();
      return false;
    }
    records_.read(batch, [&](std::int64_t record, const std::string& column, const std::string& reason) {
      rejects_.push_back({0, record, column, reason});
    });
    return true;
  }
  std::int64_t record_count() const override { return records_.record(); }
  std::vector<Reject> take_rejects() override { return std::move(rejects_); }
  bool is_changed_by(const RowPiece& before) override {
    const auto& text = static_cast<const TextPiece&>(before).records_;  // NOLINT(*-static-cast-downcast): of one source
    if (text.rest().empty() && !text.is_skipping()) return false;
    records_.begin_with(text.rest(), text.is_skipping());
    rejects_.clear();
    done_ = false;
    return true;
  }

 private:
  RecordReader records_;
  std::vector<Reject> rejects_;
  bool done_ = false;
};

}  // namespace

std::unique_ptr<RowPiece> DelimitedReader::next_piece() {
  if (pieces_ended_) return nullptr;
  std::string text = std::exchange(line_begun_, {});
  if (!text_ended_) text_ended_ = !text_->append_block(text);
  pieces_ended_ = text_ended_;
  const std::size_t last_line = text_ended_ ? std::string::npos : text.rfind(rules_.line_end());
  if (last_line != std::string::npos) {
    line_begun_ = text.substr(last_line + 1);
    text.resize(last_line + 1);
  }
  RecordReader records(rules_, std::move(text));
  records.set_last(pieces_ended_);
  records.set_encoding(text_->encoding());
  return std::make_unique<TextPiece>(std::move(records));
}

bool DelimitedReader::begin_pieces() {
  line_begun_ = records_.rest();
  return true;
}

std::string DelimitedReader::description() const {
  return concat(rules_.dialect.name(), "-separated text, ", text_->encoding(), ", ", rules_.columns.size(), " columns");
}

}  // namespace desirepath::inline ingest
