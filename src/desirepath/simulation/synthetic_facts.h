// What is planted in the courses of the synthetic university for the models to find again; all of it is in truth.json.
#pragma once

#include "desirepath/core/random_stream.h"
#include "desirepath/simulation/synthetic_catalog.h"

namespace desirepath::inline simulation {

/// Adds listed and tacit prerequisites, the renamed course, the scheduling conflict, detours and unexpected company to
/// a catalog that has its subjects and courses.
void plant_facts(SyntheticCatalog& catalog, const SyntheticOptions& options, const RandomStream& stream);

}  // namespace desirepath::inline simulation
