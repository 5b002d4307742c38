#include <algorithm>
#include <cmath>

#include "desirepath/core/text.h"
#include "desirepath/reports/axes.h"
#include "desirepath/reports/figures.h"
#include "desirepath/reports/palette.h"

namespace desirepath::inline reports {

namespace {

constexpr const char* measure = "error_by_course";

struct Curve {
  std::string model;
  std::vector<const EvaluationSummary*> points;  // by size
};

std::vector<Curve> curves_of(const Evaluation& evaluation) {
  std::vector<Curve> curves;
  for (const EvaluationSummary& one : evaluation.summaries) {
    auto at = std::ranges::find(curves, one.model, &Curve::model);
    if (at == curves.end()) at = curves.insert(curves.end(), {one.model, {}});
    at->points.push_back(&one);
  }
  for (Curve& curve : curves)
    std::ranges::sort(curve.points, {}, &EvaluationSummary::size);
  return curves;
}

Sentence basis_of(const Evaluation& evaluation) {
  return sentence_of({"evaluation_figure_basis",
                      "n = {0} students to train, {1} held out, means over {2}; bars are one standard deviation over "
                      "splits"},
                     {with_separators(evaluation.training_students), with_separators(evaluation.held_out_students),
                      counted(std::ssize(evaluation.seeds), "split", "splits")});
}

std::string plain_cell(const Cell& cell, int decimals) {
  if (const auto* number = std::get_if<double>(&cell)) return fixed(*number, decimals);
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return std::to_string(*whole);
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return "-";
}

}  // namespace

Figure error_by_size(const Evaluation& evaluation) {
  const std::vector<Curve> curves = curves_of(evaluation);
  double highest = 0;
  Id first = std::numeric_limits<Id>::max(), last = 1;
  const EvaluationSummary* best = &evaluation.summaries.front();
  for (const EvaluationSummary& one : evaluation.summaries) {
    const MeanAndSpread& error = one.found.at(measure);
    highest = std::max(highest, error.mean + error.spread);
    if (one.size > 0) first = std::min(first, one.size);
    last = std::max(last, one.size);
    if (error.mean < best->found.at(measure).mean) best = &one;
  }
  first = std::min(first, last);
  const double floor = evaluation.summaries.front().found.at("floor_by_course").mean;
  const std::string title = "Sample error by K";
  const Sentence finding =
      sentence_of({"error_by_k_finding",
                   "Samples are nearest to held-out students with {0}: error {1}, where the training students "
                   "themselves have {2}",
                   estimate},
                  {best->size > 0 ? concat(best->model, " and K = ", best->size) : best->model,
                   fixed(best->found.at(measure).mean, 4), fixed(floor, 4)});
  constexpr double width = figure_width, height = 420, left = 76, top = 40, right = 190, bottom = 56;
  const double plot_width = width - left - right, plot_height = height - top - bottom;
  Svg svg(width, height, title, finding.text);
  // Sizes double: equal steps of their logarithm.
  const auto x = [&](double size) {
    return last > first ? left + plot_width * std::log2(size / first) / std::log2(static_cast<double>(last) / first)
                        : left + plot_width / 2;
  };
  const auto y = [&](double error) { return top + plot_height * (1 - error / std::max(highest, 1e-12)); };
  svg.text({left, top - 16}, "sum over courses of (share held out - share sampled)\u00B2",
           {head_size, "start", ink, true});
  for (const double tick : axis_ticks(highest, 5)) {
    if (tick > highest) continue;
    svg.line({left, y(tick)}, {left + plot_width, y(tick)}, grid_ink);
    svg.text({left - 8, y(tick) + 4}, shortest(tick), {small_size, "end", quiet_ink});
  }
  std::vector<Id> sizes;
  for (const EvaluationSummary& one : evaluation.summaries) {
    if (one.size > 0 && std::ranges::find(sizes, one.size) == sizes.end()) sizes.push_back(one.size);
  }
  for (const Id size : sizes)
    svg.text({x(size), top + plot_height + 18}, std::to_string(size), {small_size, "middle", quiet_ink});
  svg.text({left + plot_width / 2, height - 14}, "K", {head_size, "middle", ink, true});
  svg.line({left, y(floor)}, {left + plot_width, y(floor)}, quiet_ink, 1, "3 3");
  std::vector<std::pair<double, std::size_t>> labels;  // height at the right end, curve
  for (std::size_t c = 0; c < curves.size(); ++c) {
    const std::string colour = series_colour(static_cast<int>(c));
    const Curve& curve = curves[c];
    const auto height_of = [&](const EvaluationSummary* one) { return y(one->found.at(measure).mean); };
    if (curve.points.size() == 1 && curve.points.front()->size == 0) {
      svg.line({left, height_of(curve.points.front())}, {left + plot_width, height_of(curve.points.front())}, colour,
               2.2, dashes_of(c));
    }
    for (std::size_t i = 0; i < curve.points.size() && curve.points[i]->size > 0; ++i) {
      const EvaluationSummary* one = curve.points[i];
      const MeanAndSpread& error = one->found.at(measure);
      const Point at{x(one->size), height_of(one)};
      if (i > 0)
        svg.line({x(curve.points[i - 1]->size), height_of(curve.points[i - 1])}, at, colour, 2.2, dashes_of(c));
      svg.line({at.x, y(std::max(0.0, error.mean - error.spread))}, {at.x, y(error.mean + error.spread)}, colour, 1.2);
      svg.circle(at, 3.5, colour,
                 concat(one->model, ", K = ", one->size, ": ", fixed(error.mean, 4), " +- ", fixed(error.spread, 4)));
    }
    labels.emplace_back(height_of(curve.points.back()), c);
  }
  std::ranges::sort(labels);
  double lowest = top - 16;
  for (const auto& [at, c] : labels) {
    lowest = std::max(at + 4, lowest + 16);
    svg.line({left + plot_width + 10, lowest - 4}, {left + plot_width + 34, lowest - 4},
             series_colour(static_cast<int>(c)), 2.2, dashes_of(c));
    svg.text({left + plot_width + 40, lowest}, curves[c].model, {text_size, "start", ink});
  }
  svg.text({left + plot_width + 10, lowest + 22}, "dotted: training students", {small_size, "start", quiet_ink});
  return {"error_by_k", title, finding, basis_of(evaluation), svg.finish(), evaluation.table()};
}

Figure best_of_models(const Evaluation& evaluation) {
  const Table best = evaluation.best_table();
  const auto rows = best.rows();
  const std::string title = "Each model where it is best";
  const Sentence finding = sentence_of(
      {"best_finding", "Smaller errors and larger accuracies are better; K is the size that reached each."});
  const double width = figure_width, row_height = 28, top = 34;
  const double height = top + row_height * static_cast<double>(best.row_count() + 1) + 16;
  Svg svg(width, height, title, finding.text);
  const std::vector<std::pair<std::string, double>> heads = {
      {"model", 20}, {"sample error", 260}, {"K", 330}, {"inference accuracy", 510}, {"K", 580}, {"held-out", 700}};
  for (std::size_t i = 0; i < heads.size(); ++i)
    svg.text({heads[i].second, top}, heads[i].first, {head_size, i == 0 ? "start" : "end", ink, true});
  svg.line({16, top + 8}, {width - 16, top + 8}, quiet_ink);
  for (std::size_t r = 0; r < best.row_count(); ++r) {
    const double at = top + row_height * static_cast<double>(r + 1);
    const std::vector<Cell>& row = rows[r];
    for (std::size_t i = 0; i < heads.size(); ++i) {
      const int decimals = i == 1 ? 4 : i == 3 ? 3 : 2;
      // A bound says "at least".
      const bool bound = i == 5 && std::get<std::string>(row.back()) == name_of(LikelihoodKind::lower_bound);
      svg.text({heads[i].second, at}, (bound ? "\u2265 " : "") + plain_cell(row[i], decimals),
               {head_size, i == 0 ? "start" : "end"});
    }
  }
  return {"table_1", title, finding, basis_of(evaluation), svg.finish(), best};
}

}  // namespace desirepath::inline reports
