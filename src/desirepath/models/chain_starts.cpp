// Where EM on a chain begins: labels given, found by k-means or drawn.
#include <algorithm>
#include <cmath>
#include <map>

#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/learning/kmeans.h"
#include "desirepath/models/chain_training.h"

namespace desirepath::inline models {

void ChainProblem::start_from_labels(const SoftLabels& labels, const RandomStream& stream) {
  const StepLayout& layout = *evidence_.layout;
  const Index states = task_.states, all_states = states + (has_left_ ? 1 : 0);
  const Id steps = layout.step_count();
  std::vector<RowMatrix> gamma(static_cast<std::size_t>(steps), RowMatrix::Zero(evidence_.student_count(), states));
  responsibilities_.initial = Vector::Zero(all_states);
  responsibilities_.pairs.assign(static_cast<std::size_t>(std::max(0, steps - 1)),
                                 Matrix::Zero(all_states, all_states));
  if (has_departures_) responsibilities_.departures = Matrix::Zero(states, task_.schema.period_count());
  for (std::int64_t s = 0; s < evidence_.student_count(); ++s) {
    Eigen::RowVectorXd before;
    for (Id t = 0; t < steps; ++t) {
      Eigen::RowVectorXd here = Eigen::RowVectorXd::Zero(all_states);
      const bool labelled = labels.labelled[static_cast<std::size_t>(s * steps + t)] != 0;
      const bool left = has_left_ && evidence_.presence_at(s, t) == Presence::left;
      const bool known = evidence_.row(s, t) >= 0;
      if (left) {
        here[states] = 1;
      } else if (labelled) {
        here.head(states) = labels.weights.row(s * steps + t);
      } else if (known) {
        here.head(states).setConstant(1.0 / static_cast<double>(states));
      }
      const bool counts = left || labelled || known;
      gamma[static_cast<std::size_t>(t)].row(s) = here.head(states);
      if (t == 0 && counts) responsibilities_.initial += task_.weight_of(s) * here.transpose();
      if (t > 0 && counts && before.size() > 0)
        responsibilities_.pairs[static_cast<std::size_t>(t - 1)] += task_.weight_of(s) * before.transpose() * here;
      before = counts ? here : Eigen::RowVectorXd();
    }
    if (has_departures_) {
      const DepartureRange& range = evidence_.departures[static_cast<std::size_t>(s)];
      const double each = task_.weight_of(s) / static_cast<double>(range.latest - range.earliest + 1);
      for (Id d = range.earliest; d <= range.latest; ++d)
        responsibilities_.departures.col(d - 1) += each * gamma[0].row(s).transpose();
    }
  }
  aggregate_rows(gamma);
  parameters_ = {};
  take_prior(prior_from(responsibilities_));
  begin_emissions(stream.child("emissions"));
}

void ChainProblem::begin_emissions(const RandomStream& stream) {
  for (std::size_t p = 0; p < evidence_.pools.size(); ++p)
    parameters_.emissions.push_back(run(learner_.first_step(surveys_[p], task_.states, stream.child(p)), p));
}

void ChainProblem::start_from_kmeans(RandomStream stream) {
  const StepLayout& layout = *evidence_.layout;
  const Id steps = layout.step_count();
  SoftLabels labels;
  labels.weights = RowMatrix::Zero(evidence_.student_count() * steps, task_.states);
  labels.labelled.assign(static_cast<std::size_t>(evidence_.student_count() * steps), 0);
  for (std::size_t p = 0; p < evidence_.pools.size(); ++p) {
    const RowPool& pool = evidence_.pools[p];
    if (pool.rows.row_count() == 0) continue;
    const std::vector<Id> clusters =
        kmeans_labels(pool.rows, pool.rows.weights(), task_.states, stream.child("kmeans").child(p), executor_);
    for (std::size_t place = 0; place < pool.row_of.size(); ++place) {
      const Id step = layout.pools[p][place];
      for (std::int64_t s = 0; s < evidence_.student_count(); ++s) {
        const std::int32_t row = pool.row_of[place][static_cast<std::size_t>(s)];
        if (row < 0) continue;
        labels.weights(s * steps + step, clusters[static_cast<std::size_t>(row)]) = 1;
        labels.labelled[static_cast<std::size_t>(s * steps + step)] = 1;
      }
    }
  }
  start_from_labels(labels, stream);
}

void ChainProblem::start_at_random(RandomStream stream) {
  const Id steps = evidence_.layout->step_count();
  SoftLabels labels;
  labels.weights.resize(evidence_.student_count() * steps, task_.states);
  labels.labelled.assign(static_cast<std::size_t>(evidence_.student_count() * steps), 0);
  // Students with the same rows draw the same numbers: weight 2 is the row twice.
  std::map<std::vector<std::int32_t>, std::uint64_t> numbers;
  std::vector<std::int32_t> pathway(static_cast<std::size_t>(steps));
  for (std::int64_t s = 0; s < evidence_.student_count(); ++s) {
    for (Id t = 0; t < steps; ++t)
      pathway[static_cast<std::size_t>(t)] = evidence_.row(s, t);
    const std::uint64_t number = numbers.try_emplace(pathway, numbers.size()).first->second;
    RandomStream draw = stream.child("random").child(number);
    for (Id t = 0; t < steps; ++t) {
      auto row = labels.weights.row(s * steps + t);
      // Exponential weights: uniform on the simplex.
      for (Index k = 0; k < row.size(); ++k)
        row[k] = -std::log(draw.uniform_open());
      row /= row.sum();
      labels.labelled[static_cast<std::size_t>(s * steps + t)] = evidence_.row(s, t) >= 0 ? 1 : 0;
    }
  }
  start_from_labels(labels, stream);
}

bool ChainProblem::part_equal_states(RandomStream stream) {
  // States that share every row alike are moved alike by every step: a saddle, which EM alone cannot leave.
  constexpr double alike = 1e-6;
  if (task_.states < 2) return false;
  expectation();
  const Index states = task_.states;
  std::vector<Vector> weights;  // by pool
  for (std::size_t p = 0; p < evidence_.pools.size(); ++p)
    weights.push_back(pool_weights(p));
  // Of every pair of states: rows that they share differently, or nothing where neither has any.
  Matrix different = Matrix::Zero(states, states), compared = different;
  for (Index k = 1; k < states; ++k) {
    for (Index j = 0; j < k; ++j) {
      for (std::size_t p = 0; p < weights.size(); ++p) {
        const double a = weights[p][j], b = weights[p][k];
        if (!(a > 0) || !(b > 0)) continue;  // emptied states are re-seeded
        compared(k, j) += 1;
        const RowMatrix& rows = responsibilities_.rows[p];
        different(k, j) +=
            static_cast<double>((!(((rows.col(j) / a - rows.col(k) / b).array().abs() * (a + b)) <= alike)).count());
      }
    }
  }
  different = added_up(different.reshaped()).reshaped(states, states);
  std::vector<std::uint8_t> equal(static_cast<std::size_t>(states), 0);
  for (Index k = 1; k < states; ++k) {
    for (Index j = 0; j < k; ++j) {
      if (compared(k, j) > 0 && different(k, j) == 0)
        equal[static_cast<std::size_t>(j)] = equal[static_cast<std::size_t>(k)] = 1;
    }
  }
  if (std::ranges::find(equal, 1) == equal.end()) return false;
  for (std::size_t p = 0; p < responsibilities_.rows.size(); ++p) {
    RowMatrix& rows = responsibilities_.rows[p];
    for (Index row = 0; row < rows.rows(); ++row) {
      RandomStream draw = stream.child(p).child(static_cast<std::uint64_t>(row));
      const double sum = rows.row(row).sum();
      for (Id k = 0; k < task_.states; ++k) {
        if (equal[static_cast<std::size_t>(k)] != 0) rows(row, k) *= -std::log(draw.uniform_open());
      }
      const double now = rows.row(row).sum();
      if (now > 0) rows.row(row) *= sum / now;
    }
  }
  maximise_emissions();
  warnings_.insert(concat("some states began alike and were set apart at random: another ", setting_name("seed"),
                          " may lead to other states; see whether they matter to what you ask"));
  return true;
}

void ChainProblem::start_from_responsibilities(ChainResponsibilities responsibilities) {
  responsibilities_ = std::move(responsibilities);
  parameters_ = {};
  take_prior(prior_from(responsibilities_));
  begin_emissions(RandomStream(0));  // which nothing is drawn for
}

}  // namespace desirepath::inline models
