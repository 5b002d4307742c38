#include "desirepath/queries/disclosed_states.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>

#include <nlohmann/json.hpp>

#include "desirepath/core/text.h"

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
  const Schema& schema = stored.model->schema();
  const bool names_periods = stored.model->hidden_states()->step_count() == 1 && schema.period_count() > 1;
  const std::size_t all = static_cast<std::size_t>(schema.bit_count());
  const std::vector<StateProfile> profiles = profile_states(*stored.model, all);
  const Id states = stored.model->hidden_states()->state_count();
  const Index kinds = states - (stored.model->hidden_states()->has_left_state() ? 1 : 0);
  for (Index step = 0; step < disclosed.counts.rows(); ++step) {
    const std::vector<double> here(disclosed.counts.row(step).begin(), disclosed.counts.row(step).end());
    Hidden hidden = disclosure.hide(here);
    // An emptied state has courses too, and nobody behind them; having left has none.
    for (std::size_t k = 0; k < here.size(); ++k) {
      const bool left = profiles[static_cast<std::size_t>(step * states) + k].left;
      if (here[k] <= 0 && !left) hidden[k] = 1;
    }
    const std::string period = period_of(*stored.model->hidden_states(), schema, static_cast<Id>(step));
    DisclosedState other{{static_cast<Id>(step), -1, false, 0, {}, {}}, {}, 0, 0, period};
    double others = 0, others_behind = 0, unshown = 1;  // unshown: of the enrolled
    const double enrolled = disclosed.counts.row(step).head(kinds).sum();
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
        for (StateCourse& course : *list) {
          course.listed = schema.course(course.course);
          course.period_name = schema.period(course.period);
          if (names_periods) course.suffix = "@" + course.period_name;
          course.takers = std::llround(static_cast<double>(std::llround(students)) * course.probability);
        }
      }
      const double enrolled_share = enrolled > 0 ? behind / enrolled : 0;
      if (!profile.left) unshown = std::max(0.0, unshown - enrolled_share);
      disclosed.states.push_back({std::move(profile), std::llround(students), 0, enrolled_share, period});
    }
    if (other.merged == 0) continue;
    other.enrolled_share = unshown;
    if (disclosure.rests(others_behind)) other.students = std::llround(others);
    disclosed.withheld += other.merged;
    disclosed.states.push_back(std::move(other));
  }
  return disclosed;
}

StateNames short_state_names(const StoredModel& stored, const StateNameSettings& given,
                             const std::vector<std::uint8_t>& may_name, const Disclosure& disclosure) {
  const Schema& schema = stored.model->schema();
  const HiddenStates& states = *stored.model->hidden_states();
  std::vector<StateProfile> profiles;
  std::map<std::pair<Id, std::string>, int> used;
  const auto by_one = [&](StateProfile profile) {
    profile.marking.resize(std::min<std::size_t>(1, profile.marking.size()));
    return state_name(profile, schema);
  };
  for (DisclosedState& state : disclosed_states(stored, tried_for_a_name, disclosure).states) {
    if (state.merged > 0) continue;
    std::erase_if(state.profile.marking,
                  [&](const StateCourse& entry) { return may_name[static_cast<std::size_t>(entry.course)] == 0; });
    if (!state.profile.left && state.profile.marking.empty()) continue;
    ++used[{state.profile.step, by_one(state.profile)}];
    profiles.push_back(std::move(state.profile));
  }
  StateNames names = given_names(*stored.model, given);
  for (const StateProfile& profile : profiles) {
    const std::string name = by_one(profile);
    names.emplace(std::pair(profile.step, profile.state),
                  used.at({profile.step, name}) > 1 ? state_name(profile, schema) : name);
  }
  std::vector<Id> numbers(static_cast<std::size_t>(states.state_count()));
  std::iota(numbers.begin(), numbers.end(), 0);
  for (Id step = 0; step < states.step_count(); ++step) {
    std::vector<std::string> here;
    for (const Id k : numbers)
      here.push_back(names.emplace(std::pair(step, k), concat("state ", k)).first->second);
    tell_apart(here, numbers);
    for (const Id k : numbers)
      names[{step, k}] = here[static_cast<std::size_t>(k)];
  }
  return names;
}

