#include <algorithm>
#include <cmath>
#include <map>

#include "desirepath/core/text.h"
#include "desirepath/reports/axes.h"
#include "desirepath/reports/figures.h"
#include "desirepath/reports/graph_layout.h"
#include "desirepath/reports/palette.h"

namespace desirepath::inline reports {

namespace {

struct LinkStyle {
  const char* word;
  const char* said;
  int colour;
  const char* dashes;
};
LinkStyle style_of(PrerequisiteStatus status) {
  switch (status) {
    case PrerequisiteStatus::tacit:
      return {"tacit", "found, but not listed", 5, "7 4"};
    case PrerequisiteStatus::both:
      return {"both", "listed and found", 0, ""};
    case PrerequisiteStatus::unfollowed:
      return {"declared", "listed, but hardly followed", 7, "2 4"};
    default:
      return {"found", "found", 0, ""};
  }
}

constexpr double box_height = 24, legend_height = 34, graph_margin = 12, widest_box = 132;

/// The courses of the links in the order they come, and each link between their places.
struct Network {
  std::vector<std::pair<Id, Named>> courses;
  std::vector<std::pair<std::size_t, std::size_t>> edges;
};
Network network_of(const std::vector<PrerequisitePair>& links) {
  Network network;
  std::map<Id, std::size_t> place;
  const auto place_of = [&](Id course, const Named& name) {
    const auto [at, is_new] = place.try_emplace(course, network.courses.size());
    if (is_new) network.courses.emplace_back(course, name);
    return at->second;
  };
  for (const PrerequisitePair& link : links) {
    const std::size_t from = place_of(link.prerequisite, link.name);
    network.edges.emplace_back(from, place_of(link.course, link.course_name));
  }
  return network;
}

/// Layers as far apart as the picture has room for.
GraphLayout lay_out_in(double width, const std::vector<BoxSize>& boxes, const Network& network) {
  GraphLayout layout;
  for (const double gap : {90.0, 70.0, 54.0, 40.0, 30.0}) {
    layout = lay_out_graph(boxes, network.edges, gap, 10);
    if (layout.width <= width) break;
  }
  return layout;
}

std::string curve_text(const std::vector<Point>& curve, Point shift) {
  std::string text;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const char* command = i == 0 ? "M" : i == 1 ? "C" : " ";
    text += concat(command, coordinate(curve[i].x + shift.x), " ", coordinate(curve[i].y + shift.y));
  }
  return text;
}

/// From a little before the curve's end to its tip.
std::string arrow_head(Point base, Point tip, double half_width) {
  const double x = tip.x - base.x, y = tip.y - base.y, length = std::max(1e-9, std::hypot(x, y));
  const Point across{-y / length * half_width, x / length * half_width};
  const Point back{base.x - 2 * x / length, base.y - 2 * y / length};
  const auto at = [](double px, double py) { return concat(coordinate(px), " ", coordinate(py)); };
  return concat("M", at(back.x + across.x, back.y + across.y), "L", at(tip.x, tip.y), "L",
                at(back.x - across.x, back.y - across.y), "Z");
}

/// `strength`: 0 .. 1.
void draw_link(Svg& svg, const PrerequisitePair& link, const GraphArrow& arrow, Point shift, double strength) {
  if (arrow.curve.size() < 4) return;
  const LinkStyle style = style_of(link.status);
  const std::string colour = series_colour(style.colour);
  const double breadth = 1.2 + 3 * std::max(0.0, strength);
  const Point base{arrow.curve.back().x + shift.x, arrow.curve.back().y + shift.y};
  svg.open_group(concat("class=\"link\" data-from=\"", link.prerequisite, "\" data-to=\"", link.course, "\""));
  svg.path(curve_text(arrow.curve, shift),
           concat("fill=\"none\" stroke=\"", colour, "\" stroke-width=\"", coordinate(breadth), "\"",
                  *style.dashes == 0 ? "" : concat(" stroke-dasharray=\"", style.dashes, "\"")),
           concat(link.name.title, " → ", link.course_name.title, ": ", style.said, ", score ",
                  link.is_disclosed() ? fixed(link.score(), 2) : "withheld"));
  svg.path(arrow_head(base, {arrow.tip.x + shift.x, arrow.tip.y + shift.y}, 3.4 + breadth / 2),
           concat("fill=\"", colour, "\""));
  svg.close_group();
}

void draw_course(Svg& svg, Id number, const Named& course, const BoxSize& size, Point center) {
  svg.open_group(concat("class=\"course\" data-course=\"", number, "\""), course.title);
  svg.box(center.x - size.width / 2, center.y - size.height / 2, size.width, size.height,
          concat("rx=\"5\" fill=\"#F4F6F8\" stroke=\"", quiet_ink, "\""));
  svg.text({center.x, center.y + 4}, fitted(course.name, size.width - 12, text_size), {text_size, "middle"});
  svg.close_group();
}

void draw_legend(Svg& svg, bool has_list) {
  using enum PrerequisiteStatus;
  double x = graph_margin;
  for (const PrerequisiteStatus status : has_list ? std::vector{tacit, both, unfollowed} : std::vector{found}) {
    const LinkStyle style = style_of(status);
    svg.line({x, 16}, {x + 34, 16}, series_colour(style.colour), 2.4, style.dashes);
    svg.text({x + 40, 20}, style.said, {text_size});
    x += 40 + text_width(style.said, text_size) + 22;
  }
}

Sentence finding_of(const Prerequisites& judged) {
  using enum PrerequisiteStatus;
  const std::int64_t seen = judged.count(both), listed = seen + judged.count(unfollowed),
                     not_listed = judged.count(tacit);
  const auto strongest = std::ranges::find_if(judged.pairs, &PrerequisitePair::is_new);
  Sentence finding = sentence_of(
      {"prerequisites_figure_none", "No course pair looks like a prerequisite beyond those listed.", estimate});
  if (strongest != judged.pairs.end()) {
    finding =
        sentence_of({"prerequisites_figure", "{0}; the strongest is {1} before {2}.", estimate},
                    {not_listed > 0 ? counted(not_listed, "course pair looks like a prerequisite that is not listed",
                                              "course pairs look like prerequisites that are not listed")
                                    : counted(judged.count(found), "course pair looks like a prerequisite",
                                              "course pairs look like prerequisites"),
                     strongest->name.title, strongest->course_name.title});
  }
  if (listed > 0) {
    finding.add(" Of {0}, {1} can be seen in what students take.",
                {counted(listed, "listed prerequisite", "listed prerequisites"), with_separators(seen)});
  }
  return finding;
}

}  // namespace

