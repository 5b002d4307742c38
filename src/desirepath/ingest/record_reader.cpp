#include "desirepath/ingest/record_reader.h"

#include <algorithm>
#include <cstring>

#include "desirepath/core/text.h"

namespace desirepath::inline ingest {

std::string& RecordReader::room_for_more() {
  // Cells of the last batch point into the text; it is only compacted here, between batches.
  text_.erase(0, position_);
  position_ = 0;
  has_quotes_ = true;
  return text_;
}

void RecordReader::begin_with(std::string_view rest, bool is_skipping) {
  text_.insert(0, rest);
  position_ = 0;
  record_ = 0;
  skipping_line_ = is_skipping;
}

namespace {

const char* find(const char* from, const char* to, char c) {
  const void* found = std::memchr(from, c, static_cast<std::size_t>(to - from));
  return found != nullptr ? static_cast<const char*>(found) : to;
}

}  // namespace

RecordReader::Outcome RecordReader::parse(std::size_t& end_of_record) {
  row_.clear();
  const Dialect& dialect = rules_->dialect;
  const char* const data = text_.data();
  const char* const end = data + text_.size();
  const char* at = data + position_;
  if (at == end) return Outcome::need_more;
  const char line_end = rules_->line_end();
  const char* newline = find(at, end, line_end);
  if (newline == end && !is_last_) return Outcome::need_more;
  const char* content_end = newline > at && newline[-1] == '\r' && !rules_->carriage_returns ? newline - 1 : newline;
  if (!has_quotes_ || find(at, content_end, dialect.quote) == content_end) {
    // No quotes on the line: the usual case.
    while (true) {
      const char* cell_end = find(at, content_end, dialect.delimiter);
      row_.emplace_back(at, static_cast<std::size_t>(cell_end - at));
      if (cell_end == content_end) break;
      at = cell_end + 1;
    }
    end_of_record = static_cast<std::size_t>(newline - data) + (newline < end ? 1 : 0);
    return Outcome::record;
  }
  return parse_quoted(at, end_of_record);
}

RecordReader::Outcome RecordReader::parse_quoted(const char* at, std::size_t& end_of_record) {
  const Dialect& dialect = rules_->dialect;
  const char* const data = text_.data();
  const char* const end = data + text_.size();
  const char line_end = rules_->line_end();
  while (true) {
    if (at < end && *at == dialect.quote) {
      const char* begin = ++at;
      std::string* rewritten = nullptr;
      while (true) {
        const char* stop = find(at, end, dialect.quote);
        if (dialect.backslash_escapes) stop = std::min(stop, find(at, stop, '\\'));
        if (stop == end) return is_last_ ? Outcome::broken_quotes : Outcome::need_more;
        const bool doubled = *stop == dialect.quote && stop + 1 < end && stop[1] == dialect.quote;
        if (*stop == dialect.quote && stop + 1 == end && !is_last_) return Outcome::need_more;
        if (*stop == '\\' && stop + 1 == end) return is_last_ ? Outcome::broken_quotes : Outcome::need_more;
        if (*stop == dialect.quote && !doubled) {
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
      while (at < end && *at == ' ' && dialect.delimiter != ' ')
        ++at;
    } else {
      const char* begin = at;
      while (at < end && *at != dialect.delimiter && *at != line_end)
        ++at;
      const char* cell_end = at;
      if (at < end && *at == line_end && cell_end > begin && cell_end[-1] == '\r' && !rules_->carriage_returns)
        --cell_end;
      row_.emplace_back(begin, static_cast<std::size_t>(cell_end - begin));
    }
    if (at == end) {
      if (!is_last_) return Outcome::need_more;
      end_of_record = text_.size();
      return Outcome::record;
    }
    if (*at == '\r' && !rules_->carriage_returns) {
      if (at + 1 == end && !is_last_) return Outcome::need_more;
      if (at + 1 == end || at[1] == '\n') ++at;
      if (at == end) {
        end_of_record = text_.size();
        return Outcome::record;
      }
    }
    if (*at == line_end) {
      end_of_record = static_cast<std::size_t>(at - data) + 1;
      return Outcome::record;
    }
    if (*at != dialect.delimiter) return Outcome::broken_quotes;  // text behind a closing quote
    ++at;
  }
}

void RecordReader::read(RowBatch& batch, const Rejecter& reject) {
  batch.clear();
  batch.column_count = rules_->columns.size();
  unescaped_.clear();
  const char line_end = rules_->line_end();
  const Contents contents{.zero_bytes = rest().find('\0') != std::string_view::npos, .ascii = is_ascii(rest())};
  has_quotes_ = rest().find(rules_->dialect.quote) != std::string_view::npos;
  while (true) {
    if (skipping_line_) {
      const std::size_t found = text_.find(line_end, position_);
      position_ = found == std::string::npos ? text_.size() : found + 1;
      if (found == std::string::npos) return;
      skipping_line_ = false;
    }
    std::size_t end = position_;
    const std::size_t rewritten_before = unescaped_.size();
    const Outcome outcome = parse(end);
    const std::size_t size = (outcome == Outcome::record ? end : text_.size()) - position_;
    if (outcome == Outcome::need_more && size <= rules_->longest_record) {
      unescaped_.resize(rewritten_before);
      return;
    }
    if (outcome != Outcome::record || size > rules_->longest_record) {
      const std::size_t found = text_.find(line_end, position_);
      const std::size_t line = (found == std::string::npos ? text_.size() : found) - position_;
      ++record_;
      reject(record_, "",
             line > rules_->longest_record
                 ? concat("line longer than ", as_bytes_text(static_cast<double>(rules_->longest_record)))
                 : "quotes do not close, or text follows a closing quote");
      unescaped_.resize(rewritten_before);
      skipping_line_ = true;
      continue;
    }
    const std::string_view line = std::string_view(text_).substr(position_, size);
    position_ = end;
    ++record_;
    if (is_good(line, contents, reject)) {
      batch.cells.insert(batch.cells.end(), row_.begin(), row_.end());
      batch.records.push_back(record_);
    }
  }
}

bool RecordReader::is_good(std::string_view line, const Contents& contents, const Rejecter& reject) const {
  const std::vector<std::string>& columns = rules_->columns;
  if (row_.size() == 1 && columns.size() > 1 && trimmed(row_[0]).empty()) return false;  // a blank line
  if (row_.size() != columns.size()) {
    reject(record_, "", row_.size() < columns.size() ? "too few fields" : "too many fields");
    return false;
  }
  if (contents.zero_bytes && line.find('\0') != std::string_view::npos) {
    reject(record_, "", "a zero byte in the line");
    return false;
  }
  if (contents.ascii || is_ascii(line)) return true;
  const auto bad = std::ranges::find_if(row_, [](std::string_view cell) { return !is_valid_utf8(cell); });
  if (bad == row_.end()) return true;
  reject(record_, columns[static_cast<std::size_t>(bad - row_.begin())], concat("not valid ", encoding_));
  return false;
}

}  // namespace desirepath::inline ingest
