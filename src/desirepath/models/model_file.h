// Model files: the model, and how it was trained. Never a student's row or id.
#pragma once

#include <filesystem>
#include <memory>

#include "desirepath/core/atomic_file.h"
#include "desirepath/models/catalog.h"
#include "desirepath/models/model.h"
#include "desirepath/models/training_record.h"

namespace desirepath::inline models {

struct StoredModel {
  std::unique_ptr<Model> model;
  TrainingRecord training = {};
};

/// `access`: a published model may be read by whoever the system's mask lets, others by their owner alone.
void save_model(const Model& model, const TrainingRecord& training, const std::filesystem::path& path,
                Overwrite overwrite, FileAccess access = FileAccess::owner);
StoredModel load_model(const std::filesystem::path& path, const Catalog& catalog = standard_catalog());
StoredModel load_model(const ArchiveReader& archive, const Catalog& catalog = standard_catalog());

/// log p of each student of the cohort a model was trained on, each left out in turn. Throws OptionError where the
/// model has no such scores, or the cohort is another one.
Vector leave_one_out(const StoredModel& stored, const Cohort& cohort, const Executor& executor,
                     const Catalog& catalog = standard_catalog());

}  // namespace desirepath::inline models
