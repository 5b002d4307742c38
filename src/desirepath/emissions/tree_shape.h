// The best shape of trees from pair counts (sparse: a row costs its taken bits squared): Chow and Liu, weighted.
//
// Pairs are counted in slabs, some bits with all later ones at a time, so that sums stay small however many bits there
// are.
#pragma once

#include <vector>

#include "desirepath/emissions/learner.h"
#include "desirepath/emissions/tree.h"
#include "desirepath/probability/dependency_tree.h"

namespace desirepath::inline emissions {

/// Which bits are known in the same rows, and, where not all can be in a tree, how many rows take each.
RowSurvey survey_pairs(const StepRows& rows, Id most_bits);

class PairInformation;

/// Finds the best trees, one for all states or one for each, in rounds of counting.
class TreeSearch {
 public:
  /// survey: of survey_pairs(), over all rows.
  TreeSearch(const RowSurvey& survey, const TreeOptions& options);
  ~TreeSearch();

  Statistics count(const StepRows& rows, const RowMatrix& responsibilities, const Executor& executor) const;
  /// Takes the sums of a round over all rows; false where another one is to be counted.
  bool take(const Statistics& sums, const Executor& executor);
  const std::vector<DependencyTree>& trees() const { return trees_; }

 private:
  class PairWeights;
  Id bit_count() const { return static_cast<Id>(place_.size()); }
  /// The next states whose pairs fit the memory together.
  void begin_states();
  Statistics count_singles(const StepRows& rows, const RowMatrix& responsibilities, const Executor& executor) const;
  Statistics count_slab(const StepRows& rows, const RowMatrix& responsibilities, const Executor& executor) const;
  void inform(const RowMatrix& together, const Executor& executor);
  void grow_trees();
  /// Row of the slab's table where the pairs of a member with itself and the later ones begin.
  Index slab_row(std::int64_t member) const;

  TreeOptions options_;
  std::vector<Id> members_;                     // the bits that take part
  std::vector<Id> place_;                       // by bit: its number among them, or -1
  std::vector<Id> group_of_;                    // by bit: those with the same number are known in the same rows
  std::vector<Id> example_of_;                  // a bit of each group
  std::vector<RowMatrix> takers_;               // by group, bits by states: takers among the rows that know the group
  std::vector<Eigen::RowVectorXd> both_known_;  // weight of rows that know both groups, groups by groups
  Index first_state_ = 0, state_count_ = 0;     // of those at hand
  std::int64_t first_member_ = 0, end_member_ = 0;  // of the slab at hand
  std::unique_ptr<PairInformation> measure_;
  std::vector<PairWeights> information_;
  std::vector<DependencyTree> trees_;
};

}  // namespace desirepath::inline emissions
