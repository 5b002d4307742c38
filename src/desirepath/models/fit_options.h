// What decides a fit: a model of the catalog, an emission, settings by name, a seed. Nothing else, no files, no
// pointers into data (those are in TrainingContext), so that it can be recorded and read back.
#pragma once

#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "desirepath/core/settings.h"
#include "desirepath/models/catalog.h"

namespace desirepath::inline models {

class FitOptions {
 public:
  /// "cmm", "cmm+tree". The catalog must outlive the options.
  explicit FitOptions(std::string_view choice, const Catalog& catalog = standard_catalog());

  const ModelChoice& choice() const { return choice_; }
  const Catalog& catalog() const { return *catalog_; }
  const SettingValues& values() const { return values_; }
  std::uint64_t seed = 1;

  /// Throws OptionError where the model and its emission have no such setting.
  FitOptions& set(std::string_view name, SettingValue value);
  FitOptions& set(const SettingValues& values);
  /// A number no larger than `most`, where the model has the setting.
  FitOptions& limit(std::string_view name, std::int64_t most);
  /// Back to the default.
  FitOptions& unset(std::string_view name);
  /// The same settings for another emission; those it does not know are dropped.
  FitOptions with_emission(std::string_view family) const;

  /// The settings a part of training declares, as they are here.
  template <class Settings>
  Settings read() const {
    return settings_from<Settings>(values_);
  }
  /// The settings the model and the emission have; those of both once.
  std::vector<Setting> known() const;

  /// Everything that decides the result, every setting with its value, for the model file.
  nlohmann::ordered_json describe() const;
  /// Back from describe(), also of an earlier version's: settings it does not name are at their defaults. Throws
  /// ArchiveError.
  static FitOptions from_record(const nlohmann::ordered_json& record, const Catalog& catalog = standard_catalog());

 private:
  ModelChoice choice_;
  const Catalog* catalog_;
  SettingValues values_;
};

/// The settings of all models and emissions, those of one name together, each with what it means where.
std::vector<Setting> all_fit_settings(const Catalog& catalog);

}  // namespace desirepath::inline models
