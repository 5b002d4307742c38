#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>

#include "desirepath/core/text.h"
#include "desirepath/reports/axes.h"
#include "desirepath/reports/figures.h"
#include "desirepath/reports/palette.h"

namespace desirepath::inline reports {

namespace {

/// A subject in both groups, courses a student.
struct Slice {
  std::string subject;
  std::optional<double> typical, untypical;  // nothing: withheld, and part of the other subjects
  std::string colour;

  double both() const { return typical.value_or(0) + untypical.value_or(0); }
};

/// The largest subjects of either group by name; all others together, and with them what is withheld of a group.
std::vector<Slice> slices_of(const GroupPortrait& typical, const GroupPortrait& untypical, std::size_t most) {
  std::vector<Slice> slices;
  for (const GroupPortrait* portrait : {&typical, &untypical}) {
    for (const auto& [subject, courses] : portrait->by_subject) {
      if (std::ranges::find(slices, subject, &Slice::subject) == slices.end())
        slices.push_back({subject, typical.courses_in(subject), untypical.courses_in(subject), {}});
    }
  }
  std::ranges::sort(slices, {}, &Slice::subject);
  std::ranges::stable_sort(slices, std::ranges::greater(), &Slice::both);
  Slice other{"other subjects", typical.others, untypical.others, neutral_colour()};
  const bool is_cut = slices.size() > most || other.both() > 0;
  while (slices.size() + (is_cut ? 1 : 0) > most) {
    *other.typical += slices.back().typical.value_or(0);
    *other.untypical += slices.back().untypical.value_or(0);
    slices.pop_back();
  }
  for (std::size_t i = 0; i < slices.size(); ++i)
    slices[i].colour = series_colour(static_cast<int>(i));
  if (is_cut) slices.push_back(std::move(other));
  return slices;
}

using Amount = std::optional<double> Slice::*;

double total_of(const std::vector<Slice>& slices, Amount amount) {
  double total = 0;
  for (const Slice& slice : slices)
    total += (slice.*amount).value_or(0);
  return total;
}

/// As large as the courses: areas compare.
void draw_pie(Svg& svg, Point center, double radius, const std::vector<Slice>& slices, Amount amount) {
  const double total = total_of(slices, amount);
  if (!(total > 0)) return;
  double angle = -std::numbers::pi / 2;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const Slice& slice = slices[i];
    const double courses = (slice.*amount).value_or(0), share = courses / total,
                 end = angle + 2 * std::numbers::pi * share;
    const auto at = [&](double turn, double reach) {
      return Point{center.x + reach * std::cos(turn), center.y + reach * std::sin(turn)};
    };
    const auto written = [](Point point) { return concat(coordinate(point.x), " ", coordinate(point.y)); };
    const std::string tooltip =
        concat(slice.subject, ": ", fixed(courses, 1), " courses a student (", percent(share), ")");
    if (share > 0.9999) {
      svg.circle(center, radius, slice.colour, tooltip);
    } else if (share > 0) {
      svg.path(concat("M", written(center), "L", written(at(angle, radius)), "A", coordinate(radius), " ",
                      coordinate(radius), " 0 ", share > 0.5 ? 1 : 0, " 1 ", written(at(end, radius)), "Z"),
               concat("fill=\"", slice.colour, "\" stroke=\"#FFFFFF\" stroke-width=\"1.5\""), tooltip);
    }
    // The number that the bars carry, for no colour is the only signal: inside, beside where the slice is narrow.
    const double arc = share * 2 * std::numbers::pi * radius;
    const bool is_inside = 0.72 * arc > 22;
    const Point place = at((angle + end) / 2, is_inside ? 0.72 * radius : radius + 11);
    if (arc > 9) {
      svg.text({place.x, place.y + 4}, std::to_string(i + 1),
               {small_size, "middle", is_inside ? text_colour_on(slice.colour) : quiet_ink, is_inside});
    }
    angle = end;
  }
}

/// Filled for the typical, an outline for the others; a dash where it is withheld.
void draw_bar(Svg& svg, const Frame& frame, double top, const Slice& slice, Amount amount) {
  const bool is_typical = amount == &Slice::typical;
  const std::string whose = concat(slice.subject, is_typical ? ", most typical: " : ", least typical: ");
  if (!(slice.*amount)) {
    svg.open_group("class=\"withheld\"", concat(whose, "withheld"));
    svg.text({frame.left + 6, top + 10}, "–", {small_size, "start", quiet_ink});
    svg.close_group();
    return;
  }
  const double courses = *(slice.*amount), width = std::max(0.5, frame.x(courses) - frame.left);
  svg.box(
      frame.left, top, width, 12,
      concat("fill=\"", is_typical ? slice.colour : "#FFFFFF", "\" stroke=\"", slice.colour, "\" stroke-width=\"2\""),
      concat(whose, fixed(courses, 2), " courses a student"));
  svg.text({frame.left + width + 6, top + 10}, fixed(courses, 1), {small_size, "start", quiet_ink});
}

}  // namespace

