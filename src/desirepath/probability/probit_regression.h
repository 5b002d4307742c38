// Probit regression on nodes that many regressions share: the M step of a thresholded factor model, where every course
// is a regression of its own on the factors (the EM of Bock and Aitkin in item response theory, 1981).
#pragma once

#include <span>

#include "desirepath/core/types.h"

namespace desirepath::inline probability {

/// The normal prior of a course's slopes.
struct SlopePrior {
  Vector mean;           // by factor
  double precision = 1;  // of each slope
};

/// How often a course was taken and not taken at each node: weights of students.
struct NodeTally {
  std::span<const double> taken, not_taken;
};

/// The objective of one course: sum_s [taken_s log Phi(eta_s) + not_taken_s log Phi(-eta_s)] - precision |slopes -
/// mean|^2 / 2 with eta_s = intercept + slopes . z_s, concave in (intercept, slopes).
/// Immutable; const members may be called from any thread.
class ProbitRegression {
 public:
  /// points: nodes by factors, a multiple of 8 nodes.
  explicit ProbitRegression(const Matrix& points);

  Index node_count() const { return design_.rows(); }
  Index coefficient_count() const { return design_.cols(); }  // the intercept comes first

  struct Derivatives {
    double value = 0;
    Vector gradient;
    Matrix curvature;  // minus the Hessian; all of it
  };
  Derivatives at(const Vector& coefficients, const NodeTally& tally, const SlopePrior& prior) const;

  /// Newton's method from the coefficients given, with steps halved until none lowers the objective, at most `steps` of
  /// them; stops where a step promises less than `tolerance`. Returns the objective reached.
  double climb(const NodeTally& tally, const SlopePrior& prior, Vector& coefficients, int steps,
               double tolerance) const;

 private:
  Matrix design_;  // nodes by (1, factors)
};

/// The a with which sum_s weight_s Phi(a + offset_s) = share, for weights that sum to one and 0 < share < 1; a multiple
/// of 8 nodes.
double intercept_of_share(std::span<const double> offsets, std::span<const double> weights, double share);

}  // namespace desirepath::inline probability
