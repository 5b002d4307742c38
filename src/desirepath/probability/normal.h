// The standard normal distribution in log space, one value or arrays of them, to full double precision on the whole
// line: log Phi is the innermost operation of every thresholded Gaussian (the paper's section 2.1.2).
#pragma once

#include <span>

namespace desirepath::inline probability {

/// Phi(t).
double normal_cdf(double t);
/// log Phi(t); -inf at -inf, relative error below 1e-14 everywhere.
double log_normal_cdf(double t);
/// phi(t)/Phi(t), the derivative of log Phi.
double inverse_mills_ratio(double t);
/// The t with Phi(t) = p for 0 <= p <= 1; -inf and +inf at the ends.
double normal_quantile(double p);
/// The t with log Phi(t) = log_p, however deep in the tail; log_p <= 0.
double normal_quantile_of_log(double log_p);

// The same for arrays of equal length; in and out may be the same array.
void log_normal_cdf(std::span<const double> t, std::span<double> log_cdf);
void inverse_mills_ratio(std::span<const double> t, std::span<double> ratio);
void log_normal_cdf_and_mills(std::span<const double> t, std::span<double> log_cdf, std::span<double> ratio);
void normal_quantile(std::span<const double> p, std::span<double> t);

}  // namespace desirepath::inline probability
