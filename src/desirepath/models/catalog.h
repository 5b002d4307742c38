// The models there are: one plain list that the command line, the tests and every front end go through.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "desirepath/models/chain_evidence.h"

namespace desirepath::inline models {

struct CatalogEntry {
  std::string_view name;
  std::string_view what;
  TimeStructure structure;
  std::string_view default_emission;
};

std::span<const CatalogEntry> model_catalog();
/// Emission families any time structure takes.
std::span<const std::string_view> emission_catalog();

/// Throw OptionError that names the nearest one.
const CatalogEntry& require_model(std::string_view name);
std::string require_emission(std::string_view name);

/// "cmm+tree": a model and an emission, the model's own where none is named.
struct ModelChoice {
  const CatalogEntry* model = nullptr;
  std::string emission;
};
ModelChoice parse_model_choice(std::string_view text);

}  // namespace desirepath::inline models
