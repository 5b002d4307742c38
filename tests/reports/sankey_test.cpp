#include <cmath>
#include <map>
#include <regex>

#include "reports/sankey_diagrams.h"
#include "support/figure_checks.h"
#include "support/support.h"

#include "desirepath/core/text.h"
#include "desirepath/reports/figures.h"
#include "desirepath/reports/palette.h"

namespace desirepath::sankey_test {
namespace {

using Columns = std::vector<std::vector<std::size_t>>;

std::vector<double> places_of(const Columns& columns, std::size_t nodes) {
  std::vector<double> place(nodes);
  for (const auto& column : columns) {
    for (std::size_t i = 0; i < column.size(); ++i)
      place[column[i]] = static_cast<double>(i);
  }
  return place;
}

/// Every order of every column.
double fewest_crossings(const SankeyGraph& graph, Columns& columns, std::size_t column = 0) {
  if (column == columns.size()) return weighted_crossings(graph, places_of(columns, graph.nodes.size()));
  double fewest = std::numeric_limits<double>::infinity();
  std::ranges::sort(columns[column]);
  do {
    fewest = std::min(fewest, fewest_crossings(graph, columns, column + 1));
  } while (std::ranges::next_permutation(columns[column]).found);
  return fewest;
}

TEST(SankeyLayout, OrderIsTheBestOfAllOnSmallDiagrams) {
  for (std::uint64_t d = 0; d < 30; ++d) {
    const SankeyGraph graph = test::random_diagram(d, 3);
    Columns columns = order_nodes(graph);
    const double ours = weighted_crossings(graph, places_of(columns, graph.nodes.size()));
    EXPECT_NEAR(ours, fewest_crossings(graph, columns), 1e-9 * (1 + ours)) << d;
  }
}

TEST(SankeyLayout, ManyNodesInAColumnAreOrderedToo) {
  // A ladder in a shuffled order: there is an order without a crossing.
  SankeyGraph graph;
  for (std::size_t i = 0; i < 15; ++i)
    graph.nodes.push_back({0, 1});
  for (std::size_t i = 0; i < 15; ++i)
    graph.nodes.push_back({1, 1});
  for (std::size_t i = 0; i < 15; ++i)
    graph.links.push_back({i, 15 + (i * 7) % 15, 1});
  const Columns columns = order_nodes(graph);
  EXPECT_EQ(weighted_crossings(graph, places_of(columns, graph.nodes.size())), 0);
}

TEST(SankeyLayout, WidthsConserveFlowAndNodesLieInsideAndApart) {
  for (std::uint64_t d = 0; d < 50; ++d) {
    const SankeyGraph graph = test::random_diagram(d);
    const SankeyBox box{500, 8, 30};
    const SankeyLayout layout = lay_out(graph, box);
    ASSERT_GT(layout.scale, 0);
    std::vector<double> in(graph.nodes.size(), 0), out(graph.nodes.size(), 0);
    for (std::size_t l = 0; l < graph.links.size(); ++l) {
      const SankeyLink& link = graph.links[l];
      EXPECT_NEAR(layout.breadth[l], link.value * layout.scale, 1e-9);
      out[link.from] += layout.breadth[l];
      in[link.to] += layout.breadth[l];
      // Ribbons lie within the node at either end.
      EXPECT_GE(layout.from_top[l], layout.node_top[link.from] - 1e-9);
      EXPECT_LE(layout.from_top[l] + layout.breadth[l],
                layout.node_top[link.from] + layout.node_height[link.from] + 1e-9);
      EXPECT_GE(layout.to_top[l], layout.node_top[link.to] - 1e-9);
      EXPECT_LE(layout.to_top[l] + layout.breadth[l], layout.node_top[link.to] + layout.node_height[link.to] + 1e-9);
      for (std::size_t other = 0; other < l; ++other) {  // and on none of the others there
        const SankeyLink& next = graph.links[other];
        const auto apart = [&](double a, double b) {
          return a + layout.breadth[l] <= b + 1e-9 || b + layout.breadth[other] <= a + 1e-9;
        };
        EXPECT_TRUE(next.from != link.from || apart(layout.from_top[l], layout.from_top[other]));
        EXPECT_TRUE(next.to != link.to || apart(layout.to_top[l], layout.to_top[other]));
      }
    }
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      EXPECT_NEAR(std::max(in[n], out[n]), layout.node_height[n], 1e-9);
      EXPECT_GE(layout.node_top[n], -1e-9);
      EXPECT_LE(layout.node_top[n] + layout.node_height[n], box.height + 1e-9);
      for (std::size_t m = 0; m < n; ++m) {
        if (graph.nodes[m].column != graph.nodes[n].column) continue;
        const double distance =
            std::abs(layout.node_top[n] + layout.node_height[n] / 2 - layout.node_top[m] - layout.node_height[m] / 2);
        EXPECT_GE(distance, (layout.node_height[n] + layout.node_height[m]) / 2 + box.gap - 1e-9);
        EXPECT_GE(distance, box.least_pitch - 1e-9);
      }
    }
  }
}

/// Three periods of three states, "other" in the last; some flows are withheld.
StateFlows example_flows(const std::vector<std::string>& names = {"Engineers", "Doctors", "Writers"}) {
  StateFlows flows;
  flows.periods = {"1", "2", "3"};
  for (Id step = 0; step < 3; ++step) {
    for (Id k = 0; k < 3; ++k) {
      const bool is_other = step == 2 && k == 2;
      flows.nodes.push_back({step, is_other ? std::vector<Id>{2, 3} : std::vector<Id>{k},
                             is_other ? "other" : names[static_cast<std::size_t>(k) % names.size()], 100.0 - 20 * k});
    }
  }
  flows.flows = {{0, 3, 80, 0.8},     {3, 6, 70, 0.7},  {1, 4, 60, 0.75}, {4, 7, 50, 0.625},
                 {2, 5, 40, 2.0 / 3}, {5, 8, 45, 0.75}, {3, 7, 20, 0.2},  {0, 4, 10, 0.1}};
  flows.withheld = 105;
  flows.paths = {{{0, 3, 6}, 60}, {{2, 5, 6}, 50}, {{0, 4, 6}, 48}, {{1, 4, 7}, 45}, {{2, 5, 8}, 40}};
  flows.students = 240;
  for (StatePath& path : flows.paths) {
    path.share = path.students / flows.students;
    path.words = path_words(flows, path.nodes, " → ");
  }
  return flows;
}

struct Ribbon {
  double breadth_from, breadth_to, opacity;
  std::string fill, paths;
};
std::map<std::pair<int, int>, Ribbon> ribbons_of(const Figure& figure) {
  static const std::regex outline(
      "M\\S+ (\\S+)C\\S+ \\S+ \\S+ \\S+ \\S+ (\\S+)V(\\S+)C\\S+ \\S+ \\S+ \\S+ \\S+ (\\S+)Z");
  std::map<std::pair<int, int>, Ribbon> ribbons;
  const pugi::xml_document document = test::parsed(figure);
  for (const auto& found : document.select_nodes("//*[@class='ribbon']")) {
    const pugi::xml_node path = found.node();
    std::smatch match;
    const std::string d = path.attribute("d").as_string();
    if (!std::regex_match(d, match, outline)) {
      ADD_FAILURE() << d;
      continue;
    }
    ribbons[{path.attribute("data-from").as_int(), path.attribute("data-to").as_int()}] = {
        std::stod(match[4]) - std::stod(match[1]), std::stod(match[3]) - std::stod(match[2]),
        path.attribute("fill-opacity").as_double(), path.attribute("fill").as_string(),
        path.attribute("data-path").as_string()};
  }
  return ribbons;
}

TEST(StateSankey, RibbonsAreAsWideAsTheirStudentsOrTheirProbability) {
  const StateFlows flows = example_flows();
  for (const FlowWidth width : {FlowWidth::flow, FlowWidth::probability}) {
    const Figure figure = state_sankey(flows, {width, {}});
    test::expect_sound(figure);
    const auto ribbons = ribbons_of(figure);
    ASSERT_EQ(ribbons.size(), flows.flows.size());
    const auto value = [&](const PathFlow& flow) {
      return width == FlowWidth::flow ? flow.students : flow.probability;
    };
    const double scale = ribbons.at({0, 3}).breadth_from / value(flows.flows.front());
    for (const PathFlow& flow : flows.flows) {
      const Ribbon& ribbon = ribbons.at({static_cast<int>(flow.from), static_cast<int>(flow.to)});
      EXPECT_NEAR(ribbon.breadth_from, scale * value(flow), 0.25);  // coordinates are to a tenth
      EXPECT_NEAR(ribbon.breadth_to, ribbon.breadth_from, 0.21);
    }
    EXPECT_EQ(figure.table.row_count(), flows.flows.size());
  }
}

TEST(StateSankey, ColoursAreThoseOfTheStatesAndOtherIsNeutral) {
  const Figure figure = state_sankey(example_flows());
  const pugi::xml_document document = test::parsed(figure);
  for (int n = 0; n < 9; ++n) {
    const auto rectangle = document.select_node(concat("//*[@data-node='", n, "']/*").c_str()).node();
    EXPECT_EQ(rectangle.attribute("fill").as_string(), n == 8 ? neutral_colour() : series_colour(n % 3)) << n;
  }
  EXPECT_EQ(ribbons_of(figure).at({1, 4}).fill, series_colour(1));
}

TEST(StateSankey, APathIsStrongWithWhatFollowsItAndTheRestIsPale) {
  const auto ribbons = ribbons_of(state_sankey(example_flows(), {FlowWidth::flow, {0, 3}}));
  const double path = ribbons.at({0, 3}).opacity, likely = ribbons.at({3, 6}).opacity,
               unlikely = ribbons.at({3, 7}).opacity;
  EXPECT_GT(path, likely);
  EXPECT_GT(likely, unlikely);
  for (const auto& pair : {std::pair(1, 4), std::pair(2, 5), std::pair(4, 7), std::pair(0, 4)})
    EXPECT_NE(ribbons.at(pair).fill, series_colour(pair.first)) << pair.first;
  EXPECT_EQ(ribbons.at({0, 3}).fill, series_colour(0));
  EXPECT_EQ(ribbons.at({0, 3}).paths, "0");
}

TEST(StateSankey, ContrastingPathsEndElsewhereAndCanBeDrawn) {
  const std::vector<StatePath> paths = contrasting_paths(example_flows());
  ASSERT_EQ(paths.size(), 2U);
  EXPECT_EQ(paths[0].nodes, (std::vector<std::size_t>{0, 3, 6}));
  // {2, 5, 6} and {0, 4, 6} end there too, or their flows are withheld.
  EXPECT_EQ(paths[1].nodes, (std::vector<std::size_t>{1, 4, 7}));
  const Figure figure = sankey_contrast(example_flows());
  test::expect_sound(figure);
  EXPECT_TRUE(test::says(figure.finding.text(), {"Doctors → Doctors → Doctors", "45", "19"}));
  StateFlows one = example_flows();
  one.paths.resize(1);
  EXPECT_EQ(sankey_contrast(one).name, "sankey");
}

TEST(StateSankey, TakesAnyNameAndNothingAtAll) {
  std::vector<std::string> names = test::hostile_names();
  names.emplace_back();
  for (std::size_t shift = 0; shift < names.size(); ++shift) {
    std::rotate(names.begin(), names.begin() + 1, names.end());
    const StateFlows flows = example_flows({names[0], names[1], names[2]});
    test::expect_sound(state_sankey(flows));
    test::expect_sound(state_sankey(flows, {FlowWidth::probability, {0, 3}}));
    test::expect_sound(sankey_contrast(flows));
  }
  test::expect_sound(state_sankey(StateFlows()));
  test::expect_sound(sankey_contrast(StateFlows()));
}

TEST(StateSankey, HasRoomForManyStates) {
  StateFlows flows;
  flows.periods = {"1", "2", "3", "4"};
  for (Id step = 0; step < 4; ++step) {
    for (Id k = 0; k < 20; ++k)
      flows.nodes.push_back({step, {k}, concat("Introduction to Subject ", k, ", Principles of Subject ", k), 50});
  }
  for (std::size_t from = 0; from < 60; ++from)
    flows.flows.push_back({from, 20 * (from / 20 + 1) + (7 * from) % 20, 30, 0.6});
  test::expect_sound(state_sankey(flows));
}

}  // namespace
}  // namespace desirepath::sankey_test
