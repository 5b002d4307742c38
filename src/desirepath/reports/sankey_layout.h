// Where the nodes and ribbons of a flow diagram lie: columns of nodes, ordered so that wide ribbons cross little, and
// moved so that ribbons run level.
#pragma once

#include <cstddef>
#include <vector>

namespace desirepath::inline reports {

struct SankeyNode {
  std::size_t column = 0;
  double value = 0;  // its height; no less than what comes in or goes out
};

/// From a node to one of the next column.
struct SankeyLink {
  std::size_t from = 0, to = 0;
  double value = 0;
};

struct SankeyGraph {
  std::vector<SankeyNode> nodes;
  std::vector<SankeyLink> links;
};

/// Over all pairs of links that cross: the product of their values, the area that one covers of the other. `place`: of
/// each node, from the top of its column. Links that share a node do not cross.
double weighted_crossings(const SankeyGraph& graph, const std::vector<double>& place);

/// Nodes of each column from the top, by which the weighted crossings are few: each column in its best order between
/// its neighbours, from many starts.
std::vector<std::vector<std::size_t>> order_nodes(const SankeyGraph& graph);

struct SankeyBox {
  double height = 0;
  double gap = 0;          // between nodes
  double least_pitch = 0;  // between the centers of nodes: room for what is written beside them
};

struct SankeyLayout {
  double scale = 0;                               // pixels a unit of value
  std::vector<double> node_top, node_height;      // of each node
  std::vector<double> from_top, to_top, breadth;  // of each link: its upper edge at either end, and how wide it is
};

/// In every column the nodes lie inside the box and apart; at every node the ribbons lie side by side without a gap.
SankeyLayout lay_out(const SankeyGraph& graph, const SankeyBox& box);

}  // namespace desirepath::inline reports
