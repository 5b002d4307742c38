// Expected takers of each course over all students asked about, with intervals that say what they allow for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "desirepath/core/answer.h"
#include "desirepath/disclosure/disclosure.h"
#include "desirepath/models/year_spread.h"
#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline queries {

struct InferredTotals {
  struct Row {
    std::string period;
    Named course;
    double expected, low, high;
    std::optional<double> scaled;  // to the students who come back
  };
  /// Whether the students come back in a period that is asked about.
  struct Returning {
    std::string period;
    std::optional<std::string> from;  // the last period before it of which something is known
    std::optional<int> percent;       // of earlier students enrolled in `from`
    std::optional<double> enrolled;   // expected by a model that knows of leaving
  };

  std::int64_t students = 0;
  std::vector<Row> rows;
  std::vector<Returning> returning;
  bool knows_leaving = false;  // the model does: its probabilities are of students who may have left
  std::int64_t withheld = 0, refits = 0;
  std::int64_t trained = 0;         // students of the training, 0: the model does not say
  std::optional<YearSpread> years;  // of the training
  std::int64_t coming = 0;          // students of a year after the training's
  Disclosure disclosure;

  Answer answer() const;

 private:
  std::string returning_words(const Returning& its) const;
  void add_notes(Answer& answer) const;
};

/// Of the students enrolled in the period `from` of whom it is settled, the share who were enrolled in `to`, in whole
/// percent (more would tell of single students). Nothing where the data do not say who came back, or where those who
/// did, or did not, are too few to be told.
std::optional<int> percent_enrolled_again(const Cohort& cohort, Id from, Id to, const Disclosure& disclosure);

}  // namespace desirepath::inline queries
