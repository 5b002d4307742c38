// The models there are: one plain list that the command line, the tests and every front end go through.
//
// An entry knows its name, what it is, its settings, how it is trained and how its file is read. A model that is no
// chain is one more entry; a test adds one to a copy of the list.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "desirepath/emissions/family.h"
#include "desirepath/models/chain_evidence.h"
#include "desirepath/models/model.h"

namespace desirepath::inline models {

struct Catalog;
struct TrainingRecord;
struct TrainingTask;
class Training;

struct ModelEntry {
  std::string name;
  std::string what;
  std::optional<TimeStructure> structure;  // how a chain cuts time into steps; none: no chain
  std::string default_emission;            // empty: the model takes none
  SettingDeclaration settings;             // beside the emission's
  std::string size_setting = "states";     // what a selection of the model's size ranges over
  /// Throws OptionError where options and cohort do not fit.
  std::function<std::unique_ptr<Training>(const TrainingTask&)> prepare;
  /// Throws ArchiveError.
  std::function<std::unique_ptr<Model>(const ArchiveReader&, const Catalog&)> load;
  /// log p of each student of the cohort the model was trained on, each left out in turn. Throws OptionError
  /// when the cohort is another one. Null: the model has none.
  std::function<Vector(const Model&, const TrainingRecord&, const Cohort&, const Executor&)> leave_one_out;
};

/// "cmm+tree": a model and an emission, the model's own where none is named.
struct ModelChoice {
  const ModelEntry* model = nullptr;
  const EmissionFamily* emission = nullptr;  // null: the model takes none
  /// "cmm", "cmm+tree".
  std::string name() const;
};

struct Catalog {
  std::vector<ModelEntry> models;
  std::vector<EmissionFamily> emissions;

  /// Throw OptionError that names the nearest one.
  const ModelEntry& model(std::string_view name) const;
  const EmissionFamily& emission(std::string_view name) const;
  ModelChoice choice(std::string_view text) const;
};

const Catalog& standard_catalog();

}  // namespace desirepath::inline models
