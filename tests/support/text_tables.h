// Texts in place of files, for readers of tables.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "desirepath/ingest/byte_source.h"
#include "desirepath/ingest/source.h"

namespace desirepath::test {

class MemoryBytes : public ByteSource {
 public:
  explicit MemoryBytes(std::string text) : text_(std::move(text)) {}
  std::size_t read(std::span<char> buffer) override {
    const std::size_t count = text_.copy(buffer.data(), buffer.size(), done_);
    done_ += count;
    return count;
  }
  double fraction() const override {
    return text_.empty() ? 1 : static_cast<double>(done_) / static_cast<double>(text_.size());
  }

 private:
  std::string text_;
  std::size_t done_ = 0;
};

inline std::unique_ptr<ByteSource> bytes_of(const std::string& text) {
  return std::make_unique<MemoryBytes>(text);
}
inline SmallTable small_table(const std::string& text, const std::string& file) {
  return read_small_table(bytes_of(text), file);
}

}  // namespace desirepath::test
