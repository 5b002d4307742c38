#include "desirepath/queries/state_names.h"

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

std::string name_of_state(const StateProfile& profile, const Schema& schema, const StateNames& names) {
  const auto given = names.find({profile.step, profile.state});
  return given != names.end() ? given->second : state_name(profile, schema);
}

}  // namespace desirepath::inline queries
