// When each student took each course, beside when the model expects that very student to: each fifth of the courses is
// judged by the other four fifths of the record.
#pragma once

#include <vector>

#include "desirepath/core/progress.h"
#include "desirepath/core/random_stream.h"
#include "desirepath/models/model.h"
#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline queries {

struct JudgedCourse {
  Id course = 0;
  Id first = 0;                // the period it was first taken in
  std::vector<double> chance;  // by period: of it being taken then, given that it is taken; sums to 1

  double expected() const;
  double lateness() const { return static_cast<double>(first) - expected(); }
};

struct JudgedStudent {
  std::int64_t student = 0;  // in the cohort
  std::vector<JudgedCourse> courses;
  /// Of every course and period: its probability given the other four fifths; empty where that was not asked for.
  std::vector<float> probability;
};

/// Of more students than `most`, that many are drawn; those there in fewer than two periods are left out.
std::vector<JudgedStudent> judge_timings(const Model& model, const Cohort& cohort, std::int64_t most,
                                         bool keep_probabilities, RandomStream stream, const Compute& compute,
                                         const ProgressSink& progress = {});

}  // namespace desirepath::inline queries
