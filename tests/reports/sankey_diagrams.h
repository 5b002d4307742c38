// Flow diagrams by number, as models give them: all states of a period to most of the next, few of the flows wide.
#pragma once

#include <cmath>

#include "desirepath/core/random_stream.h"
#include "desirepath/reports/sankey_layout.h"

namespace desirepath::test {

inline SankeyGraph random_diagram(std::uint64_t number, std::size_t most_nodes = 8) {
  RandomStream stream = RandomStream(19).child("diagram").child(number);
  const std::size_t columns = 3 + stream.below(3);
  SankeyGraph graph;
  std::vector<std::vector<std::size_t>> places(columns);
  for (std::size_t c = 0; c < columns; ++c) {
    const std::size_t count = 2 + stream.below(most_nodes - 1);
    for (std::size_t i = 0; i < count; ++i) {
      places[c].push_back(graph.nodes.size());
      graph.nodes.push_back({c, 0});
    }
  }
  const double density = 0.2 + 0.6 * stream.uniform();
  std::vector<double> in(graph.nodes.size(), 0), out(graph.nodes.size(), 0);
  const auto add = [&](std::size_t from, std::size_t to) {
    const double value = std::round(std::exp(5 * stream.uniform()) * 10);
    graph.links.push_back({from, to, value});
    out[from] += value;
    in[to] += value;
  };
  for (std::size_t c = 0; c + 1 < columns; ++c) {
    for (const std::size_t from : places[c]) {
      for (const std::size_t to : places[c + 1]) {
        if (stream.bernoulli(density)) add(from, to);
      }
      if (out[from] == 0) add(from, places[c + 1][stream.below(places[c + 1].size())]);
    }
    for (const std::size_t to : places[c + 1]) {
      if (in[to] == 0) add(places[c][stream.below(places[c].size())], to);
    }
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n)
    graph.nodes[n].value = std::max(in[n], out[n]);
  return graph;
}

}  // namespace desirepath::test
