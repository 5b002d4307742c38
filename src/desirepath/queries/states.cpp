#include "desirepath/queries/states.h"

#include <algorithm>
#include <cmath>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline queries {

namespace {

/// What knowing a student's state says of the course, in nats: of courses taken more than usual alone.
double information(double p, double average) {
  if (!(p > average) || !(average > 0)) return 0;
  const double taken = p * std::log(p / average);
  return p < 1 ? taken + (1 - p) * std::log((1 - p) / (1 - average)) : taken;
}

}  // namespace

std::vector<StateProfile> profile_states(const Model& model, std::size_t count, double least_probability) {
  const HiddenStates* states = &require_states(model, "states");
  const Id courses = model.schema().course_count();
  const Id emitting = states->state_count() - (states->has_left_state() ? 1 : 0);
  std::vector<StateProfile> profiles;
  for (Id step = 0; step < states->step_count(); ++step) {
    const Vector share = states->share(step);
    std::vector<std::vector<StateCourse>> lists(static_cast<std::size_t>(emitting));
    const PeriodRange periods = states->step_periods(step);
    for (Id t = periods.first; t < periods.last; ++t) {
      const RowMatrix probability = states->course_probabilities(t);
      const double present = share.head(emitting).sum();
      const Vector average =
          present > 0 ? Vector(probability * share.head(emitting) / present) : Vector(Vector::Zero(courses));
      for (Id c = 0; c < courses; ++c) {
        for (Id k = 0; k < emitting; ++k) {
          const double p = probability(c, k);
          lists[static_cast<std::size_t>(k)].push_back(
              {c, t, p, average[c] > 0 ? p / average[c] : 0, information(p, average[c])});
        }
      }
    }
    for (Id k = 0; k < states->state_count(); ++k) {
      StateProfile profile{step, k, k >= emitting, share[k], {}, {}};
      if (k < emitting) {
        std::vector<StateCourse>& list = lists[static_cast<std::size_t>(k)];
        std::ranges::stable_sort(list, std::ranges::greater(), &StateCourse::probability);
        profile.likely.assign(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(std::min(count, list.size())));
        std::erase_if(list, [&](const StateCourse& course) {
          return course.probability < least_probability || !(course.information > 0);
        });
        std::ranges::stable_sort(list, std::ranges::greater(), &StateCourse::information);
        profile.marking.assign(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(std::min(count, list.size())));
      }
      profiles.push_back(std::move(profile));
    }
  }
  return profiles;
}

std::string period_of(const HiddenStates& states, const Schema& schema, Id step) {
  return states.step_count() == 1 ? "all" : schema.period(step);
}

bool is_present(const Cohort& cohort, std::int64_t student, const PeriodRange& periods) {
  bool present = false;
  for (Id t = periods.first; t < periods.last; ++t)
    present = present || cohort.enrolled(student, t);
  return present;
}

std::string state_name(const StateProfile& profile, const Schema& schema) {
  if (profile.left) return "left";
  std::vector<std::string> words;
  for (const StateCourse& entry : profile.marking) {
    const Course& course = schema.course(entry.course);
    const std::string& word = course.label.empty() ? course.name : course.label;
    if (words.size() < 2 && std::ranges::find(words, word) == words.end()) words.push_back(word);
  }
  return words.empty() ? concat("state ", profile.state) : join(words, ", ");
}

std::string state_name(StateProfile profile, const Schema& schema, double students, const Disclosure& disclosure) {
  std::erase_if(profile.marking,
                [&](const StateCourse& entry) { return !disclosure.rests(entry.probability * students); });
  return state_name(profile, schema);
}

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
