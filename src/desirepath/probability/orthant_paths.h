// Paths through an ordered region: each variable drawn inside its bound given those before, the weight of a path the
// product of the probabilities on the way (Genz; Geweke, Hajivassiliou and Keane). The mean weight is the probability.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "desirepath/compute/executor.h"
#include "desirepath/core/random_stream.h"
#include "desirepath/probability/ordered_region.h"

namespace desirepath::inline probability {

/// Paths are worked on this many at a time.
inline constexpr Index path_block = 64;

/// A region and the shifts of its proposal, laid out for the inner loops.
class PathPlan {
 public:
  /// shift: mu of the tilt, zero for plain separation of variables. The region must outlive this object.
  PathPlan(const OrderedRegion& region, const Vector& shift);

  Index size() const { return region_.size(); }
  const OrderedRegion& region() const { return region_; }

 private:
  friend class PathBlock;

  const OrderedRegion& region_;
  Vector shift_;
  Vector bound_;                // shift - c
  std::vector<double> packed_;  // full form: A by groups of rows, each group column by column
  std::vector<std::size_t> group_begin_;
};

/// Working memory for a block of paths.
class PathBlock {
 public:
  /// Fills one uniform coordinate in (0, 1) for each path of the block at a place.
  using Uniforms = std::function<void(Index place, std::span<double> coordinates)>;

  explicit PathBlock(const PathPlan& plan);

  /// Draws the variables from place `first` on; those before it must be set. The last variable is drawn only if asked
  /// for: its weight does not need it.
  void draw(Index first, bool draw_last, const Uniforms& uniforms);

  /// z of a place, one a path; paths of a block lie side by side.
  std::span<double> z(Index place) { return {z_.data() + place * path_block, static_cast<std::size_t>(path_block)}; }
  /// Logarithm of the weight gathered by the last draw.
  std::span<const double> log_weights() const { return log_weights_; }

 private:
  void gather_means(std::size_t group, Index before);
  void gather_factor_mean(Index place);
  void step(Index place, bool draw_variable, std::span<const double> uniforms);

  const PathPlan& plan_;
  std::vector<double> z_;      // places by paths
  std::vector<double> means_;  // of the places of a group, by paths
  std::vector<double> state_;  // factor form: factors by paths
  std::vector<double> uniforms_;
  std::vector<double> product_;  // of normal probabilities since the last logarithm
  std::vector<double> log_weights_;
};

/// log of the mean weight in each scramble.
std::vector<double> path_log_means(const PathPlan& plan, std::int64_t paths, int scrambles, const RandomStream& stream,
                                   const Executor& executor);

/// Paths with their weights, scramble after scramble.
struct WeightedPaths {
  Matrix z;  // places by paths
  Vector log_weights;
};
WeightedPaths weighted_paths(const PathPlan& plan, std::int64_t paths, int scrambles, const RandomStream& stream);

}  // namespace desirepath::inline probability
