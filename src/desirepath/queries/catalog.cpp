#include <array>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/queries/query.h"

namespace desirepath::inline queries {

// Each in a file of its name.
using MakeQuery = Query();
MakeQuery infer_query, sample_query, score_query, prerequisites_query, plan_query, delays_query, company_query,
    pathways_query, states_query;

/// The queries there are: one plain list.
std::span<const Query> query_catalog() {
  static const std::array queries = {infer_query(),         sample_query(),   score_query(),
                                     prerequisites_query(), plan_query(),     delays_query(),
                                     company_query(),       pathways_query(), states_query()};
  return queries;
}

std::optional<std::int64_t> QueryInput::min_cell() const {
  return cohort != nullptr ? cohort->min_cell() : stored.training.min_cell;
}

const HiddenStates& require_states(const Model& model, std::string_view query) {
  if (const HiddenStates* states = model.hidden_states()) return *states;
  throw OptionError(concat(query, ": ", model.name(), " has no hidden states; cmm and nb have"));
}

}  // namespace desirepath::inline queries
