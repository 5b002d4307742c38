// What every training does alike: students held out, the refusal of what the memory cannot hold, interruptions,
// checkpoints, notes. A training derives from TrainingRun and says what it learns.
#pragma once

#include <chrono>
#include <mutex>

#include <nlohmann/json_fwd.hpp>

#include "desirepath/models/training.h"

namespace desirepath::inline models {

/// The file a fit is taken up from.
class CheckpointFile {
 public:
  /// Inactive where the context names no file. What the task refers to must outlive this.
  explicit CheckpointFile(const TrainingTask& task);
  bool is_active() const { return !task_.context.checkpoint.empty(); }
  bool is_due() const;
  /// What the fit is to go on from; nothing where it begins anew.
  std::optional<ArchiveReader> resumed() const;
  /// Throws OptionError where a checkpoint with this header is another fit's.
  void require_own(const ArchiveReader& archive, const nlohmann::json& header);
  void write(ArchiveWriter& archive, nlohmann::json header);

 private:
  /// The fit it belongs to.
  struct Owner {
    std::string options;  // digest
    std::string fingerprint;
  };
  const Owner& owner();

  TrainingTask task_;
  std::optional<Owner> owner_;
  std::chrono::steady_clock::time_point last_;
};

class TrainingRun : public Training {
 public:
  FitResult run() final;

 protected:
  /// For messages: what to use fewer of where memory is short, and what first takes a run forward.
  explicit TrainingRun(const TrainingTask& task, std::string fewer = "states",
                       std::string first_step = "the first iteration");

  virtual FitResult train() = 0;

  /// Those who are learned from, and those who judge: the context's, or those held out. Null: nobody judges.
  const Cohort& training() const { return training_ ? *training_ : cohort_; }
  const Cohort* judges() const { return judges_ ? &*judges_ : context_.validation; }
  /// Sets a share of the students aside; false where fewer than `least` would judge.
  bool hold_out(double share, std::size_t least = 1);
  /// The same; throws OptionError that blames the setting.
  void hold_out_for(std::string_view setting, double share);
  /// From any thread.
  void report(const ProgressEvent& event);

  const Cohort& cohort_;
  const FitOptions& options_;
  const TrainingContext& context_;
  CheckpointFile checkpoint_;

 private:
  std::string how_to_go_on() const;

  std::string fewer_, first_step_;
  std::optional<Cohort> training_, judges_;
  std::mutex progress_mutex_;
};

/// Throws OptionError where the context has what only models with states can use.
void refuse_states(const TrainingContext& context, const std::string& model);
/// Throws InputError for judges of other courses or periods.
[[noreturn]] void refuse_other_bits();
/// Throws OptionError where the model to start from is of other data.
void require_same_bits(const Model& warm, const Schema& schema);

/// Counts the starts that reached the best likelihood; one alone may not be the best there is.
void warn_of_starts(FitResult& result);
/// steps: of the setting that limits them, iterations or epochs.
void warn_of_the_end(FitResult& result, const std::string& step = "iteration");
void warn_of_refinement(FitResult& result);
/// For nobody judged which number of steps is best. `count`: in words.
void warn_of_few(FitResult& result, const std::string& count);

}  // namespace desirepath::inline models
