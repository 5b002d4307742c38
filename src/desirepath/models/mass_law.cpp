#include "desirepath/models/mass_law.h"

#include <algorithm>

#include "desirepath/models/state_order.h"

namespace desirepath::inline models {

namespace {

constexpr std::int64_t most_students = 2000;  // few numbers are fitted; the mass of a student takes milliseconds

/// Of the states that emit, among students who are there: periods of a pool's step (of steps that share emissions one
/// mean) by states.
RowMatrix state_shares(const ChainLaw& law, const ChainEvidence& evidence, std::size_t pool, Id states) {
  const StepLayout& layout = *evidence.layout;
  const PeriodRange& step = layout.steps[static_cast<std::size_t>(layout.pools[pool].front())];
  RowMatrix shares = RowMatrix::Zero(step.last - step.first, states);
  Eigen::RowVectorXd share = law.prior.initial.transpose();
  for (Id t = 0; t < layout.step_count(); ++t) {
    if (t > 0) share = (share * law.prior.transitions[static_cast<std::size_t>(t - 1)]).eval();
    if (layout.pool_of[static_cast<std::size_t>(t)] != static_cast<Id>(pool)) continue;
    const auto& rows =
        evidence.pools[pool].row_of[static_cast<std::size_t>(layout.place_of[static_cast<std::size_t>(t)])];
    const auto known = static_cast<double>(std::ranges::count_if(rows, [](std::int32_t row) { return row >= 0; }));
    shares.rowwise() += known * share.head(states) / share.head(states).sum();
  }
  for (Index period = 0; period < shares.rows(); ++period) {
    if (law.departures.size() > 0)
      shares.row(period).array() *=
          law.departures.rightCols(law.departures.cols() - period).rowwise().sum().transpose().array();
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
  parameters.mass_law = refit.fit_law(kind);
  for (std::size_t p = 0; p < parameters.emissions.size(); ++p) {
    const RowMatrix shares = state_shares(*parameters.mass_law, trained.evidence, p, states);
    if (auto balanced =
            trained.learner.balance(trained.evidence.pools[p].rows, shares, *parameters.emissions[p], trained.executor))
      parameters.emissions[p] = std::move(balanced);
  }
  if (orders)
    parameters = reorder_states(std::move(parameters), layout, order_by_share(refit.state_weights(), layout, states));
  problem.start_from_parameters(std::move(parameters));
}

}  // namespace desirepath::inline models
