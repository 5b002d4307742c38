// The states of a model as they may be shown: none that rests on few students stands alone.
#pragma once

#include <optional>
#include <vector>

#include "desirepath/queries/states.h"

namespace desirepath::inline queries {

struct ShownState {
  StateProfile profile;                  // of several together: their share, no courses
  std::optional<std::int64_t> students;  // expected; none: fewer than may be told
  Id merged = 0;                         // states this stands for; 0: it stands for itself
};

struct ShownStates {
  std::vector<ShownState> states;  // by step
  Id withheld = 0;                 // states merged into others
  RowMatrix counts;                // expected students behind each state, steps by states
};

/// Expected students behind each state: steps by states, "left" among them. Of the students who were there, where the
/// record of training says it; else by the states' shares.
RowMatrix state_students(const StoredModel& stored);

/// Which of some counts may not be told: those above 0 and under `least`, and the next larger ones until all that is
/// hidden is `least` together, for else it follows from the rest.
std::vector<std::uint8_t> small_and_company(const std::vector<double>& counts, double least);

/// `count` courses of each list; of these, none that fewer than `least` students of the state are expected to take.
ShownStates shown_states(const StoredModel& stored, std::size_t count, std::int64_t least);

}  // namespace desirepath::inline queries
