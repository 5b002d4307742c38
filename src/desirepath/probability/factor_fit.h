// A correlation matrix by few factors: R ~ Lambda Lambda' + diag(D), unit variances.
#pragma once

#include "desirepath/core/types.h"
#include "desirepath/probability/orthant.h"

namespace desirepath::inline probability {

struct FactorFit {
  FactorCovariance covariance;
  /// Root mean square of what the fit leaves of the correlations off the diagonal.
  double residual = 0;
  int sweeps = 0;
  bool converged = false;
};

/// Least squares on the correlations off the diagonal alone (minimum residuals), so the matrix need be neither positive
/// definite nor consistent: raw tetrachoric correlations will do. No course's factors explain more than
/// `most_explained` of its variance, so D stays at least 1 - most_explained. Throws InputError unless the matrix is
/// square, symmetric and finite and there are at most as many factors as courses.
FactorFit fit_factors(const Matrix& correlation, Index factor_count, double most_explained = 0.95);

}  // namespace desirepath::inline probability
