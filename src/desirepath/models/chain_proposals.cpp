// Leaps that EM on a chain tries between its steps: an emptied state given to other students, another shape of the
// emissions. run_em keeps what raises the objective.
#include <algorithm>
#include <array>
#include <tuple>

#include "desirepath/core/digest.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/capabilities.h"
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
  const auto* proposes = offered<ProposesEmissions>(learner_);
  if (proposes == nullptr) return false;
  std::vector<std::unique_ptr<Emission>> proposed;
  bool any = false;
  for (std::size_t p = 0; p < evidence_.pools.size(); ++p) {
    proposed.push_back(run(proposes->proposal(surveys_[p], *parameters_.emissions[p]), p));
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

/// A row that the model explains badly, whoever has it: equal rows of several peers are one.
struct ChainProblem::WorstRow {
  double score = 0;               // its best log-likelihood in any state
  std::array<double, 2> content;  // whole numbers that stand for what it knows
  double weight = 0;              // students it stands for
  std::int64_t own_row = -1;      // -1: it is not here

  /// Of rows explained alike, by what they are: so that everybody has them in the same order.
  bool operator<(const WorstRow& other) const {
    return std::tie(score, content) < std::tie(other.score, other.content);
  }
};

namespace {

std::array<double, 2> content_of(const StepRows& rows, std::int64_t row) {
  DigestBuilder digest;
  digest.add(std::as_bytes(rows.taken(row)));
  digest.add(std::as_bytes(std::span(rows.unknown(rows.pattern_of(row)).bits)));
  const Digest found = digest.finish();
  constexpr std::uint64_t digits = (std::uint64_t{1} << 52U) - 1;
  return {static_cast<double>(found.high & digits), static_cast<double>(found.low & digits)};
}

}  // namespace

std::vector<ChainProblem::WorstRow> ChainProblem::worst_rows(std::size_t pool, std::size_t count) const {
  const RowMatrix& weights = responsibilities_.rows[pool];
  std::vector<double> scores;
  for (std::int64_t row = 0; row < weights.rows(); ++row)
    scores.push_back(weights.row(row).sum() > 0 ? scores_[pool].log_likelihood.row(row).maxCoeff() : infinity);
  std::vector<double> sorted = scores;
  std::ranges::sort(sorted);
  std::vector<WorstRow> here;
  for (std::int64_t row = 0; row < weights.rows(); ++row) {
    const double score = scores[static_cast<std::size_t>(row)];
    if (score < infinity && score <= sorted[std::min(count, sorted.size()) - 1])
      here.push_back({score, content_of(evidence_.pools[pool].rows, row), weights.row(row).sum(), row});
  }
  std::ranges::sort(here, std::less());
  if (here.size() > count) here.resize(count);
  // Each peer has places of its own in the sums: score, content, weight, and whether there is such a row. One of the
  // worst of all is among the worst of everybody who has it.
  constexpr Index numbers = 5;
  const Index places = static_cast<Index>(count) * numbers, first = executor_.peer() * places;
  Vector all = Vector::Zero(executor_.peer_count() * places);
  for (std::size_t i = 0; i < here.size(); ++i)
    all.segment<numbers>(first + static_cast<Index>(i) * numbers) << here[i].score, here[i].content[0],
        here[i].content[1], here[i].weight, 1;
  all = added_up(std::move(all));
  std::vector<WorstRow> worst;
  for (Index at = 0; at < all.size(); at += numbers) {
    if (!(all[at + 4] > 0)) continue;
    const bool is_here = at >= first && at < first + places;
    const std::int64_t own_row = is_here ? here[static_cast<std::size_t>((at - first) / numbers)].own_row : -1;
    const std::array<double, 2> content = {all[at + 1], all[at + 2]};
    const auto same = std::ranges::find(worst, content, &WorstRow::content);
    if (same == worst.end()) {
      worst.push_back({all[at], content, all[at + 3], own_row});
    } else {
      same->weight += all[at + 3];
      same->own_row = std::max(same->own_row, own_row);
    }
  }
  std::ranges::sort(worst, std::less());
  return worst;
}

bool ChainProblem::reseed_empty_state() {
  // An emptied state goes to the row that the model explains worst for its size and to those like it, with a weight
  // that costs the others little; run_em keeps it only if the objective rises.
  for (std::size_t p = 0; p < evidence_.pools.size(); ++p) {
    const StepRows& rows = evidence_.pools[p].rows;
    const RowMatrix& weights = responsibilities_.rows[p];
    const Vector total = pool_weights(p);
    const double row_count = added_up(Vector::Constant(1, static_cast<double>(rows.row_count())))[0];
    for (Id k = 0; k < task_.states; ++k) {
      int& tries = reseeds_[p][static_cast<std::size_t>(k)];
      if (total[k] > empty_weight || tries >= most_reseeds || row_count <= 1) continue;
      ++tries;
      const bool per_period = evidence_.layout->structure == TimeStructure::per_period;
      const Id first_step = evidence_.layout->pools[p].front();
      // By no number: states are ordered anew in the end.
      warnings_.insert(
          concat("a state", per_period ? concat(" of period ", task_.schema.period(first_step)) : "",
                 " lost all its students on the way and was begun anew with those described worst; nothing needs to be "
                 "done, 'states' tells how many students each state has in the end"));
      const std::vector<WorstRow> worst = worst_rows(p, most_reseeds + 1);
      if (worst.size() < 2) continue;
      const WorstRow& chosen = worst[std::min<std::size_t>(worst.size() - 1, static_cast<std::size_t>(tries - 1))];
      const double weight = chosen.weight;
      withdrawn_ = parameters_;
      RowMatrix seeded = weights;
      if (chosen.own_row >= 0) {
        const double own = seeded.row(chosen.own_row).sum();
        seeded.row(chosen.own_row).setZero();
        seeded(chosen.own_row, k) = own;
      }
      const auto m_step = learner_.step(surveys_[p], *parameters_.emissions[p]);
      parameters_.emissions[p] = run_step(*m_step, rows, seeded, executor_);
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
