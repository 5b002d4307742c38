// An emission: for each hidden state a distribution over the bits of a step. The seam between time structures and
// families: a new family gives a new model for every time structure (docs/howto/add_an_emission.md). Learning is in
// learner.h; what only some families can do in capabilities.h.
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
#include "desirepath/emissions/step_shape.h"

namespace desirepath::inline emissions {

/// What a likelihood is of; nothing compares two kinds.
enum class LikelihoodKind {
  mass,        // probability of binary vectors: at most 0 in logs
  density,     // of the -1/+1 relaxation: may be positive
  lower_bound  // on the mass
};
std::string_view name_of(LikelihoodKind kind);

/// Where a likelihood has no closed form: expectation propagation, or sampling with a standard error, ten times slower
/// and more; or, where that is much faster, that of a simpler distribution fitted to the states (ScoreError). The
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
struct ScoreError {
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
  /// Whether it is made for such steps.
  virtual bool fits(const StepShape& shape) const { return shape.bits() == bit_count(); }
  /// The kinds score() gives, best first.
  virtual std::span<const LikelihoodKind> likelihood_kinds() const = 0;
  /// The kind that learning climbs.
  virtual LikelihoodKind training_kind() const { return likelihood_kinds().front(); }

  /// log p(known bits | state) of all rows.
  virtual RowScores score(const StepRows& rows, LikelihoodKind kind, Precision precision,
                          const Executor& executor) const = 0;
  /// The emission as rows of a pattern see it; must not outlive the emission.
  virtual std::unique_ptr<GivenPattern> given(const UnknownBits& unknown) const = 0;
  /// p(bit = 1 | state) with nothing known: bits by states.
  virtual RowMatrix bit_probabilities() const = 0;

  /// Free parameters, for information criteria.
  virtual std::int64_t parameter_count() const = 0;
  /// The states in another order: new state i is old state order[i].
  virtual std::unique_ptr<Emission> reordered(std::span<const Id> order) const = 0;
  /// Arrays under PREFIX.
  virtual void save(ArchiveWriter& archive, const std::string& prefix) const = 0;
  /// Bytes the parameters take.
  virtual std::int64_t byte_count() const = 0;
};

}  // namespace desirepath::inline emissions
