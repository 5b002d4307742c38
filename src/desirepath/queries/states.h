// What each hidden state stands for: its share, and the courses that mark it; and which states students are in.
#pragma once

#include <string>
#include <vector>

#include "desirepath/disclosure/disclosure.h"
#include "desirepath/queries/query.h"

namespace desirepath::inline queries {

struct StateCourse {
  Id course = 0;
  Id period = 0;
  double probability = 0;  // p(taken | state)
  double lift = 0;         // against the share of all students in that period
  double information = 0;  // nats that the state says of it, where taken more than usual: rare courses say little
};

struct StateProfile {
  Id step = 0;
  Id state = 0;
  bool left = false;                 // the state of having left
  double share = 0;                  // of students
  std::vector<StateCourse> likely;   // highest probability first
  std::vector<StateCourse> marking;  // highest information first, of those with probability enough to matter
};

/// The period of a step, or "all" where states are kept through all periods.
std::string period_of(const HiddenStates& states, const Schema& schema, Id step);

/// Whether the student was there in any period of the step.
bool is_present(const Cohort& cohort, std::int64_t student, const PeriodRange& periods);

/// What pages call a state: the courses that mark it most ("Algebra I, Mechanics"), "left", or "state 3" where none
/// does.
std::string state_name(const StateProfile& profile, const Schema& schema);
/// Courses that mark a state most, of which those that may be told make its name.
inline constexpr std::size_t tried_for_a_name = 20;
/// The same by courses that enough of so many students are expected to take.
std::string state_name(StateProfile profile, const Schema& schema, double students, const Disclosure& disclosure);

/// `count` courses of each list. Courses under `least_probability` mark nothing.
std::vector<StateProfile> profile_states(const Model& model, std::size_t count, double least_probability = 0.05);

}  // namespace desirepath::inline queries
