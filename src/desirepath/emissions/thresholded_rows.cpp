#include "desirepath/emissions/thresholded_rows.h"

#include <algorithm>
#include <cmath>

#include "desirepath/probability/factor_ep.h"
#include "desirepath/probability/normal.h"

namespace desirepath::inline emissions {

RowMatrix scores_by_ep(std::span<const ThresholdedFactors> states, const StepRows& rows, const Executor& executor) {
  RowMatrix scores(rows.row_count(), std::ssize(states));
  executor.for_blocks(rows.row_count(), 128, [&](Range range) {
    for (std::size_t k = 0; k < states.size(); ++k) {
      FactorEp ep(states[k], score_tolerance);
      for (std::int64_t row = range.first; row < range.last; ++row) {
        const double plain = ep.solve(signs_of(rows, row)).log_probability;
        scores(row, static_cast<Index>(k)) = std::min(0.0, plain + ep.correction());
      }
    }
  });
  return scores;
}

void complete_at_sample(const ThresholdedFactors& factors, const FactorSample& sample, std::span<const Id> taken,
                        const UnknownBits& unknown, RandomStream& stream, std::vector<Id>& result) {
  std::vector<double> weights;
  for (const double log_weight : sample.log_weights)
    weights.push_back(std::exp(log_weight));
  const auto drawn = static_cast<Index>(stream.categorical(weights));
  result.assign(taken.begin(), taken.end());
  for (const Id bit : unknown.bits) {
    const double eta = factors.thresholds()[bit] + factors.slopes().row(bit).dot(sample.points.row(drawn));
    if (stream.bernoulli(normal_cdf(eta))) result.push_back(bit);
  }
  std::ranges::sort(result);
}

}  // namespace desirepath::inline emissions