Figure coursework_pies(const GroupPortrait& typical, const GroupPortrait& untypical) {
  const std::vector<Slice> slices = slices_of(typical, untypical, 12);
  Sentence finding = sentence_of(
      {"coursework_finding",
       "The least typical students take {0} courses in {1} subjects, the most typical {2} in {3}.", estimate},
      {fixed(untypical.courses, 1), fixed(untypical.subjects, 1), fixed(typical.courses, 1),
       fixed(typical.subjects, 1)});
  if (typical.in_major && untypical.in_major)
    finding.add(" In their own major it is {0} courses against {1}.",
                {fixed(*untypical.in_major, 1), fixed(*typical.in_major, 1)});
  const std::string title = "Coursework of typical and untypical students";
  constexpr double pie_radius = 108, pie_y = 164, bars_top = 330, row_height = 32;
  const double bars = row_height * static_cast<double>(std::max<std::size_t>(1, slices.size()));
  Svg svg(figure_width, bars_top + bars + 50, title, finding.text);
  const double most = std::max({total_of(slices, &Slice::typical), total_of(slices, &Slice::untypical), 1e-12});
  const auto radius = [&](Amount amount) { return pie_radius * std::sqrt(total_of(slices, amount) / most); };
  const struct {
    double x;
    const char* name;
    const GroupPortrait& portrait;
    Amount amount;
  } sides[] = {{210, "most typical", typical, &Slice::typical}, {550, "least typical", untypical, &Slice::untypical}};
  for (const auto& side : sides) {
    svg.text({side.x, 24}, side.name, {15, "middle", ink, true});
    svg.text(
        {side.x, 42},
        concat(fixed(side.portrait.courses, 1), " courses a student, ", fixed(side.portrait.subjects, 1), " subjects"),
        {text_size, "middle", quiet_ink});
    draw_pie(svg, {side.x, pie_y + 4}, radius(side.amount), slices, side.amount);
  }
  double widest = 1e-12;
  for (const Slice& slice : slices)
    widest = std::max({widest, slice.typical.value_or(0), slice.untypical.value_or(0)});
  const std::vector<double> ticks = axis_ticks(widest, 6);
  const Frame frame{190, bars_top, figure_width - 190 - 60, bars, 0, ticks.back(), 0, 1};
  svg.text({frame.left, frame.top - 14}, "courses a student: above most typical, below, in outline, least typical",
           {text_size, "start", quiet_ink});
  draw_x_axis(
      svg, frame, ticks, [](double tick) { return shortest(tick); }, "");
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const Slice& slice = slices[i];
    const double y = frame.top + row_height * static_cast<double>(i) + 4;
    svg.rectangle(12, y + 6, 18, 16, slice.colour);
    svg.text({21, y + 18}, std::to_string(i + 1), {small_size, "middle", text_colour_on(slice.colour), true});
    svg.label({38, y + 18}, slice.subject, frame.left - 38 - 12, {text_size});
    draw_bar(svg, frame, y, slice, &Slice::typical);
    draw_bar(svg, frame, y + 15, slice, &Slice::untypical);
  }
  std::vector<Slice> rows = slices;
  rows.push_back({"all courses", typical.courses, untypical.courses, {}});
  const Look courses{.unit = "courses", .decimals = 2};
  Table table(std::move(rows), {{"subject", &Slice::subject},
                                {"most typical", &Slice::typical, courses},
                                {"least typical", &Slice::untypical, courses}});
  Sentence basis =
      sentence_of({"coursework_basis",
                   "n = {0} most typical and {1} least typical students; pies are as large as the number of courses"},
                  {with_separators(typical.students), with_separators(untypical.students)});
  if (typical.others > 0 || untypical.others > 0) basis.add("; –: withheld, and counted in other subjects");
  return {"coursework", title, finding, basis, svg.finish(), std::move(table)};
}

