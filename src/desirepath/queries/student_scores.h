// How well a model expects students: log-likelihood and typicality of each, mean and its standard error.
#pragma once

#include <vector>

#include "desirepath/queries/query.h"

namespace desirepath::inline queries {

struct StudentScores {
  std::vector<double> log_likelihood;  // one a student; -inf = impossible under the model
  std::vector<double> standard_error;  // of each, where it is estimated; empty = exact
  double mean_of_possible = 0;         // over students that are not impossible
  double standard_error_of_mean = 0;   // of that mean: spread of students and error of estimates together
  std::int64_t impossible = 0;
  double behind_mean = 0;  // students the mean rests on (students_behind)
  /// Over all students: -inf as soon as one is impossible.
  double mean() const { return impossible > 0 ? -infinity : mean_of_possible; }
  LikelihoodKind kind = LikelihoodKind::mass;
};

/// Weights count in the mean; its standard error is that of so many students, however much they weigh. No weights: all
/// count once.
StudentScores score_students(const Model& model, const EvidenceBatch& evidence, LikelihoodKind kind,
                             const Executor& executor, const std::vector<double>& weights = {},
                             Precision precision = Precision::quick);
/// Means and errors from what is known of each student.
StudentScores summarise_scores(const Estimates& estimates, LikelihoodKind kind,
                               const std::vector<double>& weights = {});

}  // namespace desirepath::inline queries
