#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "desirepath/core/text.h"
#include "desirepath/queries/pathways.h"
#include "desirepath/reports/axes.h"
#include "desirepath/reports/figures.h"
#include "desirepath/reports/palette.h"
#include "desirepath/reports/sankey_layout.h"

namespace desirepath::inline reports {

namespace {

constexpr std::size_t traced_paths = 20;  // that ribbons say they belong to

std::int64_t rounded(double students) {
  return std::llround(students);
}

std::size_t step_count(const StateFlows& flows) {
  std::size_t steps = 0;
  for (const PathNode& node : flows.nodes)
    steps = std::max(steps, static_cast<std::size_t>(node.step) + 1);
  return steps;
}

/// How many are in a node: what is told of it may be less than there are.
std::string size_words(const PathNode& node) {
  return concat(with_separators(rounded(node.students)), node.is_exact ? "" : "+");
}

bool is_one_state(const PathNode& node) {
  return node.kind == NodeKind::states && node.states.size() == 1;
}

std::string colour_of(const PathNode& node) {
  return is_one_state(node) ? series_colour(node.states.front()) : neutral_colour();
}

/// What stands for the name where there is no room for it: the state's number.
std::string mark_of(const PathNode& node) {
  return is_one_state(node) ? std::to_string(node.states.front()) : node.kind == NodeKind::not_enrolled ? "–" : "+";
}

/// A state has a number, several together have none.
std::string number_words(const PathNode& node) {
  return is_one_state(node) ? concat("state ", node.states.front(), ": ") : "";
}

SankeyGraph graph_of(const StateFlows& flows, FlowWidth width) {
  SankeyGraph graph;
  std::vector<double> in(flows.nodes.size(), 0), out(flows.nodes.size(), 0);
  for (const PathFlow& flow : flows.flows) {
    const double value = width == FlowWidth::flow ? flow.students : flow.probability;
    graph.links.push_back({flow.from, flow.to, value});
    out[flow.from] += value;
    in[flow.to] += value;
  }
  for (std::size_t n = 0; n < flows.nodes.size(); ++n) {
    const double least = std::max(in[n], out[n]);
    graph.nodes.push_back({static_cast<std::size_t>(flows.nodes[n].step), width == FlowWidth::flow
                                                                              ? std::max(least, flows.nodes[n].students)
                                                                              : std::max(least, 0.05)});
  }
  return graph;
}

/// How strong each node and ribbon is, 0 .. 1; all where nothing is highlighted.
struct Strength {
  std::vector<double> node, flow;
};

/// The path itself is as strong as can be, and what follows it as likely as it is.
Strength strengths_of(const StateFlows& flows, const std::vector<std::size_t>& highlight) {
  if (highlight.empty())
    return {std::vector<double>(flows.nodes.size(), 1), std::vector<double>(flows.flows.size(), 1)};
  Strength strength{std::vector<double>(flows.nodes.size(), 0), std::vector<double>(flows.flows.size(), 0)};
  std::vector<double> reached(flows.nodes.size(), 0);
  reached[highlight.back()] = 1;
  for (const std::size_t node : highlight)
    strength.node[node] = 1;
  for (std::size_t i = 1; i < highlight.size(); ++i) {
    for (std::size_t f = 0; f < flows.flows.size(); ++f) {
      if (flows.flows[f].from == highlight[i - 1] && flows.flows[f].to == highlight[i]) strength.flow[f] = 1;
    }
  }
  for (Id step = flows.nodes[highlight.back()].step; step < static_cast<Id>(step_count(flows)); ++step) {
    for (std::size_t f = 0; f < flows.flows.size(); ++f) {
      const PathFlow& flow = flows.flows[f];
      if (flows.nodes[flow.from].step != step || reached[flow.from] <= 0) continue;
      const double chance = reached[flow.from] * flow.probability;
      reached[flow.to] += chance;
      strength.flow[f] = chance;
      strength.node[flow.to] = std::max(strength.node[flow.to], std::min(1.0, reached[flow.to]));
    }
  }
  return strength;
}

/// Where a diagram is drawn.
struct Panel {
  double left, top, width, height, node_width;

