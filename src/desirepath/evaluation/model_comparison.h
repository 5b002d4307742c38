// Which model, and how many states? Models on one split of the students, by the probability of those held out.
#pragma once

#include <string>
#include <vector>

#include "desirepath/core/answer.h"
#include "desirepath/evaluation/fit_sweep.h"
#include "desirepath/models/training.h"

namespace desirepath::inline evaluation {

struct ComparisonRow {
  std::string model;  // "cmm+probit"
  Id states = 0;      // 0: the model has its own size
  std::int64_t parameters = 0;
  std::vector<double> scores;  // log-probability of each held-out student
  double held_out = 0;         // their mean
  double standard_error = 0;
  double difference = 0;  // to the best row, over the same students; not above 0
  double difference_error = 0;
  int iterations = 0;
  bool converged = false;
};

struct Comparison {
  std::vector<ComparisonRow> rows;  // as they were asked for
  std::size_t best = 0;
  std::int64_t training_students = 0, held_out_students = 0;
  std::vector<Id> states;  // the range

  /// One recommendation, in words.
  std::string recommendation() const;
  Answer answer() const;
};

/// What is to be compared, each checked as far as it can be before anything is trained.
struct ComparisonTask : SizedFits {
  std::vector<Id> states;  // the range asked for
  double held_out_share = 0.2;
  std::string weights;  // column; empty: all students count once
  FitsFile file;
};

/// "nb,cmm+probit" by sizes; `values` go to every model that has such a setting. Throws OptionError.
ComparisonTask comparison_task(const std::string& models, const std::vector<Id>& states, const SettingValues& values,
                               std::uint64_t seed);

/// Memory of the largest fit, time of one iteration of every restart of all of them.
FitEstimate estimate_comparison(const Cohort& cohort, const ComparisonTask& task, const Executor& executor);

/// All models learn from the same students and are scored, by mass alone, on the same others.
Comparison compare_models(const Cohort& cohort, const ComparisonTask& task, const TrainingContext& context);

}  // namespace desirepath::inline evaluation
