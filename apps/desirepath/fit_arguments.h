// The options of training, shared by the commands that train.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <CLI/App.hpp>

#include "console.h"
#include "raw_table.h"

#include "desirepath/models/fit.h"

namespace desirepath::app {

struct FitArguments {
  std::string model = "cmm", emission, tree, covariance, calibrate, refine, reward, start = "kmeans", warm, match,
              weights, transitions, validation, checkpoint;
  std::optional<double> pseudocount, covariance_prior;
  double ridge = 0, state_pseudocount = 0.1, tolerance = 1e-7, checkpoint_every = 30;
  ProbitOptions probit;
  int restarts = 3, iterations = 500;
  bool resume = false;

  /// What the options stand for; files they name are read here and kept alive by the object.
  FitOptions to_options(const Console& console, const Cohort& cohort, const RawTableArguments& table);

 private:
  std::unique_ptr<Model> warm_model_, match_model_;
  std::optional<Cohort> validation_cohort_;
};

/// single: one model is trained, so that it can be validated, checkpointed and matched as well.
std::shared_ptr<FitArguments> add_fit_options(CLI::App& app, bool single);

}  // namespace desirepath::app
