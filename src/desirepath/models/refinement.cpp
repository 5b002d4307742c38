#include "desirepath/models/refinement.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/capabilities.h"
#include "desirepath/emissions/latent_reward.h"
#include "desirepath/learning/adam.h"
#include "desirepath/models/chain_training.h"

namespace desirepath::inline models {

nlohmann::ordered_json RefinementReport::to_json() const {
  nlohmann::ordered_json json = {{"refine", name_of_value(refinement)},
                                 {"held_out_students", students},
                                 {"likelihood_kind", name_of(LikelihoodKind::mass)},
                                 {"trace", trace},
                                 {"kept_round", kept_round},
                                 {"gain", gain},
                                 {"standard_error", standard_error}};
  if (refinement != Refinement::policy_gradient) return json;
  json["reward"] = name_of_value(reward);
  json["signal"] = nlohmann::ordered_json::array();
  for (const RewardSignal& row : signal)
    json["signal"].push_back({{"courses", row.courses}, {"weight", row.weight}, {"rewarded", row.rewarded}});
  return json;
}

namespace {

// Of the gradient per student: less is mostly noise, of which Adam's scaling would make full steps.
constexpr double noise_floor = 1e-3;
constexpr double small_share = 1e-3;       // of a row's weight: states with less learn nothing from it
constexpr std::int64_t most_courses = 12;  // rows with more count together in the signal

const LatentlyGaussian& latently_gaussian(const Emission& emission) {
  return *offered<LatentlyGaussian>(emission);
}

/// log P of every student. Expectation propagation on the whole covariances is off by some 0.004 nats, by nearly the
/// same for covariances that differ by a few short steps: less than what can be told apart.
Vector masses(const ChainParameters& whole, const ChainEvidence& evidence, const Executor& executor) {
  const ChainParameters parameters = whole.answering();
  return student_log_likelihoods(parameters, evidence,
                                 score_pools(parameters, evidence, LikelihoodKind::mass, Precision::quick, executor),
                                 executor);
}

/// One correlation matrix on its way uphill, with the means of the states that share it.
struct Climber {
  std::size_t pool;
  std::vector<Index> states;
  LatentParameters parameters;
  Adam adam;

  Climber(std::size_t own_pool, const LatentlyGaussian& emission, std::vector<Index> own_states, double rate)
      : pool(own_pool),
        states(std::move(own_states)),
        parameters(emission.latent_parameters(states)),
        adam(parameters.values().size(), {.rate = rate, .floor = noise_floor}) {}
};

std::vector<std::int64_t> shuffled_rows(std::int64_t count, RandomStream stream) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
  for (std::int64_t row = 0; row < count; ++row)
    rows[static_cast<std::size_t>(row)] = row;
  shuffle(rows, stream);
  return rows;
}

/// One round of a covariance: every row once, Adam after each share of them. `signal` receives what was rewarded.
void climb(Climber& climber, const StepRows& rows, const RowMatrix& responsibilities,
           const PolicyGradientOptions& options, const RandomStream& stream, std::vector<RewardSignal>& signal,
           const Executor& executor) {
  const std::vector<std::int64_t> order = shuffled_rows(rows.row_count(), stream.child("order"));
  const auto count = static_cast<std::int64_t>(order.size());
  for (std::int64_t step = 0; step < options.steps; ++step) {
    executor.check_interrupt();
    const std::vector<LatentGaussian> latent = climber.parameters.latent();
    std::vector<LatentGradient> gradients;
    double total = 0;
    for (std::size_t i = 0; i < latent.size(); ++i) {
      const Index k = climber.states[i];
      RewardSampler sampler(latent[i], options.reward);
      LatentGradient& gradient = gradients.emplace_back(rows.bit_count());
      for (std::int64_t at = step * count / options.steps; at < (step + 1) * count / options.steps; ++at) {
        const std::int64_t row = order[static_cast<std::size_t>(at)];
        const double weight = responsibilities(row, k);
        if (!(weight > small_share * rows.weights()[static_cast<std::size_t>(row)])) continue;
        sampler.set_row(rows.taken(row), rows.unknown(rows.pattern_of(row)));
        sampler.draw(options.samples,
                     stream.child(static_cast<std::uint64_t>(row)).child(static_cast<std::uint64_t>(k)));
        sampler.add_gradient(weight, gradient);
        total += weight;
        RewardSignal& counted_here =
            signal[static_cast<std::size_t>(std::min(std::ssize(rows.taken(row)), most_courses))];
        counted_here.weight += weight;
        if (sampler.log_mean_reward() > -infinity) counted_here.rewarded += weight;
      }
    }
    if (!(total > 0)) continue;
    for (LatentGradient& gradient : gradients) {
      gradient.mean /= total;
      gradient.covariance /= total;
    }
    climber.adam.ascend(climber.parameters.gradient(gradients), climber.parameters.values());
  }
}

}  // namespace

