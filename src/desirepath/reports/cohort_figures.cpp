#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>
#include <utility>

#include "desirepath/core/text.h"
#include "desirepath/reports/axes.h"
#include "desirepath/reports/figures.h"
#include "desirepath/reports/palette.h"

namespace desirepath::inline reports {

namespace {

constexpr double figure_height = 380;
constexpr double frame_left = 62, frame_top = 16, frame_bottom = 46;

/// Where values up to `largest` are drawn; the vertical axis ends at its last tick.
Frame draw_frame(Svg& svg, double largest, double right_margin, std::string_view label) {
  const std::vector<double> ticks = axis_ticks(largest, 5);
  const Frame frame{
      frame_left, frame_top,   figure_width - frame_left - right_margin, figure_height - frame_top - frame_bottom, 0, 1,
      0,          ticks.back()};
  draw_y_axis(svg, frame, ticks, short_number, label);
  return frame;
}

std::int64_t sum(const std::vector<std::int64_t>& values) {
  std::int64_t total = 0;
  for (const std::int64_t value : values)
    total += value;
  return total;
}

/// Students of each value, were those of a bin alike in it.
std::vector<double> spread(const std::vector<DisclosedBin>& bins) {
  std::vector<double> students;
  for (const DisclosedBin& bin : bins) {
    const std::int64_t values = bin.last - bin.first + 1;
    students.insert(students.end(), static_cast<std::size_t>(values),
                    static_cast<double>(bin.students) / static_cast<double>(values));
  }
  return students;
}

/// Where students by number of courses, smoothed, have two peaks with a valley between them and a tenth of the students
/// on either side of it.
std::optional<std::pair<std::int64_t, std::int64_t>> two_peaks(const std::vector<double>& counts, double sd,
                                                               std::int64_t min_cell) {
  const auto size = static_cast<std::int64_t>(counts.size());
  const double students = std::accumulate(counts.begin(), counts.end(), 0.0);
  if (size < 5 || !(sd > 0) || students < 10.0 * static_cast<double>(min_cell)) return std::nullopt;
  const double bandwidth = std::max(1.0, 0.9 * sd * std::pow(students, -0.2));
  std::vector<double> smooth(counts.size(), 0);
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::int64_t j = 0; j < size; ++j) {
      const double z = static_cast<double>(i - j) / bandwidth;
      smooth[static_cast<std::size_t>(i)] += counts[static_cast<std::size_t>(j)] * std::exp(-0.5 * z * z);
    }
  }
  // The best valley: between the highest point before it and the highest behind it.
  std::optional<std::pair<std::int64_t, std::int64_t>> peaks;
  double deepest = 0.8;
  for (auto valley = smooth.begin() + 1; valley + 1 != smooth.end(); ++valley) {
    const auto first = std::max_element(smooth.begin(), valley), second = std::max_element(valley + 1, smooth.end());
    const double depth = *valley / std::min(*first, *second);
    const std::int64_t place = valley - smooth.begin();
    const double before = std::accumulate(counts.begin(), counts.begin() + place, 0.0);
    if (depth >= deepest || before < 0.1 * students || before > 0.9 * students) continue;
    deepest = depth;
    peaks = {first - smooth.begin(), second - smooth.begin()};
  }
  return peaks;
}

/// gaussian: students whom the fitted curve expects in a bin.
Table bin_table(const std::vector<DisclosedBin>& bins,
                const std::function<std::optional<double>(const DisclosedBin&)>& gaussian) {
  const auto range = [](const DisclosedBin& bin) {
    return bin.open                ? concat(bin.first, "+")
           : bin.first == bin.last ? concat(bin.first)
                                   : concat(bin.first, "-", bin.last);
  };
  return {bins,
          {{"courses", range},
           {"students", &DisclosedBin::students},
           {"gaussian", gaussian, {.unit = "students", .decimals = 1}}}};
}

}  // namespace

