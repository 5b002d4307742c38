#include "desirepath/reports/sankey_layout.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "desirepath/core/random_stream.h"

namespace desirepath::inline reports {

namespace {

using Order = std::vector<std::vector<std::size_t>>;
constexpr std::size_t most_exact = 10;  // nodes of a column: 2^n * n sums

struct End {
  std::size_t node;
  double value;
};

/// What the order of the columns is made from: the ends of each node's links on either side.
struct Neighbours {
  std::vector<std::vector<End>> before, after;

  explicit Neighbours(const SankeyGraph& graph) : before(graph.nodes.size()), after(graph.nodes.size()) {
    for (const SankeyLink& link : graph.links) {
      after[link.from].push_back({link.to, link.value});
      before[link.to].push_back({link.from, link.value});
    }
  }
};

/// Crossings of the links of u and v on one side, with u above v.
double crossings_of(const std::vector<End>& upper, const std::vector<End>& lower, const std::vector<double>& place) {
  double sum = 0;
  for (const End& a : upper) {
    for (const End& b : lower) {
      if (place[a.node] > place[b.node]) sum += a.value * b.value;
    }
  }
  return sum;
}

/// cost[u][v]: of the u-th node above the v-th one of a column, wherever the others are.
std::vector<std::vector<double>> pair_costs(const std::vector<std::size_t>& column, const Neighbours& ends,
                                            const std::vector<double>& place) {
  std::vector<std::vector<double>> cost(column.size(), std::vector<double>(column.size(), 0));
  for (std::size_t u = 0; u < column.size(); ++u) {
    for (std::size_t v = 0; v < column.size(); ++v) {
      if (u == v) continue;
      cost[u][v] = crossings_of(ends.before[column[u]], ends.before[column[v]], place) +
                   crossings_of(ends.after[column[u]], ends.after[column[v]], place);
    }
  }
  return cost;
}

/// The best order of all: of each set of nodes that may stand at the top, which stands last in it.
std::vector<std::size_t> best_order(const std::vector<std::vector<double>>& cost) {
  const std::size_t count = cost.size(), sets = std::size_t{1} << count;
  std::vector<double> best(sets, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> last(sets, 0);
  best[0] = 0;
  for (std::size_t set = 1; set < sets; ++set) {
    for (std::size_t v = count; v-- > 0;) {  // of equals the one that came last before
      if ((set >> v & 1U) == 0) continue;
      const std::size_t rest = set & ~(std::size_t{1} << v);
      double sum = best[rest];
      for (std::size_t u = 0; u < count; ++u) {
        if ((rest >> u & 1U) != 0) sum += cost[u][v];
      }
      if (sum < best[set]) {
        best[set] = sum;
        last[set] = v;
      }
    }
  }
  std::vector<std::size_t> order;
  for (std::size_t set = sets - 1; set != 0; set &= ~(std::size_t{1} << last[set]))
    order.push_back(last[set]);
  std::ranges::reverse(order);
  return order;
}

/// For many nodes: each is taken out and put back where it crosses least, until none moves.
std::vector<std::size_t> good_order(const std::vector<std::vector<double>>& cost) {
  std::vector<std::size_t> order(cost.size());
  std::iota(order.begin(), order.end(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t node = 0; node < cost.size(); ++node) {
      const auto at = static_cast<std::size_t>(std::ranges::find(order, node) - order.begin());
      // From here up, and from here down: what every place would gain.
      double gain = 0, most = 1e-9;
      std::size_t target = at;
      for (std::size_t i = at; i-- > 0;) {
        gain += cost[order[i]][node] - cost[node][order[i]];
        if (gain > most) {
          most = gain;
          target = i;
        }
      }
      gain = 0;
      for (std::size_t i = at + 1; i < order.size(); ++i) {
        gain += cost[node][order[i]] - cost[order[i]][node];
        if (gain > most) {
          most = gain;
          target = i;
        }
      }
      if (target == at) continue;
      order.erase(order.begin() + static_cast<std::ptrdiff_t>(at));
      order.insert(order.begin() + static_cast<std::ptrdiff_t>(target), node);
      moved = true;
    }
  }
  return order;
}

std::vector<double> places_of(const Order& order, std::size_t nodes) {
  std::vector<double> place(nodes, 0);
  for (const auto& column : order) {
    for (std::size_t i = 0; i < column.size(); ++i)
      place[column[i]] = static_cast<double>(i);
  }
  return place;
}

void improve_column(std::vector<std::size_t>& column, const Neighbours& ends, std::vector<double>& place) {
  const std::vector<std::vector<double>> cost = pair_costs(column, ends, place);
  std::vector<std::size_t> next;
  for (const std::size_t i : column.size() <= most_exact ? best_order(cost) : good_order(cost))
    next.push_back(column[i]);
  column = std::move(next);
  for (std::size_t i = 0; i < column.size(); ++i)
    place[column[i]] = static_cast<double>(i);
}

/// To the right and back, until no column has a better order between its neighbours.
double improve(Order& order, const SankeyGraph& graph, const Neighbours& ends) {
  std::vector<double> place = places_of(order, graph.nodes.size());
  double crossings = weighted_crossings(graph, place);
  for (;;) {
    for (auto& column : order)
      improve_column(column, ends, place);
    for (std::size_t c = order.size(); c-- > 0;)
      improve_column(order[c], ends, place);
    const double now = weighted_crossings(graph, place);
    if (!(now < crossings * (1 - 1e-12))) return now;
    crossings = now;
  }
}

/// Values that do not fall, nearest to the wanted ones: neighbours that would fall are one at their mean.
std::vector<double> rising(const std::vector<double>& wanted, const std::vector<double>& weight) {
  struct Block {
    double mean, weight;
    std::size_t size;
  };
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    blocks.push_back({wanted[i], weight[i], 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean > blocks.back().mean) {
      const Block top = blocks.back();
      blocks.pop_back();
      Block& below = blocks.back();
      below.mean = (below.mean * below.weight + top.mean * top.weight) / (below.weight + top.weight);
      below.weight += top.weight;
      below.size += top.size;
    }
  }
  std::vector<double> values;
  for (const Block& block : blocks)
    values.insert(values.end(), block.size, block.mean);
  return values;
}

/// Nodes at their places, ribbons by the places of their other ends.
class Placing {
 public:
  Placing(const SankeyGraph& graph, const SankeyBox& box, Order order)
      : graph_(graph), box_(box), order_(std::move(order)), center_(graph.nodes.size(), 0) {
    layout_.scale = largest_scale();
    for (const SankeyNode& node : graph.nodes)
      layout_.node_height.push_back(node.value * layout_.scale);
    for (const SankeyLink& link : graph.links)
      layout_.breadth.push_back(link.value * layout_.scale);
    layout_.node_top.resize(graph.nodes.size());
    layout_.from_top.resize(graph.links.size());
    layout_.to_top.resize(graph.links.size());
  }

  SankeyLayout run() {
    constexpr int sweeps = 40;
    for (const auto& column : order_)
      settle(column, spread(column));
    stack_ribbons();
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      for (const auto& column : order_)
        level(column);
      for (std::size_t c = order_.size(); c-- > 0;)
        level(order_[c]);
    }
    return layout_;
  }

 private:
  double slot(std::size_t node) const { return std::max(layout_.node_height[node], box_.least_pitch - box_.gap); }
  double distance(std::size_t above, std::size_t below) const { return (slot(above) + slot(below)) / 2 + box_.gap; }

  /// By which the fullest column fills the box.
  double largest_scale() const {
    double scale = std::numeric_limits<double>::infinity();
    for (const auto& column : order_) {
      if (column.empty()) continue;
      // The small ones take the room of their words, the others share what is left.
      std::vector<double> values;
      for (const std::size_t node : column)
        values.push_back(graph_.nodes[node].value);
      std::ranges::sort(values);
      const double least = std::max(0.0, box_.least_pitch - box_.gap);
      double room = box_.height - box_.gap * static_cast<double>(column.size() - 1);
      double sum = std::accumulate(values.begin(), values.end(), 0.0);
      for (const double value : values) {
        if (!(sum > 0) || value * room / sum >= least) break;
        room -= least;
        sum -= value;
      }
      if (sum > 0) scale = std::min(scale, std::max(0.0, room) / sum);
    }
    return scale < std::numeric_limits<double>::infinity() ? scale : 0;
  }

  /// Evenly over the box.
  std::vector<double> spread(const std::vector<std::size_t>& column) const {
    std::vector<double> wanted;
    for (std::size_t i = 0; i < column.size(); ++i)
      wanted.push_back(box_.height * (static_cast<double>(i) + 0.5) / static_cast<double>(column.size()));
    return wanted;
  }

  /// As near to the wanted centers as nodes that keep apart and inside can be.
  void settle(const std::vector<std::size_t>& column, std::vector<double> wanted) {
    if (column.empty()) return;
    std::vector<double> offset(column.size(), 0), weight;
    for (std::size_t i = 0; i < column.size(); ++i) {
      if (i > 0) offset[i] = offset[i - 1] + distance(column[i - 1], column[i]);
      wanted[i] -= offset[i];
      weight.push_back(graph_.nodes[column[i]].value + 1e-9);
    }
    const double low = slot(column.front()) / 2, high = box_.height - slot(column.back()) / 2 - offset.back();
    const std::vector<double> values = rising(wanted, weight);
    for (std::size_t i = 0; i < column.size(); ++i) {
      const std::size_t node = column[i];
      center_[node] = offset[i] + std::max(low, std::min(values[i], high));
      layout_.node_top[node] = center_[node] - layout_.node_height[node] / 2;
    }
  }

  /// Every node of a column to where its ribbons would run level.
  void level(const std::vector<std::size_t>& column) {
    std::vector<double> pull(graph_.nodes.size(), 0), weight(graph_.nodes.size(), 0);
    for (std::size_t l = 0; l < graph_.links.size(); ++l) {
      const SankeyLink& link = graph_.links[l];
      const double rise = layout_.to_top[l] - layout_.from_top[l];
      pull[link.from] += link.value * rise;
      pull[link.to] -= link.value * rise;
      weight[link.from] += link.value;
      weight[link.to] += link.value;
    }
    std::vector<double> wanted;
    for (const std::size_t node : column)
      wanted.push_back(center_[node] + (weight[node] > 0 ? pull[node] / weight[node] : 0));
    settle(column, std::move(wanted));
    stack_ribbons();
  }

  void stack_ribbons() {
    std::vector<std::size_t> links(graph_.links.size());
    std::iota(links.begin(), links.end(), 0);
    std::ranges::stable_sort(links, {}, [&](std::size_t l) { return center_[graph_.links[l].to]; });
    std::vector<double> next = layout_.node_top;
    for (const std::size_t l : links)
      layout_.from_top[l] = std::exchange(next[graph_.links[l].from], next[graph_.links[l].from] + layout_.breadth[l]);
    std::ranges::stable_sort(links, {}, [&](std::size_t l) { return center_[graph_.links[l].from]; });
    next = layout_.node_top;
    for (const std::size_t l : links)
      layout_.to_top[l] = std::exchange(next[graph_.links[l].to], next[graph_.links[l].to] + layout_.breadth[l]);
  }

  const SankeyGraph& graph_;
  SankeyBox box_;
  Order order_;
  std::vector<double> center_;
  SankeyLayout layout_;
};

Order given_order(const SankeyGraph& graph) {
  Order order;
  for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
    if (graph.nodes[node].column >= order.size()) order.resize(graph.nodes[node].column + 1);
    order[graph.nodes[node].column].push_back(node);
  }
  return order;
}

}  // namespace

