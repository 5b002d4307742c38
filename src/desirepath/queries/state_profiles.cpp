#include "desirepath/queries/state_profiles.h"

#include <algorithm>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::inline queries {

std::vector<StateProfile> profile_states(const Model& model, std::size_t count, double least_probability) {
  const HiddenStates* states = model.hidden_states();
  if (states == nullptr) throw OptionError("this model has no hidden states");
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
          lists[static_cast<std::size_t>(k)].push_back({c, t, p, average[c] > 0 ? p / average[c] : 0});
        }
      }
    }
    for (Id k = 0; k < states->state_count(); ++k) {
      StateProfile profile{step, k, "", share[k], {}, {}};
      profile.name = k >= emitting ? "left" : states->step_count() > 1 ? concat(step + 1, ":", k + 1) : concat(k + 1);
      if (k < emitting) {
        std::vector<StateCourse>& list = lists[static_cast<std::size_t>(k)];
        std::ranges::stable_sort(list, std::ranges::greater(), &StateCourse::probability);
        profile.likely.assign(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(std::min(count, list.size())));
        std::erase_if(list, [&](const StateCourse& course) { return course.probability < least_probability; });
        std::ranges::stable_sort(list, std::ranges::greater(), &StateCourse::lift);
        profile.marking.assign(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(std::min(count, list.size())));
      }
      profiles.push_back(std::move(profile));
    }
  }
  return profiles;
}

}  // namespace desirepath::inline queries
