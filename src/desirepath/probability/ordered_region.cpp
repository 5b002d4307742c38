#include "desirepath/probability/ordered_region.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <Eigen/Cholesky>
#include <Eigen/LU>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/probability/normal.h"

namespace desirepath::inline probability {

namespace {

constexpr Index panel_width = 64;
/// A variable whose variance given the others falls below this share of its own is determined by them.
constexpr double determined = 1e-12;

/// Sigma = U K U' + diag(D) with few columns in U.
struct LowRank {
  RowMatrix loadings;
  Matrix core;
  Vector noise;
};

std::optional<LowRank> low_rank_form(const OrthantProblem& problem) {
  const Index size = problem.course_count();
  if (const auto* equal = std::get_if<Equicorrelation>(&problem.covariance)) {
    return LowRank{RowMatrix::Ones(size, 1), Matrix::Constant(1, 1, equal->correlation),
                   Vector::Constant(size, 1 - equal->correlation)};
  }
  if (const auto* factors = std::get_if<FactorCovariance>(&problem.covariance)) {
    const Index count = factors->loadings.cols();
    // With more factors than this the full form is the cheaper one.
    if (4 * count > size) return std::nullopt;
    return LowRank{factors->loadings, Matrix::Identity(count, count), factors->noise};
  }
  return std::nullopt;
}

}  // namespace

/// Pivoted Cholesky factorisation of S in either form, the next variable chosen on the way.
class RegionBuilder {
 public:
  RegionBuilder(const OrthantProblem& problem, const std::vector<Id>* given_order);
  OrderedRegion build() &&;

 private:
  void build_full();
  void build_by_factors();
  /// Chooses the variable for place k and brings it there.
  void choose(Index k);
  void swap_full(Index k, Index p);
  /// Notes diag(L) at place k and moves the centre there.
  void settle(Index k);
  /// Lets the variables after k know of column k of L below its diagonal.
  template <class Column>
  void condition_on(Index k, const Column& column) {
    const Index rest = column.size();
    shift_.tail(rest) += region_.centre_[k] * column;
    variance_.tail(rest) -= column.cwiseAbs2();
  }

