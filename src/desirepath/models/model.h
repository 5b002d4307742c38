// A trained joint distribution over enrollments, and the three operations every question is made of.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "desirepath/compute/executor.h"
#include "desirepath/core/archive.h"
#include "desirepath/core/random_stream.h"
#include "desirepath/emissions/emission.h"
#include "desirepath/transcripts/evidence.h"

namespace desirepath::inline models {

/// Values and their standard errors; no errors where exact.
struct Estimates {
  RowMatrix value;
  RowMatrix standard_error;  // bias included, so that errors of students are not independent; empty = exact
  bool is_exact() const { return standard_error.size() == 0; }
};

/// How Gaussian steps take evidence within a state: as -1/+1, linearly (fast, the paper's way), or by truncation at
/// zero, sampled with a standard error. Other emissions know one way, which is exact.
enum class Conditioning { linear, exact };
inline std::span<const std::string_view> value_names(Conditioning) {
  static constexpr std::array<std::string_view, 2> names = {"linear", "exact"};
  return names;
}

/// What hidden states say of students. Steps are periods, or one step for all.
class HiddenStates {
 public:
  virtual ~HiddenStates() = default;
  virtual Id step_count() const = 0;
  virtual PeriodRange step_periods(Id step) const = 0;
  /// States of every step, "left" among them where the model has it (the last).
  virtual Id state_count() const = 0;
  virtual bool has_left_state() const = 0;
  /// p(state at step) before anything is known.
  virtual Vector share(Id step) const = 0;
  /// (from, to) between step and step+1.
  virtual const Matrix& transition(Id step) const = 0;
  /// p(course taken in a period | state of its step): courses by states (without "left").
  virtual RowMatrix course_probabilities(Id period) const = 0;
  /// p(state | evidence): students by (step, state).
  virtual RowMatrix posterior(const EvidenceBatch& evidence, const Executor& executor) const = 0;
  /// The most likely path: students by steps.
  virtual std::vector<std::vector<Id>> paths(const EvidenceBatch& evidence, const Executor& executor) const = 0;
};

/// A trained joint distribution over enrollments: one bit per (period, course).
///
/// Evidence fixes some bits and leaves the others unknown; every query combines the three operations below. Models are
/// immutable, so const members may be called from any thread.
class Model {
 public:
  virtual ~Model() = default;
  virtual const Schema& schema() const = 0;
  /// "nb", "cmm+tree" ...
  virtual std::string name() const = 0;
  /// The kinds this model can score, best first.
  virtual std::span<const LikelihoodKind> likelihood_kinds() const = 0;
  /// log p(evidence), unknown bits summed out: one a student.
  virtual Estimates log_likelihood(const EvidenceBatch& evidence, LikelihoodKind kind, const Executor& executor,
                                   Precision precision = Precision::quick) const = 0;
  /// p(bit = 1 | evidence) for the bits asked for only: students by asked.
  virtual Estimates marginals(const EvidenceBatch& evidence, std::span<const Id> asked, const Executor& executor,
                              Conditioning conditioning = Conditioning::linear) const = 0;
  /// Fills the unknown bits of student s with draws from stream.child(s).
  virtual EvidenceBatch complete(const EvidenceBatch& evidence, const RandomStream& stream, const Executor& executor,
                                 Conditioning conditioning = Conditioning::linear) const = 0;
  /// What a reader of log_likelihood() should know of its making; empty: nothing.
  virtual std::string likelihood_note(const EvidenceBatch&, LikelihoodKind, const Executor&, Precision) const {
    return {};
  }
  /// Courses the model ties to each other, strongest first; empty where it knows no such ties.
  virtual std::vector<CourseLink> links() const { return {}; }
  /// The hidden states, or null for a model without them.
  virtual const HiddenStates* hidden_states() const { return nullptr; }
  /// Whether the model knows that students leave: evidence may then say they have.
  virtual bool models_leaving() const { return false; }
  virtual std::int64_t parameter_count() const = 0;
  virtual void save(ArchiveWriter& archive) const = 0;
};

}  // namespace desirepath::inline models
