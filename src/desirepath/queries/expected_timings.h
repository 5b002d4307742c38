// When each student took each course, beside when the model expects that very student to: each fifth of the courses is
// judged by the other four fifths of the record.
#pragma once

#include <vector>

#include "desirepath/core/progress.h"
#include "desirepath/core/random_stream.h"
#include "desirepath/models/model.h"
#include "desirepath/queries/trait_conditions.h"
#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline queries {

struct JudgedCourse {
  Id course = 0;
  Id first = 0;                // the period it was first taken in
  std::vector<double> chance;  // by period: of it being first taken then, given that it is taken; sums to 1
  std::vector<Id> again = {};  // later periods it was taken in

  double expected() const;
  /// Of the period of the first enrollment, as the model expects it.
  double variance() const;
  double lateness() const { return static_cast<double>(first) - expected(); }
  bool taken_in(Id period) const;
};

struct JudgedStudent {
  std::int64_t student = 0;  // in the cohort
  std::vector<JudgedCourse> courses;
  /// Of every course and period: its probability given the other four fifths; empty where that was not asked for.
  std::vector<float> probability;
};

/// Of more students than `most`, that many are drawn; those enrolled in fewer than two periods are left out. Of
/// attributes and outcomes only `given` is known, which holds for all of them: else what sets groups apart would be
/// expected of them.
std::vector<JudgedStudent> judge_timings(const Model& model, const Cohort& cohort, std::int64_t most,
                                         bool keep_probabilities, RandomStream stream, const Executor& executor,
                                         const ProgressSink& progress = {}, std::span<const TraitCondition> given = {});

/// Students enrolled in one period only, who took in it whatever they took: as large a share of them as the `judged`
/// students are of all others.
std::vector<JudgedStudent> one_period_students(const Cohort& cohort, std::int64_t judged, RandomStream stream);

}  // namespace desirepath::inline queries
