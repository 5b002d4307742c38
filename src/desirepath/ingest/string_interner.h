// Texts to numbers, in the order they first come: the inner loop of reading.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "desirepath/core/digest.h"
#include "desirepath/core/text.h"

namespace desirepath::inline ingest {

class StringInterner {
 public:
  static constexpr std::uint32_t none = 0xFFFFFFFF;  // no text has this number

  StringInterner() : slots_(1024, none) { offsets_.push_back(0); }

  std::uint32_t number_of(std::string_view text) {
    if (text == last_text() && last_ != none) return last_;  // rows of one student often follow each other
    const std::uint64_t hash = hash_of(text);
    std::size_t slot = hash & (slots_.size() - 1);
    while (slots_[slot] != none) {
      if (hashes_[slots_[slot]] == static_cast<std::uint32_t>(hash >> 32) && this->text(slots_[slot]) == text) {
        return last_ = slots_[slot];
      }
      slot = (slot + 1) & (slots_.size() - 1);
    }
    const auto number = static_cast<std::uint32_t>(hashes_.size());
    slots_[slot] = number;
    hashes_.push_back(static_cast<std::uint32_t>(hash >> 32));
    bytes_.append(text);
    offsets_.push_back(bytes_.size());
    if (hashes_.size() * 2 > slots_.size()) grow();
    return last_ = number;
  }
  bool contains(std::string_view text) const {
    const std::uint64_t hash = hash_of(text);
    for (std::size_t slot = hash & (slots_.size() - 1); slots_[slot] != none; slot = (slot + 1) & (slots_.size() - 1)) {
      if (this->text(slots_[slot]) == text) return true;
    }
    return false;
  }
  std::string_view text(std::uint32_t number) const {
    return std::string_view(bytes_).substr(offsets_[number], offsets_[number + 1] - offsets_[number]);
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(hashes_.size()); }
  /// The numbers, so that the texts are in order: whole numbers by value, then all others.
  std::vector<std::uint32_t> in_natural_order() const {
    std::vector<std::uint32_t> order(size());
    std::iota(order.begin(), order.end(), 0U);
    const auto text_of = [this](std::uint32_t number) { return text(number); };
    if (!std::ranges::is_sorted(order, natural_less, text_of)) std::ranges::sort(order, natural_less, text_of);
    return order;
  }

 private:
  std::string_view last_text() const { return last_ == none ? std::string_view() : text(last_); }
  void grow() {
    slots_.assign(slots_.size() * 2, none);
    for (std::uint32_t number = 0; number < size(); ++number) {
      std::size_t slot = hash_of(text(number)) & (slots_.size() - 1);
      while (slots_[slot] != none)
        slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = number;
    }
  }

  std::vector<std::uint32_t> slots_;
  std::vector<std::uint32_t> hashes_;  // upper halves, to compare before the texts
  std::vector<std::size_t> offsets_;
  std::string bytes_;
  std::uint32_t last_ = none;
};

}  // namespace desirepath::inline ingest
