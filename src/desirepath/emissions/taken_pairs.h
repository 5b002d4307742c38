// Sums over the pairs of bits that rows take: with them a Gaussian step costs enrollments squared a row, not courses
// squared (b'Pb and sum of bb' have a term for each pair of taken bits and no other).
//
// A lane is a state, or all states together. Values of all lanes of a pair lie side by side.
#pragma once

#include <vector>

#include "desirepath/compute/executor.h"
#include "desirepath/emissions/step_rows.h"

namespace desirepath::inline emissions {

/// A value for every pair of bits i < j and lane.
class PairTable {
 public:
  PairTable(Id bits, Index lanes);
  Id bit_count() const { return bits_; }
  Index lane_count() const { return lanes_; }
  /// Sets the pairs (bit, bit+1), (bit, bit+2), ... of a lane from consecutive values.
  void set(Id bit, Index lane, const double* values);
  /// sums(row - rows_first, lane) += value of every pair of bits the row takes, for rows first .. last-1.
  void add_to(const StepRows& rows, Range range, Eigen::Ref<RowMatrix> sums) const;
  double byte_count() const;

 private:
  struct Group {  // lanes first .. first + count - 1, side by side in `width` places
    Index first, count, width;
    std::vector<double> values;
  };
  Index begin_of(Id bit) const { return static_cast<Index>(bit) * (2 * bits_ - bit - 1) / 2; }

  Id bits_;
  Index lanes_;
  std::vector<Group> groups_;
};

/// Lower triangles of sum over rows of weight(row, lane) bb', one matrix a lane; rows of the range only. Parallel over
/// bits, rows in order inside: no copies, no dependence on threads.
std::vector<Matrix> pair_moments(const StepRows& rows, Range range, const RowMatrix& weights, const Executor& executor);

}  // namespace desirepath::inline emissions