Figure enrollment_areas(const DisclosedCohort& disclosed) {
  const DisclosedSeries& series = disclosed.series;
  const std::size_t times = series.times.size();
  const std::string per = disclosed.time == "year" ? "academic year" : "period";
  const std::string grouping = disclosed.grouping.empty() ? "all courses" : disclosed.grouping;

  std::vector<double> totals(times, 0);
  for (const auto& row : series.enrollments) {
    for (std::size_t t = 0; t < times; ++t)
      totals[t] += static_cast<double>(row[t]);
  }
  const auto all = static_cast<double>(disclosed.enrollments);
  Sentence finding =
      sentence_of({"enrollments_finding", "{0} enrollments of {1}"},
                  {with_separators(disclosed.enrollments), counted(disclosed.students, "student", "students")});
  if (series.groups.size() > 1) {
    // The largest move of a share between the first and the last time that carry at least half the mean load.
    std::vector<std::size_t> full;
    const double mean = all / static_cast<double>(times);
    for (std::size_t t = 0; t < times; ++t) {
      if (totals[t] >= mean / 2) full.push_back(t);
    }
    double moved = 0;
    if (full.size() > 1) {
      for (const auto& row : series.enrollments) {
        const double first = static_cast<double>(row[full.front()]) / totals[full.front()];
        const double last = static_cast<double>(row[full.back()]) / totals[full.back()];
        moved = std::max(moved, std::abs(last - first));
      }
    }
    // Courses of no subject are no subject, nor are small ones together.
    std::size_t largest = 0;
    while (largest < series.groups.size() &&
           (series.groups[largest] == "no " + grouping || series.groups[largest] == "other"))
      ++largest;
    if (largest < series.groups.size()) {
      finding.add("; the largest {0} is {1} ({2})",
                  {grouping, series.groups[largest],
                   percent(static_cast<double>(sum(series.enrollments[largest])) / std::max(1.0, all))});
    }
    if (full.size() > 1) {
      finding.add(", and no share moved by more than {0} points between {1} and {2}",
                  {fixed(100 * moved, 1), series.times[full.front()], series.times[full.back()]});
    }
  }
  finding.add(".");

  const std::string title =
      disclosed.grouping.empty() ? concat("Enrollments per ", per) : concat("Enrollments per ", grouping, " and ", per);
  Svg svg(figure_width, figure_height, title, finding.text);
  const double right_margin = 150;
  const Frame plot = draw_frame(svg, *std::ranges::max_element(totals), right_margin, "enrollments");
  const auto x = [&](std::size_t t) {
    return times == 1 ? frame_left + plot.width / 2
                      : frame_left + plot.width * static_cast<double>(t) / static_cast<double>(times - 1);
  };
  std::vector<double> base(times, 0);
  double last_label = figure_height;
  for (std::size_t g = 0; g < series.groups.size(); ++g) {
    std::vector<double> ceiling = base;
    for (std::size_t t = 0; t < times; ++t)
      ceiling[t] += static_cast<double>(series.enrollments[g][t]);
    const bool other = series.groups[g] == "other";
    const std::string colour = other ? neutral_colour() : series_colour(static_cast<int>(g));
    const std::string tip = concat(series.groups[g], ": ", with_separators(sum(series.enrollments[g])), " enrollments");
    if (times == 1) {
      svg.rectangle(x(0) - 60, plot.y(ceiling[0]), 120, plot.y(base[0]) - plot.y(ceiling[0]), colour, tip);
    } else {
      std::vector<Point> outline;
      for (std::size_t t = 0; t < times; ++t)
        outline.push_back({x(t), plot.y(ceiling[t])});
      for (std::size_t t = times; t-- > 0;)
        outline.push_back({x(t), plot.y(base[t])});
      svg.polygon(outline, colour, tip);
    }
    // Names stand beside their bands, pushed apart where bands are thin.
    const double middle = plot.y((base.back() + ceiling.back()) / 2);
    const double room = frame_top + 17.0 * static_cast<double>(series.groups.size() - 1 - g);  // for those above
    const double label = std::max(room, std::min(middle, last_label - 17));
    last_label = label;
    const double edge = frame_left + plot.width;
    svg.line({edge + 2, middle}, {edge + 14, label}, colour, 1.5);
    svg.rectangle(edge + 15, label - 5, 10, 10, colour);
    svg.label({edge + 30, label + 4}, series.groups[g], figure_width - edge - 36, {text_size});
    base = std::move(ceiling);
  }
  const std::size_t every = std::max<std::size_t>(1, (times + 11) / 12);
  for (std::size_t t = 0; t < times; t += every) {
    svg.text({x(t), figure_height - frame_bottom + 18}, series.times[t], {text_size, "middle", quiet_ink});
  }
  svg.text({frame_left + plot.width / 2, figure_height - 8}, per, {text_size, "middle", quiet_ink});

  std::vector<ColumnOf<std::size_t>> columns = {
      {disclosed.time, [names = series.times](std::size_t t) { return names[t]; }}};
  for (std::size_t g = 0; g < series.groups.size(); ++g)
    columns.push_back({series.groups[g],
                       [counts = series.enrollments[g]](std::size_t t) { return counts[t]; },
                       {.unit = "enrollments"}});
  const Table table(RowNumbers{times}, std::move(columns));
  Sentence basis = sentence_of({"enrollments_basis", "n = {0} students"}, {with_separators(disclosed.students)});
  if (!series.note.empty()) {
    basis.add("; {0} (no cell rests on 1 to {1} students; at most 7 are named)",
              {series.note, std::to_string(disclosed.min_cell - 1)});
  }
  return {"enrollments", title, finding, basis, svg.finish(), table};
}

