// Emissions read back from a model file.
#pragma once

#include <memory>
#include <string>

#include "desirepath/emissions/emission.h"

namespace desirepath::inline emissions {

/// Throws ModelFileError for a family that is not known or arrays that do not fit.
std::unique_ptr<Emission> load_emission(const ArchiveReader& archive, const std::string& family,
                                        const std::string& prefix);

}  // namespace desirepath::inline emissions
