#include "desirepath/emissions/probit_gaussian.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "desirepath/core/error.h"
#include "desirepath/emissions/thresholded_rows.h"
#include "desirepath/probability/factor_ep.h"
#include "desirepath/probability/normal.h"

namespace desirepath::inline emissions {

namespace {

/// On the posterior in its own deviations.
constexpr double answer_tolerance = 1e-6;
/// Points a completion is drawn from: of these, by their weights, one.
constexpr FactorSamplerOptions draw_options = {.points = 64, .scrambles = 2};

}  // namespace

ProbitGaussianEmission::ProbitGaussianEmission(RowMatrix intercepts, RowMatrix slopes)
    : ProbitParameters(std::move(intercepts), std::move(slopes)) {
  const Index bits = this->intercepts().rows();
  if (bits == 0 || this->intercepts().cols() == 0 || this->slopes().rows() != this->intercepts().size())
    throw ArchiveError("probit: intercepts and slopes do not fit each other");
  try {
    for (Index k = 0; k < this->intercepts().cols(); ++k)
      states_.emplace_back(this->intercepts().col(k), this->slopes().middleRows(k * bits, bits));
  } catch (const InputError& error) {
    throw ArchiveError(error.what());
  }
}

RowScores ProbitGaussianEmission::score(const StepRows& rows, LikelihoodKind, Precision,
                                        const Executor& executor) const {
  return {scores_by_ep(states_, rows, executor), {}};
}

namespace {

class ProbitGaussianGiven : public GivenPattern {
 public:
  ProbitGaussianGiven(const std::vector<ThresholdedFactors>& states, const UnknownBits& unknown)
      : states_(states), unknown_(unknown) {}

  void marginals(std::span<const Id> taken, std::span<const Id> asked, Eigen::Ref<RowMatrix> out) const override {
    for (std::size_t k = 0; k < states_.size(); ++k) {
      FactorEp ep(states_[k], answer_tolerance);
      const FactorPosterior& posterior = ep.solve({taken, unknown_.bits});
      const Matrix covariance = posterior.covariance();
      for (std::size_t i = 0; i < asked.size(); ++i) {
        double& answer = out(static_cast<Index>(k), static_cast<Index>(i));
        if (!unknown_.contains(asked[i])) {
          answer = std::ranges::binary_search(taken, asked[i]) ? 1 : 0;
          continue;
        }
        const Vector slope = states_[k].slopes().row(asked[i]).transpose();
        answer = normal_cdf((states_[k].thresholds()[asked[i]] + slope.dot(posterior.mean)) /
                            std::sqrt(1 + slope.dot(covariance * slope)));
      }
    }
  }

  void complete(std::span<const Id> taken, Id state, RandomStream& stream, std::vector<Id>& result) const override {
    const ThresholdedFactors& factors = states_[static_cast<std::size_t>(state)];
    FactorEp ep(factors, score_tolerance);
    const KnownSigns signs{taken, unknown_.bits};
    const FactorSample sample =
        FactorSampler(factors, draw_options, stream.child("factors")).sample(signs, ep.solve(signs));
    complete_at_sample(factors, sample, taken, unknown_, stream, result);
  }

 private:
  const std::vector<ThresholdedFactors>& states_;
  const UnknownBits& unknown_;
};

}  // namespace

std::unique_ptr<GivenPattern> ProbitGaussianEmission::given(const UnknownBits& unknown) const {
  return std::make_unique<ProbitGaussianGiven>(states_, unknown);
}

RowMatrix ProbitGaussianEmission::bit_probabilities() const {
  RowMatrix result(bit_count(), state_count());
  for (Index k = 0; k < state_count(); ++k) {
    for (Index j = 0; j < bit_count(); ++j)
      result(j, k) =
          normal_cdf(this->intercepts()(j, k) / std::sqrt(1 + this->slopes().row(k * bit_count() + j).squaredNorm()));
  }
  return result;
}

std::unique_ptr<Emission> ProbitGaussianEmission::reordered(std::span<const Id> order) const {
  const Index bits = bit_count(), states = static_cast<Index>(order.size());
  RowMatrix intercepts(bits, states), slopes(bits * states, this->slopes().cols());
  for (Index k = 0; k < states; ++k) {
    const Index old = order[static_cast<std::size_t>(k)];
    intercepts.col(k) = this->intercepts().col(old);
    slopes.middleRows(k * bits, bits) = this->slopes().middleRows(old * bits, bits);
  }
  return std::make_unique<ProbitGaussianEmission>(std::move(intercepts), std::move(slopes));
}

}  // namespace desirepath::inline emissions
