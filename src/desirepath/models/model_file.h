// Model files: the model, and how it was trained. Never a student's row or id.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "desirepath/models/model.h"

namespace desirepath::inline models {

struct StoredModel {
  std::unique_ptr<Model> model;
  std::string training = "{}";  // JSON: options, trace, warnings, data fingerprint
};

void save_model(const Model& model, const std::string& training, const std::filesystem::path& path,
                Overwrite overwrite);
StoredModel load_model(const std::filesystem::path& path);
StoredModel load_model(const ArchiveReader& archive);

}  // namespace desirepath::inline models
