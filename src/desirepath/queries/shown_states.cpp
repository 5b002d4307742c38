#include "desirepath/queries/shown_states.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <nlohmann/json.hpp>

namespace desirepath::inline queries {

RowMatrix state_students(const StoredModel& stored) {
  const HiddenStates& states = *stored.model->hidden_states();
  const auto record = nlohmann::json::parse(stored.training, nullptr, false);
  const auto result = record.is_object() ? record.value("result", nlohmann::json::object()) : nlohmann::json::object();
  const auto number = [](const nlohmann::json& value) {
    return value.is_number() && std::isfinite(value.get<double>()) ? std::max(0.0, value.get<double>()) : 0.0;
  };
  const double students = result.contains("students") ? number(result["students"]) : 0;
  RowMatrix counts(states.step_count(), states.state_count());
  for (Id step = 0; step < states.step_count(); ++step)
    counts.row(step) = students * states.share(step).transpose();
  if (!result.contains("state_students") || !result["state_students"].is_array()) return counts;
  const nlohmann::json& recorded = result["state_students"];
  for (Id step = 0; step < std::min<Id>(states.step_count(), static_cast<Id>(recorded.size())); ++step) {
    const nlohmann::json& row = recorded[static_cast<std::size_t>(step)];
    for (Id k = 0; row.is_array() && k < std::min<Id>(states.state_count(), static_cast<Id>(row.size())); ++k)
      counts(step, k) = number(row[static_cast<std::size_t>(k)]);
  }
  return counts;
}

std::vector<std::uint8_t> small_and_company(const std::vector<double>& counts, double least) {
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return counts[i]; });
  std::vector<std::uint8_t> hidden(counts.size(), 0);
  double sum = 0;
  bool any = false;
  for (const std::size_t i : order) {
    const bool small = counts[i] > 0 && counts[i] < least;
    if (!small && (!any || sum >= least)) continue;
    any = true;
    hidden[i] = 1;
    sum += counts[i];
  }
  return hidden;
}

ShownStates shown_states(const StoredModel& stored, std::size_t count, std::int64_t least) {
  ShownStates shown;
  shown.counts = state_students(stored);
  const auto bound = static_cast<double>(least);
  const std::size_t all = static_cast<std::size_t>(stored.model->schema().bit_count());
  const std::vector<StateProfile> profiles = profile_states(*stored.model, all);
  const Id states = stored.model->hidden_states()->state_count();
  for (Index step = 0; step < shown.counts.rows(); ++step) {
    const std::vector<double> here(shown.counts.row(step).begin(), shown.counts.row(step).end());
    std::vector<std::uint8_t> hidden = small_and_company(here, bound);
    // An emptied state has courses too, and nobody behind them; having left has none.
    for (std::size_t k = 0; k < here.size(); ++k) {
      const bool left = profiles[static_cast<std::size_t>(step * states) + k].left;
      if (here[k] <= 0 && !left) hidden[k] = 1;
    }
    ShownState other{{static_cast<Id>(step), -1, false, 0, {}, {}}, {}, 0};
    double others = 0;
    for (Id k = 0; k < states; ++k) {
      StateProfile profile = profiles[static_cast<std::size_t>(step * states + k)];
      const double students = here[static_cast<std::size_t>(k)];
      if (hidden[static_cast<std::size_t>(k)] != 0) {
        other.profile.share += profile.share;
        others += students;
        ++other.merged;
        continue;
      }
      for (std::vector<StateCourse>* list : {&profile.likely, &profile.marking}) {
        std::erase_if(*list, [&](const StateCourse& course) { return course.probability * students < bound; });
        list->resize(std::min(count, list->size()));
      }
      shown.states.push_back({std::move(profile), std::llround(students), 0});
    }
    if (other.merged == 0) continue;
    if (others >= bound) other.students = std::llround(others);
    shown.withheld += other.merged;
    shown.states.push_back(std::move(other));
  }
  return shown;
}

}  // namespace desirepath::inline queries
