// What each hidden state stands for: its share, and the courses that mark it; and what it is called: by these courses,
// or as the user names it.
#pragma once

#include <map>
#include <memory>
#include <optional>
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
  // Of those that are shown (disclosed_states.h).
  Course listed = {};
  std::string period_name = {};
  std::string suffix = {};                            // to its name: "@1" where a state is kept through several periods
  std::optional<std::int64_t> takers = std::nullopt;  // expected; nothing where the state's size is withheld
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

struct StateNameSettings {
  std::map<std::string, std::string> names;

  void declare(SettingVisitor& visit);
};

/// By (step, state).
using StateNames = std::map<std::pair<Id, Id>, std::string>;

/// Period "all": of every step. Throws OptionError for a period or state that is not there.
StateNames given_names(const Model& model, const StateNameSettings& settings);

/// Names of states of one step: those in use twice get the number of the state behind them.
void tell_apart(std::vector<std::string>& names, const std::vector<Id>& states);

/// The given names, else the courses that mark the states; no two of a step are the same.
StateNames names_of_states(const std::vector<StateProfile>& profiles, const Schema& schema, const StateNames& given);

/// Whether states are found again: the model fitted anew to students drawn with replacement.
struct StateStability {
  Id step = 0, state = 0;
  double overlap = 0;  // mean over the refits of the Jaccard index with the state of most overlap (Hennig 2007)
  double found = 0;    // share of the refits in which that is above one half
};

/// By the students of the cohort who were there, each in its most likely state. States that nobody is in have no entry.
std::vector<StateStability> state_stability(const HiddenStates& states,
                                            const std::vector<std::unique_ptr<Model>>& refits, const Cohort& cohort,
                                            const Executor& executor);

}  // namespace desirepath::inline queries
