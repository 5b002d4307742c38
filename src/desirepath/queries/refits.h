// How sure the model itself is: the model fitted again to students drawn with replacement, from where it stands.
#pragma once

#include <memory>
#include <vector>

#include "desirepath/core/progress.h"
#include "desirepath/core/random_stream.h"
#include "desirepath/core/settings.h"
#include "desirepath/models/model_file.h"

namespace desirepath::inline queries {

struct RefitSettings {
  Id count = 0;

  void declare(SettingVisitor& visit) {
    visit(Setting("refits",
                  "fit the model again to this many draws of the students, with replacement, each going on from the "
                  "model, and widen the intervals by how the answers differ (20 or more; 0: the model is taken as it "
                  "is)")
              .at_least(0)
              .at_most(1000)
              .taking("B"),
          count);
  }
};

/// Where a refit begins: at the model, for the spread of its answers, or anew, to see what is found again.
enum class RefitStart { model, anew };

/// With the settings the model was trained with, to the students it was trained on. Trees keep their shapes. Throws
/// OptionError where the count is 1, ArchiveError where the model does not say how it was trained.
std::vector<std::unique_ptr<Model>> refit_models(const StoredModel& stored, const Cohort& students, Id count,
                                                 const RandomStream& stream, const Executor& executor,
                                                 const ProgressSink& progress, RefitStart start = RefitStart::model);

/// Mean and spread of an answer over the refits, entry by entry.
class RefitSpread {
 public:
  void add(const RowMatrix& answer);
  /// Variance over the refits.
  RowMatrix variance() const;

 private:
  Index count_ = 0;
  RowMatrix mean_, squares_;  // sums of squares about the mean
};

}  // namespace desirepath::inline queries
