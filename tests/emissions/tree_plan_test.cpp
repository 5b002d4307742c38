// The plan of a hidden tree's passes against the rows it was made of, and its passes against one row at a time.
#include "desirepath/emissions/tree_plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "support/example_cohorts.h"
#include "support/support.h"
#include "support/textbook_hidden_tree.h"

#include "desirepath/emissions/hidden_tree_passes.h"
#include "desirepath/emissions/hidden_tree_row.h"

namespace desirepath::tree_plan_test {
namespace {

constexpr StepShape shape{3, 14};

/// Students enough for several segments, blocks and shared nodes.
class TreePlans : public testing::Test {
 protected:
  TreePlans()
      : pool_(pool_rows(test::odd_students(6000, shape, RandomStream(21)), std::vector<PeriodRange>{{0, 3}})),
        timings_(pool_.rows, shape, Retakes::learned),
        group_of_(static_cast<std::size_t>(pool_.rows.row_count())) {
    RandomStream stream(22);
    for (std::int64_t row = 0; row < pool_.rows.row_count(); ++row)
      weights_.push_back(row % 9 == 0 ? 0 : 0.5 + stream.uniform());
    for (std::size_t g = 0; g < timings_.groups().size(); ++g) {
      for (const std::int64_t row : timings_.groups()[g].rows)
        group_of_[static_cast<std::size_t>(row)] = g;
    }
  }

  HiddenTree tree(Id states, std::vector<Id> parents) const {
    HiddenTreeParameters p;
    RandomStream stream(23);
    const auto fill = [&](RowMatrix& matrix, Index rows, Index columns) {
      matrix.resize(rows, columns);
      for (Index r = 0; r < rows; ++r) {
        for (Index c = 0; c < columns; ++c)
          matrix(r, c) = 0.05 + stream.uniform();
        matrix.row(r) /= matrix.row(r).sum();
      }
    };
    p.parents = std::move(parents);
    p.initial = Vector::Constant(states, 1.0 / states);
    fill(p.transition, shape.courses * states, states);
    fill(p.timing, shape.courses * states, shape.periods + 1);
    p.retake = RowMatrix::Constant(shape.courses, shape.periods, 0.2);
    p.centres = {p.initial, RowMatrix::Constant(shape.courses, shape.periods + 1, 0.25),
                 Vector::Constant(shape.periods, 0.2)};
    EXPECT_EQ(p.fault(), std::nullopt);
    return HiddenTree(std::move(p));
  }
  HiddenTree bushy_tree(Id states) const { return tree(states, {-1, 0, 0, 0, 1, 1, 2, 2, 3, 4, 4, 6, 9, 9}); }

