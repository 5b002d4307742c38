#include "desirepath/probability/gaussian.h"

#include <cmath>

#include <Eigen/Dense>

namespace desirepath::inline probability {

namespace {

constexpr Index leaf = 48;

/// About half, in whole cache lines.
Index half_of(Index size) {
  return (size / 2 + 7) / 8 * 8;
}

}  // namespace

bool factorise(Eigen::Ref<Matrix> matrix) {
  const Index size = matrix.rows();
  if (size <= leaf) {
    Matrix lower = matrix.triangularView<Eigen::Lower>();
    const Eigen::LLT<Eigen::Ref<Matrix>, Eigen::Lower> decomposition(lower);
    if (decomposition.info() != Eigen::Success) return false;
    matrix.triangularView<Eigen::Lower>() = lower;
    return true;
  }
  const Index top = half_of(size), rest = size - top;
  if (!factorise(matrix.topLeftCorner(top, top))) return false;
  matrix.topLeftCorner(top, top).triangularView<Eigen::Lower>().transpose().solveInPlace<Eigen::OnTheRight>(
      matrix.bottomLeftCorner(rest, top));
  matrix.bottomRightCorner(rest, rest)
      .selfadjointView<Eigen::Lower>()
      .rankUpdate(matrix.bottomLeftCorner(rest, top), -1);
  return factorise(matrix.bottomRightCorner(rest, rest));
}

void invert_lower(Eigen::Ref<Matrix> lower) {
  const Index size = lower.rows();
  if (size <= leaf) {
    Matrix inverse = Matrix::Identity(size, size);
    lower.triangularView<Eigen::Lower>().solveInPlace(inverse);
    lower.triangularView<Eigen::Lower>() = inverse;
    return;
  }
  const Index top = half_of(size), rest = size - top;
  invert_lower(lower.topLeftCorner(top, top));
  invert_lower(lower.bottomRightCorner(rest, rest));
  const Matrix product =
      lower.bottomLeftCorner(rest, top) * lower.topLeftCorner(top, top).triangularView<Eigen::Lower>();
  lower.bottomLeftCorner(rest, top).noalias() =
      -(lower.bottomRightCorner(rest, rest).triangularView<Eigen::Lower>() * product);
}

void gram_of_lower(const Eigen::Ref<const Matrix>& lower, Eigen::Ref<Matrix> gram) {
  const Index size = lower.rows();
  if (size <= leaf) {
    const Matrix clean = lower.triangularView<Eigen::Lower>();
    gram.triangularView<Eigen::Lower>() = clean.transpose() * clean;
    return;
  }
  const Index top = half_of(size), rest = size - top;
  gram_of_lower(lower.topLeftCorner(top, top), gram.topLeftCorner(top, top));
  gram.topLeftCorner(top, top).selfadjointView<Eigen::Lower>().rankUpdate(
      lower.bottomLeftCorner(rest, top).transpose());
  gram.bottomLeftCorner(rest, top).noalias() =
      lower.bottomRightCorner(rest, rest).triangularView<Eigen::Lower>().transpose() *
      lower.bottomLeftCorner(rest, top);
  gram_of_lower(lower.bottomRightCorner(rest, rest), gram.bottomRightCorner(rest, rest));
}

double log_determinant(const Eigen::Ref<const Matrix>& factor) {
  double sum = 0;
  for (Index i = 0; i < factor.rows(); ++i)
    sum += std::log(factor(i, i));
  return 2 * sum;
}

}  // namespace desirepath::inline probability
