#include "desirepath/reports/figures.h"

#include <cmath>
#include <regex>
#include <set>

#include "support/example_cohorts.h"
#include "support/figure_checks.h"
#include "support/support.h"

#include "desirepath/core/error.h"
#include "desirepath/core/rounded.h"
#include "desirepath/core/table.h"
#include "desirepath/core/text.h"
#include "desirepath/queries/disclosed_cohort.h"
#include "desirepath/reports/html_page.h"
#include "desirepath/reports/palette.h"
#include "desirepath/reports/svg.h"

namespace desirepath::figures_test {
namespace {

CohortSummary summary_of(std::int64_t students) {
  return summarise(test::random_cohort({.students = students, .courses = 6, .periods = 3}, RandomStream(4)));
}

TEST(Figures, RefuseASmallMinimumCell) {
  EXPECT_THROW(Disclosure(4), OptionError);
  EXPECT_THROW(disclose_cohort(summary_of(9), Disclosure()), PrivacyError);
}

TEST(Figures, TablesAddUpToTheCohort) {
  const CohortSummary summary = summary_of(500);
  std::int64_t enrollments = 0, students = 0;
  const Figure areas = enrollment_areas(disclose_cohort(summary, Disclosure())),
               histogram = course_histogram(disclose_cohort(summary, Disclosure()));
  for (const auto& row : areas.table.rows()) {
    for (std::size_t c = 1; c < row.size(); ++c)
      enrollments += std::get<std::int64_t>(row[c]);
  }
  for (const auto& row : histogram.table.rows())
    students += std::get<std::int64_t>(row[1]);
  EXPECT_EQ(enrollments, summary.enrollments);
  EXPECT_EQ(students, 500);
}

/// Students by the number of their courses.
CohortSummary counts_of(const std::vector<std::int64_t>& counts) {
  CohortSummary summary = summary_of(100);
  double n = 0, total = 0, squares = 0;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const auto students = static_cast<double>(counts[c]), value = static_cast<double>(c);
    n += students;
    total += students * value;
    squares += students * value * value;
  }
  summary.course_counts = counts;
  summary.students = static_cast<std::int64_t>(n);
  summary.mean_courses = total / n;
  summary.sd_courses = std::sqrt(squares / n - summary.mean_courses * summary.mean_courses);
  return summary;
}
std::vector<std::int64_t> bells(const std::vector<std::pair<double, double>>& centers_and_heights) {
  std::vector<std::int64_t> counts(41, 0);
  for (std::size_t c = 0; c < counts.size(); ++c) {
    for (const auto& [center, height] : centers_and_heights) {
      const double z = (static_cast<double>(c) - center) / 3;
      counts[c] += std::lround(height * std::exp(-0.5 * z * z));
    }
  }
  return counts;
}

TEST(Figures, TwoPeaksAreSaid) {
  const Figure two = course_histogram(disclose_cohort(counts_of(bells({{10, 300}, {30, 200}})), Disclosure()));
  EXPECT_TRUE(test::says(two.finding.text(), {"10", "30"}));
  using Bells = std::vector<std::pair<double, double>>;
  for (const auto& [single, peak] : {std::pair(Bells{{20, 300}}, "20"), std::pair(Bells{{10, 300}, {14, 200}}, "14"),
                                     std::pair(Bells{{10, 300}, {30, 10}}, "30")}) {
    const Figure one = course_histogram(disclose_cohort(counts_of(bells(single)), Disclosure()));
    EXPECT_FALSE(test::says(one.finding.text(), {peak})) << one.finding.text();
    EXPECT_LT(one.finding.text().size(), two.finding.text().size());
  }
}

TEST(Figures, NoTextIsCutOff) {
  // The mass at the right edge, where the curve's name used to leave the picture.
  for (const auto& counts : {bells({{39, 300}}), bells({{5, 300}}), bells({{2, 300}, {39, 300}})})
    test::expect_sound(course_histogram(disclose_cohort(counts_of(counts), Disclosure())));
  CohortSummary summary;
  summary.grouping = "school";
  summary.time = "year";
  summary.times = {"2000", "2001"};
  summary.students = 900;
  for (int g = 0; g < 9; ++g) {  // all but one thin, at the top
    summary.groups.push_back("School of a Long Name " + std::to_string(g));
    summary.by_group.push_back(std::vector<CellCount>(2, g == 0 ? CellCount{100000, 900} : CellCount{20, 20}));
    summary.enrollments += g == 0 ? 200000 : 40;
  }
  test::expect_sound(enrollment_areas(disclose_cohort(summary, Disclosure())));
}

TEST(Figures, TheChosenNumberOfStatesStandsOnNoTick) {
  Selection selection;
  selection.model = "nb";
  selection.training_students = selection.validation_students = 100;
  for (const Id states : {2, 3, 4}) {
    SelectionRow row;
    row.states = states;
    row.bic = row.aic = row.icl = 1000 - 10.0 * states;  // the last is the lowest, at the panel's lower edge
    row.held_out = -10 + states;
    selection.rows.push_back(row);
  }
  selection.best_bic = selection.best_aic = selection.best_icl = selection.best_held_out = 4;
  test::expect_sound(selection_figure(selection));
  const std::string svg = selection_figure(selection).svg;
  static const std::regex chosen("y=\"([0-9.]+)\"[^>]*>K = 4</text>");
  int seen = 0;
  for (std::sregex_iterator at(svg.begin(), svg.end(), chosen), end; at != end; ++at, ++seen) {
    const double y = std::stod((*at)[1]);
    EXPECT_TRUE(y <= 178 || (y >= 238 - 12 && y <= 388)) << y;  // inside the panels, which end above their ticks
  }
  EXPECT_EQ(seen, 4);
}

TEST(Figures, AreSound) {
  for (const std::int64_t students : {20, 500}) {
    test::expect_sound(enrollment_areas(disclose_cohort(summary_of(students), Disclosure())));
    test::expect_sound(course_histogram(disclose_cohort(summary_of(students), Disclosure())));
  }
}

TEST(Figures, AFileSaysWhatItShows) {
  const Figure figure = course_histogram(disclose_cohort(summary_of(200), Disclosure()));
  DisclosedCohort withheld = disclose_cohort(summary_of(200), Disclosure());
  withheld.sd_courses.reset();
  const Figure bare = course_histogram(withheld);
  for (const auto& row : bare.table.rows())
    EXPECT_EQ(row[2], Cell());  // no curve, and no curve of 0 either
  const std::string file = standalone_svg(figure);
  EXPECT_TRUE(file.starts_with("<svg "));
  EXPECT_NE(file.find(">Courses per student</text>"), std::string::npos);
  EXPECT_EQ(figure.svg.find(">Courses per student</text>"), std::string::npos);
  EXPECT_NE(file.find("height=\"414\""), std::string::npos);
}

TEST(Figures, BandsWithoutSubjects) {
  const auto grouped = [](const std::vector<std::string>& names) {
    const Cohort plain =
        test::random_cohort({.students = 60, .courses = static_cast<Id>(names.size()), .periods = 2}, RandomStream(4));
    std::vector<Course> courses;
    for (const std::string& name : names)
      courses.push_back({name, "", "", "", "", {}, {}});
    const CohortSummary summary = summarise(
        test::changed(plain, [&](CohortParts& parts) { parts.schema = Schema(courses, parts.schema.periods()); }));
    return std::pair(summary.grouping, std::set<std::string>(summary.groups.begin(), summary.groups.end()));
  };
  using Groups = std::set<std::string>;
  EXPECT_EQ(grouped({"MATH 101", "MATH 102", "CHEM-1", "CHEM-2"}),
            std::pair(std::string("subject code"), Groups{"CHEM", "MATH"}));
  EXPECT_EQ(grouped({"A", "B", "Logic"}), std::pair(std::string("course"), Groups{"A", "B", "Logic"}));
  EXPECT_EQ(grouped({"C1", "C2", "C3"}), std::pair(std::string("course"), Groups{"C1", "C2", "C3"}));
}

TEST(SuppressionProperty, NoBinRestsOnFewStudentsAndTotalsStay) {
  test::expect_property("merged bins are empty or large, and cover every value once", [] {
    const auto counts = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 30));
    const auto width = *rc::gen::inRange<std::int64_t>(1, 4);
    const auto bins = merge_small_bins(counts, width, Disclosure());
    std::int64_t total = 0, next = 0;
    for (const DisclosedBin& bin : bins) {
      RC_ASSERT(bin.first == next);
      next = bin.last + 1;
      total += bin.students;
      RC_ASSERT(bin.students == 0 || bin.students >= 10 || bins.size() == 1);
    }
    const bool is_covered = counts.empty() || bins.back().open || next >= static_cast<std::int64_t>(counts.size());
    RC_ASSERT(is_covered);
    std::int64_t expected = 0;
    for (const std::int64_t count : counts)
      expected += count;
    RC_ASSERT(total == expected);
  });
}

