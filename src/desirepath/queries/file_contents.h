// What a file of this program holds: a cohort, a model or a checkpoint.
#pragma once

#include <nlohmann/json.hpp>

#include "desirepath/core/answer.h"
#include "desirepath/core/archive.h"

namespace desirepath::inline queries {

class FileContents : public Answer {
 public:
  /// Throws ArchiveError.
  explicit FileContents(const ArchiveReader& archive);
  nlohmann::ordered_json to_json() const override { return contents_; }
  /// Field and value.
  Table table() const override;
  void print(std::ostream& out) const override;

 private:
  nlohmann::ordered_json contents_;
};

}  // namespace desirepath::inline queries
