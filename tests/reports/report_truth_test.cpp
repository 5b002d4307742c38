// Sentences of the page that were not so: what exists beside what may be told, names, subjects, trust.
#include <regex>
#include <set>

#include "support/example_cohorts.h"
#include "support/fits.h"

#include "desirepath/queries/inference_accuracy.h"
#include "desirepath/queries/pathways.h"
#include "desirepath/queries/typicality.h"
#include "desirepath/reports/report_parts.h"
#include "desirepath/reports/report_words.h"

namespace desirepath::report_truth_test {
namespace {

using test::fitted;

Page page_of(const StoredModel& states, const Cohort& cohort, const ReportSettings& settings) {
  const Executor executor(2);
  return make_report({cohort, {states, cohort}, nullptr, nullptr, {}, {}, 1, executor}, settings);
}

const PageSection& section_of(const Page& page, const std::string& id) {
  return *std::ranges::find(page.sections, id, &PageSection::id);
}

/// Two periods, four courses: kind 0 takes the first two, kind 1 the others. 91 stay of kind 0 and 60 of kind 1, 8 and
/// 9 change; half of each live at home.
Cohort stayers() {
  test::CohortMaker made(4, 2);
  std::vector<Id> homes;
  const auto add = [&](int count, Id first, Id second) {
    for (int s = 0; s < count; ++s) {
      made.add_student();
      for (const auto& [period, kind] : {std::pair<Id, Id>{0, first}, {1, second}}) {
        made.take(period, 2 * kind);
        made.take(period, 2 * kind + 1);
      }
      homes.push_back(s % 2);
    }
  };
  add(91, 0, 0);
  add(8, 0, 1);
  add(60, 1, 1);
  add(9, 1, 0);
  return test::changed(made.build(), [&](CohortParts& parts) {
    parts.attributes.push_back({"home", {"campus", "town"}, homes});
  });
}

TEST(ReportTruth, APathThatMayNotBeToldExistsAllTheSame) {
  const Cohort cohort = stayers();
  const StoredModel states = fitted(cohort, FitOptions("cmm+bernoulli").set("states", std::int64_t{2}));
  // 91 of 99 would tell of 8: the sizes of nodes are withheld.
  const PathCounts counts = count_paths(states.model->hidden_states()->paths(EvidenceBatch::of(cohort), Executor(1)));
  ASSERT_EQ(counts.size(), 4U);
  const StateFlows disclosed = flows_of(counts, *states.model, Disclosure(10));
  EXPECT_FALSE(disclosed.exact_sizes);
  EXPECT_TRUE(Disclosure(10).rests(disclosed.largest_path));
  EXPECT_FALSE(Disclosure(10).rests(flows_of({{{0, 0}, 9}, {{1, 1}, 9}}, *states.model, Disclosure(10)).largest_path));
  ReportSettings settings;
  settings.by = "home";
  settings.sections = {"summary", "flows"};
  const Page page = page_of(states, cohort, settings);
  EXPECT_NE(section_of(page, "flows").finding.sentences.front().id, words::flows_finding_none.id);
  // Alone, with every path of few, it is so.
  settings.disclosure = Disclosure(100);
  settings.by.clear();
  EXPECT_EQ(section_of(page_of(states, cohort, settings), "flows").finding.text(),
            sentence_of(words::flows_finding_none, {"100"}).text);
}

TEST(ReportTruth, GroupsChangeNothingOfTheFlows) {
  const Cohort cohort = stayers();
  const StoredModel states = fitted(cohort, FitOptions("cmm+bernoulli").set("states", std::int64_t{2}));
  ReportSettings settings;
  settings.sections = {"flows"};
  const PageSection without = section_of(page_of(states, cohort, settings), "flows");
  settings.by = "home";
  const PageSection with = section_of(page_of(states, cohort, settings), "flows");
  EXPECT_EQ(with.finding.text(), without.finding.text());
  ASSERT_EQ(with.figures.size(), without.figures.size());
  for (std::size_t i = 0; i < with.figures.size(); ++i)
    EXPECT_EQ(with.figures[i].figure.svg, without.figures[i].figure.svg);
  EXPECT_GT(with.notes.size(), without.notes.size());  // what is said of the groups
}

TEST(ReportTruth, TheMostCommonPathIsThatOfAllNotOfThoseTold) {
  const Cohort cohort = stayers();
  const StoredModel states = fitted(cohort, FitOptions("cmm+bernoulli").set("states", std::int64_t{2}));
  const PathCounts counts = {{{0, 0}, 91}, {{0, 1}, 8}, {{1, 1}, 60}, {{1, 0}, 9}};
  StateFlows flows = flows_of(counts, *states.model, Disclosure(10));
  ASSERT_EQ(flows.flows.size(), 2U);
  for (const PathFlow& flow : flows.flows) {
    double all = 0;
    for (const auto& [path, count] : counts)
      all += std::ranges::count(flows.nodes[flow.from].states, path.front()) > 0 ? count : 0;
    EXPECT_EQ(flow.of_all, std::abs(flow.probability - flow.students / all) < 1e-9) << flow.probability;
  }
  EXPECT_EQ(flows.largest_path, 91);
  // Fewer than a path that is not told are not the most common one.
  flows = flows_of({{{0, 0}, 95}, {{0, 1}, 9}, {{1, 1}, 60}, {{1, 0}, 9}}, *states.model, Disclosure(10));
  EXPECT_EQ(flows.largest_path, 95);
}

TEST(ReportTruth, NoTwoKindsOfAPeriodHaveOneName) {
  const Cohort cohort = stayers();
  const StoredModel states = fitted(cohort, FitOptions("cmm+bernoulli").set("states", std::int64_t{2}));
  const StateFlows flows =
      flows_of({{{0, 0}, 90}, {{0, 1}, 20}, {{1, 1}, 60}, {{1, 0}, 30}}, *states.model, Disclosure(10),
               {{{0, 0}, "Chemistry"}, {{0, 1}, "Chemistry"}, {{1, 0}, "Chemistry"}, {{1, 1}, "Law"}});
  std::set<std::pair<Id, std::string>> names;
  for (const PathNode& node : flows.nodes)
    EXPECT_TRUE(names.insert({node.step, node.name}).second) << node.name;
  EXPECT_EQ(names, (std::set<std::pair<Id, std::string>>{
                       {0, "Chemistry (state 0)"}, {0, "Chemistry (state 1)"}, {1, "Chemistry"}, {1, "Law"}}));
  ReportSettings settings;
  settings.names.names = {{"all:0", "Chemistry"}, {"all:1", "Chemistry"}};
  const Page page = page_of(states, cohort, settings);
  std::set<std::string> kinds;
  for (const auto& row : section_of(page, "states").tables.front().table.rows())
    EXPECT_TRUE(kinds.insert(std::get<std::string>(row[0]) + " " + std::get<std::string>(row[1])).second);
  EXPECT_GE(kinds.size(), 4U);
}

TEST(ReportTruth, WithoutSubjectsNothingIsSaidOfThem) {
  const Cohort cohort = stayers();
  const StoredModel states = fitted(cohort, FitOptions("cmm+bernoulli").set("states", std::int64_t{2}));
  const Page page = page_of(states, cohort, {});
  for (const Figure& figure : figures_of(page)) {
    EXPECT_NE(figure.name, "state-grid");
    EXPECT_NE(figure.name, "coursework");
  }
  EXPECT_EQ(section_of(page, "typicality").finding.text().find("subject"), std::string::npos);
  for (const Paragraph& point : section_of(page, "summary").points)
    EXPECT_EQ(point.text().find("subject"), std::string::npos) << point.text();
  std::vector<std::int64_t> everybody;
  for (std::int64_t s = 0; s < cohort.student_count(); ++s)
    everybody.push_back(s);
  const auto plain = portray(cohort, everybody, "", Disclosure(10));
  EXPECT_TRUE(plain->by_subject.empty());
  EXPECT_FALSE(plain->to_json().contains("subjects"));
  // Two of four courses have one: each student has one subject or none, never one called after none.
  std::vector<Course> courses = cohort.schema().courses();
  courses[0].subject = courses[1].subject = "Law";
  const Cohort some = test::changed(cohort, [&](CohortParts& parts) { parts.schema = Schema(courses, {"1", "2"}); });
  const auto portrait = portray(some, everybody, "", Disclosure(10));
  EXPECT_NEAR(portrait->subjects, (91 + 8 + 9) / 168.0, 1e-12);
  ASSERT_EQ(portrait->by_subject.size(), 2U);
  EXPECT_EQ(portrait->by_subject[0].first, "Law");
  EXPECT_NEAR(portrait->by_subject[0].second, (4 * 91 + 2 * 17) / 168.0, 1e-12);
  EXPECT_EQ(portrait->by_subject[1].first, "no subject");
  EXPECT_EQ(portrait->courses_in("Art"), 0.0);
  EXPECT_EQ(portrait->others, 0);
  EXPECT_EQ(
      figures_of(page_of(fitted(some, FitOptions("cmm+bernoulli").set("states", std::int64_t{2})), some, {})).size(),
      figures_of(page).size() + 2);
}

TEST(ReportTruth, WhatHasNoNameIsNoHeadline) {
  for (const char* name : {"other", "not known", "left", "not yet"})
    EXPECT_FALSE(is_headline(name)) << name;
  EXPECT_TRUE(is_headline("Other Worlds in Literature"));
  EXPECT_TRUE(is_headline(""));
}

TEST(ReportTruth, TrustIsThatOfStudentsTheModelHasNotSeen) {
  // Nothing can be known of these students, and a model of 100 states learns a third of them by heart.
  test::CohortMaker made(8, 3);
  RandomStream stream(4);
  for (int s = 0; s < 300; ++s) {
    made.add_student();
    for (Id bit = 0; bit < 24; ++bit) {
      if (stream.uniform() < 0.5) made.take(bit);
    }
  }
  const Cohort cohort = made.build();
  const StoredModel model = fitted(
      cohort,
      FitOptions("nb").set("states", std::int64_t{100}).set("pseudocount", 0.01).set("restarts", std::int64_t{1}));
  EXPECT_GT(infer_period(*model.model, cohort, cohort, {}, Executor(2)).accuracy, 0.7);
  ReportSettings settings;
  settings.sections = {"summary", "calibration"};
  const Page page = page_of(model, cohort, settings);
  for (const std::string& text :
       {section_of(page, "calibration").finding.text(), section_of(page, "summary").points.front().text()}) {
    std::vector<double> shares;
    const std::regex percentage("([0-9.]+) ?%");
    for (std::sregex_iterator found(text.begin(), text.end(), percentage), end; found != end; ++found)
      shares.push_back(std::stod((*found)[1]));
    ASSERT_EQ(shares.size(), 2U) << text;
    EXPECT_LT(shares[0], 62) << text;  // 60 students, 5 courses: 50 % with an error of 3
    EXPECT_NEAR(shares[1], 50, 12) << text;
  }
}

}  // namespace
}  // namespace desirepath::report_truth_test