TEST(SuppressionProperty, NoCellRestsOnFewStudentsAndTotalsStay) {
  test::expect_property("merged series are empty or large in every cell", [] {
    CohortSummary summary;
    summary.grouping = "school";
    summary.time = "year";
    const int groups = *rc::gen::inRange(1, 6), times = *rc::gen::inRange(1, 6);
    for (int t = 0; t < times; ++t)
      summary.times.push_back(std::to_string(2000 + t));
    std::int64_t total = 0;
    for (int g = 0; g < groups; ++g) {
      summary.groups.push_back("g" + std::to_string(g));
      summary.by_group.emplace_back();
      for (int t = 0; t < times; ++t) {
        const auto students = *rc::gen::inRange<std::int64_t>(0, 40);
        summary.by_group.back().push_back({students * 2, students});
        total += students * 2;
      }
    }
    const DisclosedSeries disclosed = merge_small_series(summary, Disclosure(), 7);
    std::int64_t kept = 0;
    for (const auto& row : disclosed.enrollments) {
      for (const std::int64_t cell : row) {
        kept += cell;
        RC_ASSERT(cell == 0 || cell >= 20 || (disclosed.groups.size() == 1 && disclosed.times.size() == 1));
      }
    }
    RC_ASSERT(kept == total);
  });
}

