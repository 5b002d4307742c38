// The options of training, shared by the commands that train.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <CLI/App.hpp>

#include "console.h"
#include "program.h"
#include "raw_table.h"

#include "desirepath/core/error.h"
#include "desirepath/evaluation/fit_sweep.h"
#include "desirepath/models/model_file.h"
#include "desirepath/models/training.h"

namespace desirepath::app {

struct FitArguments {
  std::string model, emission, start, validation, warm, match, transitions, checkpoint;
  double checkpoint_every = 30;
  bool resume = false, may_checkpoint = false;
  SettingValues settings;

  FitOptions options(const Console& console) const;
  /// Neither model nor emission is named: what is best for states, and as many as the students bear.
  bool by_default() const { return model.empty() && emission.empty(); }
  /// With what depends on the cohort, and on the model to start from.
  void fit_to(const Cohort& cohort, FitOptions& options, const Console& console);
  /// --start names a kind of start, not a file.
  bool start_is_word() const;
  /// Files the arguments name are read here and kept alive by the object.
  TrainingContext context(Console& console, const Executor& executor, const Cohort& cohort,
                          const RawTableArguments& table);

 private:
  StoredModel warm_model_, match_model_;
  std::optional<Cohort> validation_cohort_;
};

/// single: one model is trained, so that it can be validated, checkpointed and matched as well.
std::shared_ptr<FitArguments> add_fit_options(Verb& verb, bool single);

/// Of the commands that train many models on one split.
struct FitSweepArguments {
  double held_out = 0.2;
  bool dry_run = false;
  std::string checkpoint;
  bool resume = false;

  FitsFile file() const;
  /// Its finished fits have served.
  void remove_checkpoint() const;
  /// What the fits give; an interruption says how to go on.
  template <class Work>
  auto run(const Work& work) const {
    try {
      return work();
    } catch (const Interrupted&) {
      throw Interrupted(how_to_go_on());
    }
  }

 private:
  std::string how_to_go_on() const;
};
std::shared_ptr<FitSweepArguments> add_fit_sweep_options(Verb& verb);

}  // namespace desirepath::app
