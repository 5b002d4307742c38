// The passes over the rows of a plan: messages up, posteriors down. docs/models/hidden_tree.md.
#pragma once

#include <optional>
#include <span>

#include "desirepath/emissions/baseline_messages.h"
#include "desirepath/emissions/tree_plan.h"
#include "desirepath/emissions/tree_sums.h"

namespace desirepath::inline emissions {

/// l of every kind of knowledge: kinds by stride.
RowMatrix likelihoods_of_kinds(const HiddenTree& tree, const TimingRows& timings, const Executor& executor);

/// Takes one segment after the other; the memory it works in is kept.
class PlanPass {
 public:
  /// own: l of every kind. All of it must live while segments are taken.
  void begin(const HiddenTree& tree, const TimingRows& timings, const RowMatrix& own);

  /// log P of the segment's rows; NaN where the products of a row left the numbers there are.
  void score(const PlanSegment& segment, std::span<double> log_probability);
  /// The same, and adds the weighted posteriors of all rows but those to the sums. weights: one a row of the segment.
  void count(const PlanSegment& segment, std::span<const double> weights, std::span<double> log_probability,
             TreeSums& sums);

 private:
  void begin_segment(const PlanSegment& segment);
  template <int packs>
  void up(const PlanSegment& segment, std::size_t block);
  template <int packs>
  void down(const PlanSegment& segment, std::size_t block, TreeSums& sums);
  void run_up(const PlanSegment& segment, std::size_t block);
  void run_down(const PlanSegment& segment, std::size_t block, TreeSums& sums);
  /// Beliefs far from 1, which may be lost: log_scale is then NaN.
  void rescale(Id course, std::span<const std::int32_t> children, double* belief, double& log_scale);
  void read_rows(const PlanSegment& segment, std::size_t block, std::span<double> log_probability) const;
  void weigh_rows(const PlanSegment& segment, std::size_t block, std::span<const double> weights,
                  std::span<const double> log_probability);
  /// Adds the posterior of everything that rows leave unchanged: linear in what arrives from above, so done once for
  /// all rows of the segment.
  void add_unchanged(TreeSums& sums);

  double* row(RowMatrix& of, std::int32_t number) const { return of.data() + number * stride_; }

  const HiddenTree* tree_ = nullptr;
  const TimingRows* timings_ = nullptr;
  const RowMatrix* own_ = nullptr;
  Index stride_ = 0;
  std::optional<BaselineMessages> baseline_;
  std::int32_t baseline_group_ = -1;

  RowMatrix start_;     // kinds of the segment by states: l times what unchanged children say
  RowMatrix kind_sum_;  // kinds of the segment by states: posterior
  /// By slot: the product of all that is known from here down, then the posterior; the message over the baseline's,
  /// then what is multiplied into pairs; the posterior of the parent.
  RowMatrix belief_, ratio_, arriving_;
  Vector log_scale_;      // by slot: what beliefs from here down were divided by; NaN: lost
  Vector root_log_;       // by slot of a root: log P
  RowMatrix above_;       // by rank: posterior of the parent, over rows that change the course
  RowMatrix here_;        // by rank: posterior of the course, over rows that change it
  double untouched_ = 0;  // weight of rows that change nothing
};

}  // namespace desirepath::inline emissions
