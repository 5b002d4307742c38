// Leaps that EM on a chain tries between its steps: an emptied state given to other students, another shape of the
// emissions. run_em keeps what raises the objective.
#include <algorithm>

#include "desirepath/core/text.h"
#include "desirepath/models/chain_training.h"

namespace desirepath::inline models {

namespace {
constexpr int most_reseeds = 3;        // tries a state
constexpr double empty_weight = 1e-3;  // students' worth under which a state counts as emptied
}  // namespace

bool ChainProblem::propose(int iteration) {
  if (reseed_empty_state()) return true;
  // Another shape: often in the beginning, then at 10, 20, 40 ... iterations. The better the climb has settled the
  // rarer another one is taken, and each try costs as much as several iterations.
  constexpr int often = 5;
  const int turns = iteration / often;
  if (iteration > often && (iteration % often != 0 || (turns & (turns - 1)) != 0)) return false;
  std::vector<std::unique_ptr<Emission>> proposed;
  bool any = false;
  for (std::size_t p = 0; p < evidence_.pools.size(); ++p) {
    proposed.push_back(
        learner_.propose(evidence_.pools[p].rows, responsibilities_.rows[p], *parameters_.emissions[p], executor_));
    any = any || proposed.back() != nullptr;
  }
  if (!any) return false;
  withdrawn_ = parameters_;
  for (std::size_t p = 0; p < proposed.size(); ++p) {
    if (proposed[p]) parameters_.emissions[p] = std::move(proposed[p]);
  }
  on_proposal_ = true;
  return true;
}

bool ChainProblem::reseed_empty_state() {
  // An emptied state goes to the row that the model explains worst for its size and to those like it, with a weight
  // that costs the others little; run_em keeps it only if the objective rises.
  for (std::size_t p = 0; p < evidence_.pools.size(); ++p) {
    const StepRows& rows = evidence_.pools[p].rows;
    const RowMatrix& weights = responsibilities_.rows[p];
    const Eigen::RowVectorXd total = weights.colwise().sum();
    for (Id k = 0; k < task_.states; ++k) {
      int& tries = reseeds_[p][static_cast<std::size_t>(k)];
      if (total[k] > empty_weight || tries >= most_reseeds || rows.row_count() <= 1) continue;
      ++tries;
      const bool per_period = evidence_.layout->structure == TimeStructure::per_period;
      const Id first_step = evidence_.layout->pools[p].front();
      // By no number: states are ordered anew in the end.
      warnings_.insert(
          concat("a state", per_period ? concat(" of period ", task_.schema.period(first_step)) : "",
                 " lost all its students on the way and was begun anew with those described worst; nothing needs to be "
                 "done, 'states' tells how many students each state has in the end"));
      std::vector<std::pair<double, std::int64_t>> worst;
      for (std::int64_t row = 0; row < rows.row_count(); ++row) {
        const double weight = weights.row(row).sum();
        if (weight > 0) worst.emplace_back(scores_[p].log_likelihood.row(row).maxCoeff(), row);
      }
      std::ranges::sort(worst);
      if (worst.size() < 2) continue;
      const std::size_t chosen = std::min<std::size_t>(worst.size() - 1, static_cast<std::size_t>(tries - 1));
      withdrawn_ = parameters_;
      RowMatrix seeded = weights;
      const std::int64_t row = worst[chosen].second;
      const double weight = seeded.row(row).sum();
      seeded.row(row).setZero();
      seeded(row, k) = weight;
      parameters_.emissions[p] = learner_.maximise(rows, seeded, parameters_.emissions[p].get(), executor_);
      on_proposal_ = true;
      const double share = weight / total_weight_;
      const auto give_share = [&](auto&& distribution) {
        if (distribution[k] >= share) return;
        distribution *= 1 - share;
        distribution[k] += share;
      };
      for (const Id step : evidence_.layout->pools[p]) {
        if (step == 0) {
          Eigen::RowVectorXd initial = parameters_.prior.initial.transpose();
          give_share(initial);
          parameters_.prior.initial = initial.transpose();
        } else if (task_.fixed.empty()) {
          Matrix& transition = parameters_.prior.transitions[static_cast<std::size_t>(step - 1)];
          for (Id from = 0; from < task_.states; ++from) {
            Eigen::RowVectorXd to = transition.row(from);
            give_share(to);
            transition.row(from) = to;
          }
        }
      }
      return true;
    }
  }
  return false;
}

}  // namespace desirepath::inline models
