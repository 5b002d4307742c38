// Two correlated thresholds: the bivariate normal distribution function and its inverse in the correlation.
#pragma once

namespace desirepath::inline probability {

/// P(X <= h, Y <= k) for standard normals of the given correlation in [-1, 1]; error below 1e-14.
double bivariate_normal_cdf(double h, double k, double correlation);

/// Density of the same pair at (h, k), |correlation| < 1: the derivative of the function above in the correlation.
double bivariate_normal_density(double h, double k, double correlation);

/// The tetrachoric correlation: the one with which P(X <= h, Y <= k) = both. With h = Phi^-1(p_i), k = Phi^-1(p_j) and
/// the share of students who took both courses it is the latent correlation of the two. -1 or +1 where `both` lies at
/// or beyond the limits that the shares allow.
double tetrachoric_correlation(double h, double k, double both);

}  // namespace desirepath::inline probability
