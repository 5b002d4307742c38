// The one look of all figures: size, inks, lines, axes.
#pragma once

#include <functional>

#include "desirepath/core/rounded.h"
#include "desirepath/reports/svg.h"

namespace desirepath::inline reports {

/// As wide as all figures are, so that letters are of one size on a page.
inline constexpr double figure_width = 760;
inline const std::string ink = "#222222", quiet_ink = "#555555", grid_ink = "#E3E3E3";
inline constexpr double text_size = 12, small_size = 11, head_size = 13;

/// A field of the picture that values are drawn in.
struct Frame {
  double left = 0, top = 0, width = 0, height = 0;
  double x_low = 0, x_high = 1, y_low = 0, y_high = 1;

  double right() const { return left + width; }
  double bottom() const { return top + height; }
  double x(double value) const { return left + width * (value - x_low) / (x_high - x_low); }
  double y(double value) const { return bottom() - height * (value - y_low) / (y_high - y_low); }
};

using TickText = std::function<std::string(double)>;

/// Lines across the frame with their numbers at the left, and what they are along the side.
void draw_y_axis(Svg& svg, const Frame& frame, const std::vector<double>& ticks, const TickText& text,
                 std::string_view label);
/// The same from the top to the bottom, numbers below.
void draw_x_axis(Svg& svg, const Frame& frame, const std::vector<double>& ticks, const TickText& text,
                 std::string_view label);

/// Round values from low to high in about `count` steps, both ends covered.
std::vector<double> ticks_between(double low, double high, int count);

/// Dashes by number: no colour is the only signal.
std::string dashes_of(std::size_t number);

}  // namespace desirepath::inline reports
