#include <algorithm>

#include "desirepath/queries/states.h"
#include "desirepath/transcripts/evidence.h"

namespace desirepath::inline queries {

namespace {

/// Students by steps: the most likely state; -1 where the student was not there.
std::vector<std::vector<Id>> likely_states(const HiddenStates& states, const Cohort& cohort,
                                           const EvidenceBatch& evidence, const Executor& executor) {
  const RowMatrix posterior = states.posterior(evidence, executor);
  const Id count = states.state_count();
  std::vector<std::vector<Id>> likely(static_cast<std::size_t>(posterior.rows()));
  for (Index s = 0; s < posterior.rows(); ++s) {
    for (Id step = 0; step < states.step_count(); ++step) {
      const bool present = is_present(cohort, s, states.step_periods(step));
      Index best = 0;
      posterior.row(s).segment(Index{step} * count, count).maxCoeff(&best);
      likely[static_cast<std::size_t>(s)].push_back(present ? static_cast<Id>(best) : -1);
    }
  }
  return likely;
}

/// Of the states of two models in one step: students in both, by (state, other state).
RowMatrix overlaps(const std::vector<std::vector<Id>>& ours, const std::vector<std::vector<Id>>& theirs,
                   std::size_t step, Id states) {
  RowMatrix both = RowMatrix::Zero(states, states);
  for (std::size_t s = 0; s < ours.size(); ++s) {
    if (ours[s][step] >= 0) ++both(ours[s][step], theirs[s][step]);
  }
  return both;
}

}  // namespace

std::vector<StateStability> state_stability(const HiddenStates& states,
                                            const std::vector<std::unique_ptr<Model>>& refits, const Cohort& cohort,
                                            const Executor& executor) {
  constexpr double recovered = 0.5;
  const Id count = states.state_count();
  const EvidenceBatch evidence = EvidenceBatch::of(cohort);
  const auto ours = likely_states(states, cohort, evidence, executor);
  std::vector<StateStability> found;
  for (Id step = 0; step < states.step_count(); ++step) {
    for (Id k = 0; k < count; ++k)
      found.push_back({step, k, 0, 0});
  }
  std::vector<std::uint8_t> inhabited(found.size(), 0);
  for (const auto& refit : refits) {
    const auto theirs = likely_states(*refit->hidden_states(), cohort, evidence, executor);
    for (Id step = 0; step < states.step_count(); ++step) {
      const RowMatrix both = overlaps(ours, theirs, static_cast<std::size_t>(step), count);
      const Vector our_size = both.rowwise().sum(), their_size = both.colwise().sum();
      for (Id k = 0; k < count; ++k) {
        const auto at = static_cast<std::size_t>(step) * static_cast<std::size_t>(count) + static_cast<std::size_t>(k);
        if (!(our_size[k] > 0)) continue;
        inhabited[at] = 1;
        double best = 0;
        for (Id other = 0; other < count; ++other)
          best = std::max(best, both(k, other) / (our_size[k] + their_size[other] - both(k, other)));
        found[at].overlap += best / static_cast<double>(refits.size());
        found[at].found += best > recovered ? 1 / static_cast<double>(refits.size()) : 0;
      }
    }
  }
  std::vector<StateStability> kept;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (inhabited[i] != 0) kept.push_back(found[i]);
  }
  return kept;
}

}  // namespace desirepath::inline queries
