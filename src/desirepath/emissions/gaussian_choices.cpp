#include "desirepath/emissions/gaussian_choices.h"

#include <charconv>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline emissions {

namespace {
constexpr std::array<std::string_view, 3> plain = {"full", "tied", "diagonal"};
constexpr std::string_view factor_prefix = "factor:";
}  // namespace

std::string to_text(const CovarianceChoice& choice) {
  if (choice.shape == CovarianceShape::factor) return concat(factor_prefix, choice.factors);
  return std::string(plain[static_cast<std::size_t>(choice.shape)]);
}

void from_text(std::string_view text, CovarianceChoice& choice) {
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (text != plain[i]) continue;
    choice = {static_cast<CovarianceShape>(i), 0};
    return;
  }
  if (text.starts_with(factor_prefix)) {
    Id factors = 0;
    const auto parsed = std::from_chars(text.data() + factor_prefix.size(), text.data() + text.size(), factors);
    if (parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && factors >= 1) {
      choice = {CovarianceShape::factor, factors};
      return;
    }
  }
  throw OptionError(
      concat(setting_name("covariance"), " '", text, "': one of full, tied, diagonal, factor:Q (Q factors, from 1)"));
}

}  // namespace desirepath::inline emissions
