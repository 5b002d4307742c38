#include "desirepath/queries/state_names.h"

#include <algorithm>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline queries {

void StateNameSettings::declare(SettingVisitor& visit) {
  visit(Setting("name",
                "what a state is called, PERIOD:STATE=NAME, or all:STATE=NAME for every period; may be given again")
            .taking("PERIOD:STATE=NAME"),
        names);
}

StateNames given_names(const Model& model, const StateNameSettings& settings) {
  const HiddenStates& states = *model.hidden_states();
  StateNames names;
  for (const auto& [key, name] : settings.names) {
    const std::size_t colon = key.rfind(':');
    const auto state =
        colon == std::string::npos ? std::nullopt : number_in<Id>(std::string_view(key).substr(colon + 1));
    if (!state || *state < 0 || *state >= states.state_count()) {
      throw OptionError(concat(setting_name("name"), " ", key,
                               ": PERIOD:STATE=NAME, such as 1:0=Engineers; states are 0 to ",
                               states.state_count() - 1));
    }
    const std::string period = key.substr(0, colon);
    const bool everywhere = period == "all" || states.step_count() == 1;
    const Id only = period == "all" ? 0 : model.schema().require_period(period);
    for (Id step = everywhere ? 0 : only; step < (everywhere ? states.step_count() : only + 1); ++step)
      names[{step, *state}] = name;
  }
  return names;
}

void tell_apart(std::vector<std::string>& names, const std::vector<Id>& states) {
  const std::vector<std::string> plain = names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::ranges::count(plain, plain[i]) > 1) names[i] = concat(plain[i], " (state ", states[i], ")");
  }
}

StateNames names_of_states(const std::vector<StateProfile>& profiles, const Schema& schema, const StateNames& given) {
  std::map<Id, std::pair<std::vector<std::string>, std::vector<Id>>> steps;
  for (const StateProfile& profile : profiles) {
    const auto found = given.find({profile.step, profile.state});
    auto& [names, states] = steps[profile.step];
    names.push_back(found != given.end() ? found->second : state_name(profile, schema));
    states.push_back(profile.state);
  }
  StateNames all;
  for (auto& [step, here] : steps) {
    auto& [names, states] = here;
    tell_apart(names, states);
    for (std::size_t i = 0; i < names.size(); ++i)
      all[{step, states[i]}] = std::move(names[i]);
  }
  return all;
}

}  // namespace desirepath::inline queries
