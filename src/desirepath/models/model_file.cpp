#include "desirepath/models/model_file.h"

#include "desirepath/models/hidden_chain.h"

namespace desirepath::inline models {

void save_model(const Model& model, const std::string& training, const std::filesystem::path& path,
                Overwrite overwrite) {
  ArchiveWriter archive("model");
  model.save(archive);
  archive.set("training", training);
  archive.write(path, overwrite);
}

StoredModel load_model(const ArchiveReader& archive) {
  archive.require_kind("model");
  return {HiddenChain::load(archive), archive.metadata("training")};
}

StoredModel load_model(const std::filesystem::path& path) {
  return load_model(ArchiveReader::open(path));
}

}  // namespace desirepath::inline models
