// Our order of the nodes against that of another program, crossings of both counted by one function.
//   sankey_oracle write          the diagrams, as JSON
//   sankey_oracle compare FILE   FILE: of each diagram the places of its nodes, as JSON
#include <fstream>
#include <iostream>

#include <nlohmann/json.hpp>

#include "reports/sankey_diagrams.h"

namespace {

using namespace desirepath;
constexpr std::uint64_t diagrams = 50;
constexpr int least_not_more = 40;

/// Every pair of ribbons that cross counts once.
SankeyGraph with_equal_links(SankeyGraph graph) {
  for (SankeyLink& link : graph.links)
    link.value = 1;
  return graph;
}

void write() {
  nlohmann::json all = nlohmann::json::array();
  for (std::uint64_t d = 0; d < diagrams; ++d) {
    const SankeyGraph graph = test::random_diagram(d);
    nlohmann::json one{{"nodes", nlohmann::json::array()}, {"links", nlohmann::json::array()}};
    for (const SankeyNode& node : graph.nodes)
      one["nodes"].push_back({{"column", node.column}});
    for (const SankeyLink& link : graph.links)
      one["links"].push_back({{"source", link.from}, {"target", link.to}, {"value", link.value}});
    all.push_back(std::move(one));
  }
  std::cout << all << '\n';
}

int compare(const char* file) {
  std::ifstream in(file);
  const auto places = nlohmann::json::parse(in).get<std::vector<std::vector<double>>>();
  double ours = 0, theirs = 0, our_pairs = 0, their_pairs = 0;
  int not_more = 0, fewer = 0;
  for (std::uint64_t d = 0; d < diagrams; ++d) {
    const SankeyGraph graph = test::random_diagram(d), equal = with_equal_links(graph);
    const SankeyLayout layout = lay_out(graph, {400, 8, 0});
    const double here = weighted_crossings(graph, layout.node_top), there = weighted_crossings(graph, places.at(d));
    ours += here;
    theirs += there;
    our_pairs += weighted_crossings(equal, layout.node_top);
    their_pairs += weighted_crossings(equal, places.at(d));
    not_more += here <= there * (1 + 1e-12) ? 1 : 0;
    fewer += here < there * (1 - 1e-12) ? 1 : 0;
  }
  std::cout << "weighted crossings " << ours << " against " << theirs << ", pairs that cross " << our_pairs
            << " against " << their_pairs << "; not more on " << not_more << " of " << diagrams << ", fewer on "
            << fewer << '\n';
  return ours <= theirs && our_pairs <= their_pairs && not_more >= least_not_more ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "compare") return compare(argv[2]);
  write();
}