std::string DisclosedState::number() const {
  if (merged > 0) return concat("other (", counted(merged, "state", "states"), ")");
  return profile.left ? "left" : std::to_string(profile.state);
}

void name_states(std::vector<DisclosedState>& states, const StateNames& names) {
  for (DisclosedState& state : states)
    state.name = state.merged > 0 ? "other" : names.at({state.profile.step, state.profile.state});
}

std::string share_words(const StateCourse& course, const std::string& name) {
  return concat(name, course.suffix, " ", fixed(100 * course.probability, 0), "%");
}

std::string lift_words(const StateCourse& course, const std::string& name) {
  return concat(name, course.suffix, " x", fixed(course.lift, 1),
                course.takers ? concat(" (", with_separators(*course.takers), ")") : "");
}

Table state_table(std::vector<DisclosedState> states, bool has_stability) {
  using Row = DisclosedState;
  using List = std::vector<StateCourse> StateProfile::*;
  const auto words = [](List list, const auto& word) {
    return [=](const Row& row) {
      std::vector<std::string> parts;
      std::ranges::transform(row.profile.*list, std::back_inserter(parts), word);
      return join(parts, ", ");
    };
  };
  const auto objects = [](List list) {
    return [=](const Row& row) {
      auto json = nlohmann::ordered_json::array();
      for (const StateCourse& entry : row.profile.*list) {
        json.push_back({{"course", entry.listed.name},
                        {"label", entry.listed.label},
                        {"period", entry.period_name},
                        {"probability", entry.probability},
                        {"takers", entry.takers ? nlohmann::ordered_json(*entry.takers) : nlohmann::ordered_json()},
                        {"lift", entry.lift},
                        {"information", entry.information}});
      }
      return json;
    };
  };
  const auto label = [](const Course& course) { return course.label.empty() ? course.name : course.label; };
  const auto stability = [](double StateStability::*value) {
    return [=](const Row& row) { return row.stability ? std::optional((*row.stability).*value) : std::nullopt; };
  };
  const auto number = [](const Row& row) {
    return row.merged > 0 ? cell_of("other") : row.profile.left ? cell_of("left") : cell_of(row.profile.state);
  };
  const Look json{.shown = Shown::in_json}, csv{.shown = Shown::in_csv}, if_picked{.shown = Shown::if_picked};
  const Look refits = share(3, {.is_there = has_stability, .may_lack = true});
  return {
      std::move(states),
      {{"period", &Row::period},
       {"state", number, json},
       {"merged_states",
        [](const Row& row) { return value_if(row.merged > 0, row.merged); },
        {.shown = Shown::in_json, .may_lack = true}},
       {"name",
        [](const Row& row) { return value_if(row.merged == 0, row.name); },
        {.shown = Shown::in_json, .may_lack = true}},
       {"state", &Row::number, csv},
       {"students", &Row::students, {.unit = "students", .may_lack = true}},
       {"share", [](const Row& row) { return row.profile.share; }, share(3)},
       {"most taken",
        words(&StateProfile::likely, [](const StateCourse& entry) { return share_words(entry, entry.listed.name); }),
        csv},
       {"marked by",
        words(&StateProfile::marking, [](const StateCourse& entry) { return lift_words(entry, entry.listed.name); }),
        csv},
       {"name", &Row::name, csv},
       {"overlap", stability(&StateStability::overlap), refits},
       {"found", stability(&StateStability::found), refits},
       {"likely", objects(&StateProfile::likely)},
       {"marking", objects(&StateProfile::marking)},
       {"kind", &Row::name, if_picked},
       {"enrolled_share", &Row::enrolled_share, {.percent = Percent::whole, .shown = Shown::if_picked}},
       {"likely_labels",
        words(&StateProfile::likely,
              [=](const StateCourse& entry) { return concat(label(entry.listed), " ", percent(entry.probability)); }),
        if_picked},
       {"marking_labels",
        words(&StateProfile::marking,
              [=](const StateCourse& entry) { return concat(label(entry.listed), " x ", fixed(entry.lift, 1)); }),
        if_picked}}};
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
