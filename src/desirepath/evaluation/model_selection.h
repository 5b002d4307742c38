// How many states? BIC, AIC, ICL and held-out likelihood over a range of K.
#pragma once

#include <functional>
#include <vector>

#include "desirepath/core/answer.h"
#include "desirepath/evaluation/fit_sweep.h"
#include "desirepath/models/training.h"

namespace desirepath::inline evaluation {

struct SelectionRow {
  Id states = 0;
  double log_likelihood = 0;  // of the training students, by the kind that EM climbs
  std::int64_t parameters = 0;
  double bic = 0;  // smaller is better, as are the next two
  double aic = 0;
  double icl = 0;
  double held_out = 0;  // mean log-likelihood per validation student; larger is better; -inf where one is impossible
  std::int64_t impossible = 0;  // validation students of probability 0
  double held_out_error = 0;
  int iterations = 0;
  bool converged = false;

  /// The criteria are asymptotic in the students: with more parameters than these they say nothing.
  bool is_void(std::int64_t training_students) const { return parameters > training_students; }
};

struct Selection {
  std::string model;  // as it was asked for
  std::vector<SelectionRow> rows;
  LikelihoodKind kind = LikelihoodKind::mass;           // of the held-out likelihood: the model's first
  LikelihoodKind criteria_kind = LikelihoodKind::mass;  // of the criteria: what EM climbs
  std::int64_t training_students = 0;
  std::int64_t validation_students = 0;
  Disclosure disclosure;
  /// Best K by each criterion; 0 where held-out students are impossible with every K.
  Id best_bic = 0, best_aic = 0, best_icl = 0, best_held_out = 0;

  /// One sentence.
  std::string finding() const;
  Table table() const;
  Answer answer() const;
};

/// Fits every K on the training part of one split and scores the rest. Weighted students count by their weight in every
/// criterion.
Selection select_states(const Cohort& cohort, const FitOptions& options, const std::vector<Id>& states,
                        double validation_share, const TrainingContext& context, const FitsFile& file = {});
/// What that would take.
FitEstimate estimate_selection(const Cohort& cohort, const FitOptions& options, const std::vector<Id>& states,
                               double validation_share, const TrainingContext& context);

/// "2:20" or "2,4,8" or "2:20:3"; throws OptionError.
std::vector<Id> parse_state_range(const std::string& text);

}  // namespace desirepath::inline evaluation
