// A thresholded Gaussian whose covariance has few factors, and what is known of one student under it.
//
// xbar = mu + Lambda z + sqrt(D) noise, z ~ N(0, I), x_j = 1 iff xbar_j > 0. Given z the courses are independent:
// P(x_j = 1 | z) = Phi(a_j + b_j . z) with a_j = mu_j / sqrt(D_j), b_j = Lambda_j / sqrt(D_j), so the probability of an
// enrollment vector is an integral over the few factors however many the courses.
#pragma once

#include <span>
#include <vector>

#include "desirepath/core/types.h"

namespace desirepath::inline probability {

class ThresholdedFactors {
 public:
  /// thresholds: a, one a course; slopes: b, courses by factors. Throws InputError where one is beyond 1e8 or no
  /// number.
  ThresholdedFactors(Vector thresholds, RowMatrix slopes);
  /// From mu, Lambda (courses by factors) and the variances D, which must be positive.
  static ThresholdedFactors from_loadings(const Vector& mean, const RowMatrix& loadings, const Vector& noise);

  Index course_count() const { return thresholds_.size(); }
  Index factor_count() const { return slopes_.cols(); }
  const Vector& thresholds() const { return thresholds_; }
  const RowMatrix& slopes() const { return slopes_; }

  /// The same a column at a time and filled with zeros to padded_count() courses, for loops over packs of courses.
  Index padded_count() const { return padded_thresholds_.size(); }
  const double* padded_thresholds() const { return padded_thresholds_.data(); }
  const double* padded_slopes(Index factor) const { return padded_slopes_.col(factor).data(); }

 private:
  Vector thresholds_;
  RowMatrix slopes_;
  Vector padded_thresholds_;
  Matrix padded_slopes_;
};

/// What is known of one student: the courses taken; those unknown, which are left out; all others are not taken.
struct KnownSigns {
  std::span<const Id> taken;
  std::span<const Id> unknown = {};
};

/// Throws InputError unless both lists are in range, without repeats and without a course in common.
void check_signs(const KnownSigns& signs, Index course_count);

}  // namespace desirepath::inline probability
