// Texts that stand for a missing value: NA, NULL and kin.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace desirepath::inline ingest {

class MissingValues {
 public:
  static constexpr std::size_t longest = 63;

  MissingValues() = default;
  /// Whatever the case; words over the longest are never met.
  explicit MissingValues(const std::vector<std::string>& words);

  bool contains(std::string_view text) const {
    if (text.size() > longest || (lengths_ >> text.size() & 1U) == 0) return false;
    const auto first = static_cast<unsigned char>(text.front());
    return (firsts_[first >> 6U] >> (first & 63U) & 1U) != 0 && is_listed(text);
  }
  /// Lower case.
  const std::vector<std::string>& words() const { return words_; }

 private:
  bool is_listed(std::string_view text) const;

  // A bit for each length that a word has, and for each byte one begins with: most cells are told by these alone.
  std::uint64_t lengths_ = 0;
  std::array<std::uint64_t, 4> firsts_{};
  std::vector<std::string> words_;
};

}  // namespace desirepath::inline ingest
