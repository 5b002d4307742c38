#include "desirepath/models/fixed_transitions.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline models {

void FixedTransitions::check(Id states) const {
  for (const Entry& entry : entries_) {
    double sum = 0;
    Id fixed = 0;
    for (const Entry& other : entries_) {
      if (other.step != entry.step || other.from != entry.from) continue;
      if (&other != &entry && other.to == entry.to)
        throw InputError(concat(setting_name("transitions"), ": a transition is given twice"));
      sum += other.probability;
      ++fixed;
    }
    if (sum > 1 + 1e-9 || (fixed == states && std::abs(sum - 1) > 1e-9)) {
      throw InputError(concat(setting_name("transitions"), ": the probabilities from state ", entry.from, " sum to ",
                              shortest(sum)));
    }
  }
}

std::vector<Id> FixedTransitions::free_entries(Id step, Id from, Id states) const {
  std::vector<Id> free(static_cast<std::size_t>(states));
  std::iota(free.begin(), free.end(), 0);
  for (const Entry& entry : entries_) {
    if (entry.step == step && entry.from == from) std::erase(free, entry.to);
  }
  if (from < kept_states_) std::erase_if(free, [&](Id to) { return to != from && to < kept_states_; });
  return free;
}

Eigen::RowVectorXd FixedTransitions::row(Id step, Id from, Eigen::RowVectorXd weights) const {
  const auto states = static_cast<Id>(weights.size());
  double left = 1;
  Eigen::RowVectorXd row = Eigen::RowVectorXd::Zero(states);
  for (const Entry& entry : entries_) {
    if (entry.step != step || entry.from != from) continue;
    row[entry.to] = entry.probability;
    left -= entry.probability;
  }
  const std::vector<Id> free = free_entries(step, from, states);
  double total = 0;
  for (const Id to : free)
    total += weights[to];
  for (const Id to : free) {
    row[to] = std::max(0.0, left) * (total > 0 ? weights[to] / total : 1.0 / static_cast<double>(free.size()));
  }
  return row;
}

}  // namespace desirepath::inline models
