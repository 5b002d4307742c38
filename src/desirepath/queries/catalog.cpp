#include <array>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/json_number.h"
#include "desirepath/core/text.h"
#include "desirepath/disclosure/disclosure.h"
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
  if (cohort != nullptr) return cohort->min_cell();
  const auto record = nlohmann::ordered_json::parse(stored.training, nullptr, /*allow_exceptions=*/false);
  if (!record.is_object() || !record.contains("min_cell")) return std::nullopt;
  const auto least = whole_number_in<std::int64_t>(record.at("min_cell"));
  return least && *least >= Disclosure::fewest ? least : std::nullopt;
}

const HiddenStates& require_states(const Model& model, std::string_view query) {
  if (const HiddenStates* states = model.hidden_states()) return *states;
  throw OptionError(concat(query, ": ", model.name(), " has no hidden states; cmm and nb have"));
}

}  // namespace desirepath::inline queries
