#include "support/example_cohorts.h"
#include "support/support.h"

#include "desirepath/core/error.h"
#include "desirepath/reports/cohort_figures.h"
#include "desirepath/reports/evaluation_figures.h"
#include "desirepath/reports/html_page.h"
#include "desirepath/reports/palette.h"
#include "desirepath/reports/suppression.h"
#include "desirepath/reports/svg.h"

namespace desirepath {
namespace {

CohortSummary summary_of(std::int64_t students) {
  return summarise(test::random_cohort({.students = students, .courses = 6, .periods = 3}, RandomStream(4)));
}

TEST(Figures, RefuseASmallMinimumCell) {
  EXPECT_THROW(enrollment_areas(summary_of(100), 4), OptionError);
  EXPECT_THROW(course_histogram(summary_of(100), 1), OptionError);
}

TEST(Figures, TablesAddUpToTheCohort) {
  const CohortSummary summary = summary_of(500);
  std::int64_t enrollments = 0, students = 0;
  const Figure areas = enrollment_areas(summary, 10), histogram = course_histogram(summary, 10);
  for (const auto& row : areas.table.rows()) {
    for (std::size_t c = 1; c < row.size(); ++c)
      enrollments += std::get<std::int64_t>(row[c]);
  }
  for (const auto& row : histogram.table.rows())
    students += std::get<std::int64_t>(row[1]);
  EXPECT_EQ(enrollments, summary.enrollments);
  EXPECT_EQ(students, 500);
}

TEST(SuppressionProperty, NoBinRestsOnFewStudentsAndTotalsStay) {
  test::expect_property("merged bins are empty or large, and cover every value once", [] {
    const auto counts = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 30));
    const auto width = *rc::gen::inRange<std::int64_t>(1, 4);
    const auto bins = merge_small_bins(counts, 10, width);
    std::int64_t total = 0, next = 0;
    for (const SafeBin& bin : bins) {
      RC_ASSERT(bin.first == next);
      next = bin.last + 1;
      total += bin.students;
      RC_ASSERT(bin.students == 0 || bin.students >= 10 || bins.size() == 1);
    }
    RC_ASSERT(next == static_cast<std::int64_t>(counts.size()));
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
    const SafeSeries safe = merge_small_series(summary, 10, 7);
    std::int64_t kept = 0;
    for (const auto& row : safe.enrollments) {
      for (const std::int64_t cell : row) {
        kept += cell;
        RC_ASSERT(cell == 0 || cell >= 20 || (safe.groups.size() == 1 && safe.times.size() == 1));
      }
    }
    RC_ASSERT(kept == total);
  });
}

TEST(Svg, EscapesAndScales) {
  EXPECT_EQ(escaped("<a&\"b'>"), "&lt;a&amp;&quot;b&#39;&gt;");
  EXPECT_EQ(axis_ticks(95, 5), (std::vector<double>{0, 20, 40, 60, 80, 100}));
  EXPECT_EQ(short_number(1500000), "1.5 M");
  EXPECT_EQ(short_number(20000), "20 k");
  EXPECT_EQ(text_colour_on("#F0E442"), "#000000");
  EXPECT_EQ(text_colour_on("#0072B2"), "#FFFFFF");
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
  EXPECT_NE(curves.finding.find("with hct: error 0.2000"), std::string::npos) << curves.finding;
  EXPECT_NE(curves.svg.find("nb, K = 4: 0.4000 +- 0.0100"), std::string::npos);
  EXPECT_NE(curves.svg.find("a&amp;b"), std::string::npos);
  EXPECT_EQ(curves.svg.find("a&b"), std::string::npos);
  EXPECT_NE(curves.basis.find("150 held out"), std::string::npos);
  ASSERT_EQ(best.table.row_count(), 3U);
  EXPECT_EQ(std::get<double>(best.table.rows()[0][1]), 0.4);
  EXPECT_EQ(std::get<std::int64_t>(best.table.rows()[0][2]), 4);
  EXPECT_NE(best.svg.find("0.4000"), std::string::npos);
  EXPECT_TRUE(curves.svg.starts_with("<svg "));
}

TEST(HtmlPage, IsOnePieceWithoutAnythingFromElsewhere) {
  const CohortSummary summary = summary_of(300);
  Page page{
      "A <university>", "sub", {{"300", "students"}}, {{"Data", "", {enrollment_areas(summary, 10)}, {}}}, "End."};
  const std::string html = render_html(page);
  EXPECT_NE(html.find("A &lt;university&gt;"), std::string::npos);
  for (const char* outside : {"<script", "src=", "href=", "@import", "url("})
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
}

}  // namespace
}  // namespace desirepath
