// A family of emissions as training and files know it. A new one is its own files and one line in families.cpp
// (docs/howto/add_an_emission.md).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "desirepath/core/settings.h"
#include "desirepath/emissions/learner.h"

namespace desirepath::inline emissions {

struct EmissionFamily {
  std::string name;
  std::string what;
  SettingDeclaration settings;
  /// Throws OptionError where the values make no sense together.
  std::function<std::unique_ptr<EmissionLearner>(const SettingValues&, const StepShape&)> learner;
  /// Arrays under PREFIX.; throws ArchiveError.
  std::function<std::unique_ptr<Emission>(const ArchiveReader&, const std::string& prefix)> load;
  bool can_be_published = false;                 // its emissions are Publishable
  LikelihoodKind climbs = LikelihoodKind::mass;  // the kind that learning climbs
  /// Where its emissions may be LatentlyGaussian: with which settings they are, for messages.
  std::string latent_with = {};
  /// Where its emissions continue as those of another family: which, and the settings that it takes over.
  struct Continuation {
    std::string family;
    std::function<SettingValues(SettingValues)> settings;
  };
  std::optional<Continuation> continuation = {};
};

/// The families there are: one plain list.
std::span<const EmissionFamily> emission_families();

}  // namespace desirepath::inline emissions
