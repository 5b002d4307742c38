#include "desirepath/ingest/delimited_reader.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/ingest/column_names.h"

namespace desirepath::inline ingest {

namespace {

constexpr std::array delimiters = {',', ';', '\t', '|', '^', '~'};
constexpr std::size_t sample_records = 200;
constexpr std::size_t most_columns = 10'000;

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
    : text_(std::move(text)), source_(source), options_(options), rejects_(rejects) {
  fill();
  std::string_view sample = std::string_view(buffer_).substr(0, std::size_t{1} << 20);
  carriage_returns_ = sample.find('\n') == std::string_view::npos && sample.find('\r') != std::string_view::npos;
  // Excel's own way to name the delimiter: a first line "sep=;".
  std::optional<char> named;
  if (sample.size() > 5 && lower_case(sample.substr(0, 4)) == "sep=" && (sample[5] == '\n' || sample[5] == '\r')) {
    named = sample[4];
    position_ = sample.find_first_not_of("\r\n", 5);
    if (position_ == std::string::npos) position_ = buffer_.size();
    ++record_;
    sample = sample.substr(std::min(position_, sample.size()));
  }
  dialect_ = sniff_dialect(sample);
  if (named) dialect_.delimiter = *named;
  if (options_.delimiter) dialect_.delimiter = *options_.delimiter;
  if (!read_header(file))
    throw InputError(concat(file, ": there is no header line; the first line must name the columns"));
}

bool DelimitedReader::read_header(const std::string& file) {
  while (true) {
    std::size_t end = position_;
    Outcome outcome = parse(end, text_ended_);
    while (outcome == Outcome::need_more && !text_ended_ && buffer_.size() - position_ <= options_.longest_record) {
      fill();
      end = position_;
      outcome = parse(end, text_ended_);
    }
    if ((outcome == Outcome::record ? end : buffer_.size()) - position_ > options_.longest_record) {
      throw InputError(
          {file, record_ + 1, 0},
          concat("the first line is longer than ", as_bytes_text(static_cast<double>(options_.longest_record)),
                 ": not a table with a line of column names; give CSV or Parquet"));
    }
    if (outcome != Outcome::record) {
      if (position_ >= buffer_.size()) return false;
      throw InputError({file, record_ + 1, 0},
                       "the line of column names has a quote that does not close; mend that line");
    }
    position_ = end;
    ++record_;
    const bool blank = row_.size() == 1 && trimmed(row_[0]).empty();
    if (!blank) break;
  }
  if (row_.size() > most_columns) {
    throw InputError({file, record_, 0},
                     concat("the line of column names has ", with_separators(std::ssize(row_)), " columns, over ",
                            with_separators(most_columns), "; give a table with one row an enrollment"));
  }
  for (std::size_t c = 0; c < row_.size(); ++c) {
    if (is_valid_utf8(row_[c])) continue;
    throw InputError({file, record_, static_cast<std::int64_t>(c) + 1},
                     concat("the column's name is not valid ", text_->encoding(), "; give ", setting_name("encoding")));
  }
  columns_ = column_names(row_, file, record_);
  return true;
}

bool DelimitedReader::fill() {
  if (text_ended_) return false;
  // Cells of the last batch point into the buffer; it is only compacted here, between batches.
  buffer_.erase(0, position_);
  position_ = 0;
  const std::size_t old = buffer_.size();
  if (!text_->append_block(buffer_)) {
    text_ended_ = true;
    return false;
  }
  has_zero_bytes_ = has_zero_bytes_ || buffer_.find('\0', old) != std::string::npos;
  return true;
}

DelimitedReader::Outcome DelimitedReader::parse(std::size_t& position, bool at_end) {
  row_.clear();
  const char* const data = buffer_.data();
  const char* const end = data + buffer_.size();
  const char* at = data + position;
  if (at == end) return Outcome::need_more;
  const char line_end = carriage_returns_ ? '\r' : '\n';
  const auto find = [&](const char* from, const char* to, char c) -> const char* {
    const void* found = std::memchr(from, c, static_cast<std::size_t>(to - from));
    return found != nullptr ? static_cast<const char*>(found) : to;
  };

  const char* newline = find(at, end, line_end);
  if (newline == end && !at_end) return Outcome::need_more;
  const char* content_end = newline > at && newline[-1] == '\r' && !carriage_returns_ ? newline - 1 : newline;
  if (find(at, content_end, dialect_.quote) == content_end) {
    // No quotes on the line: the usual case.
    while (true) {
      const char* cell_end = find(at, content_end, dialect_.delimiter);
      row_.emplace_back(at, static_cast<std::size_t>(cell_end - at));
      if (cell_end == content_end) break;
      at = cell_end + 1;
    }
    position = static_cast<std::size_t>(newline - data) + (newline < end ? 1 : 0);
    return Outcome::record;
  }

  while (true) {
    if (at < end && *at == dialect_.quote) {
      const char* begin = ++at;
      std::string* rewritten = nullptr;
      while (true) {
        const char* stop = find(at, end, dialect_.quote);
        if (dialect_.backslash_escapes) stop = std::min(stop, find(at, stop, '\\'));
        if (stop == end) return at_end ? Outcome::broken_quotes : Outcome::need_more;
        const bool doubled = *stop == dialect_.quote && stop + 1 < end && stop[1] == dialect_.quote;
        if (*stop == dialect_.quote && stop + 1 == end && !at_end) return Outcome::need_more;
        if (*stop == '\\' && stop + 1 == end) return at_end ? Outcome::broken_quotes : Outcome::need_more;
        if (*stop == dialect_.quote && !doubled) {
          if (rewritten != nullptr) {
            rewritten->append(at, static_cast<std::size_t>(stop - at));
            row_.emplace_back(*rewritten);
          } else {
            row_.emplace_back(begin, static_cast<std::size_t>(stop - begin));
          }
          at = stop + 1;
          break;
        }
        if (rewritten == nullptr) rewritten = &unescaped_.emplace_back(begin, static_cast<std::size_t>(at - begin));
        rewritten->append(at, static_cast<std::size_t>(stop - at));
        *rewritten += stop[1];
        at = stop + 2;
      }
      while (at < end && *at == ' ' && dialect_.delimiter != ' ')
        ++at;
    } else {
      const char* begin = at;
      while (at < end && *at != dialect_.delimiter && *at != line_end)
        ++at;
      const char* cell_end = at;
      if (at < end && *at == line_end && cell_end > begin && cell_end[-1] == '\r' && !carriage_returns_) --cell_end;
      row_.emplace_back(begin, static_cast<std::size_t>(cell_end - begin));
    }
    if (at == end) {
      if (!at_end) return Outcome::need_more;
      position = buffer_.size();
      return Outcome::record;
    }
    if (*at == '\r' && !carriage_returns_) {
      if (at + 1 == end && !at_end) return Outcome::need_more;
      if (at + 1 == end || at[1] == '\n') ++at;
      if (at == end) {
        position = buffer_.size();
        return Outcome::record;
      }
    }
    if (*at == line_end) {
      position = static_cast<std::size_t>(at - data) + 1;
      return Outcome::record;
    }
    if (*at != dialect_.delimiter) return Outcome::broken_quotes;  // text behind a closing quote
    ++at;
  }
}

void DelimitedReader::reject(const std::string& column, const std::string& reason) {
  rejects_.add(source_, record_, column, reason);
}

bool DelimitedReader::next(RowBatch& batch) {
  batch.clear();
  batch.column_count = columns_.size();
  unescaped_.clear();
  const char line_end = carriage_returns_ ? '\r' : '\n';
  while (true) {
    // Filling moves the text the batch points to: a batch ends where more text is needed.
    const bool may_fill = batch.row_count() == 0;
    if (skipping_line_) {
      const std::size_t found = buffer_.find(line_end, position_);
      if (found == std::string::npos) {
        position_ = buffer_.size();
        if (!may_fill) return true;
        if (!fill()) return false;
        continue;
      }
      position_ = found + 1;
      skipping_line_ = false;
    }
    std::size_t end = position_;
    const std::size_t rewritten_before = unescaped_.size();
    Outcome outcome = parse(end, text_ended_);
    const std::size_t size = (outcome == Outcome::record ? end : buffer_.size()) - position_;
    if (outcome == Outcome::need_more && size <= options_.longest_record) {
      unescaped_.resize(rewritten_before);
      if (!may_fill) return true;
      if (!fill() && position_ >= buffer_.size()) return false;
      continue;
    }
    if (outcome != Outcome::record || size > options_.longest_record) {
      const std::size_t found = buffer_.find(line_end, position_);
      const std::size_t line = (found == std::string::npos ? buffer_.size() : found) - position_;
      ++record_;
      reject("", line > options_.longest_record
                     ? concat("line longer than ", as_bytes_text(static_cast<double>(options_.longest_record)))
                     : "quotes do not close, or text follows a closing quote");
      unescaped_.resize(rewritten_before);
      skipping_line_ = true;
      continue;
    }
    const std::string_view line = std::string_view(buffer_).substr(position_, size);
    const bool ascii = is_ascii(line);
    const bool zero_byte = has_zero_bytes_ && line.find('\0') != std::string_view::npos;
    position_ = end;
    ++record_;
    if (row_.size() == 1 && columns_.size() > 1 && trimmed(row_[0]).empty()) continue;  // a blank line
    if (row_.size() != columns_.size()) {
      reject("", row_.size() < columns_.size() ? "too few fields" : "too many fields");
      continue;
    }
    if (zero_byte) {
      reject("", "a zero byte in the line");
      continue;
    }
    if (!ascii) {
      const auto bad = std::ranges::find_if(row_, [](std::string_view cell) { return !is_valid_utf8(cell); });
      if (bad != row_.end()) {
        reject(columns_[static_cast<std::size_t>(bad - row_.begin())], concat("not valid ", text_->encoding()));
        continue;
      }
    }
    batch.cells.insert(batch.cells.end(), row_.begin(), row_.end());
    batch.records.push_back(record_);
  }
}

std::string DelimitedReader::description() const {
  return concat(dialect_.name(), "-separated text, ", text_->encoding(), ", ", columns_.size(), " columns");
}

}  // namespace desirepath::inline ingest
