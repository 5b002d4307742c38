// How emissions are learned: count what the rows say, add the counts up over whoever holds rows, maximise.
//
// An M step is an EmissionStep. Its counts are plain sums (compute/statistics.h), and maximise() sees nothing else, so
// rows may lie with threads, processes or machines that never see each other's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "desirepath/compute/statistics.h"
#include "desirepath/core/random_stream.h"
#include "desirepath/emissions/emission.h"

namespace desirepath::inline emissions {

/// What a learner knows about all rows before it learns from them. Sums as well: surveys of different rows are merged.
class RowSurvey {
 public:
  /// Weights of the rows must be set.
  explicit RowSurvey(const StepRows& rows);

  double students() const { return sums.table(0)(0, 0); }
  bool all_known() const { return sums.table(0)(0, 1) == 0; }
  /// Table 0 is the survey's own; a family's follow.
  Statistics sums;
};

/// What maximising comes to.
struct StepResult {
  std::unique_ptr<Emission> emission;  // null: no better one (of a proposal), or not yet
  bool is_done = true;
  static StepResult count_again() { return {nullptr, false}; }
};

/// An M step under way, in rounds of counting and maximising. Most have one; the best tree, for example, must be known
/// before its tables can be counted.
class EmissionStep {
 public:
  virtual ~EmissionStep() = default;
  /// What some rows say in this round. responsibilities: rows by states, weighted, summed over equal rows.
  virtual Statistics count(const StepRows& rows, const RowMatrix& responsibilities, const Executor& executor) const = 0;
  /// From the sums over all rows to the emission, or to the next round.
  virtual StepResult maximise(Statistics sums, const Executor& executor) = 0;
};

/// All rounds of a step on rows that are here; with peers, on theirs too. counted: the first round's, where known.
std::unique_ptr<Emission> run_step(EmissionStep& step, const StepRows& rows, const RowMatrix& responsibilities,
                                   const Executor& executor, std::optional<Statistics> counted = std::nullopt);

/// A step of one round, made of two functions.
template <class Count, class Maximise>
std::unique_ptr<EmissionStep> one_round(Count count, Maximise maximise) {
  class OneRound : public EmissionStep {
   public:
    OneRound(Count counts, Maximise maximises) : count_(std::move(counts)), maximise_(std::move(maximises)) {}
    Statistics count(const StepRows& rows, const RowMatrix& responsibilities, const Executor& executor) const override {
      return count_(rows, responsibilities, executor);
    }
    StepResult maximise(Statistics sums, const Executor& executor) override {
      return {maximise_(std::move(sums), executor)};
    }

   private:
    Count count_;
    Maximise maximise_;
  };
  return std::make_unique<OneRound>(std::move(count), std::move(maximise));
}

/// What learning says of a state on the way: named by course and period further up.
struct EmissionNote {
  Id state = -1;  // -1: all of them
  Id bit = -1;    // -1: the state as a whole
  std::string text;
};

/// Learns emissions of one family. Immutable options; no memory between calls.
class EmissionLearner {
 public:
  virtual ~EmissionLearner() = default;
  virtual std::string_view family() const = 0;
  virtual RowSurvey survey(const StepRows& rows) const { return RowSurvey(rows); }
  /// The M step that EM starts with; whatever is drawn comes from the stream. Steps must not outlive their survey.
  virtual std::unique_ptr<EmissionStep> first_step(const RowSurvey& survey, Id states,
                                                   const RandomStream& stream) const = 0;
  /// The M step from an emission, which must outlive the step.
  virtual std::unique_ptr<EmissionStep> step(const RowSurvey& survey, const Emission& previous) const = 0;
  /// Nothing, or why EM cannot climb from this emission, as a setting's value: another form than the learner makes.
  virtual std::optional<std::string> incompatibility(const Emission&) const { return std::nullopt; }
  /// The prior's share of the objective at these parameters.
  virtual double log_prior(const RowSurvey& survey, const Emission& emission) const = 0;
  /// False where a step may lower the objective (an additive ridge): the best iterate is then kept.
  virtual bool exact_m_step() const { return true; }
  /// Whether a step needs the previous emission, to fill in what rows leave unknown; else first_step() does the same.
  virtual bool needs_previous(const RowSurvey& survey) const { return !survey.all_known(); }
  /// Bytes of working memory beside rows and responsibilities, and of the parameters.
  virtual double memory_estimate(Id bits, Id states, int threads) const = 0;
  /// Bytes of other forms that are kept with the rows.
  virtual double kept_bytes(const StepRows&) const { return 0; }
  /// Floating-point operations of one iteration, roughly, for --dry-run.
  virtual double work_estimate(const StepRows& rows, Id states) const = 0;
  /// What happened to states that is worth a warning. state_weights: students expected in each.
  virtual std::vector<EmissionNote> notes(const RowSurvey&, const Vector&) const { return {}; }
};

}  // namespace desirepath::inline emissions
