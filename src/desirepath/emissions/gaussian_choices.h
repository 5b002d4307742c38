// What users choose of Gaussian and probit states: the shape of the covariance, and calibration.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "desirepath/core/types.h"

namespace desirepath::inline emissions {

enum class CovarianceShape { full, tied, diagonal, factor };

/// "full", "tied", "diagonal", "factor:Q".
struct CovarianceChoice {
  CovarianceShape shape = CovarianceShape::full;
  Id factors = 0;  // of "factor"
  bool is_dense() const { return shape == CovarianceShape::full || shape == CovarianceShape::tied; }
  bool operator==(const CovarianceChoice&) const = default;
};
std::string to_text(const CovarianceChoice& choice);
/// Throws OptionError.
void from_text(std::string_view text, CovarianceChoice& choice);

/// After EM: the true share of every course in every state, or as EM left it.
enum class Calibration { marginals, none };
inline std::span<const std::string_view> value_names(Calibration) {
  static constexpr std::array<std::string_view, 2> names = {"marginals", "none"};
  return names;
}

}  // namespace desirepath::inline emissions
