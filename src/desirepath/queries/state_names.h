// What states are called: by the courses that mark them, or as the user names them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "desirepath/queries/states.h"

namespace desirepath::inline queries {

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

}  // namespace desirepath::inline queries
