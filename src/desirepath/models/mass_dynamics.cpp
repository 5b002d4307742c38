#include "desirepath/models/mass_dynamics.h"

#include <algorithm>

#include "desirepath/emissions/capabilities.h"
#include "desirepath/models/state_order.h"

namespace desirepath::inline models {

namespace {

constexpr std::int64_t most_students = 2000;  // few numbers are fitted; the mass of a student takes milliseconds

/// Of the states that emit, among students who are there: periods of a pool's step (of steps that share emissions one
/// mean) by states.
RowMatrix state_shares(const ChainDynamics& dynamics, const TrainedWith& trained, std::size_t pool, Id states) {
  const ChainEvidence& evidence = trained.evidence;
  const StepLayout& layout = *evidence.layout;
  const PeriodRange& step = layout.steps[static_cast<std::size_t>(layout.pools[pool].front())];
  RowMatrix shares = RowMatrix::Zero(step.last - step.first, states);
  Eigen::RowVectorXd share = dynamics.prior.initial.transpose();
  for (Id t = 0; t < layout.step_count(); ++t) {
    if (t > 0) share = (share * dynamics.prior.transitions[static_cast<std::size_t>(t - 1)]).eval();
    if (layout.pool_of[static_cast<std::size_t>(t)] != static_cast<Id>(pool)) continue;
    const auto& rows =
        evidence.pools[pool].row_of[static_cast<std::size_t>(layout.place_of[static_cast<std::size_t>(t)])];
    Statistics known;
    known.add(RowMatrix::Constant(
        1, 1, static_cast<double>(std::ranges::count_if(rows, [](std::int32_t row) { return row >= 0; }))));
    trained.executor.add_up(known);
    shares.rowwise() += known.table(0)(0, 0) * share.head(states) / share.head(states).sum();
  }
  for (Index period = 0; period < shares.rows(); ++period) {
    if (dynamics.departures.size() > 0)
      shares.row(period).array() *=
          dynamics.departures.rightCols(dynamics.departures.cols() - period).rowwise().sum().transpose().array();
    shares.row(period) /= shares.row(period).sum();
  }
  return shares;
}

}  // namespace

void weigh_by_mass(const TrainedWith& trained, ChainProblem& problem, bool orders) {
  ChainParameters parameters = problem.parameters();
  const Emission& emission = *parameters.emissions.front();
  const LikelihoodKind kind = emission.likelihood_kinds().front();
  const Id states = trained.task.states;
  if (kind == emission.training_kind() || states == 1) return;
  const StepLayout& layout = *trained.evidence.layout;
  std::vector<std::int64_t> some;
  ChainTask task = trained.task;
  task.weights.clear();
  const std::int64_t all = trained.students.student_count(), count = std::min(all, most_students);
  for (std::int64_t i = 0; i < count; ++i) {
    some.push_back(i * all / count);
    task.weights.push_back(trained.task.weight_of(some.back()));
  }
  ChainEvidence evidence(EvidenceBatch::of(trained.students.select(some)), layout);
  ChainProblem refit(task, evidence, trained.learner, trained.executor);
  refit.start_from_parameters(parameters);
  parameters.mass_dynamics = refit.fit_dynamics(kind);
  const auto* balances = offered<BalancesShares>(trained.learner);
  for (std::size_t p = 0; p < parameters.emissions.size() && balances != nullptr; ++p) {
    const RowMatrix shares = state_shares(*parameters.mass_dynamics, trained, p, states);
    const StepRows& rows = trained.evidence.pools[p].rows;
    const auto step = balances->balancing_step(shares, *parameters.emissions[p]);
    parameters.emissions[p] = run_step(*step, rows, RowMatrix(), trained.executor);
  }
  if (orders)
    parameters = reorder_states(std::move(parameters), layout, order_by_share(refit.state_weights(), layout, states));
  problem.start_from_parameters(std::move(parameters));
}

}  // namespace desirepath::inline models
