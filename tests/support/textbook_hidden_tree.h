// A hidden tree by the book: every course and trait of every row, every hidden value, nothing shared between rows.
#pragma once

#include "desirepath/core/random_stream.h"
#include "desirepath/emissions/hidden_tree_passes.h"
#include "desirepath/emissions/hidden_tree_start.h"
#include "desirepath/transcripts/evidence.h"

namespace desirepath::test {

/// Students with whole periods unknown, single bits unknown or known alone, one who took nothing, and a course
/// everybody takes at once.
EvidenceBatch odd_students(std::int64_t count, const StepShape& shape, RandomStream stream);

/// The tree that learning starts from, on rows that are all here.
HiddenTreeParameters started_tree(const StepRows& rows, const StepShape& shape, std::span<const double> weights,
                                  const HiddenTreeOptions& options, const RandomStream& stream,
                                  const Executor& executor);

/// Passes with a plan of their own.
HiddenTreePasses planned_passes(const TimingRows& timings, const DependencyTree& shape, const Executor& executor);

struct DenseTreePass {
  double log_probability = 0;
  RowMatrix posterior;      // nodes by z
  RowMatrix timing;         // nodes by v: p(y = v | known)
  HiddenTreeCounts counts;  // of this row, weight one
};

/// known: courses by periods, 0 not taken, 1 taken, 2 unknown. possible: of each trait, bit v where value v is.
DenseTreePass dense_tree_pass(const HiddenTreeParameters& tree, const Eigen::MatrixXi& known,
                              std::span<const TraitValues> possible = {});

/// The M step towards the tree's centres.
HiddenTreeParameters dense_tree_step(const HiddenTreeParameters& before, const HiddenTreeCounts& counts, double link,
                                     double timing, double retake);
/// What the priors add to the objective.
double dense_tree_log_prior(const HiddenTreeParameters& tree, double link, double timing, double retake);

}  // namespace desirepath::test
