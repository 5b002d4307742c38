#include "desirepath/queries/disclosed_states.h"

#include <algorithm>
#include <cmath>

namespace desirepath::inline queries {

namespace {

/// Steps by states; what is not there stays as it is.
void take_counts(const std::vector<std::vector<double>>& recorded, RowMatrix& counts) {
  for (Index step = 0; step < std::min(counts.rows(), std::ssize(recorded)); ++step) {
    const std::vector<double>& row = recorded[static_cast<std::size_t>(step)];
    for (Index k = 0; k < std::min(counts.cols(), std::ssize(row)); ++k)
      counts(step, k) = row[static_cast<std::size_t>(k)];
  }
}

}  // namespace

RowMatrix state_students(const StoredModel& stored) {
  const HiddenStates& states = *stored.model->hidden_states();
  const auto students = static_cast<double>(stored.training.students.value_or(0));
  RowMatrix counts(states.step_count(), states.state_count());
  for (Id step = 0; step < states.step_count(); ++step)
    counts.row(step) = students * states.share(step).transpose();
  take_counts(stored.training.state_students, counts);
  return counts;
}

RowMatrix students_behind_states(const StoredModel& stored) {
  RowMatrix counts = state_students(stored);
  const TrainingRecord& training = stored.training;
  const bool is_weighed = training.options && training.options->values().contains("weights") &&
                          training.options->values().at("weights") != SettingValue(std::string());
  if (!is_weighed) return counts;
  counts.setZero();
  take_counts(training.state_behind, counts);
  return counts;
}

DisclosedStates disclosed_states(const StoredModel& stored, std::size_t count, const Disclosure& disclosure) {
  DisclosedStates disclosed;
  disclosed.counts = students_behind_states(stored);
  const RowMatrix students_of = state_students(stored);
  const std::size_t all = static_cast<std::size_t>(stored.model->schema().bit_count());
  const std::vector<StateProfile> profiles = profile_states(*stored.model, all);
  const Id states = stored.model->hidden_states()->state_count();
  for (Index step = 0; step < disclosed.counts.rows(); ++step) {
    const std::vector<double> here(disclosed.counts.row(step).begin(), disclosed.counts.row(step).end());
    Hidden hidden = disclosure.hide(here);
    // An emptied state has courses too, and nobody behind them; having left has none.
    for (std::size_t k = 0; k < here.size(); ++k) {
      const bool left = profiles[static_cast<std::size_t>(step * states) + k].left;
      if (here[k] <= 0 && !left) hidden[k] = 1;
    }
    DisclosedState other{{static_cast<Id>(step), -1, false, 0, {}, {}}, {}, 0};
    double others = 0, others_behind = 0;
    for (Id k = 0; k < states; ++k) {
      StateProfile profile = profiles[static_cast<std::size_t>(step * states + k)];
      const double behind = here[static_cast<std::size_t>(k)], students = students_of(step, k);
      if (hidden[static_cast<std::size_t>(k)] != 0) {
        other.profile.share += profile.share;
        others += students;
        others_behind += behind;
        ++other.merged;
        continue;
      }
      for (std::vector<StateCourse>* list : {&profile.likely, &profile.marking}) {
        std::erase_if(*list, [&](const StateCourse& course) { return !disclosure.rests(course.probability * behind); });
        list->resize(std::min(count, list->size()));
      }
      disclosed.states.push_back({std::move(profile), std::llround(students), 0});
    }
    if (other.merged == 0) continue;
    if (disclosure.rests(others_behind)) other.students = std::llround(others);
    disclosed.withheld += other.merged;
    disclosed.states.push_back(std::move(other));
  }
  return disclosed;
}

HiddenTable hidden_transitions(const HiddenStates& states, const DisclosedStates& disclosed, Id step,
                               const Disclosure& disclosure) {
  const Matrix& transition = states.transition(step);
  // States that are not told by themselves are one row and one column, the last.
  const auto places = [&](Id at) {
    std::vector<std::size_t> place(static_cast<std::size_t>(states.state_count()), 0);
    std::size_t next = 0;
    std::vector<std::uint8_t> stands_alone(place.size(), 0);
    for (const DisclosedState& state : disclosed.states) {
      if (state.profile.step == at && state.merged == 0)
        stands_alone[static_cast<std::size_t>(state.profile.state)] = 1;
    }
    for (std::size_t k = 0; k < place.size(); ++k)
      place[k] = stands_alone[k] != 0 ? next++ : place.size();
    std::ranges::replace(place, place.size(), next);
    return std::pair(place, next);
  };
  const auto [row_of, rows] = places(step);
  const auto [column_of, columns] = places(step + 1);
  CountTable flows(rows + 1, std::vector<double>(columns + 1, 0));
  for (std::size_t from = 0; from < row_of.size(); ++from) {
    for (std::size_t to = 0; to < column_of.size(); ++to)
      flows[row_of[from]][column_of[to]] += disclosed.counts(step, static_cast<Index>(from)) *
                                            transition(static_cast<Index>(from), static_cast<Index>(to));
  }
  const std::optional<HiddenTable> hidden = hide_in_table(flows, disclosure);
  HiddenTable all(row_of.size(), Hidden(column_of.size(), 1));
  for (std::size_t from = 0; from < row_of.size() && hidden; ++from) {
    for (std::size_t to = 0; to < column_of.size(); ++to) {
      const bool alone = row_of[from] < rows && column_of[to] < columns;
      if (alone) all[from][to] = (*hidden)[row_of[from]][column_of[to]];
    }
  }
  return all;
}

}  // namespace desirepath::inline queries