double weighted_crossings(const SankeyGraph& graph, const std::vector<double>& place) {
  double sum = 0;
  for (std::size_t i = 0; i < graph.links.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const SankeyLink &a = graph.links[i], &b = graph.links[j];
      if (graph.nodes[a.from].column != graph.nodes[b.from].column) continue;
      if ((place[a.from] - place[b.from]) * (place[a.to] - place[b.to]) < 0) sum += a.value * b.value;
    }
  }
  return sum;
}

Order order_nodes(const SankeyGraph& graph) {
  constexpr int shuffles = 12;
  const Neighbours ends(graph);
  Order best = given_order(graph);
  double fewest = improve(best, graph, ends);
  RandomStream stream = RandomStream(1).child("sankey");  // the same starts for every diagram
  for (int start = 0; start < shuffles && fewest > 0; ++start) {
    Order other = given_order(graph);
    for (auto& column : other) {
      for (std::size_t i = column.size(); i > 1; --i)
        std::swap(column[i - 1], column[static_cast<std::size_t>(stream.below(i))]);
    }
    const double crossings = improve(other, graph, ends);
    if (crossings < fewest * (1 - 1e-9)) {
      fewest = crossings;
      best = std::move(other);
    }
  }
  return best;
}

SankeyLayout lay_out(const SankeyGraph& graph, const SankeyBox& box) {
  return Placing(graph, box, order_nodes(graph)).run();
}

}  // namespace desirepath::inline reports
