#include "desirepath/emissions/hidden_tree_passes.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>

#include "desirepath/emissions/hidden_tree_row.h"
#include "desirepath/emissions/plan_pass.h"
#include "desirepath/emissions/single_state_tree.h"
#include "desirepath/emissions/tree_sums.h"

namespace desirepath::inline emissions {

namespace {

/// The rows of a segment that a pass could not do; they are counted where there are sums.
void do_lost_rows(const HiddenTree& tree, const TimingRows& timings, const PlannedRows& planned, const RowMatrix& own,
                  std::span<const double> weights, std::span<double> log_probability, TreeSums* sums) {
  const auto rows = rows_of(timings, planned);
  std::optional<BaselineMessages> baseline;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!std::isnan(log_probability[i])) continue;
    if (!baseline) baseline.emplace(tree, timings.groups()[static_cast<std::size_t>(planned.group)].baseline);
    std::vector<TreeChange> changes;
    for (const std::int32_t kind : timings.changes(rows[i]))
      changes.push_back({timings.kinds()[static_cast<std::size_t>(kind)], own.row(kind).data()});
    const HiddenTreeRow row(tree, *baseline, changes);
    log_probability[i] = row.log_probability();
    if (sums != nullptr) row.add_to(*sums, weights[i]);
  }
}

/// Scores of a segment to where its rows stand.
void put(std::span<const std::int64_t> rows, std::span<const double> found, Vector& all) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    all[rows[i]] = found[i];
}

}  // namespace

struct HiddenTreePasses::Work {
  PlanPass pass;
  PlanSegment made;  // where no plan is kept
  std::vector<double> weights, found;
};

/// Work that nobody is at: one for each thread that ever asked at the same time as others.
class HiddenTreePasses::WorkPool {
 public:
  std::unique_ptr<Work> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<Work>();
    std::unique_ptr<Work> work = std::move(idle_.back());
    idle_.pop_back();
    return work;
  }
  void give_back(std::unique_ptr<Work> work) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(work));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Work>> idle_;
};

HiddenTreePasses::HiddenTreePasses(const TimingRows& timings, std::shared_ptr<const TreePlan> plan)
    : timings_(timings), rows_(timings), plan_(std::move(plan)), pool_(std::make_unique<WorkPool>()) {}
HiddenTreePasses::~HiddenTreePasses() = default;

const PlanSegment& HiddenTreePasses::segment(std::size_t number, const HiddenTree& tree, PlanSegment& made) const {
  if (plan_) return plan_->segments[number];
  return made = plan_segment(tree.shape(), timings_, rows_.segments()[number]);
}

template <class Task>
void HiddenTreePasses::with_work(const Task& task) const {
  std::unique_ptr<Work> work = pool_->take();
  task(*work);
  pool_->give_back(std::move(work));
}

HiddenTreeExpectation HiddenTreePasses::expect(const HiddenTree& tree, std::span<const double> weights,
                                               const Executor& executor) {
  const RowMatrix own = likelihoods_of_kinds(tree, timings_, executor);
  if (tree.state_count() == 1)
    return {score_single_state(tree, timings_, rows_, own, executor),
            count_single_state(tree, timings_, rows_, own, weights, executor)};
  HiddenTreeExpectation result;
  result.log_probability.resize(rows_.row_count());
  const std::vector<std::size_t> begin = rows_.lanes(rows_.lane_count(TreeSums::size_for(tree)));
  sums_.resize(begin.size() - 1);
  executor.for_each(std::ssize(sums_), [&](std::int64_t number) {
    const auto lane = static_cast<std::size_t>(number);
    sums_[lane].begin(tree);
    with_work([&](Work& work) {
      work.pass.begin(tree, timings_, own);
      for (std::size_t i = begin[lane]; i < begin[lane + 1]; ++i) {
        const PlannedRows& planned = rows_.segments()[i];
        const auto rows = rows_of(timings_, planned);
        work.weights.clear();
        for (const std::int64_t row : rows)
          work.weights.push_back(weights[static_cast<std::size_t>(row)]);
        work.found.resize(rows.size());
        work.pass.count(segment(i, tree, work.made), work.weights, work.found, sums_[lane]);
        do_lost_rows(tree, timings_, planned, own, work.weights, work.found, &sums_[lane]);
        put(rows, work.found, result.log_probability);
      }
    });
  });
  std::vector<Vector*> side_by_side;
  for (TreeSums& lane : sums_)
    side_by_side.push_back(&lane.values());
  add_up(std::move(side_by_side), executor);
  result.counts = sums_.front().counts();
  return result;
}

Vector HiddenTreePasses::score(const HiddenTree& tree, const Executor& executor) const {
  const RowMatrix own = likelihoods_of_kinds(tree, timings_, executor);
  if (tree.state_count() == 1) return score_single_state(tree, timings_, rows_, own, executor);
  Vector scores(rows_.row_count());
  executor.for_each(std::ssize(rows_.segments()), [&](std::int64_t number) {
    with_work([&](Work& work) {
      work.pass.begin(tree, timings_, own);
      const auto i = static_cast<std::size_t>(number);
      const PlannedRows& planned = rows_.segments()[i];
      const auto rows = rows_of(timings_, planned);
      work.found.resize(rows.size());
      work.pass.score(segment(i, tree, work.made), work.found);
      do_lost_rows(tree, timings_, planned, own, {}, work.found, nullptr);
      put(rows, work.found, scores);
    });
  });
  return scores;
}

}  // namespace desirepath::inline emissions
