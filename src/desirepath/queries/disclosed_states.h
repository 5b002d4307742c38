// The states of a model as they may be shown: none that rests on few students stands alone.
#pragma once

#include <optional>
#include <vector>

#include "desirepath/disclosure/disclosed_table.h"
#include "desirepath/queries/states.h"

namespace desirepath::inline queries {

struct DisclosedState {
  StateProfile profile;                  // of several together: their share, no courses
  std::optional<std::int64_t> students;  // expected; none: fewer than may be told
  Id merged = 0;                         // states this stands for; 0: it stands for itself
};

struct DisclosedStates {
  std::vector<DisclosedState> states;  // by step
  Id withheld = 0;                     // states merged into others
  RowMatrix counts;                    // expected students that each state rests on, steps by states
};

/// Expected students behind each state: steps by states, "left" among them. Of the students who were there, where the
/// record of training says it; else by the states' shares.
RowMatrix state_students(const StoredModel& stored);
/// As many of them as its weights leave (students_behind): what bounds look at. The same where nobody was weighed;
/// nobody where the students were weighed and the record does not say how.
RowMatrix students_behind_states(const StoredModel& stored);

/// `count` courses of each list; of these, none that few students of the state are expected to take.
DisclosedStates disclosed_states(const StoredModel& stored, std::size_t count, const Disclosure& disclosure);

/// Which transitions out of a step may not be told: of states that are not shown, of few students, or telling of such.
HiddenTable hidden_transitions(const HiddenStates& states, const DisclosedStates& disclosed, Id step,
                               const Disclosure& disclosure);

}  // namespace desirepath::inline queries
