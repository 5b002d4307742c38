// Dense linear algebra of covariances: recursive, so that nearly all of it is matrix products.
#pragma once

#include "desirepath/core/types.h"

namespace desirepath::inline probability {

/// Replaces the lower triangle of a symmetric matrix by its Cholesky factor; the rest is left alone. False where the
/// matrix is not positive definite (and then its contents are lost).
bool factorise(Eigen::Ref<Matrix> matrix);

/// Replaces a lower triangular matrix by its inverse.
void invert_lower(Eigen::Ref<Matrix> lower);

/// Lower triangle of W'W for a lower triangular W: the inverse of a covariance from the inverse of its factor.
void gram_of_lower(const Eigen::Ref<const Matrix>& lower, Eigen::Ref<Matrix> gram);

/// log of the determinant of LL'.
double log_determinant(const Eigen::Ref<const Matrix>& factor);

}  // namespace desirepath::inline probability
