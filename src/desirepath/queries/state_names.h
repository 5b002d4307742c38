// What states are called: by the courses that mark them, or as the user names them.
#pragma once

#include <map>
#include <string>

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

/// The given name, else the courses that mark the state.
std::string name_of_state(const StateProfile& profile, const Schema& schema, const StateNames& names);

}  // namespace desirepath::inline queries
