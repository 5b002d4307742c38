// The options of training, shared by the commands that train.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <CLI/App.hpp>

#include "console.h"
#include "program.h"
#include "raw_table.h"

#include "desirepath/models/model_file.h"
#include "desirepath/models/training.h"

namespace desirepath::app {

struct FitArguments {
  std::string model, emission, start, validation, warm, match, transitions, checkpoint;
  double checkpoint_every = 30;
  bool resume = false;
  SettingValues settings;

  FitOptions options(const Console& console) const;
  /// Neither model nor emission is named: what is best for states, and as many as the students bear.
  bool by_default() const { return model.empty() && emission.empty(); }
  /// With what depends on the cohort.
  void fit_to(const Cohort& cohort, FitOptions& options, const Console& console) const;
  /// --start names a kind of start, not a file.
  bool start_is_word() const;
  /// Files the arguments name are read here and kept alive by the object.
  TrainingContext context(Console& console, const Compute& compute, const Cohort& cohort,
                          const RawTableArguments& table);

 private:
  StoredModel warm_model_, match_model_;
  std::optional<Cohort> validation_cohort_;
};

/// single: one model is trained, so that it can be validated, checkpointed and matched as well.
std::shared_ptr<FitArguments> add_fit_options(Verb& verb, bool single);

}  // namespace desirepath::app
