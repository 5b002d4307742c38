#include "desirepath/queries/node_choice.h"

#include <numeric>

namespace desirepath::inline queries {

NodeChoice::NodeChoice(const PathCounts& counts, Id steps, Id states, const Disclosure& disclosure)
    : states_(states), students_(RowMatrix::Zero(steps, place_count(states))) {
  for (const auto& [path, count] : counts) {
    for (Id step = 0; step < steps; ++step)
      students_(step, path[static_cast<std::size_t>(step)]) += count;
  }
  for (Id step = 0; step < steps; ++step)
    choose(step, disclosure);
}

bool NodeChoice::merge_reasons(Id step) {
  const Id at = sort_at(step, false).nodes() > sort_at(step + 1, false).nodes() ? step : step + 1;
  if (sort_at(at, false).nodes() > 1) {
    merge_smallest(at, sort_at(at, false));
    return true;
  }
  for (const Id one : {step + 1, step}) {
    if (is_mixed(one) || sort_at(one, false).nodes() == 0) continue;
    mixed_[static_cast<std::size_t>(one)] = 1;
    for (Id place = states_; place < places(); ++place)
      merge(one, place);
    const Sort states = sort_at(one, true);
    if (states.merged <= 0 && states.unmerged > 0) merge(one, smallest_of(one, states));
    return true;
  }
  return false;
}

void NodeChoice::merge_more(Id step) {
  const Id at = node_count(step) >= node_count(step + 1) ? step : step + 1;
  Id smallest = -1;
  for (Id place = 0; place < places(); ++place) {
    const bool can_join = !is_merged(at, place) && sort_at(at, place < states_).nodes() > 1;
    if (can_join && (smallest < 0 || students(at, place) < students(at, smallest))) smallest = place;
  }
  if (smallest < 0)
    mix(at);
  else
    merge_smallest(at, sort_at(at, smallest < states_));
}

NodeChoice::Sort NodeChoice::sort_at(Id step, bool is_state) const {
  Sort sort{is_state ? 0 : states_, is_state ? states_ : places()};
  for (Id place = sort.first; place < sort.last; ++place) {
    if (is_merged(step, place))
      sort.merged += students(step, place);
    else
      ++sort.unmerged;
  }
  return sort;
}

std::size_t NodeChoice::node_count(Id step) const {
  const Sort states = sort_at(step, true), reasons = sort_at(step, false);
  const bool shares = is_mixed(step) && states.merged > 0 && reasons.merged > 0;
  return states.nodes() + reasons.nodes() - (shares ? 1 : 0);
}

Id NodeChoice::smallest_of(Id step, const Sort& sort) const {
  Id smallest = -1;
  for (Id place = sort.first; place < sort.last; ++place) {
    if (!is_merged(step, place) && (smallest < 0 || students(step, place) < students(step, smallest))) smallest = place;
  }
  return smallest;
}

void NodeChoice::merge_smallest(Id step, const Sort& sort) {
  for (int more = sort.merged > 0 ? 1 : 2; more > 0; --more)  // one alone would be as it was
    merge(step, smallest_of(step, sort));
}

void NodeChoice::mix(Id step) {
  mixed_[static_cast<std::size_t>(step)] = 1;
  for (Id place = 0; place < places(); ++place)
    merge(step, place);
}

void NodeChoice::choose(Id step, const Disclosure& disclosure) {
  merged_.emplace_back(static_cast<std::size_t>(places()), 0);
  const auto row = students_.row(step);
  const std::vector<double> states(row.begin(), row.begin() + states_), reasons(row.begin() + states_, row.end());
  const double enrolled = std::accumulate(states.begin(), states.end(), 0.0);
  const double others = std::accumulate(reasons.begin(), reasons.end(), 0.0);
  const bool few_others = !disclosure.allows(others), few_enrolled = !few_others && !disclosure.allows(enrolled);
  mixed_.push_back(few_others || few_enrolled ? 1 : 0);
  // The few are one part beside those of the other sort.
  const auto hide = [&](const std::vector<double>& parts, Id first, bool are_few, double few_beside) {
    std::vector<double> with = parts;
    if (!are_few) with.push_back(few_beside);
    const Hidden hidden = disclosure.hide(with);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (are_few || hidden[i] != 0 || parts[i] <= 0) merge(step, first + static_cast<Id>(i));
    }
  };
  hide(states, 0, few_enrolled, few_others ? others : 0);
  hide(reasons, states_, few_others, few_enrolled ? enrolled : 0);
}

}  // namespace desirepath::inline queries
