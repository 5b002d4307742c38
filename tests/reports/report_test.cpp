#include "desirepath/reports/report.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <numeric>

#include "support/example_cohorts.h"
#include "support/fits.h"
#include "support/support.h"

#include "desirepath/core/error.h"
#include "desirepath/reports/report_parts.h"
#include "desirepath/reports/report_words.h"
#include "desirepath/reports/svg.h"

namespace desirepath::report_test {
namespace {

using test::fitted;

/// Students of two kinds over three periods: who takes the lower half of the courses and who takes the upper.
Cohort halves(std::int64_t students) {
  test::CohortMaker made(8, 3);
  RandomStream stream(9);
  for (std::int64_t s = 0; s < students; ++s) {
    made.add_student();
    for (Id t = 0; t < 3; ++t) {
      for (Id c = 0; c < 8; ++c) {
        const bool own = (c < 4) == (s % 2 == 0);
        if (stream.uniform() < (own ? 0.6 : 0.1)) made.take(t, c);
      }
    }
  }
  return made.build();
}

struct Models {
  Cohort cohort = halves(300);
  StoredModel states = fitted(cohort, FitOptions("cmm+bernoulli").set("states", std::int64_t{2}));
  StoredModel answers = fitted(cohort, FitOptions("hct")
                                           .set("trees", std::int64_t{1})
                                           .set("tree-states", std::int64_t{3})
                                           .set("iterations", std::int64_t{5}));

