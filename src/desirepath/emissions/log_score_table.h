// Sums of log-probabilities that differ from a base in few places, exact even where probabilities are zero.
//
// log 0 cannot be subtracted again, so it is counted beside the finite part: score = finite part, or -inf while the
// count is above zero.
#pragma once

#include <cmath>

#include "desirepath/core/types.h"

namespace desirepath::inline emissions {

/// A log-probability as a finite part and a count of zeros.
struct LogScore {
  double finite = 0;
  double zeros = 0;
  static LogScore of(double probability) {
    return probability > 0 ? LogScore{std::log(probability), 0} : LogScore{0, 1};
  }
  LogScore operator+(const LogScore& other) const { return {finite + other.finite, zeros + other.zeros}; }
  LogScore operator-(const LogScore& other) const { return {finite - other.finite, zeros - other.zeros}; }
  LogScore& operator+=(const LogScore& other) { return *this = *this + other; }
  double value() const { return zeros > 0.5 ? -infinity : finite; }
};

/// Scores by entry (bit) and state.
struct LogScoreTable {
  RowMatrix finite;
  RowMatrix zeros;  // empty where there are none
  bool has_zeros() const { return zeros.size() > 0; }

  void resize(Index entries, Index states) {
    finite.setZero(entries, states);
    zeros.setZero(entries, states);
  }
  void set(Index entry, Index state, const LogScore& score) {
    finite(entry, state) = score.finite;
    zeros(entry, state) = score.zeros;
  }
  LogScore get(Index entry, Index state) const { return {finite(entry, state), has_zeros() ? zeros(entry, state) : 0}; }
  /// Frees the counts when all are nought.
  void drop_empty_counts() {
    if ((zeros.array() == 0).all()) zeros.resize(0, 0);
  }
};

}  // namespace desirepath::inline emissions
