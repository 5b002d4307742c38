// Fits that are stopped on their way and taken up again.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <stdexcept>

#include "desirepath/core/error.h"
#include "desirepath/models/training.h"

namespace desirepath::test {

/// Trains until the first event asked for and leaves the checkpoint that being stopped writes; whether there was one.
inline bool stop_fit(const Cohort& cohort, const FitOptions& options, const std::filesystem::path& checkpoint,
                     const std::function<bool(const ProgressEvent&)>& at) {
  std::atomic<bool> interrupt = false;
  const Executor executor(1, &interrupt);
  TrainingContext context{executor};
  context.checkpoint = checkpoint;
  context.progress = [&](const ProgressEvent& event) { interrupt = interrupt || at(event); };
  try {
    fit_model(cohort, options, context);
  } catch (const Interrupted&) {
    return true;
  }
  return false;
}

struct StoppedFits {
  int least = 2, most = 8;  // reports of progress that a run makes before it is stopped; their number goes round
  double checkpoint_interval = 0;
};

/// Stops a fit again and again, wherever it happens to be, and takes it up from its checkpoint each time. That stays
/// when the fit ends. Throws where it hardly ever stopped, left no checkpoint or never ended.
inline FitResult fit_with_stops(const Cohort& cohort, const FitOptions& options,
                                const std::filesystem::path& checkpoint, const StoppedFits& runs = {}) {
  constexpr int fewest = 4, most = 200;
  for (int stops = 0; stops < most; ++stops) {
    const int reports = runs.least + 2 * stops % (runs.most - runs.least + 1);
    std::atomic<bool> interrupt = false;
    int seen = 0;
    const Executor executor(2, &interrupt);
    TrainingContext context{executor};
    context.progress = [&](const ProgressEvent&) { interrupt = ++seen >= reports; };
    context.checkpoint = checkpoint;
    context.checkpoint_interval = runs.checkpoint_interval;
    context.resume = true;
    try {
      FitResult fit = fit_model(cohort, options, context);
      if (stops < fewest) throw std::runtime_error("the fit ended before it was stopped often enough");
      return fit;
    } catch (const Interrupted&) {
      if (!std::filesystem::exists(checkpoint)) throw std::runtime_error("a stopped fit left no checkpoint");
    }
  }
  throw std::runtime_error("a fit that is taken up again and again does not end");
}

}  // namespace desirepath::test
