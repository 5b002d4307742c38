#include "desirepath/evaluation/held_out.h"

#include <cmath>

namespace desirepath::inline evaluation {

HeldOutScore score_students(const Model& model, const EvidenceBatch& evidence, LikelihoodKind kind,
                            const Compute& compute) {
  const Estimates estimates = model.log_likelihood(evidence, kind, compute);
  HeldOutScore score;
  score.kind = kind;
  const Index students = estimates.value.rows();
  double sum = 0, squares = 0, error = 0;
  for (Index s = 0; s < students; ++s) {
    const double value = estimates.value(s, 0);
    score.log_likelihood.push_back(value);
    if (!estimates.is_exact()) score.standard_error.push_back(estimates.standard_error(s, 0));
    if (!std::isfinite(value)) {
      ++score.impossible;
      continue;
    }
    sum += value;
    if (!estimates.is_exact()) error += estimates.standard_error(s, 0) * estimates.standard_error(s, 0);
  }
  const auto count = static_cast<double>(students - score.impossible);
  if (count < 1) return score;
  score.mean = sum / count;
  for (const double value : score.log_likelihood) {
    if (std::isfinite(value)) squares += (value - score.mean) * (value - score.mean);
  }
  const double spread = count > 1 ? squares / (count - 1) / count : 0;
  score.standard_error_of_mean = std::sqrt(spread + error / (count * count));
  return score;
}

}  // namespace desirepath::inline evaluation
