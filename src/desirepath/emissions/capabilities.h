// What only some emissions and learners can do. Whoever can derives from the interface as well; models ask for it by
// offered<>() and know no family.
#pragma once

#include "desirepath/core/settings.h"
#include "desirepath/emissions/latent_parameters.h"
#include "desirepath/emissions/learner.h"

namespace desirepath::inline emissions {

/// The capability of an emission or learner; null where it is not offered.
template <class Capability, class Object>
const Capability* offered(const Object& object) {
  return dynamic_cast<const Capability*>(&object);
}

// Emissions

/// Of emissions and learners: rows tell what was taken in earlier periods (with_history). given() then answers nothing.
class ReadsHistory {
 public:
  virtual ~ReadsHistory() = default;
};

/// Courses have a probability of their own once they were taken before.
class CarriesOver : public ReadsHistory {
 public:
  /// p(taken | not taken before, state) and p(taken | taken before, state): courses by states.
  virtual const RowMatrix& first() const = 0;
  virtual const RowMatrix& again() const = 0;
};

/// given() takes a shortcut that this does not: slower, perhaps sampled.
class AnswersExactly {
 public:
  virtual ~AnswersExactly() = default;
  virtual std::unique_ptr<GivenPattern> given_exactly(const UnknownBits& unknown) const = 0;
};

/// score() may be of something simpler, fitted to the emission.
class ScoresByFit {
 public:
  virtual ~ScoresByFit() = default;
  virtual ScoreError score_error(const StepRows& rows, LikelihoodKind kind, Precision precision,
                                 const Executor& executor) const = 0;
};

/// Ties courses to each other.
class TiesCourses {
 public:
  virtual ~TiesCourses() = default;
  /// Strongest first.
  virtual std::vector<CourseLink> links() const = 0;
};

/// Its states can be members of a committee: each has hidden variables of its own, and those of several emissions can
/// stand side by side.
class FormsCommittees {
 public:
  virtual ~FormsCommittees() = default;
  /// Values of a hidden variable.
  virtual Id hidden_values() const = 0;
  /// The states of all, in their order. Null: they do not fit each other.
  virtual std::unique_ptr<Emission> joined(std::span<const std::shared_ptr<const Emission>> all) const = 0;
};

/// Knows how often a course is taken again.
class KnowsRetakes {
 public:
  virtual ~KnowsRetakes() = default;
  /// Probabilities in a state: courses by periods.
  virtual const RowMatrix& retakes(Id state) const = 0;
};

/// Thresholds a normal variable for each course, so that correlations can be climbed by gradients (policy-gradient).
class LatentlyGaussian {
 public:
  virtual ~LatentlyGaussian() = default;
  /// States that share their correlations; none where these have no such form.
  virtual std::vector<std::vector<Index>> latent_groups() const = 0;
  /// Of the states of a group.
  virtual LatentParameters latent_parameters(const std::vector<Index>& group) const = 0;
  /// The same emission with others, group by group.
  virtual std::unique_ptr<Emission> with_latent(const std::vector<LatentParameters>& groups) const = 0;
};

/// Another family can go on from here on the probability of the enrollments itself (orthant-em); which, its family
/// says.
class Continues {
 public:
  virtual ~Continues() = default;
  /// An emission of the other family, with these settings of it.
  virtual std::unique_ptr<Emission> continued(const SettingValues& settings, const Executor& executor) const = 0;
};

/// Students behind each row and state, by the step of the pool in which they have it: a student counts once in a step,
/// and may count in several.
using StepWeights = std::vector<RowMatrix>;  // by place in the pool: rows by states

struct PublishedEmission {
  std::unique_ptr<Emission> emission;
  std::int64_t values = 0, pooled = 0;  // of hidden variables, where there are any, and those with too few students
};

/// Can be handed out: what rests on few students is pooled, the rest rounded (docs/models/publication.md).
class Publishable {
 public:
  virtual ~Publishable() = default;
  /// Of these rows; nothing rests on fewer than `least` students.
  virtual PublishedEmission published(const StepRows& rows, const StepWeights& weights, double least,
                                      const Executor& executor) const = 0;
};

// Learners

/// Sets something outside the climb, once after EM, such as calibrated marginals.
class FinishesAfterClimb {
 public:
  virtual ~FinishesAfterClimb() = default;
  /// Counted with the responsibilities that the emission gives. Null: it stays as it is.
  virtual std::unique_ptr<EmissionStep> finishing_step(const RowSurvey& survey, const Emission& emission) const = 0;
};

/// Makes up for a chain that was fitted anew to the mass of the states.
class BalancesShares {
 public:
  virtual ~BalancesShares() = default;
  /// To the true share of every bit under the shares the states have now (periods of the step by states, rows sum to
  /// one). Counts the rows' own weights.
  virtual std::unique_ptr<EmissionStep> balancing_step(const RowMatrix& state_shares,
                                                       const Emission& emission) const = 0;
};

/// Knows other emissions worth trying beside those of its steps; EM takes one only where the objective is higher.
class ProposesEmissions {
 public:
  virtual ~ProposesEmissions() = default;
  /// Null, or a step without an emission: none is worth trying.
  virtual std::unique_ptr<EmissionStep> proposal(const RowSurvey& survey, const Emission& current) const = 0;
};

/// What an M step would give without some of the rows it rests on.
class LeftOut {
 public:
  virtual ~LeftOut() = default;
  /// Scores of these rows (rows by states, as Emission::score) when their own share of the responsibilities, `weights`
  /// (rows by states), is taken out first. May be called from any thread.
  virtual void score(std::span<const std::int32_t> rows, const RowMatrix& weights, RowMatrix& out) const = 0;
};

/// Can take rows out of what an M step rests on.
class LeavesRowsOut {
 public:
  virtual ~LeavesRowsOut() = default;
  /// sums: of step(survey, &emission) over all rows. The result must not outlive rows, survey and emission.
  virtual std::unique_ptr<LeftOut> leave_out(const StepRows& rows, Statistics sums, const RowSurvey& survey,
                                             const Emission& emission) const = 0;
};

/// Learns emissions that have latent Gaussians, where its settings let them.
class LearnsLatents {
 public:
  virtual ~LearnsLatents() = default;
  virtual bool learns_latents() const = 0;
};

/// Finished emissions have another form than EM climbs from.
class ReopensEmissions {
 public:
  virtual ~ReopensEmissions() = default;
  /// Null: it has the form already.
  virtual std::unique_ptr<Emission> reopened(const Emission& emission) const = 0;
};

/// Scores rows and counts them in one pass, where their responsibilities are known before their scores: with one state.
class CountsWhileScoring {
 public:
  struct Pass {
    RowScores scores;
    Statistics sums;  // what step(survey, emission).count() finds with these responsibilities
  };
  virtual ~CountsWhileScoring() = default;
  virtual Pass score_and_count(const StepRows& rows, const Emission& emission, const RowMatrix& responsibilities,
                               const Executor& executor) const = 0;
};

/// Sums a student's log-likelihood from terms that are larger than itself: what rounding may take from it follows them.
class HasLargeTerms {
 public:
  virtual ~HasLargeTerms() = default;
  virtual double term_size(const Emission& emission) const = 0;
};

}  // namespace desirepath::inline emissions
