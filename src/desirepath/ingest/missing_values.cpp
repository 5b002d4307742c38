#include "desirepath/ingest/missing_values.h"

#include <algorithm>

#include "desirepath/core/text.h"

namespace desirepath::inline ingest {

MissingValues::MissingValues(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const std::string lower = lower_case(trimmed(word));
    if (lower.empty() || lower.size() > longest) continue;
    lengths_ |= std::uint64_t{1} << lower.size();
    const bool is_letter = lower[0] >= 'a' && lower[0] <= 'z';
    for (const char first : {lower[0], is_letter ? static_cast<char>(lower[0] - 'a' + 'A') : lower[0]}) {
      const auto byte = static_cast<unsigned char>(first);
      firsts_.at(byte >> 6U) |= std::uint64_t{1} << (byte & 63U);
    }
    words_.push_back(lower);
  }
}

bool MissingValues::is_listed(std::string_view text) const {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::any_of(words_,
                             [&](const std::string& word) { return std::ranges::equal(word, text, {}, {}, lower); });
}

}  // namespace desirepath::inline ingest
