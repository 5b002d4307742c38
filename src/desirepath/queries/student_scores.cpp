#include "desirepath/queries/student_scores.h"

#include <algorithm>
#include <cmath>

namespace desirepath::inline queries {

StudentScores score_students(const Model& model, const EvidenceBatch& evidence, LikelihoodKind kind,
                             const Executor& executor, const std::vector<double>& weights, Precision precision) {
  return summarise_scores(model.log_likelihood(evidence, kind, executor, precision), kind, weights);
}

StudentScores summarise_scores(const Estimates& estimates, LikelihoodKind kind, const std::vector<double>& weights) {
  StudentScores score;
  score.kind = kind;
  const Index students = estimates.value.rows();
  const auto weight_of = [&](Index s) { return weights.empty() ? 1 : weights[static_cast<std::size_t>(s)]; };
  double count = 0, sum = 0, squares = 0, error = 0, students_counted = 0, largest = 0;
  for (Index s = 0; s < students; ++s) {
    const double value = estimates.value(s, 0), weight = weight_of(s);
    score.log_likelihood.push_back(value);
    if (!estimates.is_exact()) score.standard_error.push_back(estimates.standard_error(s, 0));
    if (!(weight > 0)) continue;
    if (!std::isfinite(value)) {
      ++score.impossible;
      continue;
    }
    count += weight;
    ++students_counted;
    largest = std::max(largest, weight);
    sum += weight * value;
    if (!estimates.is_exact()) error += weight * estimates.standard_error(s, 0);
  }
  if (!(count > 0)) return score;
  score.behind_mean = count / largest;
  score.mean_of_possible = sum / count;
  for (Index s = 0; s < students; ++s) {
    const double distance = estimates.value(s, 0) - score.mean_of_possible;
    const double weighed = weight_of(s) * distance;
    if (std::isfinite(weighed)) squares += weighed * weighed;
  }
  const double spread =
      students_counted > 1 ? squares / (count * count) * students_counted / (students_counted - 1) : 0;
  // Students are independent; errors of their estimates, a common bias or common draws, are not.
  score.standard_error_of_mean = std::hypot(std::sqrt(spread), error / count);
  return score;
}

}  // namespace desirepath::inline queries
