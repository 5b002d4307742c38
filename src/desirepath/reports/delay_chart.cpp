#include <algorithm>
#include <cmath>

#include "desirepath/core/text.h"
#include "desirepath/reports/axes.h"
#include "desirepath/reports/figures.h"
#include "desirepath/reports/palette.h"

namespace desirepath::inline reports {

namespace {

Sentence finding_of(const std::vector<GroupDelay>& delays, const std::string& by) {
  const auto latest = std::ranges::max_element(delays, {}, &GroupDelay::low);
  if (latest == delays.end() || latest->low() <= 0) {
    return by.empty()
               ? sentence_of({"delays_figure_none", "No course is surely taken later than the model expects."})
               : sentence_of({"delays_figure_none_by", "No group of {0} surely takes a course later than the others."},
                             {by});
  }
  const std::string effect = fixed(latest->effect(), 2), low = fixed(latest->low(), 2), high = fixed(latest->high(), 2);
  if (latest->group.empty()) {
    return sentence_of(
        {"delays_figure", "Students take {0} later than expected of them, by {1} periods (95 % interval {2} to {3}).",
         estimate},
        {latest->name.title, effect, low, high});
  }
  return sentence_of({"delays_figure_by",
                      "{4} students take {0} later than the others, by {1} periods (95 % interval {2} to {3}), each "
                      "against what is expected of them.",
                      estimate},
                     {latest->name.title, effect, low, high, latest->group});
}

/// Axis from the least to the most that is drawn, 0 among it.
Frame frame_of(const std::vector<GroupDelay>& drawn, double top, double height) {
  double low = 0, high = 0;
  for (const GroupDelay& delay : drawn) {
    low = std::min(low, delay.low());
    high = std::max(high, delay.high());
  }
  if (high - low < 1e-9) high = low + 1;
  const std::vector<double> ticks = ticks_between(low, high, 6);
  constexpr double left = 350;
  return {left, top, figure_width - left - 76, height, ticks.front(), ticks.back(), 0, 1};
}

}  // namespace

Figure delay_chart(const Delays& lost, std::size_t most) {
  const std::vector<GroupDelay>& delays = lost.delays;
  const std::string& by = lost.by;
  constexpr double row_height = 26, top = 40;
  std::vector<GroupDelay> drawn = delays;
  drawn.resize(std::min(most, delays.size()));
  std::ranges::stable_sort(drawn, std::ranges::greater(), &GroupDelay::effect);
  const double rows = row_height * static_cast<double>(std::max<std::size_t>(1, drawn.size()));
  const std::string title = by.empty() ? "Courses taken later or earlier than expected" : concat("Delays by ", by);
  const Sentence finding = finding_of(delays, by);
  Svg svg(figure_width, top + rows + 56, title, finding.text);
  const Frame frame = frame_of(drawn, top, rows);
  const auto tick_text = [](double tick) { return (tick > 0 ? "+" : "") + shortest(std::round(100 * tick) / 100); };
  draw_x_axis(svg, frame, ticks_between(frame.x_low, frame.x_high, 6), tick_text,
              by.empty() ? "periods later than the model expects of the very student"
                         : "periods later than the other students, against what is expected of each");
  svg.line({frame.x(0), frame.top - 4}, {frame.x(0), frame.bottom()}, quiet_ink, 1.4);
  if (frame.x_low < 0) svg.text({frame.x(0) - 8, frame.top - 12}, "← earlier", {small_size, "end", quiet_ink});
  if (frame.x(0) + 60 < frame.right())
    svg.text({frame.x(0) + 8, frame.top - 12}, "later →", {small_size, "start", quiet_ink});
  svg.text({figure_width - 12, frame.top - 12}, "students", {small_size, "end", quiet_ink});
  double group_room = 0;
  for (const GroupDelay& delay : drawn)
    group_room = std::max(group_room, std::min(120.0, text_width(delay.group, text_size)));
  for (std::size_t r = 0; r < drawn.size(); ++r) {
    const GroupDelay& delay = drawn[r];
    const double y = top + row_height * (static_cast<double>(r) + 0.5);
    const std::string& name = delay.name.title;
    const bool is_sure = delay.low() > 0 || delay.high() < 0;
    const std::string colour = series_colour(delay.effect() > 0 ? 5 : 0);
    if (delay.group.empty()) {
      svg.label({frame.left - 14, y + 4}, name, frame.left - 26, {text_size, "end"});
    } else {
      svg.label({12, y + 4}, name, frame.left - 12 - 14 - 12 - group_room, {text_size});
      svg.label({frame.left - 14, y + 4}, delay.group, group_room, {text_size, "end", quiet_ink});
    }
    const std::string tooltip =
        concat(name, delay.group.empty() ? "" : ", ", delay.group, ": ", fixed(delay.effect(), 2), " periods, 95 % ",
               fixed(delay.low(), 2), " to ", fixed(delay.high(), 2), ", ",
               delay.students_disclosed ? counted(delay.own.students, "student", "students") : "students withheld");
    svg.line({frame.x(delay.low()), y}, {frame.x(delay.high()), y}, colour, 2.4);
    for (const double end : {delay.low(), delay.high()})
      svg.line({frame.x(end), y - 4}, {frame.x(end), y + 4}, colour, 1.4);
    svg.circle({frame.x(delay.effect()), y}, 5, colour, tooltip);
    // Hollow: it may be nothing.
    if (!is_sure) svg.circle({frame.x(delay.effect()), y}, 3, "#FFFFFF", tooltip);
    svg.text({figure_width - 12, y + 4}, delay.students_disclosed ? with_separators(delay.own.students) : "–",
             {text_size, "end", quiet_ink});
  }
  if (drawn.empty()) svg.text({frame.left, top + 18}, "nothing that can be told", {text_size, "start", quiet_ink});
  const Table table = lost.delay_table().pick(
      {"course", "group", "later", {"exact_low", "low"}, {"exact_high", "high"}, "students", "others"});
  Sentence basis =
      lost.students
          ? sentence_of({"delays_figure_basis",
                         "n = {0} students enrolled in two periods or more; bars are 95 % intervals, hollow dots "
                         "may be nothing"},
                        {with_separators(*lost.students)})
          : sentence_of(
                {"delays_figure_basis_withheld",
                 "n is withheld; students enrolled in two periods or more; bars are 95 % intervals, hollow dots may be "
                 "nothing"});
  if (drawn.size() < delays.size())
    basis.add("; the {0} surest of {1} are drawn", {std::to_string(drawn.size()), with_separators(std::ssize(delays))});
  return {"delays", title, finding, basis, svg.finish(), table};
}

}  // namespace desirepath::inline reports
