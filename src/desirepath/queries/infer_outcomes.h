// What becomes of students: outcomes and other traits that the model knows, and whether they are enrolled; of each
// student, or expected numbers over all of them or by group.
#pragma once

#include <string>
#include <vector>

#include "desirepath/disclosure/disclosure.h"
#include "desirepath/queries/query.h"

namespace desirepath::inline queries {

struct OutcomeTask {
  std::vector<Id> traits;       // of the model's schema
  std::vector<Id> enrolled_in;  // periods of which enrollment is asked
  bool total = false;
  std::string by;  // student attribute: totals of its groups; empty: of all
  Conditioning conditioning = Conditioning::linear;
  Disclosure disclosure;
};

/// `evidence`: what is known of the students, who are the input's cohort where there are groups.
Answer infer_outcomes(const QueryInput& input, const EvidenceBatch& evidence, const OutcomeTask& task);

/// What is asked for where it is not a trait: enrollment.
inline constexpr const char* enrolled_outcome = "enrolled";

}  // namespace desirepath::inline queries
