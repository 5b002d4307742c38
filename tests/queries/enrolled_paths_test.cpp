// Flows and shares count students where they were enrolled, and show where they were not.
#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "support/example_cohorts.h"
#include "support/worlds.h"

#include "desirepath/queries/pathways.h"
#include "desirepath/queries/state_groups.h"

namespace desirepath::enrolled_paths_test {
namespace {

using enum EnrollmentStatus;

HiddenChain chain_of(Id states, Id periods) {
  return test::random_chain("cmm", test::emission_truths().front(), 3, periods, states, /*left=*/false,
                            RandomStream(7));
}

const PathNode* node_named(const StateFlows& flows, Id step, const std::string& name) {
  const auto found =
      std::ranges::find_if(flows.nodes, [&](const PathNode& node) { return node.step == step && node.name == name; });
  return found != flows.nodes.end() ? &*found : nullptr;
}

double students_of(const StateFlows& flows, Id step) {
  double sum = 0;
  for (const PathNode& node : flows.nodes)
    sum += node.step == step ? node.students : 0;
  return sum;
}

TEST(EnrolledPaths, AStudentHasAStateOnlyWhereEnrolled) {
  const HiddenChain chain = chain_of(2, 3);
  test::CohortMaker made(chain.schema());
  made.add_student();
  made.set(1, away);
  made.take(0, 0);
  made.add_student();
  made.set(0, before_entry);
  made.set(2, left);
  made.add_student();
  const Cohort cohort = made.build();
  const HiddenStates& states = *chain.hidden_states();
  const auto most_likely = states.paths(EvidenceBatch::of(cohort), Executor(1));
  const auto paths = enrolled_paths(states, cohort, Executor(1));
  EXPECT_EQ(paths[0], (std::vector<Id>{most_likely[0][0], place_of(away, 2), most_likely[0][2]}));
  EXPECT_EQ(paths[1], (std::vector<Id>{place_of(before_entry, 2), most_likely[1][1], place_of(left, 2)}));
  EXPECT_EQ(paths[2], most_likely[2]);
}

TEST(EnrolledPaths, EveryColumnHoldsTheSameStudents) {
  const HiddenChain chain = chain_of(2, 2);
  const auto at = [](EnrollmentStatus status) { return place_of(status, 2); };
  const StateFlows flows = flows_of({{{0, 0}, 60},
                                     {{0, at(left)}, 40},
                                     {{0, at(not_yet)}, 15},
                                     {{1, 1}, 50},
                                     {{1, at(left)}, 20},
                                     {{1, at(away)}, 12},
                                     {{at(before_entry), 0}, 30}},
                                    chain, Disclosure(10));
  EXPECT_EQ(flows.students, 227);
  ASSERT_TRUE(flows.exact_sizes);  // no flow is small
  for (const Id step : {0, 1})
    EXPECT_EQ(students_of(flows, step), 227);
  EXPECT_EQ(flows.steps[0].enrolled, 197);
  EXPECT_EQ(flows.steps[1].enrolled, 140);
  EXPECT_TRUE(flows.steps[0].is_exact && flows.steps[1].is_exact);
  const PathNode* gone = node_named(flows, 1, "left");
  ASSERT_NE(gone, nullptr);
  EXPECT_EQ(gone->students, 60);
  EXPECT_EQ(gone->kind, NodeKind::not_enrolled);
  EXPECT_TRUE(gone->own_states(2).empty());
  EXPECT_EQ(gone->own_statuses(2), std::vector<EnrollmentStatus>{left});
  EXPECT_NE(node_named(flows, 0, "before entry"), nullptr);
  EXPECT_NE(node_named(flows, 1, "not yet"), nullptr);
  EXPECT_EQ(node_named(flows, 1, "other"), nullptr);
  // The share of who goes on is of all who were in the state, leavers among them.
  const auto stay = std::ranges::find_if(flows.flows, [&](const PathFlow& flow) {
    return flows.nodes[flow.from].states == std::vector<Id>{1} && flows.nodes[flow.to].states == std::vector<Id>{1};
  });
  ASSERT_NE(stay, flows.flows.end());
  EXPECT_DOUBLE_EQ(stay->probability, 50.0 / 82);
  for (const StatePath& path : flows.paths) {
    const bool is_all =
        std::ranges::all_of(path.nodes, [&](std::size_t n) { return flows.nodes[n].states.front() < 2; });
    EXPECT_EQ(is_through_states(flows, path), is_all);
  }
  EXPECT_EQ(enrolled_words(flows), "enrolled: 197 students in period 1, 140 in period 2");
}

TEST(EnrolledPaths, SmallReasonsAreShownTogetherAndNeverInAState) {
  const HiddenChain chain = chain_of(2, 2);
  const auto at = [](EnrollmentStatus status) { return place_of(status, 2); };
  // 6 away and 40 left together.
  StateFlows flows =
      flows_of({{{0, 0}, 60}, {{0, at(left)}, 40}, {{0, at(away)}, 6}, {{1, 1}, 50}}, chain, Disclosure(10));
  const PathNode* others = node_named(flows, 1, "not enrolled");
  ASSERT_NE(others, nullptr);
  EXPECT_EQ(others->students, 46);
  EXPECT_EQ(flows.steps[1].enrolled, 110);
  // 6 away alone: neither they nor how many were enrolled can be told.
  flows = flows_of({{{0, 0}, 60}, {{0, at(away)}, 6}, {{1, 1}, 50}, {{1, 0}, 20}}, chain, Disclosure(10));
  EXPECT_LE(students_of(flows, 1), 130);
  for (const PathNode& node : flows.nodes) {
    if (node.step == 0) continue;
    const bool has_away = std::ranges::find(node.states, at(away)) != node.states.end();
    EXPECT_EQ(node.kind, has_away ? NodeKind::either : NodeKind::states);
    EXPECT_EQ(node.name == "other or not enrolled", has_away);
    EXPECT_GE(node.students, 10);
  }
  EXPECT_FALSE(flows.steps[1].is_exact);
  EXPECT_LE(flows.steps[1].enrolled, 130);
  // Of an unknown status it is not said that they were not enrolled.
  flows = flows_of({{{0, 0}, 60}, {{0, at(unknown)}, 30}, {{1, 1}, 50}}, chain, Disclosure(10));
  EXPECT_NE(node_named(flows, 1, "no enrollments"), nullptr);
}

TEST(EnrolledPaths, SharesWithinGroupsAreOfEnrolledStudents) {
  const HiddenChain chain = chain_of(2, 2);
  std::vector<std::vector<Id>> paths;
  StudentGroups groups{{"here", "there"}, {}};
  const auto add = [&](int count, Id group, std::vector<Id> path) {
    for (int i = 0; i < count; ++i) {
      paths.push_back(path);
      groups.of_student.push_back(group);
    }
  };
  // In period 2, 20 of the 40 enrolled here are in state 0 and 60 of the 80 there; 60 and 20 have left.
  add(20, 0, {0, 0});
  add(20, 0, {0, 1});
  add(60, 0, {1, place_of(left, 2)});
  add(60, 1, {0, 0});
  add(20, 1, {1, 1});
  add(20, 1, {1, place_of(left, 2)});
  const StateFlows flows = flows_of(count_paths(paths), chain, Disclosure(10));
  const Executor executor(1);
  const LabelNull null{std::vector<Id>(paths.size(), 0), RandomStream(5), executor};
  const std::vector<GroupShare> shares = compare_groups(flows, paths, groups, Disclosure(10), null, 1).shares;
  const auto found = std::ranges::find_if(shares, [&](const GroupShare& share) {
    return flows.nodes[share.node].step == 1 && flows.nodes[share.node].states == std::vector<Id>{0};
  });
  ASSERT_NE(found, shares.end());
  EXPECT_EQ(found->group, "there");
  EXPECT_EQ(found->students, 80);
  EXPECT_EQ(found->others, 40);
  EXPECT_DOUBLE_EQ(found->share, 0.75);
  EXPECT_DOUBLE_EQ(found->others_share, 0.5);
  for (const GroupShare& share : shares)
    EXPECT_EQ(flows.nodes[share.node].kind, NodeKind::states);
  for (const StateGroupCell& cell : states_by_group(flows, paths, groups, Disclosure(10), null).cells) {
    EXPECT_EQ(flows.nodes[cell.node].kind, NodeKind::states);
    EXPECT_TRUE(cell.has_share && cell.is_of_enrolled);
    const bool is_later = flows.nodes[cell.node].step == 1;
    EXPECT_EQ(cell.group_students, !is_later ? 100 : cell.group == "here" ? 40 : 80);
  }
}

TEST(EnrolledPaths, GroupsRefineTheFlowsAndNeverTellSizesThatThoseWithhold) {
  const HiddenChain chain = chain_of(2, 2);
  std::vector<std::vector<Id>> paths;
  StudentGroups groups{{"here", "there"}, {}};
  const auto add = [&](int count, Id group, std::vector<Id> path) {
    for (int i = 0; i < count; ++i) {
      paths.push_back(path);
      groups.of_student.push_back(group);
    }
  };
  // 8 and 9 of the two states change: their sizes would tell of them.
  add(70, 0, {0, 0});
  add(21, 1, {0, 0});
  add(8, 1, {0, 1});
  add(15, 0, {1, 1});
  add(45, 1, {1, 1});
  add(9, 0, {1, 0});
  const StateFlows flows = flows_of(count_paths(paths), chain, Disclosure(10));
  ASSERT_FALSE(flows.exact_sizes);
  const Executor executor(1);
  const LabelNull null{std::vector<Id>(paths.size(), 0), RandomStream(5), executor};
  // Which share is larger may be told, but not by how much.
  const ComparedGroups compared = compare_groups(flows, paths, groups, Disclosure(10), null, 0.05);
  ASSERT_FALSE(compared.shares.empty());
  for (const GroupShare& share : compared.shares) {
    EXPECT_FALSE(share.has_disclosed_sizes);
    EXPECT_LE(share.q, 0.05);
  }
  int judged = 0;
  for (const StateGroupCell& cell : states_by_group(flows, paths, groups, Disclosure(10), null).cells) {
    EXPECT_TRUE(cell.hidden);
    EXPECT_FALSE(cell.has_share);
    judged += cell.q ? 1 : 0;
    const bool is_first = flows.nodes[cell.node].states.front() == 0;
    if (cell.q) {
      EXPECT_EQ(cell.is_more, is_first == (cell.group == "here"));
    }
  }
  EXPECT_EQ(judged, 8);
}

}  // namespace
}  // namespace desirepath::enrolled_paths_test
