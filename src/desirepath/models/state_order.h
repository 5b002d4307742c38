// A stated, stable order of states: by share, or like an earlier model's.
#pragma once

#include <vector>

#include "desirepath/models/hidden_chain.h"

namespace desirepath::inline models {

/// For each pool of steps: new state i is old state order[i].
using StateOrder = std::vector<std::vector<Id>>;

/// The largest expected share first (over all steps of a pool); equal shares keep their order.
StateOrder order_by_share(const RowMatrix& state_weights, const StepLayout& layout, Id states);
/// The order in which states are most like the other model's, course by course (the assignment of least total
/// distance). Throws OptionError when the models have other courses, periods, steps or fewer states.
StateOrder match_states(const ChainParameters& parameters, const StepLayout& layout, const Schema& schema,
                        const HiddenChain& earlier);
/// Names the states that rest on few students; empty: there are none. `students`: steps by states.
std::string small_states_note(const std::vector<std::vector<double>>& students, const StepLayout& layout,
                              const Schema& schema);
ChainParameters reorder_states(ChainParameters parameters, const StepLayout& layout, const StateOrder& order);

}  // namespace desirepath::inline models
