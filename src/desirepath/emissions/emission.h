// An emission: for each hidden state a distribution over the bits of a step. The seam between time structures and
// families: a new family gives a new model for every time structure (docs/howto/add_an_emission.md).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "desirepath/compute/executor.h"
#include "desirepath/core/archive.h"
#include "desirepath/core/random_stream.h"
#include "desirepath/core/types.h"
#include "desirepath/emissions/step_rows.h"

namespace desirepath::inline emissions {

/// What a likelihood is of; nothing compares two kinds.
enum class LikelihoodKind {
  mass,        // probability of binary vectors: at most 0 in logs
  density,     // of the -1/+1 relaxation: may be positive
  lower_bound  // on the mass
};
std::string_view name_of(LikelihoodKind kind);

/// Where a likelihood has no closed form: expectation propagation, or sampling with a standard error, ten times slower
/// and more; or, where that is much faster, that of a simpler distribution fitted to the states (LikelihoodGap). The
/// caller's choice, never the batch's size.
enum class Precision { quick, sampled, fitted };
std::span<const std::string_view> value_names(Precision);

/// Log-likelihoods of rows in every state.
struct RowScores {
  RowMatrix log_likelihood;  // rows by states
  /// What each may be off by; empty = exact. A bias, or draws that rows and states share: it does not average out.
  RowMatrix standard_error;
};

/// Scores of something simpler than the emission: what, and what the emission itself gives more on some rows.
struct LikelihoodGap {
  std::string of;  // empty: the emission is scored as it is
  std::int64_t rows = 0;
  double mean = 0;
  double root_mean_square = 0;
  double largest = 0;  // absolute
};

/// Two courses that an emission ties to each other.
struct CourseLink {
  Id first = 0, second = 0;  // courses, first < second
  double information = 0;    // nats the timing of one says of the other's
  double share = 1;          // of the states that tie them
};

/// An emission given what one pattern knows: factors and messages that all rows of the pattern share.
class GivenPattern {
 public:
  virtual ~GivenPattern() = default;
  /// p(bit = 1 | known bits, state) of the bits asked for: states by asked. `taken` are the row's known ones.
  virtual void marginals(std::span<const Id> taken, std::span<const Id> asked, Eigen::Ref<RowMatrix> out) const = 0;
  /// The same with standard errors; none where exact.
  virtual void marginals_with_errors(std::span<const Id> taken, std::span<const Id> asked, Eigen::Ref<RowMatrix> out,
                                     Eigen::Ref<RowMatrix> errors) const {
    marginals(taken, asked, out);
    errors.setZero();
  }
  /// All taken bits of the row after its unknown ones are drawn in this state; ascending.
  virtual void complete(std::span<const Id> taken, Id state, RandomStream& stream, std::vector<Id>& result) const = 0;
};

/// Immutable; const members may be called from any thread.
class Emission {
 public:
  virtual ~Emission() = default;
  virtual std::string_view family() const = 0;
  virtual Id state_count() const = 0;
  virtual Id bit_count() const = 0;
  /// Whether it is made for steps of so many periods and courses.
  virtual bool fits(Id periods, Id courses) const { return std::int64_t{periods} * courses == bit_count(); }
  /// Whether its rows tell what was taken in earlier periods (with_history); then given() answers nothing.
  virtual bool needs_history() const { return false; }
  /// The kinds score() gives, best first.
  virtual std::span<const LikelihoodKind> likelihood_kinds() const = 0;
  /// The kind that learning climbs.
  virtual LikelihoodKind training_kind() const { return likelihood_kinds().front(); }

  /// log p(known bits | state) of all rows.
  virtual RowScores score(const StepRows& rows, LikelihoodKind kind, Precision precision,
                          const Executor& executor) const = 0;
  /// The emission as rows of a pattern see it; must not outlive the emission.
  virtual std::unique_ptr<GivenPattern> given(const UnknownBits& unknown) const = 0;
  /// The same without shortcuts, where given() takes any: slower, perhaps sampled.
  virtual std::unique_ptr<GivenPattern> given_exactly(const UnknownBits& unknown) const { return given(unknown); }
  /// Whether score() is of something simpler, and what that costs.
  virtual LikelihoodGap likelihood_gap(const StepRows&, LikelihoodKind, Precision, const Executor&) const { return {}; }
  /// p(bit = 1 | state) with nothing known: bits by states.
  virtual RowMatrix bit_probabilities() const = 0;
  /// The courses it ties to each other, strongest first; empty where it knows no such ties.
  virtual std::vector<CourseLink> links() const { return {}; }

