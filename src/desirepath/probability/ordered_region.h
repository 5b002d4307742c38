// An orthant made ready for integration one variable after the other (separation of variables).
//
// With signs folded in, Y_j = s_j (xbar_j - mu_j) ~ N(0, S) and the region is Y_j > -s_j mu_j. In the chosen order
// Y = L z, L the Cholesky factor and z standard normal, so that given the variables before it variable k must have
// z_k > c_k - A_k z, with c the bounds over diag(L) and A = L / diag(L) without its diagonal.
#pragma once

#include <vector>

#include "desirepath/probability/orthant.h"

namespace desirepath::inline probability {

class OrderedRegion {
 public:
  /// Orders the variables so that the least probable, given the means of those before it, comes next (Gibson, Glasbey
  /// and Elston): worth 5 to 15 times in the standard error. Throws InputError if Sigma is not positive definite.
  static OrderedRegion least_probable_first(const OrthantProblem& problem);
  /// In the order given.
  static OrderedRegion in_order(const OrthantProblem& problem, const std::vector<Id>& order);

  Index size() const { return lower_.size(); }
  const std::vector<Id>& order() const { return order_; }  // the course at each place
  const Vector& lower() const { return lower_; }           // c
  const Vector& scale() const { return scale_; }           // diag(L)
  /// Mean of each z inside the region given those before it at their means: a point inside the region.
  const Vector& centre() const { return centre_; }

  /// Whether A is held by factors: A_kj = left_k . gain_j for j < k, both places by factors.
  bool has_factors() const { return has_factors_; }
  const RowMatrix& left() const { return left_; }
  const RowMatrix& gain() const { return gain_; }
  /// A itself, strictly lower triangular; empty where it is held by factors.
  const Matrix& weights() const { return weights_; }
  /// L in full, in either form.
  Matrix cholesky_factor() const;

  /// A x and A' y.
  Vector conditional_means(const Vector& x) const;
  Vector transposed_means(const Vector& y) const;
  /// (I + R ((I + A)(I + A)' - e e') R)^-1 v, R = diag(root) and e the last unit vector: the system that a Newton step
  /// of the tilt solves.
  Vector solve_newton(const Vector& root, const Vector& v) const;

 private:
  friend class RegionBuilder;

  std::vector<Id> order_;
  Vector lower_;
  Vector scale_;
  Vector centre_;
  bool has_factors_ = false;
  // Full form; scaled_covariance_ is (I + A)(I + A)'.
  Matrix weights_;
  Matrix scaled_covariance_;
  // Factor form: (I + A)(I + A)' = left core left' + diag(scaled_noise).
  RowMatrix left_;
  RowMatrix gain_;
  Matrix core_;
  Vector scaled_noise_;
};

}  // namespace desirepath::inline probability
