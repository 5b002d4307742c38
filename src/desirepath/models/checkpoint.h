// Where a fit can be taken up again, to the bit.
//
// Either the current parameters (small for independent bits and trees) or the responsibilities of the last E step
// (small beside full covariances): one M step restores the rest.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <set>

#include "desirepath/models/chain_training.h"

namespace desirepath::inline models {

struct RestartResult {
  int number = 0;
  std::uint64_t seed = 0;
  double log_likelihood = 0;
  double objective = 0;
  int iterations = 0;
  bool converged = false;
  std::optional<double> validation;  // mean log-likelihood per student
};

/// One restart, run to its end.
struct RestartOutcome {
  RestartResult result;
  EmProgress em;
  ChainParameters parameters;
  std::vector<double> validation_trace;
  int best_iteration = 0;
  std::set<std::string> warnings;
};

/// A run between two iterations, and what came before it.
struct Checkpoint {
  std::string options_digest;
  std::string fingerprint;  // of the cohort
  int restart = 0;
  EmProgress em;
  std::vector<double> validation_trace;
  int best_iteration = 0;
  std::set<std::string> warnings;
  std::vector<std::vector<int>> reseeds;
  /// One of the two.
  std::optional<ChainParameters> parameters;
  std::optional<ChainResponsibilities> responsibilities;
  std::optional<ChainParameters> best;  // by validation, or of an inexact climb
  std::vector<RestartResult> finished;
  std::optional<RestartOutcome> best_finished;

  /// Throws ModelFileError when the file is no checkpoint of this emission family.
  static Checkpoint load(const std::filesystem::path& path, const std::string& emission);
  /// Brings a problem to where this one was.
  void put_into(ChainProblem& problem);
};

/// Keeps what is needed at hand and writes it when its time has come.
class CheckpointWriter {
 public:
  /// Does nothing where the path is empty.
  CheckpointWriter(std::filesystem::path path, double interval, bool needs_previous);
  /// After an M step: the point a run would be taken up at.
  void remember(const ChainProblem& problem);
  bool is_due() const;
  /// The rest of `checkpoint` is the caller's; parameters or responsibilities are added here.
  void write(const Checkpoint& checkpoint, const ChainProblem& problem, const ChainParameters* best,
             const RestartOutcome* best_finished);

 private:
  std::filesystem::path path_;
  double interval_;
  bool needs_previous_;
  std::chrono::steady_clock::time_point last_;
  std::optional<ChainResponsibilities> remembered_;
};

}  // namespace desirepath::inline models