  double x(std::size_t column, std::size_t columns) const {
    return columns < 2 ? left
                       : left + (width - node_width) * static_cast<double>(column) / static_cast<double>(columns - 1);
  }
};

std::string ribbon_outline(Point from, Point to, double breadth) {
  const double middle = (from.x + to.x) / 2;
  const auto at = [](double x, double y) { return concat(coordinate(x), " ", coordinate(y)); };
  return concat("M", at(from.x, from.y), "C", at(middle, from.y), " ", at(middle, to.y), " ", at(to.x, to.y), "V",
                coordinate(to.y + breadth), "C", at(middle, to.y + breadth), " ", at(middle, from.y + breadth), " ",
                at(from.x, from.y + breadth), "Z");
}

/// "0 3": the numbers of the told paths that take this flow.
std::string paths_through(const StateFlows& flows, const PathFlow& flow) {
  std::vector<std::string> numbers;
  for (std::size_t p = 0; p < std::min(traced_paths, flows.paths.size()); ++p) {
    const std::vector<std::size_t>& nodes = flows.paths[p].nodes;
    for (std::size_t i = 1; i < nodes.size(); ++i) {
      if (nodes[i - 1] == flow.from && nodes[i] == flow.to) numbers.push_back(std::to_string(p));
    }
  }
  return join(numbers, " ");
}

constexpr double stub_length = 6;

/// Students who come from or go to where it cannot be told: a strip beside the node, in the neutral colour.
void draw_stub(Svg& svg, Point at, double breadth) {
  if (breadth < 0.5) return;
  svg.box(at.x, at.y, stub_length, breadth,
          concat("class=\"withheld\" fill=\"", neutral_colour(), "\" fill-opacity=\"0.55\""));
}

void draw_ribbons(Svg& svg, const StateFlows& flows, const SankeyLayout& layout, const Strength& strength,
                  const Panel& panel, bool is_highlighted) {
  const std::size_t columns = step_count(flows);
  std::vector<double> in(flows.nodes.size(), 0), out(flows.nodes.size(), 0);
  std::vector<std::size_t> order(flows.flows.size());
  std::iota(order.begin(), order.end(), 0);
  // The pale below the strong, the wide below the narrow.
  std::ranges::stable_sort(order, {}, [&](std::size_t f) { return strength.flow[f]; });
  for (const std::size_t f : order) {
    const PathFlow& flow = flows.flows[f];
    const PathNode &from = flows.nodes[flow.from], &to = flows.nodes[flow.to];
    in[flow.to] += layout.breadth[f];
    out[flow.from] += layout.breadth[f];
    const bool is_on = strength.flow[f] > 0;
    const std::string colour = is_on ? colour_of(from) : "#C9C9C9";
    const double opacity = !is_highlighted ? 0.5 : is_on ? 0.3 + 0.6 * strength.flow[f] : 0.35;
    const auto column = static_cast<std::size_t>(from.step);
    svg.path(ribbon_outline({panel.x(column, columns) + panel.node_width, layout.from_top[f] + panel.top},
                            {panel.x(column + 1, columns), layout.to_top[f] + panel.top}, layout.breadth[f]),
             concat("class=\"ribbon\" data-from=\"", flow.from, "\" data-to=\"", flow.to, "\" data-path=\"",
                    paths_through(flows, flow), "\" fill=\"", colour, "\" fill-opacity=\"", fixed(opacity, 2), "\""),
             concat(from.name, " → ", to.name, ": ", counted(rounded(flow.students), "student", "students"), ", ",
                    percent(flow.probability), " of those in the first"));
  }
  for (std::size_t n = 0; n < flows.nodes.size(); ++n) {
    const auto column = static_cast<std::size_t>(flows.nodes[n].step);
    const double x = panel.x(column, columns), top = layout.node_top[n] + panel.top;
    if (column + 1 < columns) draw_stub(svg, {x + panel.node_width, top + out[n]}, layout.node_height[n] - out[n]);
    if (column > 0) draw_stub(svg, {x - stub_length, top + in[n]}, layout.node_height[n] - in[n]);
  }
}

void draw_nodes(Svg& svg, const StateFlows& flows, const SankeyLayout& layout, const Strength& strength,
                const Panel& panel) {
  const std::size_t columns = step_count(flows);
  for (std::size_t n = 0; n < flows.nodes.size(); ++n) {
    const PathNode& node = flows.nodes[n];
    svg.open_group(concat("class=\"node\" data-node=\"", n, "\""));
    svg.rectangle(panel.x(static_cast<std::size_t>(node.step), columns), layout.node_top[n] + panel.top,
                  panel.node_width, std::max(1.0, layout.node_height[n]),
                  translucent(colour_of(node), 0.35 + 0.65 * strength.node[n]),
                  concat(node.name, ": ", size_words(node), " students"));
    svg.close_group();
  }
}

/// Words over ribbons have a rim of paper.
constexpr std::string_view rim =
    "paint-order=\"stroke\" stroke=\"#FFFFFF\" stroke-width=\"3\" stroke-linejoin=\"round\"";

/// Over the columns; where they are narrow the word stands over the first alone.
void draw_periods(Svg& svg, const StateFlows& flows, const Panel& panel, bool is_narrow) {
  const std::size_t columns = step_count(flows);
  const double room = columns < 2 ? panel.width : panel.width / static_cast<double>(columns - 1) - 12;
  for (std::size_t c = 0; c < columns; ++c) {
    const std::string& name = flows.periods[c];
    const bool is_number = number_in<int>(name).has_value();
    std::string words = is_number && (c == 0 || !is_narrow) ? concat("period ", name) : name;
    if (!is_narrow && c < flows.steps.size()) words += concat(": ", enrolled_count(flows.steps[c]), " enrolled");
    const bool is_last = c > 0 && c + 1 == columns && is_narrow;
    svg.label({panel.x(c, columns) + (is_last ? panel.node_width : 0), panel.top - 12}, words, room,
              {text_size, is_last ? "end" : "start", quiet_ink, true});
  }
}

Sentence basis_of(const StateFlows& flows, FlowWidth width) {
  Sentence basis = sentence_of({"sankey_basis", "n = {0} students; ribbons as wide as "},
                               {with_separators(rounded(flows.students))});
  basis.add(width == FlowWidth::flow ? "their students" : "the probability for who is in the state they come from");
  basis.add(", coloured by the number of that state within its period");
  if (std::ranges::any_of(flows.nodes, [](const PathNode& node) { return node.kind != NodeKind::states; }))
    basis.add("; students who were not enrolled are in no state");
  if (!flows.exact_sizes)
    basis.add("; a size with + is at least that: the exact one would tell of the few who go elsewhere");
  if (flows.withheld > 0) {
    basis.add(
        "; flows that are too small to be told, or would tell of such, {0} students together, as strips in the neutral "
        "colour",
        {with_separators(rounded(flows.withheld))});
  }
  return basis;
}

Table table_of(const StateFlows& flows) {
  std::vector<PathFlow> sorted = flows.flows;
  std::ranges::stable_sort(sorted, {},
                           [&](const PathFlow& flow) { return std::pair(flows.nodes[flow.from].step, flow.from); });
  return flow_table(std::move(sorted))
      .pick({"period", {"state", "from"}, {"next_state", "to"}, "whole_students", "probability"});
}

/// The first path through states alone; null where none can be told.
const StatePath* most_frequent(const StateFlows& flows) {
  const auto found =
      std::ranges::find_if(flows.paths, [&](const StatePath& path) { return is_through_states(flows, path); });
  return found != flows.paths.end() ? &*found : nullptr;
}

Sentence finding_of(const StateFlows& flows, const std::vector<std::size_t>& highlight) {
  if (!highlight.empty()) {
    const PathFlow* next = nullptr;
    for (const PathFlow& flow : flows.flows) {
      if (flow.from == highlight.back() && (next == nullptr || flow.probability > next->probability)) next = &flow;
    }
    const auto disclosed = std::ranges::find(flows.paths, highlight, &StatePath::nodes);
    Sentence finding = sentence_of({"sankey_highlight", "The path {0}"}, {path_words(flows, highlight, " → ")});
    if (disclosed != flows.paths.end())
      finding.add(" is taken by {0} students, {1}",
                  {with_separators(rounded(disclosed->students)), percent(disclosed->share)});
    if (next != nullptr) {
      finding.add(
          disclosed != flows.paths.end() ? "; leads most often, by {0}, to {1}" : " leads most often, by {0}, to {1}",
          {percent(next->probability), flows.nodes[next->to].name});
    }
    finding.add(".");
    return finding;
  }
  // Students who were not enrolled head nothing.
  if (const StatePath* first = most_frequent(flows)) {
    const bool is_first = first == &flows.paths.front();
    constexpr Pattern of_all = {"sankey_path",
                                "The most frequent of {0} paths that can be told is {1}: {2} students, {3}."};
    constexpr Pattern of_enrolled = {"sankey_path_enrolled",
                                     "Of {0} paths that can be told, the most frequent one of students enrolled in "
                                     "every period is {1}: {2} students, {3}."};
    return sentence_of(is_first ? of_all : of_enrolled,
                       {with_separators(std::ssize(flows.paths)), first->words,
                        with_separators(rounded(first->students)), percent(first->share)});
  }
  const auto largest = std::ranges::find_if(flows.flows, [&](const PathFlow& flow) {
    return flows.nodes[flow.from].kind == NodeKind::states && flows.nodes[flow.to].kind == NodeKind::states;
  });
  if (largest == flows.flows.end()) return sentence_of({"sankey_none", "No flow between states can be told."});
  return sentence_of(
      {"sankey_flow", "The largest flow between states is from {0} to {1}: {2} students."},
      {flows.nodes[largest->from].name, flows.nodes[largest->to].name, with_separators(rounded(largest->students))});
}

constexpr double line_height = 14;

struct NameLines {
  std::size_t of_name;
  bool has_count;  // and one with how many students are in it
};

/// Beside a node, about its middle.
void draw_name(Svg& svg, const StateFlows& flows, const PathNode& node, Point middle, double room,
               const NameLines& lines, const TextStyle& style) {
  const double all = std::max(flows.students, 1e-12);
  const std::string name = lines.has_count ? node.name : concat(mark_of(node), "  ", node.name);
  const std::size_t used = wrapped(name, style.bold ? room / 1.1 : room, style.size, lines.of_name).size();
  const double height = line_height * static_cast<double>(used + (lines.has_count ? 1 : 0));
  const double first = middle.y - height / 2 + 11;
  svg.open_group(rim);
  svg.wrapped_label({middle.x, first}, name, room, lines.of_name, line_height, style);
  if (lines.has_count) {
    svg.text(
        {middle.x, first + line_height * static_cast<double>(used)},
        concat(number_words(node), size_words(node), " (", percent(node.students / all), node.is_exact ? ")" : "+)"),
        {small_size, "start", quiet_ink});
  }
  svg.close_group();
}

/// The states of each period, from the top as they stand in the diagram: mark, name, students.
void draw_key(Svg& svg, const StateFlows& flows, const SankeyLayout& layout, double left, double top,
              double column_width, double row_height) {
  std::vector<std::size_t> order(flows.nodes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {},
                           [&](std::size_t n) { return std::pair(flows.nodes[n].step, layout.node_top[n]); });
  std::map<Id, double> next;
  for (const std::size_t n : order) {
    const PathNode& node = flows.nodes[n];
    const double x = left + column_width * static_cast<double>(node.step), y = top + next[node.step];
    const std::string colour = colour_of(node);
    svg.open_group(concat("class=\"node\" data-node=\"", n, "\""));
    svg.rectangle(x, y, 20, 16, colour);
    svg.text({x + 10, y + 12}, mark_of(node), {small_size, "middle", text_colour_on(colour), true});
    const std::size_t lines =
        svg.wrapped_label({x + 26, y + 12}, node.name, column_width - 38, 3, line_height, {small_size});
    svg.text({x + 26, y + 12 + line_height * static_cast<double>(lines)}, concat(size_words(node), " students"),
             {small_size, "start", quiet_ink});
    svg.close_group();
    next[node.step] += row_height;
  }
}

/// Whether all its flows can be told.
bool is_drawn(const StateFlows& flows, const StatePath& path) {
  for (std::size_t i = 1; i < path.nodes.size(); ++i) {
    const bool is_disclosed = std::ranges::any_of(
        flows.flows, [&](const PathFlow& flow) { return flow.from == path.nodes[i - 1] && flow.to == path.nodes[i]; });
    if (!is_disclosed) return false;
  }
  return true;
}

std::size_t most_nodes(const StateFlows& flows) {
  std::map<Id, std::size_t> count;
  std::size_t most = 1;
  for (const PathNode& node : flows.nodes)
    most = std::max(most, ++count[node.step]);
  return most;
}

}  // namespace

Figure state_sankey(const StateFlows& flows, const SankeyOptions& options) {
  const std::string title = "How students move between states";
  const Sentence finding = finding_of(flows, options.highlight);
  const std::size_t columns = std::max<std::size_t>(1, step_count(flows)), rows = most_nodes(flows);
  // Lines of a name, and one of numbers, while there is room.
  const NameLines lines{rows <= 6 ? 3U : rows <= 9 ? 2U : 1U, rows <= 14};
  const double pitch = lines.has_count ? line_height * static_cast<double>(lines.of_name + 1) + 4 : line_height + 2;
  const double height = std::max(340.0, pitch * static_cast<double>(rows) + 120);
  const Panel panel{14, 34, figure_width - 14 - 166, height, 14};
  const double room =
      columns < 2 ? 300 : (panel.width - panel.node_width) / static_cast<double>(columns - 1) - panel.node_width - 20;
  Svg svg(figure_width, panel.top + height + 14, title, finding.text);
  const SankeyLayout layout = lay_out(graph_of(flows, options.width), {height, 8, pitch});
  const Strength strength = strengths_of(flows, options.highlight);
  draw_periods(svg, flows, panel, false);
  draw_ribbons(svg, flows, layout, strength, panel, !options.highlight.empty());
  draw_nodes(svg, flows, layout, strength, panel);
  for (std::size_t n = 0; n < flows.nodes.size(); ++n) {
    const auto column = static_cast<std::size_t>(flows.nodes[n].step);
    const double x = panel.x(column, columns) + panel.node_width + 10;
    const double middle = panel.top + layout.node_top[n] + layout.node_height[n] / 2;
    const bool is_on = strength.node[n] >= 0.5;
    draw_name(svg, flows, flows.nodes[n], {x, middle}, column + 1 == columns ? figure_width - x - 6 : room, lines,
              {text_size, "start", is_on ? ink : quiet_ink, is_on && !options.highlight.empty()});
  }
  return {"sankey", title, finding, basis_of(flows, options.width), svg.finish(), table_of(flows)};
}

std::vector<StatePath> contrasting_paths(const StateFlows& flows) {
  std::vector<StatePath> paths;
  for (const StatePath& path : flows.paths) {
    if (!is_drawn(flows, path) || !is_through_states(flows, path)) continue;
    if (paths.empty() || path.nodes.back() != paths.front().nodes.back()) paths.push_back(path);
    if (paths.size() == 2) break;
  }
  return paths;
}

Figure sankey_contrast(const StateFlows& flows, FlowWidth width) {
  const std::vector<StatePath> paths = contrasting_paths(flows);
  if (paths.size() < 2)
    return state_sankey(flows, {width, paths.empty() ? std::vector<std::size_t>() : paths.front().nodes});
  const std::string title = "Two paths through the states";
  const bool has_absent =
      std::ranges::any_of(flows.nodes, [](const PathNode& n) { return n.kind != NodeKind::states; });
  Sentence finding = sentence_of({"sankey_paths", "The most frequent path "});
  if (has_absent) finding.add("of students enrolled in every period ");
  const auto add_path = [&](std::string_view clause, const StatePath& path) {
    finding.add(clause, {path.words, with_separators(rounded(path.students)), percent(path.share)});
  };
  add_path("is {0} ({1} students, {2})", paths[0]);
  add_path("; the most frequent one that ends elsewhere is {0} ({1} students, {2}).", paths[1]);
  const std::size_t columns = std::max<std::size_t>(1, step_count(flows)), rows = most_nodes(flows);
  constexpr double gap = 40, height = 260, margin = 14, row_height = 64;
  const double panel_width = (figure_width - 2 * margin - gap) / 2, top = 78;
  const double key_top = top + height + 44, key_width = (figure_width - 2 * margin) / static_cast<double>(columns);
  Svg svg(figure_width, key_top + row_height * static_cast<double>(rows) + 4, title, finding.text);
  const SankeyLayout layout = lay_out(graph_of(flows, width), {height, 6, 15});
  for (std::size_t p = 0; p < 2; ++p) {
    const Panel panel{margin + static_cast<double>(p) * (panel_width + gap), top, panel_width - 14, height, 10};
    const Strength strength = strengths_of(flows, paths[p].nodes);
    svg.text({panel.left, 16}, p == 0 ? "The most frequent path" : "The most frequent one to another end",
             {head_size, "start", ink, true});
    svg.text({panel.left, 34},
             concat(with_separators(rounded(paths[p].students)), " students (", percent(paths[p].share), ")"),
             {text_size, "start", quiet_ink});
    draw_periods(svg, flows, panel, true);
    draw_ribbons(svg, flows, layout, strength, panel, true);
    draw_nodes(svg, flows, layout, strength, panel);
    for (std::size_t n = 0; n < flows.nodes.size(); ++n) {
      const double x = panel.x(static_cast<std::size_t>(flows.nodes[n].step), columns) + panel.node_width + 3;
      const bool is_on = std::ranges::find(paths[p].nodes, n) != paths[p].nodes.end();
      svg.open_group(rim);
      svg.text({x, top + layout.node_top[n] + layout.node_height[n] / 2 + 4}, mark_of(flows.nodes[n]),
               {is_on ? head_size : small_size, "start", is_on ? ink : quiet_ink, is_on});
      svg.close_group();
    }
  }
  draw_key(svg, flows, layout, margin, key_top, key_width, row_height);
  return {"sankey-paths", title, finding, basis_of(flows, width), svg.finish(), table_of(flows)};
}

}  // namespace desirepath::inline reports
