// Where a fit can be taken up again, to the bit.
//
// Either the current parameters (small for independent bits and trees) or the responsibilities of the last E step
// (small beside full covariances): one M step restores the rest.
#pragma once

#include <optional>
#include <set>

#include <nlohmann/json_fwd.hpp>

#include "desirepath/models/chain_candidates.h"
#include "desirepath/models/chain_training.h"
#include "desirepath/models/training_run.h"

namespace desirepath::inline models {

/// One restart, run to its end.
struct RestartOutcome {
  RestartResult result;
  EmProgress em;
  ChainParameters parameters;
  std::vector<double> validation_trace;
  int best_iteration = 0;
  std::set<std::string> warnings;
};

/// Numbers go into arrays, where they keep every bit; the rest is returned for a header.
nlohmann::json save_result(ArchiveWriter& archive, const std::string& name, const RestartResult& result);
RestartResult load_result(const ArchiveReader& archive, const nlohmann::json& header, const std::string& name);
/// A whole number of a header, within bounds; throws ArchiveError.
int whole_number(const ArchiveReader& archive, const nlohmann::json& header, const char* key, int lowest, int highest);
/// Numbers one an iteration, all finite; throws ArchiveError.
std::vector<double> load_trace(const ArchiveReader& archive, const std::string& name, int size);

/// A run between two iterations, and what came before it.
struct Checkpoint {
  static constexpr const char* mixture_key = "starts.mixture";

  StartFindings starts;
  bool climbing = true;  // false: starts are being tried, and there is nothing else
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

  /// The fit as it would begin: what a checkpoint of it must fit.
  struct Frame {
    const StepLayout& layout;
    const Schema& schema;
    const EmissionFamily& family;
    const ChainProblem& problem;
    int restarts = 1;
    bool validated = false;
    std::int64_t students = 0;
    std::size_t candidates = 0;  // starts to be tried
  };
  /// Throws OptionError when the checkpoint is another fit's, ArchiveError when the file is none of such a chain.
  static Checkpoint load(const ArchiveReader& archive, CheckpointFile& file, const Frame& frame);
  /// Brings a problem to where this one was.
  void put_into(ChainProblem& problem);
};

/// Keeps what is needed at hand and writes it when its time has come.
class CheckpointWriter {
 public:
  /// The file must outlive this.
  CheckpointWriter(CheckpointFile& file, bool needs_previous) : file_(file), needs_previous_(needs_previous) {}
  /// After an M step: the point a run would be taken up at.
  void remember(const ChainProblem& problem);
  /// The rest of `checkpoint` is the caller's; parameters or responsibilities are added here.
  void write(const Checkpoint& checkpoint, const ChainProblem& problem, const ChainParameters* best,
             const RestartOutcome* best_finished);
  /// While starts are tried.
  void write_starts(const StartFindings& found);

 private:
  CheckpointFile& file_;
  bool needs_previous_;
  std::optional<ChainResponsibilities> remembered_;
};

}  // namespace desirepath::inline models