Figure prerequisite_graph(Prerequisites found, std::size_t most) {
  std::vector<PrerequisitePair>& links = found.pairs;
  std::ranges::stable_sort(links, std::ranges::greater(), &PrerequisitePair::disclosed_score);
  const std::string title = "What students really need before a course";
  const Sentence finding = finding_of(found);
  std::vector<PrerequisitePair> drawn = links;
  drawn.resize(std::min(most, links.size()));
  const Network network = network_of(drawn);
  std::vector<BoxSize> boxes;
  for (const auto& [number, course] : network.courses)
    boxes.push_back({std::min(widest_box, text_width(course.name, text_size) + 16), box_height});
  const GraphLayout layout = lay_out_in(figure_width - 2 * graph_margin, boxes, network);
  const double width = std::max(figure_width, layout.width + 2 * graph_margin);
  Svg svg(width, legend_height + layout.height + 2 * graph_margin, title, finding.text);
  draw_legend(svg, found.count(PrerequisiteStatus::found) == 0);
  const Point shift{(width - layout.width) / 2, legend_height + graph_margin};
  const double strongest = drawn.empty() ? 0 : drawn.front().disclosed_score().value_or(0);
  for (std::size_t e = drawn.size(); e-- > 0;)  // the best on top
    draw_link(svg, drawn[e], layout.arrows[e], shift,
              strongest > 0 ? drawn[e].disclosed_score().value_or(0) / strongest : 0);
  for (std::size_t n = 0; n < boxes.size(); ++n)
    draw_course(svg, network.courses[n].first, network.courses[n].second, boxes[n],
                {layout.centers[n].x + shift.x, layout.centers[n].y + shift.y});
  const Table table =
      found.pair_table([](PrerequisiteStatus status) { return std::string_view(style_of(status).word); })
          .pick({{"prerequisite", "before"}, "course", {"exact_score", "score"}, {"status", "kind"}});
  Sentence basis =
      sentence_of({"prerequisites_figure_basis",
                   "n = {0} students; arrows go from the earlier course to the later one, the thicker the stronger"},
                  {with_separators(found.compared)});
  if (drawn.size() < links.size())
    basis.add("; the {0} strongest of {1} are drawn",
              {std::to_string(drawn.size()), with_separators(std::ssize(links))});
  return {"prerequisites", title, finding, basis, svg.finish(), table};
}

}  // namespace desirepath::inline reports
