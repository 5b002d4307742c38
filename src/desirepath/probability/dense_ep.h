// Expectation propagation under one thresholded Gaussian with a whole covariance, student after student.
//
// A course is a site as in gaussian_ep.h. All students start from the one who took nothing, whose covariance V0 is made
// once. Courses taken get their sites in turn; then passes match all sites at once, but only those whose precision
// moves enough to matter (the active ones, A) change the covariance, by as many ranks:
//     V = V0 - V0_A Y,   Y = (I + D V0_AA)^-1 D V0_A',   D the changes of the precisions.
// log Z is stationary in the sites, and what the others leave unmatched enters, to second order, the same sum over
// pairs that is the correction (Opper, Paquet and Winther, 2013): terms 1 and 2 of its series, which vanish where all
// sites match, beside 3 and 4. A student costs courses^2 |A| instead of several times courses^3.
#pragma once

#include "desirepath/core/types.h"
#include "desirepath/probability/thresholded_factors.h"

namespace desirepath::inline probability {

class DenseEp {
 public:
  /// mu and Sigma. Throws InputError if Sigma is not positive definite.
  DenseEp(Vector mean, Matrix covariance);

  struct Estimate {
    double log_probability = 0;
    double error = 0;  // what it may be off by: a bias, which does not average out over students
  };
  /// log P of the courses known. Each unknown one is a change of rank one: many are better left out of mu and Sigma.
  Estimate solve(const KnownSigns& signs) const;
  /// The same by the sites of the courses taken (and unknown) alone, some thirty times faster: mostly too low, by 0.01
  /// to 1 nats, by more where most courses hang together.
  double rough(const KnownSigns& signs) const;

 private:
  struct Student;
  Student with_signs(const KnownSigns& signs) const;
  double update(Student& student, const Vector& shifted) const;
  bool settle(Student& student, double tolerance) const;
  double log_evidence(const Student& student) const;
  double pair_terms(const Student& student) const;

  Vector offset_;      // mu
  Matrix prior_;       // Sigma
  Matrix covariance_;  // V0; the prior's until the student who took nothing is solved
  Vector mean_;        // of xbar - mu
  Vector precision_, shift_;
  double log_determinant_ = 0;  // of I + Sigma diag(precision)
};

}  // namespace desirepath::inline probability
