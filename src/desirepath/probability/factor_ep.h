// Expectation propagation for a thresholded Gaussian with few factors: a Gaussian approximation of the factors given a
// student's courses, its log-probability and the gradient, without sampling.
//
// Each known course is replaced by a Gaussian site exp(nu f - tau f^2/2) in f_j = b_j . z; at the fixed point every
// site gives, with the others around it, the mean and variance that the true factor Phi(s_j (a_j + f_j)) gives. What
// their third and fourth cumulants add is a correction (Opper, Paquet and Winther, 2013) that leaves a tenth of the
// error.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "desirepath/probability/thresholded_factors.h"

namespace desirepath::inline probability {

/// The factors z given what is known of a student, as a Gaussian.
struct FactorPosterior {
  /// log P of the courses known, off by 0.0003 to 0.1 nats.
  double log_probability = 0;
  Vector mean;
  /// Lower triangular L with precision L L'.
  Matrix precision_factor;
  int passes = 0;  // over the courses
  bool converged = false;

  Matrix covariance() const;
};

/// Solves one student after another under the same factors. Holds the working memory, so each thread needs its own;
/// results depend on the student alone.
class FactorEp {
 public:
  /// The factors must outlive this object. The tolerance is on the change of the posterior in a pass, in its own
  /// standard deviations; the log-probability is then good to about its square.
  explicit FactorEp(const ThresholdedFactors& factors, double tolerance = 1e-6);
  ~FactorEp();

  /// The signs must be valid (check_signs).
  const FactorPosterior& solve(const KnownSigns& signs);

  /// What to add to the log-probability last solved for an error of 0.0001 to 0.01 nats; the cost of a pass or two
  /// while there are few factors.
  double correction() const;

 private:
  struct Moments;  // of the sites: what they sum to

  void set_signs(const KnownSigns& signs);
  Moments sum_of_sites() const;
  void match_in_turn(std::span<const Id> courses);
  bool parallel_passes(int limit);
  void sequential_passes(int limit);
  template <int factor_count>
  void match_sites(double damping, Moments& sums);
  template <int factor_count>
  double sum_of_site_evidence() const;
  template <int factor_count>
  double correction_by_tensors() const;
  double correction_by_pairs() const;
  double distance_to(const Moments& sums) const;
  void set_posterior(const Moments& sums);

  const ThresholdedFactors& factors_;
  double tolerance_;
  // One entry a (padded) course: sign (+1 taken, -1 not taken, 0 unknown) and site.
  Vector sign_;
  Vector site_precision_;  // tau
  Vector site_shift_;      // nu
  // Sites of the student who took nothing: where every student starts.
  Vector start_precision_;
  Vector start_shift_;
  std::unique_ptr<Moments> start_;
  std::vector<Id> changed_;  // courses whose sign is not -1
  Vector shift_;             // precision * mean
  FactorPosterior posterior_;
};

}  // namespace desirepath::inline probability