  Page page(int threads, bool with_answers, const ReportSettings& settings = {}) const {
    const Executor executor(threads);
    const AskedModel asked{answers, cohort};
    return make_report({cohort, {states, cohort}, with_answers ? &asked : nullptr, nullptr, {}, {}, 1, executor},
                       settings);
  }
};
const Models& models() {
  static const Models made;
  return made;
}

std::vector<std::string> sections_of(const Page& page) {
  std::vector<std::string> ids;
  for (const PageSection& section : page.sections)
    ids.push_back(section.id);
  return ids;
}

const PageSection& section_of(const Page& page, const std::string& id) {
  return *std::ranges::find(page.sections, id, &PageSection::id);
}

TEST(Report, HasItsSectionsInOrder) {
  EXPECT_EQ(sections_of(models().page(2, true)),
            (std::vector<std::string>{"summary", "data", "states", "flows", "typicality", "prerequisites", "delays",
                                      "courses", "calibration", "missing", "card"}));
  ReportSettings some;
  some.sections = {"card", "data"};
  EXPECT_EQ(sections_of(models().page(2, true, some)), (std::vector<std::string>{"data", "card"}));
  some.sections = {"dat"};
  EXPECT_THROW(models().page(1, true, some), OptionError);
}

TEST(Report, SaysHowToGetWhatIsMissing) {
  const Page page = models().page(2, false);
  const std::vector<Paragraph>& lines = section_of(page, "missing").notes;
  const auto says = [&](std::string_view words) {
    return std::ranges::any_of(lines,
                               [&](const Paragraph& line) { return line.text().find(words) != std::string::npos; });
  };
  EXPECT_TRUE(says("--answers")) << lines.size();
  EXPECT_TRUE(says("--evaluation"));
  for (const char* id : {"prerequisites", "plans", "delays"})
    EXPECT_EQ(std::ranges::count(sections_of(page), id), 0) << id;
}

TEST(Report, IsTheSameForAnyNumberOfThreads) {
  EXPECT_EQ(render_html(models().page(1, true)), render_html(models().page(3, true)));
}

TEST(Report, OutlivesItsModelsAndStudents) {
  auto made = std::make_unique<const Models>();
  const Page page = made->page(2, true);
  const std::string before = render_html(page);
  made.reset();
  const Models others;  // what was theirs now belongs to these
  EXPECT_EQ(render_html(page), before);
}

TEST(Report, EverySectionFindsSomethingAndEveryFigureHasATwin) {
  const Page page = models().page(2, true);
  for (const PageSection& section : page.sections) {
    EXPECT_FALSE(section.title.empty());
    EXPECT_FALSE(section.finding.empty()) << section.id;
    for (const PageFigure& figure : section.figures) {
      EXPECT_FALSE(figure.reading.empty()) << figure.figure.name;
      EXPECT_GT(figure.figure.table.row_count(), 0U) << figure.figure.name;
      EXPECT_FALSE(figure.figure.basis.empty()) << figure.figure.name;
    }
  }
  const std::vector<Paragraph>& points = section_of(page, "summary").points;
  EXPECT_GE(points.size(), 5U);
  EXPECT_LE(points.size(), 12U);
  // Each once, in the order of the list.
  const std::vector<std::string> known = report_figures();
  auto next = known.begin();
  for (const Figure& figure : figures_of(page)) {
    const auto found = std::find(next, known.end(), figure.name);
    ASSERT_NE(found, known.end()) << figure.name;
    next = found + 1;
  }
}

TEST(Report, OfTooFewStudentsIsRefused) {
  ReportSettings settings;
  settings.disclosure = Disclosure(301);
  EXPECT_THROW(models().page(1, true, settings), PrivacyError);
}

TEST(Report, WordsAreFilledIn) {
  EXPECT_EQ(filled("{1} of {0}, {0}", {"a", "b"}), "b of a, a");
  EXPECT_EQ(filled("take {0} then", {"\u05D0 1"}), "take \u2068\u05D0 1\u2069 then");
  EXPECT_EQ(filled("take {0} then", {"\u05D0\u2069\u202E"}), "take \u2068\u05D0\\u{2069}\\u{202e}\u2069 then");
  EXPECT_EQ(escaped("take \u2068\u05D0 <1>\u2069 then"), "take \u2068\u05D0 &lt;1&gt;\u2069 then");
  EXPECT_EQ(escaped("\u2068 open \u202E\u2069"), "\\u{2068} open \\u{202e}\\u{2069}");
  EXPECT_EQ(filled("{0} {x} {9} {", {"{1}", "b"}), "{1} {x}  {");
  Sentence sentence = sentence_of({"of", "{1} of {0}", estimate}, {"a", "b"});
  sentence.add(" and {0}", {"c"});
  EXPECT_EQ(sentence.text, "b of a and c");
  EXPECT_EQ(sentence.values, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(sentence.is_estimate);
}

/// Every sentence of a page, wherever it stands.
std::vector<Sentence> sentences_of(const Page& page) {
  std::vector<Sentence> all;
  const auto add = [&](const Paragraph& paragraph) {
    all.insert(all.end(), paragraph.sentences.begin(), paragraph.sentences.end());
  };
  add(page.subtitle);
  add(page.footer);
  for (const PageSection& section : page.sections) {
    EXPECT_FALSE(section.finding.empty()) << section.id;
    add(section.finding);
    for (const auto* list : {&section.text, &section.points, &section.notes})
      std::ranges::for_each(*list, add);
    for (const PageFigure& entry : section.figures) {
      for (const Paragraph* paragraph : {&entry.figure.finding, &entry.figure.basis, &entry.reading})
        add(*paragraph);
    }
    for (const PageTable& table : section.tables)
      add(table.reading);
  }
  return all;
}

TEST(Report, EverySentenceHasAnIdOfItsOwn) {
  std::map<std::string, std::string> id_of;
  std::map<std::pair<std::string, std::vector<std::string>>, std::string> text_of;
  for (const bool with_answers : {false, true}) {
    for (const Sentence& sentence : sentences_of(models().page(2, with_answers))) {
      EXPECT_FALSE(sentence.id.empty()) << sentence.text;
      EXPECT_EQ(id_of.emplace(sentence.text, sentence.id).first->second, sentence.id) << sentence.text;
      EXPECT_EQ(text_of.emplace(std::pair(sentence.id, sentence.values), sentence.text).first->second, sentence.text);
    }
  }
  EXPECT_GT(text_of.size(), 40U);
}

TEST(Report, CountsOfStudentsAreNoEstimates) {
  int counts = 0, answers = 0;
  for (const Sentence& sentence : sentences_of(models().page(2, true))) {
    const bool is_count = std::ranges::any_of(
        std::array<std::string_view, 6>{"data_", "states_", "flows_", "sankey", "enrollments_", "courses_"},
        [&](std::string_view section) { return sentence.id.starts_with(section); });
    EXPECT_FALSE(is_count && sentence.is_estimate) << sentence.text;
    counts += is_count ? 1 : 0;
    answers += sentence.is_estimate ? 1 : 0;
  }
  EXPECT_GT(counts, 10);
  EXPECT_GT(answers, 4);
}

TEST(Report, CalibrationBinsTellOfNoFewAnswers) {
  // predicted, share that came true, answers: the second and the last would tell of 2 and of 3 answers.
  std::vector<std::int64_t> twenty(20);
  std::iota(twenty.begin(), twenty.end(), 0);
  std::vector<CalibrationBin> bins = {
      {0.05, 0.05, 1000}, {0.15, 0.02, 100}, {0.5, 0.5, 0}, {0.7, 0.7, 100}, {0.95, 0.97, 100}};
  for (CalibrationBin& bin : bins)
    bin.students = twenty;
  const std::vector<CalibrationBin> disclosed = merge_calibration_bins(bins, Disclosure());
  double answers = 0, hits = 0, predicted = 0;
  for (const CalibrationBin& bin : disclosed) {
    const double came = bin.observed * static_cast<double>(bin.answers),
                 not_came = static_cast<double>(bin.answers) - came;
    EXPECT_TRUE(came < 0.5 || came > 9.5) << came;
    EXPECT_TRUE(not_came < 0.5 || not_came > 9.5) << not_came;
    answers += static_cast<double>(bin.answers);
    hits += came;
    predicted += bin.predicted * static_cast<double>(bin.answers);
  }
  EXPECT_EQ(answers, 1300);
  EXPECT_NEAR(hits, 50 + 2 + 70 + 97, 1e-9);
  EXPECT_NEAR(predicted, 50 + 15 + 70 + 95, 1e-9);
  EXPECT_TRUE(merge_calibration_bins({{0.5, 0.5, 10, twenty}}, Disclosure()).empty());
  // Many answers of few students; those of other students beside them.
  const std::vector<std::int64_t> six(twenty.begin(), twenty.begin() + 6),
      others(twenty.begin() + 6, twenty.begin() + 12);
  EXPECT_TRUE(merge_calibration_bins({{0.5, 0.5, 600, six}, {0.7, 0.5, 600, six}}, Disclosure()).empty());
  const std::vector<CalibrationBin> joined =
      merge_calibration_bins({{0.5, 0.5, 600, six}, {0.7, 0.5, 600, others}}, Disclosure());
  ASSERT_EQ(joined.size(), 1);
  EXPECT_EQ(joined.front().students.size(), 12);
  EXPECT_EQ(joined.front().answers, 1200);
}

TEST(Report, AStageThatTookFewStandsWithAnother) {
  std::vector<DisclosedCohort::Stage> stages;
  for (const auto& [name, students] : {std::pair<const char*, std::int64_t>{"read", 1000},
                                       {"summer", 997},
                                       {"grades", 997},
                                       {"part-time", 900},
                                       {"few", 895}})
    stages.push_back({name, students * 10, students, 5});
  CohortSummary summary;
  summary.students = 895;
  summary.times = {"1"};
  std::vector<std::pair<std::string, std::int64_t>> rows;
  for (const DisclosedCohort::Stage& stage : disclose_cohort(summary, Disclosure(), stages).stages)
    rows.emplace_back(stage.after, stage.students);
  const std::vector<std::pair<std::string, std::int64_t>> expected = {
      {"read, summer", 997}, {"grades", 997}, {"part-time, few", 895}};
  EXPECT_EQ(rows, expected);
}

}  // namespace
}  // namespace desirepath::report_test