TEST(Svg, EscapesAndScales) {
  EXPECT_EQ(escaped("<a&\"b'>"), "&lt;a&amp;&quot;b&#39;&gt;");
  EXPECT_EQ(axis_ticks(95, 5), (std::vector<double>{0, 20, 40, 60, 80, 100}));
  EXPECT_EQ(axis_ticks(0.55, 6), (std::vector<double>{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6}));
  EXPECT_EQ(axis_ticks(30000, 3), (std::vector<double>{0, 10000, 20000, 30000}));
  EXPECT_EQ(short_number(1500000), "1.5 M");
  EXPECT_EQ(short_number(20000), "20 k");
  EXPECT_EQ(text_colour_on("#F0E442"), "#000000");
  EXPECT_EQ(text_colour_on("#0072B2"), "#FFFFFF");
}

TEST(Svg, NamesFitTheirPlace) {
  EXPECT_EQ(fitted("Algebra", 200, 12), "Algebra");
  const std::string cut = fitted("Introduction to Linear Algebra", 100, 12);
  EXPECT_TRUE(cut.ends_with("…"));
  EXPECT_LE(text_width(cut, 12), 100);
  EXPECT_GT(text_width(cut, 12), 80);
  // Never inside a letter, and at the left end of what is read from the right.
  const std::string hebrew = fitted("אלגברה לינארית", 60, 12);
  EXPECT_TRUE(is_valid_utf8(hebrew));
  EXPECT_TRUE(hebrew.ends_with("…\u200F"));
  EXPECT_EQ(wrapped("Introduction to Linear Algebra", 120, 12, 3),
            (std::vector<std::string>{"Introduction to", "Linear Algebra"}));
  EXPECT_EQ(wrapped("", 120, 12, 3), (std::vector<std::string>{""}));
  EXPECT_EQ(wrapped("one two three four five six", 60, 12, 2).size(), 2U);
  Svg svg(100, 100, "t", "d");
  svg.label({0, 20}, "a name that is <longer> than this", 60);
  EXPECT_NE(svg.finish().find("<title>a name that is &lt;longer&gt; than this</title>"), std::string::npos);
}