RefinementReport refine_by_policy_gradient(ChainProblem& problem, const ChainEvidence& training,
                                           const ChainEvidence& held_out, const PolicyGradientOptions& options,
                                           const RandomStream& stream, const Executor& executor,
                                           const ProgressSink& progress) {
  std::vector<Climber> climbers;
  for (std::size_t p = 0; p < training.pools.size(); ++p) {
    const LatentlyGaussian& emission = latently_gaussian(*problem.parameters().emissions[p]);
    for (std::vector<Index>& group : emission.latent_groups())
      climbers.emplace_back(p, emission, std::move(group), options.rate);
  }

  RefinementReport report;
  report.reward = options.reward;
  report.students = held_out.student_count();
  const ChainParameters start = problem.parameters();
  ChainParameters best = start;
  report.trace.push_back(masses(start, held_out, executor).mean());
  int best_round = 0;
  for (int round = 1; round <= options.rounds && round - best_round <= options.patience; ++round) {
    problem.expectation();
    std::vector<std::vector<RewardSignal>> signals(
        climbers.size(), std::vector<RewardSignal>(static_cast<std::size_t>(most_courses) + 1));
    const RandomStream draws = stream.child(static_cast<std::uint64_t>(round));
    executor.for_each(std::ssize(climbers), [&](std::int64_t number) {
      const auto at = static_cast<std::size_t>(number);
      Climber& climber = climbers[at];
      climb(climber, training.pools[climber.pool].rows, problem.responsibilities().rows[climber.pool], options,
            draws.child(static_cast<std::uint64_t>(climber.pool)), signals[at], executor);
    });
    ChainParameters next = start;
    for (std::size_t p = 0; p < next.emissions.size(); ++p) {
      std::vector<LatentParameters> groups;
      for (const Climber& climber : climbers) {
        if (climber.pool == p) groups.push_back(climber.parameters);
      }
      next.emissions[p] = latently_gaussian(*next.emissions[p]).with_latent(groups);
    }
    const double score = masses(next, held_out, executor).mean();
    if (progress)
      progress({"refine", static_cast<double>(round) / options.rounds, round, score, score - report.trace.back()});
    if (score > report.trace[static_cast<std::size_t>(best_round)]) {
      best = next;
      best_round = round;
    }
    report.trace.push_back(score);
    problem.start_from_parameters(std::move(next));
    if (round > 1) continue;
    for (std::size_t c = 0; c <= static_cast<std::size_t>(most_courses); ++c) {
      RewardSignal sum{static_cast<std::int64_t>(c), 0, 0};
      for (const std::vector<RewardSignal>& own : signals) {
        sum.weight += own[c].weight;
        sum.rewarded += own[c].rewarded;
      }
      if (sum.weight > 0) report.signal.push_back(sum);
    }
  }
  bool keeps = false;
  if (best_round > 0) {
    const Vector gains = masses(best, held_out, executor) - masses(start, held_out, executor);
    const auto students = static_cast<double>(gains.size());
    report.gain = gains.mean();
    report.standard_error =
        std::sqrt((gains.array() - report.gain).square().sum() / std::max(1.0, students - 1) / students);
    keeps = report.gain > errors_above * report.standard_error;
  }
  if (keeps)
    report.kept_round = best_round;
  else
    report.gain = 0;
  problem.start_from_parameters(keeps ? best : start);
  return report;
}

}  // namespace desirepath::inline models
