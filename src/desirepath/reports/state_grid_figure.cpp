#include <algorithm>
#include <map>
#include <set>

#include "desirepath/core/text.h"
#include "desirepath/reports/axes.h"
#include "desirepath/reports/figures.h"
#include "desirepath/reports/palette.h"

namespace desirepath::inline reports {

namespace {

struct Group {
  std::string name;
  std::vector<const GridCourse*> courses;  // by state, the surest first
  Id main_state = 0;
  std::int64_t in_main = 0;
};

enum class Grouping { concentration, subject, school };

std::string group_of(const Course& course, Grouping by) {
  if (by == Grouping::concentration && !course.concentration.empty()) return course.concentration;
  if (by != Grouping::school && !course.subject.empty()) return course.subject;
  return course.school.empty() ? "courses" : course.school;
}

/// The finest that leaves a reader groups to see.
Grouping grouping_of(const DisclosedGrid& grid) {
  constexpr std::size_t most = 40;
  for (const Grouping by : {Grouping::concentration, Grouping::subject}) {
    std::set<std::string> names;
    for (const GridCourse& entry : grid.courses)
      names.insert(group_of(entry.listed, by));
    if (names.size() <= most) return by;
  }
  return Grouping::school;
}

/// The largest first.
std::vector<Group> course_groups(const DisclosedGrid& grid) {
  std::map<std::string, Group> by_name;
  const Grouping by = grouping_of(grid);
  for (const GridCourse& entry : grid.courses)
    by_name[group_of(entry.listed, by)].courses.push_back(&entry);
  std::vector<Group> groups;
  for (auto& [name, group] : by_name) {
    group.name = name;
    std::map<Id, std::int64_t> count;
    for (const GridCourse* entry : group.courses)
      ++count[entry->state];
    const auto largest = std::ranges::max_element(count, {}, [](const auto& item) { return item.second; });
    group.main_state = largest->first;
    group.in_main = largest->second;
    std::ranges::stable_sort(group.courses, [&](const GridCourse* a, const GridCourse* b) {
      const auto key = [&](const GridCourse* entry) {
        return std::tuple(-count.at(entry->state), entry->state, -entry->confidence);
      };
      return key(a) < key(b);
    });
    groups.push_back(std::move(group));
  }
  std::ranges::stable_sort(groups, std::ranges::greater(), [](const Group& group) { return group.courses.size(); });
  return groups;
}

/// How cells are laid out: with names while there is room for them.
struct Cells {
  std::size_t columns;  // of groups
  std::size_t a_row;    // cells
  double width, height, gap;
  bool named;
};
Cells cells_for(std::size_t courses) {
  if (courses <= 160) return {2, 4, 85, 30, 4, true};
  return {4, 6, 24, 22, 3, false};
}

constexpr double grid_margin = 12, between = 24, head = 26, below = 16;

double block_width(const Cells& cells) {
  const auto columns = static_cast<double>(cells.columns);
  return (figure_width - 2 * grid_margin - between * (columns - 1)) / columns;
}
double block_height(const Cells& cells, const Group& group) {
  const std::size_t rows = (group.courses.size() + cells.a_row - 1) / cells.a_row;
  return head + static_cast<double>(rows) * (cells.height + cells.gap) + below;
}

/// Where each group starts: in the column that is shortest so far.
std::vector<Point> places_of(const std::vector<Group>& groups, const Cells& cells, double top, double& bottom) {
  std::vector<double> filled(cells.columns, top);
  std::vector<Point> places;
  for (const Group& group : groups) {
    const auto shortest_column = std::ranges::min_element(filled);
    places.push_back(
        {grid_margin + static_cast<double>(shortest_column - filled.begin()) * (block_width(cells) + between),
         *shortest_column});
    *shortest_column += block_height(cells, group);
  }
  bottom = std::ranges::max(filled);
  return places;
}

/// Of a taker in one of so many states: from a guess, nearly white, to certainty.
double strength_of(double confidence, std::size_t states) {
  const double guess = 1 / static_cast<double>(std::max<std::size_t>(2, states));
  return 0.12 + 0.88 * std::clamp((confidence - guess) / (1 - guess), 0.0, 1.0);
}

Sentence finding_of(const std::vector<Group>& groups, const DisclosedGrid& grid) {
  if (grid.courses.empty()) return sentence_of({"grid_none", "No course can be told."});
  std::int64_t in_main = 0;
  const Group* purest = nullptr;
  const auto purity = [](const Group& group) {
    return static_cast<double>(group.in_main) - 0.5 * static_cast<double>(group.courses.size());
  };
  for (const Group& group : groups) {
    in_main += group.in_main;
    if (purest == nullptr || purity(group) > purity(*purest)) purest = &group;
  }
  return sentence_of({"grid_finding",
                      "{0} of {1} courses are in the main state of their group; in {2} it is {3} of {4} (state {5}, "
                      "{6}).",
                      estimate},
                     {with_separators(in_main), with_separators(std::ssize(grid.courses)), purest->name,
                      std::to_string(purest->in_main), std::to_string(purest->courses.size()),
                      std::to_string(purest->main_state), grid.names[static_cast<std::size_t>(purest->main_state)]});
}

/// Returns where it ends.
double draw_legend(Svg& svg, const DisclosedGrid& grid) {
  std::set<Id> used;
  for (const GridCourse& entry : grid.courses)
    used.insert(entry.state);
  const double width = (figure_width - 2 * grid_margin - between) / 2;
  std::size_t place = 0;
  for (const Id state : used) {
    const std::size_t row = place / 2;
    const double x = grid_margin + static_cast<double>(place % 2) * (width + between),
                 y = 10 + 22 * static_cast<double>(row);
    const std::string colour = series_colour(state);
    svg.rectangle(x, y, 24, 17, colour);
    svg.text({x + 12, y + 13}, std::to_string(state), {text_size, "middle", text_colour_on(colour), true});
    svg.label({x + 32, y + 13}, grid.names[static_cast<std::size_t>(state)], width - 32, {text_size});
    ++place;
  }
  const std::size_t rows = (place + 1) / 2;
  const double y = 10 + 22 * static_cast<double>(rows) + 8;
  double x = grid_margin;
  svg.text({x, y + 13}, "how sure:", {text_size, "start", quiet_ink});
  x += 62;
  const double guess = 1 / static_cast<double>(std::max<std::size_t>(2, grid.names.size()));
  for (int i = 0; i < 5; ++i) {
    const double confidence = guess + (1 - guess) * i / 4;
    const std::string colour = translucent(series_colour(0), strength_of(confidence, grid.names.size()));
    svg.rectangle(x, y, 46, 17, colour);
    svg.text({x + 23, y + 13}, fixed(100 * confidence, 0) + " %", {small_size, "middle", text_colour_on(colour)});
    x += 48;
  }
  return y + 40;
}

void draw_cell(Svg& svg, const GridCourse& entry, const DisclosedGrid& grid, const Cells& cells, Point at) {
  const std::string colour = translucent(series_colour(entry.state), strength_of(entry.confidence, grid.names.size()));
  const std::string number = std::to_string(entry.state), on = text_colour_on(colour);
  svg.open_group(concat("class=\"course\" data-course=\"", entry.course, "\" data-state=\"", number, "\""),
                 concat(full_name(entry.listed), ": state ", number, " (", entry.state_name, "), ",
                        percent(entry.confidence), " sure"));
  svg.box(at.x, at.y, cells.width, cells.height,
          concat("fill=\"", colour, "\" stroke=\"", series_colour(entry.state), "\""));
  if (cells.named) {
    svg.text({at.x + 6, at.y + 19}, fitted(entry.listed.name, cells.width - 26, small_size), {small_size, "start", on});
    svg.text({at.x + cells.width - 5, at.y + 19}, number, {small_size, "end", on, true});
  } else {
    svg.text({at.x + cells.width / 2, at.y + 15}, number, {small_size, "middle", on, true});
  }
  svg.close_group();
}

}  // namespace

Figure state_grid_figure(const DisclosedGrid& grid) {
  const std::vector<Group> groups = course_groups(grid);
  const std::string title = "Which state takes which courses";
  const Sentence finding = finding_of(groups, grid);
  const Cells cells = cells_for(grid.courses.size());
  Svg measure(figure_width, 0, "", "");
  const double top = draw_legend(measure, grid);
  double bottom = top;
  const std::vector<Point> places = places_of(groups, cells, top, bottom);
  Svg svg(figure_width, bottom + 4, title, finding.text);
  draw_legend(svg, grid);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Group& group = groups[g];
    const Point at = places[g];
    svg.label({at.x, at.y + 14}, group.name, block_width(cells),
              {cells.named ? head_size : text_size, "start", ink, true});
    for (std::size_t i = 0; i < group.courses.size(); ++i) {
      const GridCourse& entry = *group.courses[i];
      const std::size_t column = i % cells.a_row, row = i / cells.a_row;
      draw_cell(svg, entry, grid, cells,
                {at.x + static_cast<double>(column) * (cells.width + cells.gap),
                 at.y + head + static_cast<double>(row) * (cells.height + cells.gap)});
    }
  }
  DisclosedGrid drawn;
  for (const Group& group : groups) {
    for (const GridCourse* entry : group.courses) {
      drawn.courses.push_back(*entry);
      drawn.courses.back().group = group.name;
    }
  }
  const Table table =
      drawn.table().pick({{"group", "group"}, "course", "state", "name", "confidence", {"takers", "enrollments"}});
  Sentence basis = sentence_of(
      {"grid_basis",
       "n = {0} students; states of {1}; confidence is that of a taker of whom nothing else is known, were "
       "all states as large"},
      {with_separators(grid.students), grid.period == "all" ? "all periods" : concat("period ", grid.period)});
  if (grid.withheld > 0)
    basis.add("; {0} resting on few students left out", {counted(grid.withheld, "course", "courses")});
  return {"state-grid", title, finding, basis, svg.finish(), table};
}

}  // namespace desirepath::inline reports
