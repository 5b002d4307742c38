#include <algorithm>
#include <cmath>

#include "desirepath/core/text.h"
#include "desirepath/reports/axes.h"
#include "desirepath/reports/figures.h"
#include "desirepath/reports/palette.h"

namespace desirepath::inline reports {

Figure calibration_figure(std::vector<CalibrationBin> bins, const std::string& model, std::int64_t students) {
  std::erase_if(bins, [](const CalibrationBin& bin) { return bin.answers <= 0; });
  double off = 0;
  std::int64_t answers = 0;
  const CalibrationBin* worst = nullptr;
  const auto gap = [](const CalibrationBin& bin) {
    return std::sqrt(static_cast<double>(bin.answers)) * std::abs(bin.predicted - bin.observed);
  };
  for (const CalibrationBin& bin : bins) {
    answers += bin.answers;
    off += std::abs(bin.predicted - bin.observed);
    if (worst == nullptr || gap(bin) > gap(*worst)) worst = &bin;
  }
  Sentence finding = sentence_of({"calibration_figure_none", "There are no answers to compare with what came true."});
  if (worst != nullptr) {
    finding =
        sentence_of({"calibration_figure",
                     "What the model gives a probability and how often it comes true differ by {0} points on "
                     "average over {1}; the surest difference is where it says {2} and {3} took the course.",
                     estimate},
                    {fixed(100 * off / static_cast<double>(bins.size()), 1), counted(std::ssize(bins), "bin", "bins"),
                     percent(worst->predicted), percent(worst->observed)});
  }
  const std::string title = "Do the probabilities come true?";
  constexpr double height = 480;
  Svg svg(figure_width, height, title, finding.text);
  const Frame frame{72, 18, 396, 396};
  const std::vector<double> ticks = {0, 0.2, 0.4, 0.6, 0.8, 1};
  const auto text = [](double tick) { return fixed(100 * tick, 0) + " %"; };
  draw_y_axis(svg, frame, ticks, text, "share that took the course");
  draw_x_axis(svg, frame, ticks, text, "probability that the model gave");
  svg.line({frame.x(0), frame.y(0)}, {frame.x(1), frame.y(1)}, quiet_ink, 1.2, "5 4");
  const std::string colour = series_colour(0);
  double most = 1;
  for (const CalibrationBin& bin : bins)
    most = std::max(most, static_cast<double>(bin.answers));
  for (const CalibrationBin& bin : bins) {
    const Interval range = bin.interval();
    const Point at{frame.x(bin.predicted), frame.y(bin.observed)};
    svg.line({at.x, frame.y(range.low)}, {at.x, frame.y(range.high)}, colour, 2);
    for (const double end : {range.low, range.high})
      svg.line({at.x - 4, frame.y(end)}, {at.x + 4, frame.y(end)}, colour, 1.5);
    svg.circle(at, 3 + 3 * std::sqrt(static_cast<double>(bin.answers) / most), colour,
               concat("predicted ", percent(bin.predicted), ", observed ", percent(bin.observed), " of ",
                      with_separators(bin.answers), " answers"));
  }
  // How to read it, beside the field.
  const double x = frame.right() + 36, room = figure_width - x - 8;
  double y = frame.top + 20;
  const auto say = [&](const std::string& words, bool bold) {
    for (const std::string& line : wrapped(words, room, text_size, 6)) {
      svg.text({x, y}, line, {text_size, "start", bold ? ink : quiet_ink, bold});
      y += 17;
    }
    y += 8;
  };
  say("How to read it", true);
  svg.line({x, y - 4}, {x + 26, y - 4}, quiet_ink, 1.2, "5 4");
  y += 14;
  say("On the dashed line the probabilities come true exactly.", false);
  say("Above it courses were taken more often than the model said, below it less often.", false);
  svg.line({x + 13, y - 8}, {x + 13, y + 12}, colour, 2);
  svg.circle({x + 13, y + 2}, 4.5, colour);
  y += 30;
  say("A dot is all answers of about one probability, larger where there are more; its bar is the 95 % interval.",
      false);
  const Sentence basis = sentence_of(
      {"calibration_figure_basis", "n = {0} students, {1} answers of {2}; intervals as if answers were independent"},
      {with_separators(students), with_separators(answers), model});
  return {
      "calibration", title,
      finding,       basis,
      svg.finish(),  calibration_table(std::move(bins), 4).pick({"predicted", "observed", "low", "high", "answers"})};
}

}  // namespace desirepath::inline reports
