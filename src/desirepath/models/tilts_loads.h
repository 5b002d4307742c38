// What models offer whose draws can be given the loads of students (load_tilt.h).
#pragma once

#include <memory>
#include <vector>

#include "desirepath/models/load_fit.h"
#include "desirepath/models/model.h"

namespace desirepath::inline models {

/// Students whose loads draws are to have.
struct LoadStudents {
  const EvidenceBatch& evidence;
  std::vector<double> weights = {};  // empty: 1 each
  LoadFitSettings settings = {};
};

class TiltsLoads {
 public:
  virtual ~TiltsLoads() = default;
  virtual bool is_tilted() const = 0;
  /// As it answers where loads play no part.
  virtual const Model& untilted() const = 0;
  /// The same model with loads as these students have them; untilted where they are too few or it would not help.
  virtual std::unique_ptr<Model> tilted(const LoadStudents& students, const RandomStream& stream,
                                        const Executor& executor) const = 0;
};

/// For questions that compare likelihoods or draws with marginals, which are never tilted.
inline const Model& untilted(const Model& model) {
  const auto* tilts = dynamic_cast<const TiltsLoads*>(&model);
  return tilts != nullptr ? tilts->untilted() : model;
}

}  // namespace desirepath::inline models
