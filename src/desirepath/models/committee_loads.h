// What a committee answers once it is tilted: likelihoods, completions with the loads of students, and what the loads
// that are known say of leaving. Other marginals stay those of the trees. docs/models/hidden_tree.md.
#pragma once

#include "desirepath/models/hidden_chain.h"
#include "desirepath/models/tilts_loads.h"

namespace desirepath::inline models {

/// What evidence says about the loads of a student.
struct KnownLoads {
  PeriodSet enrolled = 0;   // known to be enrolled
  PeriodSet known = 0;      // of these periods, everything is known
  PeriodSet last = 0;       // what may be the last period; empty: the evidence contradicts itself
  std::vector<Id> courses;  // known to be taken, by period

  bool is_whole() const { return enrolled == known; }
};

/// Reads loads as the trees read courses: where these are never taken again, later enrollments do not count.
class LoadReader {
 public:
  explicit LoadReader(const HiddenChain& chain);
  KnownLoads read(const EvidenceBatch& evidence, std::int64_t student) const;

 private:
  bool first_only_, leaves_;
};

/// Students of a batch in this order, each as often as named; where `last` is given, known to have left after that
/// period.
EvidenceBatch copied_students(const EvidenceBatch& evidence, std::span<const std::int64_t> students,
                              std::span<const Id> last = {});

/// A student all of whose loads are known, and how likely each last period is.
struct LastPeriods {
  std::int64_t student = 0;
  KnownLoads loads;
  std::vector<Id> last;       // that there may be, ascending
  std::vector<double> until;  // P(the last period is at most this one given the evidence) by the trees; 1 at the end
  std::vector<double> log_share;   // log P(this one given the evidence) as the load of the latest known period has it
  std::vector<double> log_weight;  // log P(this one given the evidence) by the trees, and its factors over their mean
};
/// Of students whose evidence does not contradict itself and tells some load; log_likelihood: by the trees.
std::vector<LastPeriods> weigh_last_periods(const HiddenChain& chain, const LoadTilt& tilt,
                                            const EvidenceBatch& evidence, LikelihoodKind kind,
                                            const RowMatrix& log_likelihood, const Executor& executor);

/// Loads of students drawn from the chain: equally many for each last period, weighed by how likely it is.
std::vector<Loads> draw_loads(const HiddenChain& chain, std::int64_t count, const RandomStream& stream,
                              const Executor& executor);
/// The tilt that gives the chain's draws the loads of the students; nothing where they are too few, or it would not
/// help.
std::optional<LoadTilt> tilt_for(const HiddenChain& chain, const LoadStudents& students, const RandomStream& stream,
                                 const Executor& executor);

/// The tilted log-likelihood, given the chain's. Exact given the tilt where all or nothing is known of each period;
/// else by completions, with a standard error.
Estimates tilted_log_likelihood(const HiddenChain& chain, const LoadTilt& tilt, const EvidenceBatch& evidence,
                                LikelihoodKind kind, Estimates untilted, const Executor& executor);
/// The chain's marginals, where it is not settled when a student leaves and the loads that are known say more of it
/// than the trees do: of the last period, of courses in periods that the student may not reach, and of other traits.
Estimates tilted_marginals(const HiddenChain& chain, const LoadTilt& tilt, const EvidenceBatch& evidence,
                           std::span<const Id> asked, Estimates untilted, const Executor& executor);
/// The first of the chain's completions that rejection accepts, for each student from a stream of its own.
EvidenceBatch tilted_completions(const HiddenChain& chain, const LoadTilt& tilt, const EvidenceBatch& evidence,
                                 const RandomStream& stream, const Executor& executor, Conditioning conditioning);

}  // namespace desirepath::inline models
