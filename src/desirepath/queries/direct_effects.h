// How much more often students take a course after another one than the model expects of students with their records:
// what one course does for another beyond everything else that is known (docs/questions.md).
#pragma once

#include "desirepath/core/progress.h"
#include "desirepath/core/random_stream.h"
#include "desirepath/models/model.h"
#include "desirepath/queries/trait_conditions.h"
#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline queries {

/// Courses by courses: row p, column c. A pair nothing is known of has log-odds 0 and error 0.
struct DirectEffects {
  RowMatrix log_odds;         // by which having had p shifts the model's own odds of c in the next period
  RowMatrix error;            // its standard error: by the model or by the spread of the residuals, whichever is larger
  RowMatrix expected;         // takers of c that the model expects among those who had p and not yet c
  std::int64_t students = 0;  // looked at

  /// Lower end of the 95 % interval.
  double low(Id p, Id c) const { return log_odds(p, c) - 1.96 * error(p, c); }
};

/// For each student and period: the residuals of the courses not had before, given all earlier periods, against the
/// courses had before. Students are compared with those of the same entry year in the same year, and a course counts
/// in the years in which it was offered. Where terms are finer than periods, courses of an earlier term of the same
/// period are earlier too. Of more students than `most`, that many are drawn. What is known at entry is known here too,
/// and `given`, which holds for all of them.
DirectEffects direct_effects(const Model& model, const Cohort& cohort, std::int64_t most, const RandomStream& stream,
                             const Executor& executor, const ProgressSink& progress = {},
                             std::span<const TraitCondition> given = {});

}  // namespace desirepath::inline queries
