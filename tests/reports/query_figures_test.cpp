#include <cmath>
#include <map>
#include <numbers>
#include <regex>

#include <nlohmann/json.hpp>

#include "support/figure_checks.h"
#include "support/support.h"

#include "desirepath/core/text.h"
#include "desirepath/reports/figures.h"
#include "desirepath/reports/graph_layout.h"
#include "desirepath/reports/palette.h"

namespace desirepath::query_figures_test {
namespace {

using Courses = std::vector<Course>;

Courses courses_named(const std::vector<std::string>& names) {
  Courses courses;
  for (std::size_t i = 0; i < names.size(); ++i)
    courses.push_back({names[i], names[i], i % 2 == 0 ? names[i] : "", "", i % 3 == 0 ? names[i] : "", {}, {}});
  return courses;
}
Courses plain_courses(Id count, Id groups) {
  Courses courses;
  for (Id c = 0; c < count; ++c)
    courses.push_back({concat("C ", 100 + c), "", concat("Subject ", c % groups), "", "", {}, {}});
  return courses;
}
const Course& course_of(const Courses& courses, Id course) {
  return courses[static_cast<std::size_t>(course)];
}

DisclosedGrid grid_of(const Courses& courses, Id states) {
  DisclosedGrid grid;
  for (Id k = 0; k < states; ++k)
    grid.names.push_back(concat("name of ", k));
  for (Id c = 0; c < std::ssize(courses); ++c) {
    const double confidence = 1.0 / states + (1 - 1.0 / states) * (c % 5) / 4.0;
    grid.courses.push_back({c, static_cast<Id>((c / 5) % states), confidence, 0.2, {}, 0, course_of(courses, c)});
  }
  grid.period = "1";
  grid.students = 500;
  return grid;
}

TEST(StateGridFigure, HasACellACourseAsStrongAsTheModelIsSure) {
  for (const Id count : {30, 300}) {
    const Figure figure = state_grid_figure(grid_of(plain_courses(count, 10), 6));
    test::expect_sound(figure);
    const pugi::xml_document document = test::parsed(figure);
    const auto cells = document.select_nodes("//*[@class='course']");
    ASSERT_EQ(static_cast<Id>(cells.size()), count);
    for (const auto& found : cells) {
      const Id course = found.node().attribute("data-course").as_int(), state = (course / 5) % 6;
      const std::string fill = found.node().child("rect").attribute("fill").as_string();
      const double strength = course % 5 == 4 ? 1 : course % 5 == 0 ? 0.12 : 0.12 + 0.88 * (course % 5) / 4.0;
      EXPECT_EQ(fill, translucent(series_colour(state), strength));
      // The state's number stands in the cell, whatever its colour is.
      EXPECT_EQ(found.node().last_child().text().get(), std::to_string(state));
    }
    EXPECT_EQ(static_cast<Id>(figure.table.row_count()), count);
  }
}

TEST(StateGridFigure, SaysHowManyCoursesShareTheStateOfTheirGroup) {
  DisclosedGrid grid = grid_of(plain_courses(6, 2), 2);
  const std::vector<Id> states = {0, 1, 0, 1, 0, 0};  // of groups 0 and 1 in turn: 3 of 3, and 2 of 3
  for (std::size_t c = 0; c < states.size(); ++c)
    grid.courses[c].state = states[c];
  grid.withheld = 4;
  const Figure figure = state_grid_figure(grid);
  EXPECT_TRUE(test::says(figure.finding.text(), {"5", "6", "Subject 0", "3"}));
  EXPECT_TRUE(test::says(figure.basis.text(), {"4"}));
}

GroupPortrait portrait_of(const std::vector<std::pair<std::string, double>>& subjects) {
  GroupPortrait portrait;
  portrait.students = 120;
  portrait.by_subject = subjects;
  for (const auto& [subject, courses] : subjects)
    portrait.courses += courses;
  portrait.subjects = static_cast<double>(subjects.size());
  return portrait;
}

TEST(CourseworkPies, SlicesAndPiesAreAsLargeAsTheCourses) {
  const GroupPortrait typical = portrait_of({{"Math", 6}, {"Art", 2}}),
                      untypical = portrait_of({{"Math", 8}, {"Art", 24}});
  const Figure figure = coursework_pies(typical, untypical);
  test::expect_sound(figure);
  // Each slice as its outline says it: radius, and the angle between its two ends.
  static const std::regex outline("M(\\S+) (\\S+)L(\\S+) (\\S+)A(\\S+) \\S+ 0 ([01]) 1 (\\S+) (\\S+)Z");
  std::vector<double> areas;
  for (std::sregex_iterator at(figure.svg.begin(), figure.svg.end(), outline), end; at != end; ++at) {
    const auto number = [&](int i) { return std::stod((*at)[static_cast<std::size_t>(i)]); };
    double angle = std::atan2(number(8) - number(2), number(7) - number(1)) -
                   std::atan2(number(4) - number(2), number(3) - number(1));
    if (angle < 0) angle += 2 * std::numbers::pi;
    EXPECT_EQ(angle > std::numbers::pi, (*at)[6] == "1");
    areas.push_back(angle * number(5) * number(5));
  }
  ASSERT_EQ(areas.size(), 4U);  // Art first: it is the larger of the two in all
  const double unit = areas[3] / 8;
  EXPECT_NEAR(areas[0] / unit, 2, 0.05);
  EXPECT_NEAR(areas[1] / unit, 6, 0.05);
  EXPECT_NEAR(areas[2] / unit, 24, 0.2);
  EXPECT_TRUE(test::says(figure.finding.text(), {"32.0", "2.0", "8.0"}));
}

TEST(CourseworkPies, WhatIsWithheldIsNoNumber) {
  GroupPortrait typical = portrait_of({{"Math", 6}, {"Art", 2}}), untypical = portrait_of({{"Math", 8}, {"Law", 3}});
  untypical.others = 2.5;  // Art, perhaps
  untypical.withheld = {"Art"};
  const Figure figure = coursework_pies(typical, untypical);
  test::expect_sound(figure);
  std::map<std::string, std::vector<Cell>> rows;
  for (const auto& row : figure.table.rows())
    rows[std::get<std::string>(row[0])] = {row[1], row[2]};
  EXPECT_EQ(rows.at("Art"), (std::vector<Cell>{2.0, Cell()}));
  EXPECT_EQ(rows.at("Law"), (std::vector<Cell>{0.0, 3.0}));  // nothing is withheld of the typical
  EXPECT_EQ(rows.at("other subjects"), (std::vector<Cell>{0.0, 2.5}));
  EXPECT_EQ(figure.svg.find("Art, least typical: 0"), std::string::npos);
  EXPECT_NE(figure.svg.find("Art, least typical: withheld"), std::string::npos);
  EXPECT_NE(figure.basis.text().find("–: withheld"), std::string::npos);
  const nlohmann::ordered_json json = untypical.to_json();
  EXPECT_TRUE(json["courses_by_subject"].at("Art").is_null());
  EXPECT_EQ(json["courses_by_subject"].at("others"), 2.5);
}

/// Of this score; nothing: withheld.
PrerequisitePair pair_of(const Courses& courses, Id prerequisite, Id course, std::optional<double> score,
                         PrerequisiteStatus status) {
  PrerequisitePair pair{prerequisite, course};
  pair.coverage = 1;
  pair.effect = score.value_or(0.9);
  pair.before = score ? 20 : 0;
  pair.takers = 30;
  pair.status = status;
  pair.name = named(course_of(courses, prerequisite));
  pair.course_name = named(course_of(courses, course));
  return pair;
}

TEST(PrerequisiteGraph, AScoreThatIsWithheldIsNoNumber) {
  const Courses courses = plain_courses(3, 2);
  const Figure figure = prerequisite_graph({{pair_of(courses, 0, 1, 0.4, PrerequisiteStatus::both),
                                             pair_of(courses, 1, 2, std::nullopt, PrerequisiteStatus::unfollowed)},
                                            true,
                                            100,
                                            100});
  test::expect_sound(figure);
  ASSERT_EQ(figure.table.row_count(), 2U);
  EXPECT_EQ(figure.table.rows()[1][2], Cell());
}

TEST(CourseworkPies, ManySubjectsAreOneWithTheirSumKept) {
  std::vector<std::pair<std::string, double>> subjects;
  for (int i = 0; i < 40; ++i)
    subjects.emplace_back(concat("Subject ", i), 1 + i / 10.0);
  const GroupPortrait portrait = portrait_of(subjects);
  const Figure figure = coursework_pies(portrait, portrait);
  test::expect_sound(figure);
  ASSERT_EQ(figure.table.row_count(), 13U);  // 11 by name, the others, all
  double sum = 0;
  for (std::size_t r = 0; r + 1 < figure.table.row_count(); ++r)
    sum += std::get<double>(figure.table.rows()[r][1]);
  EXPECT_NEAR(sum, portrait.courses, 1e-9);
}

TEST(TypicalityHistogram, AreasAreStudents) {
  const Figure figure = typicality_histogram({{{-60, -40, 20}, {-40, -30, 100}, {-30, -20, 0}, {-20, -10, 80}}, true});
  test::expect_sound(figure);
  const pugi::xml_document document = test::parsed(figure);
  std::vector<double> areas;
  for (const auto& found : document.select_nodes("//*[local-name()='rect'][*[local-name()='title']]"))
    areas.push_back((found.node().attribute("width").as_double() + 1) * found.node().attribute("height").as_double());
  ASSERT_EQ(areas.size(), 4U);
  EXPECT_NEAR(areas[0] / areas[1], 0.2, 0.01);
  EXPECT_EQ(areas[2], 0);
  EXPECT_NEAR(areas[3] / areas[1], 0.8, 0.01);
  // 100 of 200 lie below -32, 20 below -40.
  EXPECT_TRUE(test::says(figure.finding.text(), {"-32.0", "-40.0"}));
}

GroupDelay delay_of(const Course& course, const std::string& group, double mean, double error) {
  GroupDelay delay;
  delay.name = named(course);
  delay.group = group;
  delay.own = {100, mean, error * error * 100};
  delay.others = {50, 0, 0};
  return delay;
}

Delays delays_by(const std::string& by, std::vector<GroupDelay> delays) {
  Delays lost;
  lost.by = by;
  lost.students = 150;
  lost.delays = std::move(delays);
  return lost;
}

TEST(DelayChart, DotsAndBarsLieWhereTheNumbersSay) {
  const Courses courses = plain_courses(4, 2);
  const Figure figure = delay_chart(
      delays_by("residence", {delay_of(courses[0], "night", 0.8, 0.1), delay_of(courses[1], "day", -0.4, 0.1),
                              delay_of(courses[2], "night", 0.1, 0.2), delay_of(courses[3], "day", 0.05, 0.3)}),
      3);
  test::expect_sound(figure);
  const pugi::xml_document document = test::parsed(figure);
  std::vector<double> dots;
  int hollow = 0;
  for (const auto& found : document.select_nodes("//*[local-name()='circle']")) {
    const bool is_hollow = std::string(found.node().attribute("fill").as_string()) == "#FFFFFF";
    hollow += is_hollow ? 1 : 0;
    if (!is_hollow) dots.push_back(found.node().attribute("cx").as_double());
  }
  ASSERT_EQ(dots.size(), 3U);  // the latest first
  EXPECT_NEAR((dots[0] - dots[1]) / (dots[0] - dots[2]), 0.7 / 1.2, 0.01);
  EXPECT_EQ(hollow, 1);  // 0.1 +- 0.39
  EXPECT_EQ(figure.table.row_count(), 4U);
  EXPECT_TRUE(test::says(figure.finding.text(), {"night", "C 100", "0.80", "0.60", "1.00"}));
  EXPECT_TRUE(test::says(figure.basis.text(), {"3", "4"}));
  test::expect_sound(delay_chart(delays_by("", {delay_of(courses[0], "", -0.3, 0.01)})));
}

TEST(CalibrationFigure, PointsLieOnTheDiagonalWhereProbabilitiesComeTrue) {
  const std::vector<CalibrationBin> bins = {{0.05, 0, 10}, {0.25, 0.25, 400}, {0.5, 0.8, 100}, {0, 0, 0}};
  const Figure figure = calibration_figure(bins, "hct", 80);
  test::expect_sound(figure);
  const pugi::xml_document document = test::parsed(figure);
  const auto circles = document.select_nodes("//*[local-name()='circle'][*[local-name()='title']]");
  ASSERT_EQ(circles.size(), 3U);
  const pugi::xml_node diagonal = document.select_node("//*[@stroke-dasharray='5 4']").node();
  const auto at = [&](const char* name) { return diagonal.attribute(name).as_double(); };
  const auto share = [&](const pugi::xml_node& circle) {  // of the way along the diagonal, on either axis
    return std::pair((circle.attribute("cx").as_double() - at("x1")) / (at("x2") - at("x1")),
                     (circle.attribute("cy").as_double() - at("y1")) / (at("y2") - at("y1")));
  };
  EXPECT_NEAR(share(circles[1].node()).first, 0.25, 0.001);
  EXPECT_NEAR(share(circles[1].node()).second, 0.25, 0.001);
  EXPECT_NEAR(share(circles[2].node()).second, 0.8, 0.001);
  // Wilson's interval: 0 of 10 is 0 to 0.2775, 100 of 400 is 0.2100 to 0.2947.
  ASSERT_EQ(figure.table.row_count(), 3U);
  EXPECT_NEAR(std::get<double>(figure.table.rows()[0][2]), 0, 1e-9);
  EXPECT_NEAR(std::get<double>(figure.table.rows()[0][3]), 0.2775, 1e-4);
  EXPECT_NEAR(std::get<double>(figure.table.rows()[1][2]), 0.2100, 1e-4);
  EXPECT_NEAR(std::get<double>(figure.table.rows()[1][3]), 0.2947, 1e-4);
  EXPECT_TRUE(test::says(figure.finding.text(), {"50", "80"}));
}

TEST(PrerequisiteGraph, ArrowsGoFromTheEarlierBoxToTheLaterAndBoxesLieApart) {
  using enum PrerequisiteStatus;
  const Courses courses = plain_courses(30, 3);
  std::vector<PrerequisitePair> pairs;
  for (Id c = 0; c < 30; ++c)
    pairs.push_back(pair_of(courses, c, (c * 7 + 3) % 30, 0.1 + c / 30.0,
                            c % 3 == 0   ? tacit
                            : c % 3 == 1 ? both
                                         : unfollowed));
  pairs.push_back(pair_of(courses, 3, 0, 0.5, tacit));  // closes circles
  const Figure figure = prerequisite_graph({pairs, true, 900, 900}, 25);
  test::expect_sound(figure);
  const pugi::xml_document document = test::parsed(figure);
  struct Box {
    double left, top, right, bottom;
  };
  std::map<int, Box> boxes;
  for (const auto& found : document.select_nodes("//*[@class='course']")) {
    const pugi::xml_node box = found.node().child("rect");
    const double x = box.attribute("x").as_double(), y = box.attribute("y").as_double();
    boxes[found.node().attribute("data-course").as_int()] = {x, y, x + box.attribute("width").as_double(),
                                                             y + box.attribute("height").as_double()};
  }
  for (const auto& [a, one] : boxes) {
    for (const auto& [b, other] : boxes) {
      EXPECT_FALSE(a < b && one.left < other.right && other.left < one.right && one.top < other.bottom &&
                   other.top < one.bottom);
    }
  }
  const auto touches = [&](int course, double x, double y) {
    const Box& box = boxes.at(course);
    return x >= box.left - 2 && x <= box.right + 2 && y >= box.top - 2 && y <= box.bottom + 2;
  };
  const auto arrows = document.select_nodes("//*[@class='link']");
  ASSERT_EQ(arrows.size(), 25U);
  static const std::regex start("M(\\S+) (\\S+)C.*"), tip("M\\S+ \\S+L(\\S+) (\\S+)L.*");
  for (const auto& found : arrows) {
    const int from = found.node().attribute("data-from").as_int(), to = found.node().attribute("data-to").as_int();
    const pugi::xml_node line = found.node().first_child(), head = line.next_sibling();
    std::smatch match;
    const std::string curve = line.attribute("d").as_string(), point = head.attribute("d").as_string();
    ASSERT_TRUE(std::regex_match(curve, match, start)) << curve;
    EXPECT_TRUE(touches(from, std::stod(match[1]), std::stod(match[2]))) << from << " " << to;
    ASSERT_TRUE(std::regex_match(point, match, tip)) << point;
    EXPECT_TRUE(touches(to, std::stod(match[1]), std::stod(match[2]))) << from << " " << to;
    if (from == 3 && to == 0) continue;
    // What it is can be told without its colour.
    const std::string dashes = line.attribute("stroke-dasharray").as_string();
    EXPECT_EQ(dashes, from % 3 == 0 ? "7 4" : from % 3 == 1 ? "" : "2 4");
  }
  EXPECT_EQ(figure.table.row_count(), pairs.size());
}

TEST(GraphLayout, IsTheSameEveryTimeAndTakesCirclesAndNothing) {
  const std::vector<BoxSize> boxes(5, {80, 24});
  const std::vector<std::pair<std::size_t, std::size_t>> edges = {{0, 1}, {1, 2}, {2, 0}, {3, 3}, {0, 1}};
  const GraphLayout first = lay_out_graph(boxes, edges, 60, 10), second = lay_out_graph(boxes, edges, 60, 10);
  ASSERT_EQ(first.centers.size(), 5U);
  for (std::size_t n = 0; n < boxes.size(); ++n) {
    EXPECT_EQ(first.centers[n].x, second.centers[n].x);
    EXPECT_EQ(first.centers[n].y, second.centers[n].y);
  }
  EXPECT_EQ(first.arrows.size(), edges.size());
  EXPECT_TRUE(lay_out_graph({}, {}, 60, 10).centers.empty());
}

TEST(QueryFigures, TakeAnyName) {
  const std::vector<std::string> names = test::hostile_names();
  const Courses courses = courses_named(names);
  const auto count = static_cast<Id>(names.size());
  DisclosedGrid grid = grid_of(courses, count);
  grid.names = names;
  test::expect_sound(state_grid_figure(grid));
  std::vector<std::pair<std::string, double>> subjects = {{"", 3}};
  for (const std::string& name : names)
    subjects.emplace_back(name, 2);
  test::expect_sound(coursework_pies(portrait_of(subjects), portrait_of(subjects)));
  std::vector<GroupDelay> delays;
  std::vector<PrerequisitePair> pairs;
  for (Id c = 0; c < count; ++c) {
    delays.push_back(delay_of(course_of(courses, c), names[static_cast<std::size_t>(count - 1 - c)], 0.5, 0.1));
    if (c > 0) pairs.push_back(pair_of(courses, c, 0, 0.3, PrerequisiteStatus::tacit));
  }
  test::expect_sound(delay_chart(delays_by(names.front(), delays)));
  test::expect_sound(prerequisite_graph({pairs, true, 100, 100}));
}

TEST(QueryFigures, TakeNothingAtAll) {
  test::expect_sound(state_grid_figure({}));
  test::expect_sound(coursework_pies(GroupPortrait(), GroupPortrait()));
  test::expect_sound(typicality_histogram({}));
  test::expect_sound(delay_chart(delays_by("residence", {})));
  test::expect_sound(calibration_figure({}, "nb", 0));
  test::expect_sound(prerequisite_graph({}));
}

}  // namespace
}  // namespace desirepath::query_figures_test
