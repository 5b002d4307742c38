#include "desirepath/models/model_file.h"

#include <algorithm>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::inline models {

void save_model(const Model& model, const TrainingRecord& training, const std::filesystem::path& path,
                Overwrite overwrite, FileAccess access) {
  ArchiveWriter archive("model");
  model.save(archive);
  archive.set("training", training.text);
  archive.write(path, overwrite, access);
}

StoredModel load_model(const ArchiveReader& archive, const Catalog& catalog) {
  archive.require_kind("model");
  const std::string& name = archive.metadata("model");
  const auto entry = std::ranges::find(catalog.models, name, &ModelEntry::name);
  if (entry == catalog.models.end()) archive.refuse(concat("model '", name, "' is not known to this version"));
  std::unique_ptr<Model> model = entry->load(archive, catalog);
  try {
    return {std::move(model), TrainingRecord::read(archive.metadata("training"), catalog)};
  } catch (const ArchiveError& error) {
    archive.refuse(concat("damaged: ", error.marked()));
  }
}

StoredModel load_model(const std::filesystem::path& path, const Catalog& catalog) {
  return load_model(ArchiveReader::open(path), catalog);
}

Vector leave_one_out(const StoredModel& stored, const Cohort& cohort, const Executor& executor,
                     const Catalog& catalog) {
  const std::string name = stored.model->name();
  const ModelEntry& entry = *catalog.choice(name).model;
  if (!entry.leave_one_out) throw OptionError(concat("leave-one-out: there is none for the model '", name, "'"));
  return entry.leave_one_out(*stored.model, stored.training, cohort, executor);
}

}  // namespace desirepath::inline models
