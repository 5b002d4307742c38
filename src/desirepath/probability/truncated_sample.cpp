#include "desirepath/probability/truncated_sample.h"

#include <cmath>

#include "desirepath/core/error.h"
#include "desirepath/probability/orthant_paths.h"
#include "desirepath/probability/orthant_tilt.h"

namespace desirepath::inline probability {

TruncatedSample truncated_sample(const OrthantProblem& problem, std::int64_t samples, int scrambles,
                                 const RandomStream& stream) {
  problem.validate();
  const OrderedRegion region = OrderedRegion::least_probable_first(problem);
  const OrthantTilt tilt = solve_tilt(region);
  const WeightedPaths paths = weighted_paths(PathPlan(region, tilt.shift), samples, scrambles, stream);
  TruncatedSample sample{Matrix(region.size(), paths.z.cols()), paths.log_weights, scrambles};
  // No weight is above the bound.
  sample.weights = (paths.log_weights.array() - paths.log_weights.maxCoeff()).exp();
  const double total = sample.weights.sum();
  if (!(total > 0)) throw NumericalError("orthant: every path has weight zero");
  sample.weights /= total;
  // From z in the order of integration back to xbar - mu: s_j (L z) at the place of course j.
  const Matrix ordered = region.cholesky_factor().triangularView<Eigen::Lower>() * paths.z;
  for (Index i = 0; i < region.size(); ++i) {
    const Id course = region.order()[static_cast<std::size_t>(i)];
    sample.latent.row(course) = (problem.taken[static_cast<std::size_t>(course)] != 0 ? 1.0 : -1.0) * ordered.row(i);
  }
  return sample;
}

SampleMean mean_of(const TruncatedSample& sample, const Eigen::Ref<const Eigen::RowVectorXd>& values) {
  SampleMean result;
  result.value = values.dot(sample.weights);
  const Index each = sample.draws_a_scramble();
  double squares = 0;
  for (int scramble = 0; scramble < sample.scrambles; ++scramble) {
    const auto weights = sample.weights.segment(scramble * each, each).array();
    const double off = (weights * (values.segment(scramble * each, each).transpose().array() - result.value)).sum();
    squares += off * off;
  }
  const double count = sample.scrambles;
  result.standard_error = std::sqrt(squares * count / (count - 1));
  return result;
}

}  // namespace desirepath::inline probability
