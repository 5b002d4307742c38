#include "desirepath/reports/axes.h"

#include <algorithm>
#include <cmath>

namespace desirepath::inline reports {

void draw_y_axis(Svg& svg, const Frame& frame, const std::vector<double>& ticks, const TickText& text,
                 std::string_view label) {
  for (const double tick : ticks) {
    const double y = frame.y(tick);
    svg.line({frame.left, y}, {frame.right(), y}, grid_ink);
    svg.text({frame.left - 8, y + 4}, text(tick), {text_size, "end", quiet_ink});
  }
  svg.line({frame.left, frame.bottom()}, {frame.right(), frame.bottom()}, quiet_ink);
  if (!label.empty()) {
    svg.text({14, frame.top + frame.height / 2}, label, {text_size, "middle", quiet_ink, false, -90});
  }
}

void draw_x_axis(Svg& svg, const Frame& frame, const std::vector<double>& ticks, const TickText& text,
                 std::string_view label) {
  for (const double tick : ticks) {
    const double x = frame.x(tick);
    svg.line({x, frame.top}, {x, frame.bottom()}, grid_ink);
    svg.text({x, frame.bottom() + 18}, text(tick), {text_size, "middle", quiet_ink});
  }
  if (!label.empty()) {
    svg.text({frame.left + frame.width / 2, frame.bottom() + 38}, label, {text_size, "middle", quiet_ink});
  }
}

std::vector<double> ticks_between(double low, double high, int count) {
  const std::vector<double> steps = axis_ticks(std::max(high - low, 1e-12), count);
  const double step = steps[1] - steps[0];
  std::vector<double> ticks;
  for (double at = std::floor(low / step + 1e-9); ticks.empty() || ticks.back() < high - 1e-9 * step; ++at)
    ticks.push_back(at * step);
  return ticks;
}

std::string dashes_of(std::size_t number) {
  static const std::vector<std::string> all = {"", "7 3", "2 3", "9 3 2 3", "4 2 1 2"};
  return all[number % all.size()];
}

}  // namespace desirepath::inline reports