  const std::vector<Id>* given_order_;
  OrderedRegion region_;
  // One a place, permuted along.
  Vector bound_;         // -s mu
  Vector shift_;         // mean given the variables before
  Vector variance_;      // given the variables before
  Vector own_variance_;  // diag(S)
  Matrix covariance_;    // full form: lower triangle of what is left of S
  Matrix original_;      // S as given
  Matrix factor_;        // L
  LowRank low_rank_;
};

RegionBuilder::RegionBuilder(const OrthantProblem& problem, const std::vector<Id>* given_order)
    : given_order_(given_order) {
  const Index size = problem.course_count();
  Vector sign(size);
  for (Index j = 0; j < size; ++j)
    sign[j] = problem.taken[static_cast<std::size_t>(j)] != 0 ? 1 : -1;
  region_.order_.resize(static_cast<std::size_t>(size));
  std::iota(region_.order_.begin(), region_.order_.end(), Id{0});
  bound_ = -sign.cwiseProduct(problem.mean);
  shift_ = Vector::Zero(size);
  region_.scale_.resize(size);
  region_.centre_.resize(size);
  if (std::optional<LowRank> low_rank = low_rank_form(problem)) {
    region_.has_factors_ = true;
    low_rank_ = *std::move(low_rank);
    low_rank_.loadings = sign.asDiagonal() * low_rank_.loadings;
    variance_ =
        low_rank_.noise + (low_rank_.loadings * low_rank_.core).cwiseProduct(low_rank_.loadings).rowwise().sum();
  } else {
    covariance_ = dense_covariance(problem);
    covariance_ = sign.asDiagonal() * covariance_ * sign.asDiagonal();
    variance_ = covariance_.diagonal();
  }
  own_variance_ = variance_;
}

OrderedRegion RegionBuilder::build() && {
  if (region_.has_factors_) {
    build_by_factors();
  } else {
    build_full();
  }
  region_.lower_ = bound_.cwiseQuotient(region_.scale_);
  return std::move(region_);
}

void RegionBuilder::choose(Index k) {
  const Index size = bound_.size();
  Index chosen = k;
  if (given_order_ != nullptr) {
    const auto begin = region_.order_.begin();
    chosen = std::find(begin + k, region_.order_.end(), (*given_order_)[static_cast<std::size_t>(k)]) - begin;
  } else {
    // The least probable is the one whose standardised bound lies highest.
    double highest = -infinity;
    for (Index i = k; i < size; ++i) {
      const double height = (bound_[i] - shift_[i]) / std::sqrt(std::max(variance_[i], determined * own_variance_[i]));
      if (height > highest) {
        highest = height;
        chosen = i;
      }
    }
  }
  std::swap(region_.order_[static_cast<std::size_t>(k)], region_.order_[static_cast<std::size_t>(chosen)]);
  for (Vector* values : {&bound_, &shift_, &variance_, &own_variance_})
    std::swap((*values)[k], (*values)[chosen]);
  if (region_.has_factors_) {
    low_rank_.loadings.row(k).swap(low_rank_.loadings.row(chosen));
    std::swap(low_rank_.noise[k], low_rank_.noise[chosen]);
  } else {
    swap_full(k, chosen);
  }
}

void RegionBuilder::swap_full(Index k, Index p) {
  if (k == p) return;
  const Index size = bound_.size();
  factor_.row(k).head(k).swap(factor_.row(p).head(k));
  std::swap(covariance_(k, k), covariance_(p, p));
  for (Index j = k + 1; j < p; ++j)
    std::swap(covariance_(j, k), covariance_(p, j));
  covariance_.col(k).tail(size - p - 1).swap(covariance_.col(p).tail(size - p - 1));
}

void RegionBuilder::settle(Index k) {
  if (!(variance_[k] > determined * own_variance_[k])) {
    throw InputError(concat("the covariance is not positive definite: course ",
                            region_.order_[static_cast<std::size_t>(k)],
                            " is determined by the others (variance given them ", variance_[k], ")"));
  }
  region_.scale_[k] = std::sqrt(variance_[k]);
  const double height = (bound_[k] - shift_[k]) / region_.scale_[k];
  region_.centre_[k] = inverse_mills_ratio(-height);
}

void RegionBuilder::build_full() {
  const Index size = bound_.size();
  factor_ = Matrix::Zero(size, size);
  original_ = covariance_;
  for (Index begin = 0; begin < size; begin += panel_width) {
    const Index end = std::min(begin + panel_width, size);
    for (Index k = begin; k < end; ++k) {
      choose(k);
      settle(k);
      const Index rest = size - k - 1;
      factor_(k, k) = region_.scale_[k];
      auto column = factor_.col(k).tail(rest);
      column = covariance_.col(k).tail(rest);
      column.noalias() -=
          factor_.block(k + 1, begin, rest, k - begin) * factor_.row(k).segment(begin, k - begin).transpose();
      column /= region_.scale_[k];
      condition_on(k, column);
    }
    const Index rest = size - end;
    covariance_.bottomRightCorner(rest, rest)
        .selfadjointView<Eigen::Lower>()
        .rankUpdate(factor_.block(end, begin, rest, end - begin), -1);
  }
  covariance_.resize(0, 0);
  const Vector inverse_scale = region_.scale_.cwiseInverse();
  region_.scaled_covariance_.resize(size, size);
  for (Index j = 0; j < size; ++j) {
    const Id course = region_.order_[static_cast<std::size_t>(j)];
    for (Index i = j; i < size; ++i)
      region_.scaled_covariance_(i, j) =
          original_(region_.order_[static_cast<std::size_t>(i)], course) * inverse_scale[i] * inverse_scale[j];
  }
  region_.weights_ = std::move(factor_);
  region_.weights_.array().colwise() *= inverse_scale.array();
  region_.weights_.diagonal().setZero();
}

void RegionBuilder::build_by_factors() {
  const Index size = bound_.size();
  // Given the variables before, the rest is U K_k U' + D: conditioning changes the core alone.
  Matrix core = low_rank_.core;
  region_.core_ = low_rank_.core;
  region_.gain_.resize(size, core.rows());
  for (Index k = 0; k < size; ++k) {
    choose(k);
    settle(k);
    const Vector gain = core * low_rank_.loadings.row(k).transpose() / region_.scale_[k];
    region_.gain_.row(k) = gain.transpose();
    core -= gain * gain.transpose();
    const Vector column = low_rank_.loadings.bottomRows(size - k - 1) * gain;
    condition_on(k, column);
  }
  region_.left_ = region_.scale_.cwiseInverse().asDiagonal() * low_rank_.loadings;
  region_.scaled_noise_ = low_rank_.noise.cwiseQuotient(region_.scale_.cwiseAbs2());
}

OrderedRegion OrderedRegion::least_probable_first(const OrthantProblem& problem) {
  return RegionBuilder(problem, nullptr).build();
}

OrderedRegion OrderedRegion::in_order(const OrthantProblem& problem, const std::vector<Id>& order) {
  return RegionBuilder(problem, &order).build();
}

Matrix OrderedRegion::cholesky_factor() const {
  Matrix factor = weights_;
  if (has_factors_) {
    factor = left_ * gain_.transpose();
    factor.triangularView<Eigen::Upper>().setZero();
  }
  factor.diagonal().setOnes();
  return scale_.asDiagonal() * factor;
}

Vector OrderedRegion::conditional_means(const Vector& x) const {
  if (!has_factors_) return weights_.triangularView<Eigen::StrictlyLower>() * x;
  Vector means(size());
  Vector state = Vector::Zero(gain_.cols());
  for (Index k = 0; k < size(); ++k) {
    means[k] = left_.row(k).dot(state);
    state += x[k] * gain_.row(k).transpose();
  }
  return means;
}

Vector OrderedRegion::transposed_means(const Vector& y) const {
  if (!has_factors_) return weights_.transpose().triangularView<Eigen::StrictlyUpper>() * y;
  Vector means(size());
  Vector state = Vector::Zero(gain_.cols());
  for (Index k = size() - 1; k >= 0; --k) {
    means[k] = gain_.row(k).dot(state);
    state += y[k] * left_.row(k).transpose();
  }
  return means;
}

Vector OrderedRegion::solve_newton(const Vector& root, const Vector& v) const {
  const Index last = size() - 1;
  if (!has_factors_) {
    Matrix system =
        root.asDiagonal() * scaled_covariance_.triangularView<Eigen::Lower>().toDenseMatrix() * root.asDiagonal();
    system(last, last) -= root[last] * root[last];
    system.diagonal().array() += 1;
    return Eigen::LLT<Eigen::Ref<Matrix>>(system).solve(v);
  }
  // Woodbury's formula, in the form that allows a core of any sign.
  Vector diagonal = 1 + root.array().square() * scaled_noise_.array();
  diagonal[last] -= root[last] * root[last];
  const Matrix loadings = root.asDiagonal() * left_;
  const Matrix divided = diagonal.cwiseInverse().asDiagonal() * loadings;
  const Matrix small = Matrix::Identity(core_.rows(), core_.rows()) + core_ * (loadings.transpose() * divided);
  const Vector first = v.cwiseQuotient(diagonal);
  return first - divided * small.partialPivLu().solve(core_ * (loadings.transpose() * first));
}

}  // namespace desirepath::inline probability
