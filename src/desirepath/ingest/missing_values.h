// Texts that stand for a missing value: NA, NULL and kin.
#pragma once

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
    return text.size() <= longest && (lengths_ >> text.size() & 1U) != 0 && is_listed(text);
  }
  /// Lower case.
  const std::vector<std::string>& words() const { return words_; }

 private:
  bool is_listed(std::string_view text) const;

  std::uint64_t lengths_ = 0;  // a bit for each length that a word has: most cells are told by it alone
  std::vector<std::string> words_;
};

}  // namespace desirepath::inline ingest