Figure course_histogram(const DisclosedCohort& disclosed) {
  const std::vector<DisclosedBin>& bins = disclosed.bins;
  const std::int64_t values = bins.empty() ? 0 : bins.back().last + 1,
                     width = std::max<std::int64_t>(1, disclosed.bin_width);
  const auto n = static_cast<double>(disclosed.students);
  const double mean = disclosed.mean_courses, sd = disclosed.sd_courses.value_or(0);

  // Nothing is said that the bins do not say.
  const std::vector<double> students = spread(bins);
  double within = 0;
  for (std::size_t c = 0; c < students.size(); ++c) {
    if (std::abs(static_cast<double>(c) - mean) <= sd) within += students[c];
  }
  const auto peaks = two_peaks(students, sd, disclosed.min_cell);
  Sentence finding =
      sentence_of({"courses_per_student_finding", "A student took {0} courses on average"}, {fixed(mean, 1)});
  if (sd > 0)
    finding.add(" (standard deviation {0}); about {1} lie within one standard deviation, where a Gaussian has 68 %",
                {fixed(sd, 1), percent(n > 0 ? within / n : 0)});
  finding.add(".");
  if (peaks) {
    finding.add(
        " There are two peaks, about {0} and {1} courses: one Gaussian does not describe these students, and their "
        "mean is no typical number.",
        {std::to_string(peaks->first), std::to_string(peaks->second)});
  }
  const std::string title = "Courses per student";
  Svg svg(figure_width, figure_height, title, finding.text);
  if (bins.empty()) {
    svg.text({figure_width / 2, figure_height / 2}, "withheld: it would tell of few students",
             {text_size, "middle", quiet_ink});
    return {"courses-per-student",
            title,
            finding,
            sentence_of({"courses_per_student_withheld", "n = {0} students; how they differ is withheld"},
                        {with_separators(disclosed.students)}),
            svg.finish(),
            bin_table({}, [](const DisclosedBin&) { return std::optional<double>(); })};
  }
  const auto density = [=](double value) {
    const double z = (value - mean) / sd;
    return std::exp(-0.5 * z * z) / (sd * std::sqrt(2 * std::numbers::pi));
  };
  double largest = sd > 0 ? n * static_cast<double>(width) * density(mean) : 0;
  const auto height = [&](const DisclosedBin& bin) {
    // A wide bin shows its mean height, so that areas are students.
    return static_cast<double>(bin.students) * static_cast<double>(width) /
           static_cast<double>(bin.last - bin.first + 1);
  };
  for (const DisclosedBin& bin : bins)
    largest = std::max(largest, height(bin));
  const Frame plot = draw_frame(svg, largest, 24, width == 1 ? "students" : concat("students per ", width, " courses"));
  const double end = static_cast<double>(std::max<std::int64_t>(values, 1));
  const auto x = [&](double value) { return frame_left + plot.width * value / end; };
  for (const DisclosedBin& bin : bins) {
    const double from = x(static_cast<double>(bin.first)), to = x(static_cast<double>(bin.last + 1));
    const std::string range = bin.open                ? concat(bin.first, " or more")
                              : bin.first == bin.last ? concat(bin.first)
                                                      : concat(bin.first, " to ", bin.last);
    svg.rectangle(from + 0.5, plot.y(height(bin)), to - from - 1, plot.y(0) - plot.y(height(bin)), series_colour(4),
                  concat(range, " courses: ", with_separators(bin.students), " students"));
  }
  if (sd > 0) {
    std::vector<Point> curve;
    for (int i = 0; i <= 200; ++i) {
      const double value = end * i / 200.0;
      curve.push_back({x(value), plot.y(n * static_cast<double>(width) * density(value - 0.5))});
    }
    svg.polyline(curve, series_colour(5), 2.5);
    const double at = std::min(end * 0.98, mean + 1.1 * sd);
    const std::string words = peaks ? "one Gaussian does not fit" : "fitted Gaussian";
    // Beside the curve on the right, else on the left, else in the corner.
    const double before = std::max(0.0, mean - 1.1 * sd), length = text_width(words, text_size);
    const auto above = [&](double value) { return plot.y(n * static_cast<double>(width) * density(value - 0.5)) - 6; };
    if (x(at) + 10 + length <= figure_width - 4)
      svg.text({x(at) + 10, above(at)}, words, {text_size, "start", "#A34700"});
    else if (x(before) - 10 - length >= frame_left)
      svg.text({x(before) - 10, above(before)}, words, {text_size, "end", "#A34700"});
    else
      svg.text({frame_left + plot.width, frame_top + 12}, words, {text_size, "end", "#A34700"});
  }
  for (const double tick : axis_ticks(end, 8)) {
    if (tick + 0.5 <= end)
      svg.text({x(tick + 0.5), figure_height - frame_bottom + 18}, short_number(tick),
               {text_size, "middle", quiet_ink});
  }
  svg.text({frame_left + plot.width / 2, figure_height - 8}, "courses in all periods",
           {text_size, "middle", quiet_ink});

  const auto expected = [=](const DisclosedBin& bin) {
    double sum = 0;
    for (std::int64_t v = bin.first; v <= bin.last && sd > 0; ++v)
      sum += n * density(static_cast<double>(v));
    return value_if(sd > 0, sum);
  };
  const bool merged =
      std::ranges::any_of(bins, [&](const DisclosedBin& bin) { return bin.last - bin.first + 1 > width; });
  Sentence basis =
      sentence_of({"courses_per_student_basis", "n = {0} students"}, {with_separators(disclosed.students)});
  if (merged)
    basis.add("; bins under {0} students are merged with their neighbours", {std::to_string(disclosed.min_cell)});
  return {"courses-per-student", title, finding, basis, svg.finish(), bin_table(bins, expected)};
}

}  // namespace desirepath::inline reports