  /// Free parameters, for information criteria.
  virtual std::int64_t parameter_count() const = 0;
  /// The states in another order: new state i is old state order[i].
  virtual std::unique_ptr<Emission> reordered(std::span<const Id> order) const = 0;
  /// Arrays under PREFIX.
  virtual void save(ArchiveWriter& archive, const std::string& prefix) const = 0;
  /// Bytes the parameters take.
  virtual std::int64_t byte_count() const = 0;
};

/// What learning says of a state on the way: named by course and period further up.
struct EmissionNote {
  Id state = -1;  // -1: all of them
  Id bit = -1;    // -1: the state as a whole
  std::string text;
};

/// What an M step would give without some of the rows it rests on.
class LeftOut {
 public:
  virtual ~LeftOut() = default;
  /// Scores of these rows (rows by states, as Emission::score) when their own share of the responsibilities, `weights`
  /// (rows by states), is taken out first. May be called from any thread.
  virtual void score(std::span<const std::int32_t> rows, const RowMatrix& weights, RowMatrix& out) const = 0;
};

/// Learns emissions of one family. Immutable options; no memory between calls.
class EmissionLearner {
 public:
  virtual ~EmissionLearner() = default;
  virtual std::string_view family() const = 0;
  /// Whether its rows tell what was taken in earlier periods.
  virtual bool needs_history() const { return false; }
  /// The M step EM starts from; whatever is drawn comes from the restart's own stream.
  virtual std::unique_ptr<Emission> start(const StepRows& rows, const RowMatrix& responsibilities, const RandomStream&,
                                          const Executor& executor) const {
    return maximise(rows, responsibilities, nullptr, executor);
  }
  /// The M step: responsibilities are rows by states (weighted, summed over equal rows). previous is null only where
  /// needs_previous() allows it.
  virtual std::unique_ptr<Emission> maximise(const StepRows& rows, const RowMatrix& responsibilities,
                                             const Emission* previous, const Executor& executor) const = 0;
  /// Another emission worth trying beside maximise()'s; taken only if the objective is higher there. Null: none.
  virtual std::unique_ptr<Emission> propose(const StepRows&, const RowMatrix&, const Emission&, const Executor&) const {
    return nullptr;
  }
  /// Called once after EM, with the responsibilities the emission itself gives: what is set outside the climb, such as
  /// calibrated marginals. Null: the emission stays as it is.
  virtual std::unique_ptr<Emission> finish(const StepRows&, const RowMatrix&, const Emission&, const Executor&) const {
    return nullptr;
  }
  /// Called where the chain was then fitted anew to the mass of the states: the emission with the true share of every
  /// bit under the shares the states have now (periods of the step by states, rows sum to one). Null: it stays.
  virtual std::unique_ptr<Emission> balance(const StepRows&, const RowMatrix&, const Emission&, const Executor&) const {
    return nullptr;
  }
  /// For leave-one-out scores; null where the family has no such M step. Must not outlive rows and emission.
  virtual std::unique_ptr<LeftOut> leave_out(const StepRows&, const RowMatrix&, const Emission&,
                                             const Executor&) const {
    return nullptr;
  }
  /// The form EM climbs from where it starts at a finished emission. Null: as it is.
  virtual std::unique_ptr<Emission> unfinished(const Emission&) const { return nullptr; }
  /// Empty, or why EM cannot climb from this emission, as a setting's value: another form than the learner makes.
  virtual std::string misfit(const Emission&) const { return {}; }
  /// How large the terms are that a student's log-likelihood is summed from, where they are larger than itself: what
  /// rounding may take from it follows them.
  virtual double term_size(const Emission&) const { return 0; }
  /// The prior's share of the objective at these parameters.
  virtual double log_prior(const StepRows& rows, const Emission& emission) const = 0;
  /// False where a step of maximise() may lower the objective (an additive ridge): the best iterate is then kept.
  virtual bool exact_m_step() const { return true; }
  /// maximise() needs the previous emission to fill in what rows leave unknown.
  virtual bool needs_previous(const StepRows& rows) const { return !rows.all_known(); }
  /// Bytes of working memory beside rows and responsibilities, and of the parameters.
  virtual double memory_estimate(Id bits, Id states, int threads) const = 0;
  /// Floating-point operations of one iteration, roughly, for --dry-run.
  virtual double work_estimate(const StepRows& rows, Id states) const = 0;
  /// What happened to a state that is worth a warning.
  virtual std::vector<EmissionNote> notes(const StepRows&, const RowMatrix&, const Emission&) const { return {}; }
};

}  // namespace desirepath::inline emissions
