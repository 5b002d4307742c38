// Where the boxes and arrows of a directed graph lie, by Graphviz's layout "dot": layers from left to right.
#pragma once

#include <utility>
#include <vector>

#include "desirepath/reports/svg.h"

namespace desirepath::inline reports {

struct BoxSize {
  double width = 0, height = 0;
};

struct GraphArrow {
  std::vector<Point> curve;  // control points of cubic pieces: 1, and 3 more a piece
  Point tip;
};

struct GraphLayout {
  double width = 0, height = 0;
  std::vector<Point> centers;      // of the boxes
  std::vector<GraphArrow> arrows;  // of the edges, from the first box to the second
};

/// `layer_gap`: between layers, all in pixels. May be called from several threads, which wait for each other.
GraphLayout lay_out_graph(const std::vector<BoxSize>& boxes,
                          const std::vector<std::pair<std::size_t, std::size_t>>& edges, double layer_gap,
                          double box_gap);

}  // namespace desirepath::inline reports
