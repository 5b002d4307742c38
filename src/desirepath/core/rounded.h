// Numbers as they are shown: in as many digits as their error bears; round values for axes and bins.
#pragma once

#include <cmath>
#include <vector>

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

/// Round values that cover 0 .. largest in about `count` steps.
inline std::vector<double> axis_ticks(double largest, int count) {
  if (!(largest > 0)) return {0, 1};
  const double rough = largest / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double factor = 1;
  for (const double tried : {1.0, 2.0, 2.5, 5.0, 10.0}) {
    factor = tried;
    if (factor * power >= rough * 0.999) break;
  }
  // Divided by a whole number 3 tenths are 0.3; times 0.1 they are not.
  const double whole = power < 1 ? std::round(1 / power) : 1 / power;
  std::vector<double> ticks;
  for (int i = 0; ticks.empty() || ticks.back() < largest * 0.999; ++i)
    ticks.push_back(i * factor / whole);
  return ticks;
}

}  // namespace desirepath::inline core
