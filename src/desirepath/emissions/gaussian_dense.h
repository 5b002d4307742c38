// Gaussian steps with whole covariance matrices: densities from taken pairs, conditioning by Schur complements.
#pragma once

#include "desirepath/emissions/gaussian.h"
#include "desirepath/emissions/taken_pairs.h"

namespace desirepath::inline emissions {

/// With P the precision and c = P(1 + mu): (x-mu)'P(x-mu) = 4 b'Pb - 4 b'c + (1+mu)'c, so a row's log-density is a
/// base, a term for each bit it takes and one for each pair of them. Bits outside the known ones have no terms.
class DenseForm {
 public:
  /// precisions: lower triangles, one a state or one for all, zero outside the known bits.
  DenseForm(const std::vector<Matrix>& precisions, const Vector& log_determinants, const RowMatrix& mean,
            Index known_count, const Executor& executor);
  /// Rows of the range, into out's rows of the same numbers.
  void score(const StepRows& rows, Range range, RowMatrix& out, const Executor& executor) const;
  /// bits by covariances.
  const Matrix& precision_diagonal() const { return precision_diagonal_; }
  const Vector& log_determinants() const { return log_determinants_; }

 private:
  Eigen::RowVectorXd base_;
  RowMatrix single_;  // bits by states
  PairTable pairs_;
  Matrix precision_diagonal_;
  Vector log_determinants_;
};

/// The bits that are not unknown, ascending.
std::vector<Id> known_bits(const UnknownBits& unknown, Id bits);

/// Replaces a covariance by its lower factor. Given much, little may remain: rounding must not make it negative.
void factorise_surely(Matrix& covariance);

/// One state's step split in two by what is known: unknown given known is linear.
struct DenseConditional {
  std::vector<Id> known, unknown;
  Matrix gain;        // unknown by known: S_uo S_oo^-1
  Matrix covariance;  // of the unknown given the known
};
DenseConditional condition(const Matrix& covariance, const UnknownBits& unknown);

/// From lower factors: whole covariances, and lower triangles of precisions.
Matrix covariance_of(const Matrix& cholesky);
std::vector<Matrix> covariances_of(const std::vector<Matrix>& cholesky, const Executor& executor);
std::vector<Matrix> precisions_of(const std::vector<Matrix>& cholesky, const Executor& executor);

RowMatrix dense_scores(const GaussianEmission& emission, const StepRows& rows, const Executor& executor);
std::unique_ptr<GivenPattern> dense_given(const GaussianEmission& emission, const UnknownBits& unknown);

}  // namespace desirepath::inline emissions
