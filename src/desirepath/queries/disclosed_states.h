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
  double enrolled_share = 0;             // of the students who were enrolled: who has left is in no state
  std::string period = {}, name = {};
  std::optional<StateStability> stability = std::nullopt;

  /// "3", "left", "other (2 states)".
  std::string number() const;
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

/// `count` courses of each list, with their names; of these, none that few students of the state are expected to take.
DisclosedStates disclosed_states(const StoredModel& stored, std::size_t count, const Disclosure& disclosure);

/// Of every state: as it is given, else by the course that marks it most of those that may be named, by two where one
/// would be the name of another state of that step too; else by its number. may_name: of each course.
StateNames short_state_names(const StoredModel& stored, const StateNameSettings& given,
                             const std::vector<std::uint8_t>& may_name, const Disclosure& disclosure);

/// By (step, state), of all that stand for themselves; several together are "other".
void name_states(std::vector<DisclosedState>& states, const StateNames& names);
Table state_table(std::vector<DisclosedState> states, bool has_stability = false);
/// "CS 101 43%", "CS 101 x2.5 (120)".
std::string share_words(const StateCourse& course, const std::string& name);
std::string lift_words(const StateCourse& course, const std::string& name);

/// Which transitions out of a step may not be told: of states that are not shown, of few students, or telling of such.
HiddenTable hidden_transitions(const HiddenStates& states, const DisclosedStates& disclosed, Id step,
                               const Disclosure& disclosure);

}  // namespace desirepath::inline queries
