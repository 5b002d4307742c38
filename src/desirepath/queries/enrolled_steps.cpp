#include "desirepath/queries/enrolled_steps.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "desirepath/core/text.h"

namespace desirepath::inline queries {

nlohmann::ordered_json step_json(const StateFlows& flows, const HiddenStates& states, const Schema& schema) {
  auto json = nlohmann::ordered_json::array();
  for (std::size_t step = 0; step < flows.steps.size(); ++step) {
    json.push_back({{"period", period_of(states, schema, static_cast<Id>(step))},
                    {"enrolled", flows.steps[step].enrolled},
                    {"exact", flows.steps[step].is_exact}});
  }
  return json;
}

std::string enrolled_count(const StepStudents& step) {
  return concat(step.is_exact ? "" : "at least ", with_separators(std::llround(step.enrolled)));
}

std::string enrolled_words(const StateFlows& flows, const HiddenStates& states, const Schema& schema) {
  std::vector<std::string> words;
  for (std::size_t step = 0; step < flows.steps.size(); ++step) {
    words.push_back(concat(enrolled_count(flows.steps[step]), step == 0 ? " students" : "", " in ",
                           states.step_count() == 1
                               ? std::string("some period")
                               : concat("period ", period_of(states, schema, static_cast<Id>(step)))));
  }
  return concat("enrolled: ", join(words, ", "));
}

}  // namespace desirepath::inline queries