Figure typicality_histogram(const ScoreHistogram& scores) {
  const std::vector<ScoreBin>& bins = scores.bins;
  const std::int64_t students = scores.students();
  double narrowest = 0;
  for (const ScoreBin& bin : bins) {
    const double width = bin.to - bin.from;
    if (width > 0 && (narrowest == 0 || width < narrowest)) narrowest = width;
  }
  const double middle = scores.quantile(0.5), low = scores.quantile(0.1);
  const std::string title = "How typical students are";
  const Sentence finding =
      students == 0 ? sentence_of({"typicality_figure_none", "There are no students to compare."})
                    : sentence_of({"typicality_figure",
                                   "Half of the students have a log-probability above {0}; the least typical tenth "
                                   "lies below {1}.",
                                   estimate},
                                  {fixed(middle, 1), fixed(low, 1)});
  constexpr double height = 370;
  Svg svg(figure_width, height, title, finding.text);
  const auto tall = [&](const ScoreBin& bin) {
    const double width = bin.to - bin.from;
    return width > 0 ? static_cast<double>(bin.students) * narrowest / width : 0.0;
  };
  double most = 0;
  for (const ScoreBin& bin : bins)
    most = std::max(most, tall(bin));
  const std::vector<double> y_ticks = axis_ticks(most, 5);
  const double from = bins.empty() ? 0 : bins.front().from,
               to = bins.empty() ? 1 : std::max(bins.back().to, from + 1e-9);
  const Frame frame{66, 48, figure_width - 66 - 20, height - 48 - 52, from, to, 0, y_ticks.back()};
  draw_y_axis(svg, frame, y_ticks, short_number, "students");
  for (const ScoreBin& bin : bins) {
    const double left = frame.x(bin.from), right = frame.x(bin.to);
    const bool is_low = bin.to <= low + 1e-9;
    svg.rectangle(
        left + 0.5, frame.y(tall(bin)), right - left - 1, frame.bottom() - frame.y(tall(bin)),
        series_colour(is_low ? 5 : 4),
        concat(fixed(bin.from, 1), " to ", fixed(bin.to, 1), ": ", counted(bin.students, "student", "students")));
  }
  for (const double tick : ticks_between(from, to, 8)) {
    if (tick >= from && tick <= to)
      svg.text({frame.x(tick), frame.bottom() + 18}, shortest(tick), {text_size, "middle", quiet_ink});
  }
  svg.text({frame.left + frame.width / 2, height - 10},
           "log-probability of the student's courses (further left: less typical)", {text_size, "middle", quiet_ink});
  if (students > 0) {
    const auto mark = [&](double value, const std::string& words, double y, const char* dashes) {
      const double x = frame.x(value);
      const bool is_left = x + 8 + text_width(words, text_size) > figure_width;
      svg.line({x, y - 9}, {x, frame.bottom()}, ink, 1.2, dashes);
      svg.text({x + (is_left ? -7 : 7), y}, words, {text_size, is_left ? "end" : "start"});
    };
    mark(low, concat("the least typical tenth: below ", fixed(low, 1)), 18, "5 3");
    mark(middle, concat("half: below ", fixed(middle, 1)), 36, "2 3");
  }
  Sentence basis = sentence_of({"typicality_figure_basis",
                                "n = {0} students; all who score beyond an end of the axis are in the bin at that end"},
                               {with_separators(students)});
  if (scores.is_merged) basis.add("; small bins are merged with their neighbours, and drawn at their mean height");
  return {"typicality", title, finding, basis, svg.finish(), scores.table()};
}

}  // namespace desirepath::inline reports
