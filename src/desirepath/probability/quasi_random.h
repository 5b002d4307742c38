// Randomised quasi-random points: evenly spread, yet each uniform, so that a few independent scrambles give an unbiased
// mean and its standard error.
//
// Up to 3,667 dimensions Sobol's sequence (direction numbers of Joe and Kuo) under a random linear matrix scramble and
// a digital shift; beyond, Richtmyer's lattice (square roots of primes) with a random shift, folded by the tent map.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "desirepath/core/random_stream.h"
#include "desirepath/core/types.h"

namespace desirepath::inline probability {

/// One scramble of a point set. Points are best taken 2^k at a time from the first on.
class QuasiRandomPoints {
 public:
  /// The stream decides the scramble; point_count (at most 2^32) bounds the points that may be asked for.
  QuasiRandomPoints(Index dimension_count, std::int64_t point_count, const RandomStream& stream);

  Index dimension_count() const { return static_cast<Index>(shift_.size()); }
  std::int64_t point_count() const { return point_count_; }

  /// Coordinates of the points first, first + 1, ... in one dimension, strictly inside (0, 1).
  void uniform(Index dimension, std::int64_t first, std::span<double> coordinates) const;
  /// The same points as standard normal coordinates.
  void normal(Index dimension, std::int64_t first, std::span<double> coordinates) const;

 private:
  std::int64_t point_count_;
  int column_count_ = 0;                // bits of a point's number; 0 for the lattice
  std::vector<std::uint64_t> columns_;  // dimensions by columns: scrambled direction numbers, first digit highest
  std::vector<std::uint64_t> steps_;    // lattice: the step of each dimension, as a fraction of 2^64
  std::vector<std::uint64_t> shift_;
};

}  // namespace desirepath::inline probability
