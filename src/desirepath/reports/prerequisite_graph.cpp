#include "desirepath/reports/prerequisite_graph.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "desirepath/core/text.h"
#include "desirepath/queries/evidence_settings.h"
#include "desirepath/reports/axes.h"
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
LinkStyle style_of(PrerequisiteKind kind) {
  switch (kind) {
    case PrerequisiteKind::tacit:
      return {"tacit", "found, but not listed", 5, "7 4"};
    case PrerequisiteKind::both:
      return {"both", "listed and found", 0, ""};
    case PrerequisiteKind::declared:
      return {"declared", "listed, but hardly followed", 7, "2 4"};
    default:
      return {"found", "found", 0, ""};
  }
}

constexpr double box_height = 24, legend_height = 34, graph_margin = 12, widest_box = 132;

/// The courses of the links in the order they come, and each link between their places.
struct Network {
  std::vector<Id> courses;
  std::vector<std::pair<std::size_t, std::size_t>> edges;
};
Network network_of(const std::vector<PrerequisiteLink>& links) {
  Network network;
  std::map<Id, std::size_t> place;
  const auto place_of = [&](Id course) {
    const auto [at, is_new] = place.try_emplace(course, network.courses.size());
    if (is_new) network.courses.push_back(course);
    return at->second;
  };
  for (const PrerequisiteLink& link : links) {
    const std::size_t from = place_of(link.prerequisite);
    network.edges.emplace_back(from, place_of(link.course));
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
void draw_link(Svg& svg, const PrerequisiteLink& link, const GraphArrow& arrow, Point shift, double strength,
               const Schema& schema) {
  if (arrow.curve.size() < 4) return;
  const LinkStyle style = style_of(link.kind);
  const std::string colour = series_colour(style.colour);
  const double breadth = 1.2 + 3 * std::max(0.0, strength);
  const Point base{arrow.curve.back().x + shift.x, arrow.curve.back().y + shift.y};
  svg.open_group(concat("class=\"link\" data-from=\"", link.prerequisite, "\" data-to=\"", link.course, "\""));
  svg.path(curve_text(arrow.curve, shift),
           concat("fill=\"none\" stroke=\"", colour, "\" stroke-width=\"", coordinate(breadth), "\"",
                  *style.dashes == 0 ? "" : concat(" stroke-dasharray=\"", style.dashes, "\"")),
           concat(full_name(schema.course(link.prerequisite)), " → ", full_name(schema.course(link.course)), ": ",
                  style.said, ", score ", link.score ? fixed(*link.score, 2) : "withheld"));
  svg.path(arrow_head(base, {arrow.tip.x + shift.x, arrow.tip.y + shift.y}, 3.4 + breadth / 2),
           concat("fill=\"", colour, "\""));
  svg.close_group();
}

void draw_course(Svg& svg, Id number, const BoxSize& size, Point center, const Schema& schema) {
  const Course& course = schema.course(number);
  svg.open_group(concat("class=\"course\" data-course=\"", number, "\""), full_name(course));
  svg.box(center.x - size.width / 2, center.y - size.height / 2, size.width, size.height,
          concat("rx=\"5\" fill=\"#F4F6F8\" stroke=\"", quiet_ink, "\""));
  svg.text({center.x, center.y + 4}, fitted(course.name, size.width - 12, text_size), {text_size, "middle"});
  svg.close_group();
}

void draw_legend(Svg& svg, bool has_list) {
  using enum PrerequisiteKind;
  double x = graph_margin;
  for (const PrerequisiteKind kind :
       has_list ? std::vector<PrerequisiteKind>{tacit, both, declared} : std::vector<PrerequisiteKind>{found}) {
    const LinkStyle style = style_of(kind);
    svg.line({x, 16}, {x + 34, 16}, series_colour(style.colour), 2.4, style.dashes);
    svg.text({x + 40, 20}, style.said, {text_size});
    x += 40 + text_width(style.said, text_size) + 22;
  }
}

Sentence finding_of(const std::vector<PrerequisiteLink>& links, const Schema& schema) {
  using enum PrerequisiteKind;
  const auto count = [&](PrerequisiteKind kind) { return std::ranges::count(links, kind, &PrerequisiteLink::kind); };
  const std::int64_t seen = count(both), listed = seen + count(declared), not_listed = count(tacit);
  const auto strongest = std::ranges::find_if(
      links, [](const PrerequisiteLink& link) { return link.kind == tacit || link.kind == found; });
  Sentence finding = sentence_of(
      {"prerequisites_figure_none", "No course pair looks like a prerequisite beyond those listed.", estimate});
  if (strongest != links.end()) {
    finding = sentence_of(
        {"prerequisites_figure", "{0}; the strongest is {1} before {2}.", estimate},
        {not_listed > 0
             ? counted(not_listed, "course pair looks like a prerequisite that is not listed",
                       "course pairs look like prerequisites that are not listed")
             : counted(count(found), "course pair looks like a prerequisite", "course pairs look like prerequisites"),
         full_name(schema.course(strongest->prerequisite)), full_name(schema.course(strongest->course))});
  }
  if (listed > 0) {
    finding.add(" Of {0}, {1} can be seen in what students take.",
                {counted(listed, "listed prerequisite", "listed prerequisites"), with_separators(seen)});
  }
  return finding;
}

}  // namespace

Figure prerequisite_graph(std::vector<PrerequisiteLink> links, const Schema& schema, std::int64_t students,
                          std::size_t most) {
  std::ranges::stable_sort(links, std::ranges::greater(), &PrerequisiteLink::score);
  const std::string title = "What students really need before a course";
  const Sentence finding = finding_of(links, schema);
  std::vector<PrerequisiteLink> drawn = links;
  drawn.resize(std::min(most, links.size()));
  const Network network = network_of(drawn);
  std::vector<BoxSize> boxes;
  for (const Id course : network.courses)
    boxes.push_back({std::min(widest_box, text_width(schema.course(course).name, text_size) + 16), box_height});
  const GraphLayout layout = lay_out_in(figure_width - 2 * graph_margin, boxes, network);
  const double width = std::max(figure_width, layout.width + 2 * graph_margin);
  Svg svg(width, legend_height + layout.height + 2 * graph_margin, title, finding.text);
  draw_legend(svg, std::ranges::find(links, PrerequisiteKind::found, &PrerequisiteLink::kind) == links.end());
  const Point shift{(width - layout.width) / 2, legend_height + graph_margin};
  const double strongest = drawn.empty() ? 0 : drawn.front().score.value_or(0);
  for (std::size_t e = drawn.size(); e-- > 0;)  // the best on top
    draw_link(svg, drawn[e], layout.arrows[e], shift, strongest > 0 && drawn[e].score ? *drawn[e].score / strongest : 0,
              schema);
  for (std::size_t n = 0; n < boxes.size(); ++n)
    draw_course(svg, network.courses[n], boxes[n], {layout.centers[n].x + shift.x, layout.centers[n].y + shift.y},
                schema);
  Table table({{"before"}, {"course"}, {"score", 3}, {"kind"}});
  for (const PrerequisiteLink& link : links)
    table.add_row({full_name(schema.course(link.prerequisite)), full_name(schema.course(link.course)),
                   link.score ? Cell(*link.score) : Cell(), std::string(style_of(link.kind).word)});
  Sentence basis =
      sentence_of({"prerequisites_figure_basis",
                   "n = {0} students; arrows go from the earlier course to the later one, the thicker the stronger"},
                  {with_separators(students)});
  if (drawn.size() < links.size())
    basis.add("; the {0} strongest of {1} are drawn",
              {std::to_string(drawn.size()), with_separators(std::ssize(links))});
  return {"prerequisites", title, finding, basis, svg.finish(), std::move(table)};
}

}  // namespace desirepath::inline reports
