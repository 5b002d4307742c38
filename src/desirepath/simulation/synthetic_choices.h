// What the students of the synthetic university choose from: weights of entry years, majors and courses.
#pragma once

#include <vector>

#include "desirepath/core/types.h"
#include "desirepath/simulation/synthetic_catalog.h"
#include "desirepath/simulation/weight_table.h"

namespace desirepath::inline simulation {

/// What all students' choices are drawn from.
struct ChoiceTables {
  WeightTable intake;                               // of entry cohorts; of entry years, where there is a calendar
  std::vector<std::vector<WeightTable>> majors;     // cohort by background (commuter + 2 x first generation)
  std::vector<WeightTable> sequences;               // cohort: subjects
  std::vector<WeightTable> related;                 // by subject: other subjects its students turn to
  std::vector<std::vector<WeightTable>> electives;  // academic year by period: courses
  std::vector<Id> school_end;                       // by school: one past its last course
};
ChoiceTables make_choice_tables(const SyntheticOptions& options, const SyntheticCatalog& catalog);

}  // namespace desirepath::inline simulation
