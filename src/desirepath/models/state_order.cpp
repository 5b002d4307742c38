#include "desirepath/models/state_order.h"

#include <algorithm>
#include <numeric>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/models/training.h"
#include "desirepath/probability/assignment.h"

namespace desirepath::inline models {

StateOrder order_by_share(const RowMatrix& state_weights, const StepLayout& layout, Id states) {
  StateOrder orders;
  for (const std::vector<Id>& pool : layout.pools) {
    Eigen::RowVectorXd share = Eigen::RowVectorXd::Zero(states);
    for (const Id step : pool)
      share += state_weights.row(step).head(states);
    std::vector<Id> order(static_cast<std::size_t>(states));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](Id a, Id b) { return share[a] > share[b]; });
    orders.push_back(std::move(order));
  }
  return orders;
}

StateOrder match_states(const ChainParameters& parameters, const StepLayout& layout, const Schema& schema,
                        const HiddenChain& earlier) {
  const ChainParameters& target = earlier.parameters();
  const Id states = parameters.emitting_states();
  if (target.emissions.size() != parameters.emissions.size() ||
      target.emissions.front()->bit_count() != parameters.emissions.front()->bit_count() ||
      !earlier.identity().schema.has_same_bits(schema)) {
    throw OptionError(concat(setting_name("match"), ": the model has other courses, periods or steps"));
  }
  if (target.emitting_states() != states)
    throw OptionError(concat(setting_name("match"), ": the model has another number of states"));
  StateOrder orders;
  for (std::size_t p = 0; p < layout.pools.size(); ++p) {
    const RowMatrix here = parameters.emissions[p]->bit_probabilities(),
                    there = target.emissions[p]->bit_probabilities();
    Matrix distance(states, states);
    for (Id i = 0; i < states; ++i) {
      for (Id k = 0; k < states; ++k)
        distance(i, k) = (there.col(i) - here.col(k)).squaredNorm();
    }
    orders.push_back(cheapest_assignment(distance));
  }
  return orders;
}

std::string small_states_note(const std::vector<std::vector<double>>& students, const StepLayout& layout,
                              const Schema& schema) {
  std::vector<std::string> places;
  Id small = 0;
  for (std::size_t step = 0; step < students.size(); ++step) {
    std::vector<std::string> names;
    for (std::size_t k = 0; k < students[step].size(); ++k) {
      if (students[step][k] >= least_students || (students[step][k] <= 0)) continue;
      names.push_back(std::to_string(k));
    }
    small += static_cast<Id>(names.size());
    if (names.empty()) continue;
    const std::string where =
        layout.step_count() > 1 ? concat("period ", schema.period(static_cast<Id>(step)), ": ") : "";
    constexpr std::size_t most_named = 6;
    const std::size_t more = names.size() - std::min(names.size(), most_named);
    names.resize(names.size() - more);
    places.push_back(concat(where, join(names, ", "), more > 0 ? concat(" and ", more, " more") : ""));
  }
  if (small == 0) return {};
  return concat(counted(small, "state rests", "states rest"), " on fewer than ", shortest(least_students),
                " expected students (", join(places, "; "), "); 'states' withholds them, ", setting_name("publish"),
                " merges them");
}

ChainParameters reorder_states(ChainParameters parameters, const StepLayout& layout, const StateOrder& order) {
  const Id states = parameters.emitting_states();
  const auto old_state = [&](Id step, Id state) {
    return state >= states ? state
                           : order[static_cast<std::size_t>(layout.pool_of[static_cast<std::size_t>(step)])]
                                  [static_cast<std::size_t>(state)];
  };
  const auto reorder = [&](const ChainPrior& old, const Matrix& departures) {
    ChainDynamics dynamics{old, departures};
    const auto all = static_cast<Id>(old.state_count());
    for (Id k = 0; k < all; ++k)
      dynamics.prior.initial[k] = old.initial[old_state(0, k)];
    for (std::size_t t = 0; t < old.transitions.size(); ++t) {
      const auto step = static_cast<Id>(t);
      for (Id from = 0; from < all; ++from) {
        for (Id to = 0; to < all; ++to)
          dynamics.prior.transitions[t](from, to) = old.transitions[t](old_state(step, from), old_state(step + 1, to));
      }
    }
    for (Index k = 0; k < departures.rows(); ++k)
      dynamics.departures.row(k) = departures.row(old_state(0, static_cast<Id>(k)));
    return dynamics;
  };
  ChainDynamics dynamics = reorder(parameters.prior, parameters.departures);
  ChainParameters result{std::move(dynamics.prior), {}, parameters.has_left_state, std::move(dynamics.departures)};
  if (parameters.mass_dynamics)
    result.mass_dynamics = reorder(parameters.mass_dynamics->prior, parameters.mass_dynamics->departures);
  for (std::size_t p = 0; p < parameters.emissions.size(); ++p)
    result.emissions.push_back(parameters.emissions[p]->reordered(order[p]));
  return result;
}

}  // namespace desirepath::inline models
