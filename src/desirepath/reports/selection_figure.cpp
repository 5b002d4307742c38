#include <algorithm>
#include <array>
#include <cmath>

#include "desirepath/core/text.h"
#include "desirepath/reports/axes.h"
#include "desirepath/reports/figures.h"
#include "desirepath/reports/palette.h"

namespace desirepath::inline reports {

Figure selection_figure(const Selection& selection) {
  struct Panel {
    std::string title;
    std::vector<Id> states;
    std::vector<double> values;
    std::vector<double> errors;
    Id best;
    std::string colour;
    bool larger_is_better;
  };
  std::vector<Panel> panels = {
      {"held-out log-likelihood per student", {}, {}, {}, selection.best_held_out, series_colour(0), true},
      {"BIC", {}, {}, {}, selection.best_bic, series_colour(5), false},
      {"AIC", {}, {}, {}, selection.best_aic, series_colour(2), false},
      {"ICL", {}, {}, {}, selection.best_icl, series_colour(3), false}};
  for (const SelectionRow& row : selection.rows) {
    // A student of probability 0 leaves nothing to draw.
    if (std::isfinite(row.held_out)) {
      panels[0].states.push_back(row.states);
      panels[0].values.push_back(row.held_out);
      panels[0].errors.push_back(row.held_out_error);
    }
    const std::array criteria = {row.bic, row.aic, row.icl};
    for (std::size_t c = 0; c < criteria.size(); ++c) {
      panels[c + 1].states.push_back(row.states);
      panels[c + 1].values.push_back(criteria[c]);
    }
  }
  const Sentence finding = sentence_of({"select_finding", "{0}", estimate}, {selection.finding()});
  const std::string title = concat("How many states: ", selection.model);
  constexpr double width = figure_width, height = 440, left = 70, panel_width = 300, panel_height = 150, gap_x = 70,
                   gap_y = 60, top = 28;
  Svg svg(width, height, title, finding.text);
  for (std::size_t p = 0; p < panels.size(); ++p) {
    const Panel& panel = panels[p];
    const std::size_t column = p % 2, line = p / 2;
    const double x0 = left + static_cast<double>(column) * (panel_width + gap_x),
                 y0 = top + static_cast<double>(line) * (panel_height + gap_y);
    svg.text({x0, y0 - 10}, panel.title, {head_size, "start", ink, true});
    if (panel.values.empty()) continue;
    double low = std::ranges::min(panel.values), high = std::ranges::max(panel.values);
    for (std::size_t i = 0; i < panel.errors.size(); ++i) {
      low = std::min(low, panel.values[i] - panel.errors[i]);
      high = std::max(high, panel.values[i] + panel.errors[i]);
    }
    if (high - low < 1e-12) high = low + 1;
    const double first = selection.rows.front().states,
                 last = std::max<double>(first + 1, selection.rows.back().states);
    const auto x = [&](double k) { return x0 + panel_width * (k - first) / (last - first); };
    const auto y = [&](double v) { return y0 + panel_height * (high - v) / (high - low); };
    svg.line({x0, y0 + panel_height}, {x0 + panel_width, y0 + panel_height}, quiet_ink);
    for (const double value : {low, (low + high) / 2, high}) {
      svg.line({x0, y(value)}, {x0 + panel_width, y(value)}, grid_ink);
      const bool large = std::max(std::abs(low), std::abs(high)) >= 10'000;
      svg.text({x0 - 6, y(value) + 4}, large ? short_number(std::round(value)) : fixed(value, high - low < 1 ? 3 : 1),
               {small_size, "end", quiet_ink});
    }
    std::vector<Point> curve;
    for (std::size_t i = 0; i < panel.values.size(); ++i) {
      const double at = x(panel.states[i]);
      curve.push_back({at, y(panel.values[i])});
      if (!panel.errors.empty())
        svg.line({at, y(panel.values[i] - panel.errors[i])}, {at, y(panel.values[i] + panel.errors[i])}, panel.colour,
                 1.2);
    }
    svg.polyline(curve, panel.colour, 2.2);
    for (std::size_t i = 0; i < panel.values.size(); ++i) {
      const bool best = panel.states[i] == panel.best;
      svg.raw(concat("<circle cx=\"", fixed(curve[i].x, 1), "\" cy=\"", fixed(curve[i].y, 1), "\" r=\"", best ? 5 : 2.5,
                     "\" fill=\"", best ? "#FFFFFF" : panel.colour, "\" stroke=\"", panel.colour, "\" stroke-width=\"",
                     best ? 2.5 : 0, "\"><title>", panel.states[i], " states: ", shortest(panel.values[i]),
                     "</title></circle>\n"));
      if (best) {
        // Below the lowest point, but not on the ticks; inside the panel at its sides.
        const bool above = panel.larger_is_better || curve[i].y + 20 > y0 + panel_height;
        const std::string anchor = curve[i].x < x0 + 20                 ? "start"
                                   : curve[i].x > x0 + panel_width - 20 ? "end"
                                                                        : "middle";
        svg.text({curve[i].x, curve[i].y + (above ? -10 : 18)}, concat("K = ", panel.best), {small_size, anchor, ink});
      }
    }
    const std::size_t every = std::max<std::size_t>(1, (selection.rows.size() + 7) / 8);
    for (std::size_t i = 0; i < selection.rows.size(); i += every) {
      svg.text({x(selection.rows[i].states), y0 + panel_height + 16}, std::to_string(selection.rows[i].states),
               {small_size, "middle", quiet_ink});
    }
  }
  const Sentence basis =
      sentence_of({"select_basis",
                   "n = {0} students to train, {1} held out; bars are one standard error; likelihoods are of kind {2}"},
                  {with_separators(selection.training_students), with_separators(selection.validation_students),
                   std::string(name_of(selection.kind))});
  return {"select", title, finding, basis, svg.finish(), selection.table()};
}

}  // namespace desirepath::inline reports