TEST(EvaluationFigures, HaveACurveAModelAndNameTheBest) {
  Evaluation evaluation;
  evaluation.seeds = {1, 2};
  evaluation.training_students = 700;
  evaluation.held_out_students = 150;
  const auto add = [&](const std::string& model, Id size, double error) {
    EvaluationSummary summary{model, "mass", size, {}};
    for (const char* name :
         {"error_by_period_and_course", "floor_by_period_and_course", "error_of_pairs", "floor_of_pairs", "held_out"})
      summary.found[name] = {1, 0, 2};
    summary.found["error_by_course"] = {error, 0.01, 2};
    summary.found["floor_by_course"] = {0.1, 0.01, 2};
    evaluation.summaries.push_back(summary);
  };
  add("nb", 2, 0.5);
  add("nb", 4, 0.4);
  add("a&b", 2, 0.3);
  add("hct", 0, 0.2);
  const Figure curves = error_by_size(evaluation), best = best_of_models(evaluation);
  EXPECT_TRUE(test::says(curves.finding.text(), {"hct", "0.2000"}));
  EXPECT_NE(curves.svg.find("nb, K = 4: 0.4000 +- 0.0100"), std::string::npos);
  EXPECT_NE(curves.svg.find("a&amp;b"), std::string::npos);
  EXPECT_EQ(curves.svg.find("a&b"), std::string::npos);
  EXPECT_TRUE(test::says(curves.basis.text(), {"150"}));
  ASSERT_EQ(best.table.row_count(), 3U);
  EXPECT_EQ(std::get<double>(best.table.rows()[0][1]), 0.4);
  EXPECT_EQ(std::get<std::int64_t>(best.table.rows()[0][2]), 4);
  EXPECT_NE(best.svg.find("0.4000"), std::string::npos);
  test::expect_sound(curves);
  test::expect_sound(best);
}

TEST(HtmlPage, IsOnePieceWithoutAnythingFromElsewhere) {
  PageSection section{"data", "Data & <more>"};
  section.figures = {
      {enrollment_areas(disclose_cohort(summary_of(300), Disclosure())), Sentence{"look", "Look \"here\"."}}};
  const std::string html = render_html({"A <university>",
                                        Sentence{"sub", "sub"},
                                        {{"headline_students", "300", "students"}},
                                        {section},
                                        Sentence{"end", "End.", {"a \"b\" <c>"}, estimate}});
  EXPECT_NE(html.find("A &lt;university&gt;"), std::string::npos);
  EXPECT_NE(html.find("Data &amp; &lt;more&gt;"), std::string::npos);
  EXPECT_NE(html.find("Look &quot;here&quot;."), std::string::npos);
  EXPECT_NE(html.find("<li data-id=\"headline_students\" data-values=\"[&quot;300&quot;]\"><b>300</b>"),
            std::string::npos);
  EXPECT_NE(html.find(" data-id=\"sub\">sub</p>"), std::string::npos);
  EXPECT_NE(html.find(" data-id=\"end\" data-values=\"[&quot;a \\&quot;b\\&quot; &lt;c&gt;&quot;]\" "
                      "data-estimate>End.</p>"),
            std::string::npos);
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
  for (const char* outside : {" src=", "href=\"http", "href=\"/", "@import", "url(", "<link", "<iframe", "<img"})
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
}

}  // namespace
}  // namespace desirepath::figures_test
