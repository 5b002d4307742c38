// A family of emissions as training and files know it. A new one is its own files and one line in families.cpp
// (docs/howto/add_an_emission.md).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "desirepath/core/settings.h"
#include "desirepath/emissions/learner.h"

namespace desirepath::inline emissions {

/// The bits of a step: all courses in each of its periods.
struct StepShape {
  Id periods = 1;
  Id courses = 0;
  Id bits() const { return periods * courses; }
};

struct EmissionFamily {
  std::string name;
  std::string what;
  SettingDeclaration settings;
  /// Throws OptionError where the values make no sense together.
  std::function<std::unique_ptr<EmissionLearner>(const SettingValues&, const StepShape&)> learner;
  /// Arrays under PREFIX.; throws ArchiveError.
  std::function<std::unique_ptr<Emission>(const ArchiveReader&, const std::string& prefix)> load;
};

/// The families there are: one plain list.
std::span<const EmissionFamily> emission_families();

}  // namespace desirepath::inline emissions
