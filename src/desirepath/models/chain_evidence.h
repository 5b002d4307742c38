// Evidence cut into the steps of a chain: rows for the emissions, and who was there.
#pragma once

#include <vector>

#include "desirepath/emissions/family.h"
#include "desirepath/transcripts/evidence.h"

namespace desirepath::inline models {

/// How (period, course) bits are cut into steps, and which steps share emissions.
enum class TimeStructure {
  one_step,   // one step holds all bits; one hidden state a student: nb, tan, gmm
  tied,       // a step a period, one transition and one set of emissions for all: hmm
  per_period  // a step a period, each with its own transition and emissions: cmm
};

struct StepLayout {
  TimeStructure structure = TimeStructure::one_step;
  std::vector<PeriodRange> steps;
  std::vector<std::vector<Id>> pools;  // steps that share emissions
  std::vector<Id> pool_of;             // by step
  std::vector<Id> place_of;            // by step, within its pool
  bool with_history = false;           // rows tell what was taken before (chain_history.h)
  std::vector<Trait> traits;           // that the rows of a single step tell

  static StepLayout of(TimeStructure structure, Id periods);
  /// With the traits of the schema, where there is one step.
  static StepLayout of(TimeStructure structure, const Schema& schema);
  Id step_count() const { return static_cast<Id>(steps.size()); }
  Id pool_count() const { return static_cast<Id>(pools.size()); }
  /// Of every step.
  StepShape shape(const Schema& schema) const;
  /// The rows tell when students left, so that a chain has nothing to add.
  bool rows_know_departure() const;
};
/// Students one thread does at a time.
inline constexpr std::int64_t students_per_block = 256;

struct ChainEvidence {
  ChainEvidence(const EvidenceBatch& evidence, const StepLayout& layout);

  std::int64_t student_count() const { return students; }
  /// Row in the step's pool, -1 where nothing is known.
  std::int32_t row(std::int64_t student, Id step) const {
    return pools[static_cast<std::size_t>(layout->pool_of[static_cast<std::size_t>(step)])]
        .row_of[static_cast<std::size_t>(layout->place_of[static_cast<std::size_t>(step)])]
               [static_cast<std::size_t>(student)];
  }
  Presence presence_at(std::int64_t student, Id step) const {
    return presence[static_cast<std::size_t>(student * layout->step_count() + step)];
  }

  const StepLayout* layout;
  std::int64_t students;
  std::vector<RowPool> pools;
  std::vector<Presence> presence;          // students by steps
  std::vector<DepartureRange> departures;  // one for each student
};

/// Cut once for all questions about the evidence, and kept as long as it.
const ChainEvidence& cut_evidence(const EvidenceBatch& evidence, const StepLayout& layout);

}  // namespace desirepath::inline models
