// A model to hand out: nothing in it rests on few students (docs/models/publication.md).
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "desirepath/models/training_record.h"

namespace desirepath::inline models {

struct Publication {
  Id states_before = 0, states = 0;
  Id courses_dropped = 0;
  std::int64_t values = 0, values_pooled = 0;  // of the hidden variables of trees, one a course
  /// Of the same students, total, by the model's first kind of likelihood.
  LikelihoodKind kind = LikelihoodKind::mass;
  double log_likelihood_before = 0, log_likelihood = 0;
  double likelihood_error = 0;  // by chance, of the latter
  std::int64_t students = 0;
  double least = Disclosure::usual;  // students that anything rests on

  nlohmann::ordered_json to_json() const;
  /// One sentence.
  std::string text() const;
};

/// The bound of a model that is trained on the cohort.
double least_published(const Cohort& cohort);
/// What each student counts against the bound: the weight in units of the largest. Empty where all count the same.
std::vector<double> counted_students(const Cohort& cohort, const FitOptions& options);
/// The cohort without courses that fewer than `least` students took.
Cohort without_rare_courses(const Cohort& cohort, double least, const std::vector<double>& counted = {});

/// Throws OptionError where a model cannot be published: before training, for all that is known then.
void require_publishable(const FitOptions& options);

/// Merges states that rest on few students (each into the one most like it; EM goes on from there), pools values of
/// hidden trees that do with the course's share, then rounds parameters to what their standard error bears. The fit is
/// of the task.
Publication publish(FitResult& fit, const TrainingTask& task);

/// In place of training_record(): sizes and likelihoods rounded to what their error bears, and nothing by which the
/// students could be recognised.
TrainingRecord published_record(const TrainingTask& task, const FitResult& fit, const Publication& publication);

}  // namespace desirepath::inline models
