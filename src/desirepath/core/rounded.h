// Numbers in as many digits as their error bears.
#pragma once

#include <cmath>

namespace desirepath::inline core {

/// `value` to the place of the second significant digit of `error`: 0.73194 with an error of 0.0213 is 0.732. A value
/// whose error is 0, or no number, is given to six significant digits: nothing is known that well.
inline double rounded_to_error(double value, double error) {
  if (!std::isfinite(value) || value == 0) return value;
  const double size = std::fabs(std::isfinite(error) && error != 0 ? error : value);
  const int places = std::isfinite(error) && error != 0 ? 1 : 5;  // behind the first digit of `size`
  const double unit = std::pow(10.0, std::floor(std::log10(size)) - places);
  if (!(unit > 0)) return value;
  // Dividing by the inverse where there is one in whole numbers gives the nearest double of the decimal number.
  return unit < 1 ? std::round(value / unit) / std::round(1 / unit) : std::round(value / unit) * unit;
}

}  // namespace desirepath::inline core