  RowPool pool_;
  TimingRows timings_;
  std::vector<double> weights_;
  std::vector<std::size_t> group_of_;
};

TEST_F(TreePlans, NodesAreTheChangesOfTheirRowsAndTheAncestorsOfThese) {
  const DependencyTree tree({-1, 0, 0, 0, 1, 1, 2, 2, 3, 4, 4, 6, 9, 9});
  const RowLanes cut(timings_);
  const TreePlan plan(tree, timings_, cut, Executor(2));
  ASSERT_EQ(plan.segments.size(), cut.segments().size());
  std::int64_t rows = 0, shared = 0, blocks = 0;
  for (const PlanSegment& segment : plan.segments) {
    const auto baseline = timings_.baseline_kinds(static_cast<std::size_t>(segment.group));
    shared += segment.shared_count();
    blocks += static_cast<std::int64_t>(segment.block_count());
    ASSERT_EQ(segment.blocks.back().first_row, segment.row_count());
    for (std::size_t block = 0; block < segment.block_count(); ++block) {
      // What is in a slot while this block is at work.
      std::map<std::int32_t, std::pair<Id, std::int32_t>> by_slot;  // course, node
      for (const std::size_t of : {std::size_t{0}, block}) {
        std::int32_t before = -1;
        for (auto b = static_cast<std::size_t>(segment.blocks[of].first_batch);
             b < static_cast<std::size_t>(segment.blocks[of + 1].first_batch); ++b) {
          const auto [rank, first] = segment.batches[b];
          EXPECT_GT(rank, before) << "parents come before their children";
          before = rank;
          const Id course = tree.order()[static_cast<std::size_t>(rank)];
          for (std::int32_t node = first; node < segment.batches[b + 1].first_node; ++node) {
            const std::int32_t slot = node + segment.slot_offset(of);
            ASSERT_LT(slot, segment.slot_count);
            by_slot[slot] = {course, node};
            const std::int32_t kind =
                segment.kinds[static_cast<std::size_t>(segment.node_kind[static_cast<std::size_t>(node)])];
            EXPECT_EQ(timings_.kinds()[static_cast<std::size_t>(kind)].course, course);
          }
        }
      }
      for (const auto& [slot, at] : by_slot) {
        const auto [course, node] = at;
        for (std::int32_t i = segment.child_begin[static_cast<std::size_t>(node)];
             i < segment.child_begin[static_cast<std::size_t>(node) + 1]; ++i) {
          const std::int32_t child = segment.children[static_cast<std::size_t>(i)];
          ASSERT_TRUE(by_slot.contains(child));
          EXPECT_EQ(tree.parent(by_slot[child].first), course);
          EXPECT_TRUE(slot >= segment.shared_count() || child < segment.shared_count());
        }
      }
      if (block == 0) continue;
      for (std::int32_t i = segment.blocks[block].first_row; i < segment.blocks[block + 1].first_row; ++i) {
        const auto& group_rows = timings_.groups()[static_cast<std::size_t>(segment.group)].rows;
        const std::int64_t row = group_rows[static_cast<std::size_t>(segment.first_row + i)];
        ++rows;
        std::map<Id, std::int32_t> expected;
        for (const std::int32_t kind : timings_.changes(row)) {
          for (Id c = timings_.kinds()[static_cast<std::size_t>(kind)].course; c >= 0; c = tree.parent(c))
            expected.try_emplace(c, baseline[static_cast<std::size_t>(c)]);
        }
        for (const std::int32_t kind : timings_.changes(row))
          expected[timings_.kinds()[static_cast<std::size_t>(kind)].course] = kind;
        // Unfolded from the root.
        std::map<Id, std::int32_t> found;
        std::vector<std::int32_t> waiting;
        if (segment.root[static_cast<std::size_t>(i)] != PlanSegment::none)
          waiting.push_back(segment.root[static_cast<std::size_t>(i)]);
        while (!waiting.empty()) {
          const auto [course, node] = by_slot.at(waiting.back());
          waiting.pop_back();
          found[course] = segment.kinds[static_cast<std::size_t>(segment.node_kind[static_cast<std::size_t>(node)])];
          for (std::int32_t c = segment.child_begin[static_cast<std::size_t>(node)];
               c < segment.child_begin[static_cast<std::size_t>(node) + 1]; ++c)
            waiting.push_back(segment.children[static_cast<std::size_t>(c)]);
        }
        ASSERT_EQ(found, expected) << row;
      }
    }
  }
  EXPECT_EQ(rows, pool_.rows.row_count());
  EXPECT_GT(shared, 100);
  EXPECT_GT(blocks, 2 * std::ssize(plan.segments) + 2);
}

TEST_F(TreePlans, APassIsTheSumOfItsRowsOneByOne) {
  for (const Id states : {1, 5, 8, 16, 27, 40}) {
    const HiddenTree model = bushy_tree(states);
    HiddenTreePasses passes = test::planned_passes(timings_, model.shape(), Executor(2));
    const HiddenTreeExpectation fused = passes.expect(model, weights_, Executor(2));
    const Vector scores = passes.score(model, Executor(2));
    HiddenTreeCounts one_by_one(shape.courses, states, shape.periods, shape.periods + 1);
    double total = 0;
    for (std::int64_t row = 0; row < pool_.rows.row_count(); ++row) {
      const std::size_t group = group_of_[static_cast<std::size_t>(row)];
      const double weight = weights_[static_cast<std::size_t>(row)];
      EXPECT_EQ(fused.log_probability[row], scores[row]);
      const double alone = score_one_row(model, timings_, group, row);
      EXPECT_NEAR(scores[row], alone, 1e-12 * std::abs(alone));
      if (row % 3 != 0 && states > 8)
        continue;  // in rows one by one a third is enough to see sums of all in smaller trees
      HiddenTreeCounts own = count_one_row(model, timings_, group, row);
      own *= weight;
      one_by_one += own;
      total += weight;
    }
    if (states > 8) continue;
    for (std::size_t i = 0; i < one_by_one.values().size(); ++i)
      ASSERT_NEAR(fused.counts.values()[i], one_by_one.values()[i], 1e-12 * total) << states << " states, number " << i;
  }
}

TEST_F(TreePlans, NoThreadAndNoKeptPlanChangesABit) {
  const HiddenTree model = bushy_tree(16);
  HiddenTreePasses kept = test::planned_passes(timings_, model.shape(), Executor(1));
  const HiddenTreeExpectation first = kept.expect(model, weights_, Executor(1));
  for (const int threads : {1, 2, 3, 7, 64}) {
    const Executor executor(threads);
    HiddenTreePasses anew(timings_);
    for (HiddenTreePasses* passes : {&kept, &anew}) {
      const HiddenTreeExpectation other = passes->expect(model, weights_, executor);
      EXPECT_EQ(other.log_probability, first.log_probability) << threads;
      EXPECT_TRUE(std::ranges::equal(other.counts.values(), first.counts.values())) << threads;
      EXPECT_EQ(passes->score(model, executor), first.log_probability) << threads;
    }
  }
}

TEST_F(TreePlans, RowsOfWeightZeroAndNoRowsAtAllCountNothing) {
  const HiddenTree model = bushy_tree(5);
  const std::vector<double> nothing(weights_.size(), 0.0);
  const HiddenTreeExpectation weightless = HiddenTreePasses(timings_).expect(model, nothing, Executor(2));
  for (const double value : weightless.counts.values())
    ASSERT_EQ(value, 0);
  const EvidenceBatch nobody = test::odd_students(0, shape, RandomStream(24));
  const RowPool none = pool_rows(nobody, std::vector<PeriodRange>{{0, 3}});
  const TimingRows timings(none.rows, shape, Retakes::learned);
  const HiddenTreeExpectation empty =
      test::planned_passes(timings, model.shape(), Executor(2)).expect(model, {}, Executor(2));
  EXPECT_EQ(empty.log_probability.size(), 0);
  for (const double value : empty.counts.values())
    ASSERT_EQ(value, 0);
}

TEST_F(TreePlans, AShapeWithoutBranchesAndOneWithNothingElseGiveWhatTheRowsGive) {
  std::vector<Id> chain, star(static_cast<std::size_t>(shape.courses), 0);
  for (Id c = 0; c < shape.courses; ++c)
    chain.push_back(c - 1);
  star[0] = -1;
  for (const auto& parents : {chain, star}) {
    const HiddenTree model = tree(6, parents);
    const Vector scores = test::planned_passes(timings_, model.shape(), Executor(2)).score(model, Executor(2));
    for (std::int64_t row = 0; row < pool_.rows.row_count(); row += 17) {
      const double alone = score_one_row(model, timings_, group_of_[static_cast<std::size_t>(row)], row);
      EXPECT_NEAR(scores[row], alone, 1e-12 * std::abs(alone));
    }
  }
}

TEST(RowLanes, SumsSideBySideFollowRowsAndMemoryAlone) {
  test::CohortMaker made(20, 1);
  for (int s = 0; s < 200'000; ++s) {
    made.add_student();
    for (Id c = 0; c < 18; ++c) {
      if (s >> c & 1) made.take(0, c);
    }
  }
  const RowPool pool = pool_rows(EvidenceBatch::of(made.build()), std::vector<PeriodRange>{{0, 1}});
  const RowLanes lanes(TimingRows(pool.rows, {1, 20}, Retakes::learned));
  ASSERT_GT(lanes.row_count(), 190'000);
  EXPECT_GT(lanes.lane_count(1000), 16) << "more threads than 16 find work";
  constexpr double most = 256.0 * 1024 * 1024;
  for (const std::int64_t numbers : {1, 1000, 1'000'000, 10'000'000, 100'000'000}) {
    const std::int64_t count = lanes.lane_count(numbers);
    EXPECT_GE(count, 2);
    EXPECT_TRUE(count == 2 || 8.0 * static_cast<double>(count * numbers) <= most) << numbers;
    const std::vector<std::size_t> begin = lanes.lanes(count);
    ASSERT_EQ(std::ssize(begin), count + 1);
    EXPECT_EQ(begin.front(), 0U);
    EXPECT_EQ(begin.back(), lanes.segments().size());
    EXPECT_TRUE(std::ranges::is_sorted(begin));
  }
  std::int64_t largest = 0, smallest = lanes.row_count();
  for (const PlannedRows& segment : lanes.segments()) {
    largest = std::max(largest, segment.rows.size());
    smallest = std::min(smallest, segment.rows.size());
  }
  EXPECT_LE(largest, 6144);
  EXPECT_GE(smallest, 1024);
}

}  // namespace
}  // namespace desirepath::tree_plan_test
