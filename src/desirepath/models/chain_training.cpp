#include "desirepath/models/chain_training.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/learning/kmeans.h"
#include "desirepath/probability/log_space.h"

namespace desirepath::inline models {

namespace {

constexpr int most_reseeds = 3;        // tries a state
constexpr double empty_weight = 1e-3;  // students' worth under which a state counts as emptied

double sum_of_logs(const Eigen::RowVectorXd& row, const std::vector<Id>& entries) {
  double sum = 0;
  for (const Id entry : entries)
    sum += row[entry] > 0 ? std::log(row[entry]) : 0;
  return sum;
}

}  // namespace

void FixedTransitions::check(Id states) const {
  for (const Entry& entry : entries_) {
    double sum = 0;
    Id fixed = 0;
    for (const Entry& other : entries_) {
      if (other.step != entry.step || other.from != entry.from) continue;
      if (&other != &entry && other.to == entry.to) throw InputError("--transitions: a transition is given twice");
      sum += other.probability;
      ++fixed;
    }
    if (sum > 1 + 1e-9 || (fixed == states && std::abs(sum - 1) > 1e-9)) {
      throw InputError(concat("--transitions: the probabilities from state ", entry.from, " sum to ", shortest(sum)));
    }
  }
}

std::vector<Id> FixedTransitions::free_entries(Id step, Id from, Id states) const {
  std::vector<Id> free(static_cast<std::size_t>(states));
  std::iota(free.begin(), free.end(), 0);
  for (const Entry& entry : entries_) {
    if (entry.step == step && entry.from == from) std::erase(free, entry.to);
  }
  return free;
}

Eigen::RowVectorXd FixedTransitions::row(Id step, Id from, Eigen::RowVectorXd weights) const {
  const auto states = static_cast<Id>(weights.size());
  double left = 1;
  Eigen::RowVectorXd row = Eigen::RowVectorXd::Zero(states);
  for (const Entry& entry : entries_) {
    if (entry.step != step || entry.from != from) continue;
    row[entry.to] = entry.probability;
    left -= entry.probability;
  }
  const std::vector<Id> free = free_entries(step, from, states);
  double total = 0;
  for (const Id to : free)
    total += weights[to];
  for (const Id to : free) {
    row[to] = std::max(0.0, left) * (total > 0 ? weights[to] / total : 1.0 / static_cast<double>(free.size()));
  }
  return row;
}

void weigh_rows(ChainEvidence& evidence, std::span<const double> student_weights) {
  for (RowPool& pool : evidence.pools) {
    if (!pool.rows.weights().empty()) continue;
    std::vector<double> weights(static_cast<std::size_t>(pool.rows.row_count()), 0);
    for (std::int64_t row = 0; row < pool.rows.row_count(); ++row) {
      for (const std::int64_t at : pool.occurrences_of(row)) {
        weights[static_cast<std::size_t>(row)] +=
            student_weights.empty() ? 1 : student_weights[static_cast<std::size_t>(at % evidence.student_count())];
      }
    }
    pool.rows.set_weights(std::move(weights));
  }
}

ChainProblem::ChainProblem(const ChainTrainingOptions& options, ChainEvidence& evidence, const EmissionLearner& learner,
                           const Compute& compute)
    : options_(options), evidence_(evidence), learner_(learner), compute_(compute) {
  const bool somebody_left = std::ranges::find(evidence.presence, Presence::left) != evidence.presence.end();
  const bool one_step = evidence.layout->step_count() == 1;
  bool departures_known = false;
  for (const DepartureRange& range : evidence.departures)
    departures_known = departures_known || range.latest < options.identity.schema.period_count();
  has_left_ = somebody_left && !one_step;
  has_departures_ = departures_known && one_step;
  weigh_rows(evidence_, options.weights);
  for (std::int64_t s = 0; s < evidence.student_count(); ++s)
    total_weight_ += options.weights.empty() ? 1 : options.weights[static_cast<std::size_t>(s)];
  reseeds_.assign(evidence.pools.size(), std::vector<int>(static_cast<std::size_t>(options.states), 0));
}

void ChainProblem::start_from_labels(const SoftLabels& labels) {
  const StepLayout& layout = *evidence_.layout;
  const Index states = options_.states, all_states = states + (has_left_ ? 1 : 0);
  const Id steps = layout.step_count();
  const auto weight_of = [&](std::int64_t s) {
    return options_.weights.empty() ? 1.0 : options_.weights[static_cast<std::size_t>(s)];
  };
  std::vector<RowMatrix> gamma(static_cast<std::size_t>(steps), RowMatrix::Zero(evidence_.student_count(), states));
  responsibilities_.initial = Vector::Zero(all_states);
  responsibilities_.pairs.assign(static_cast<std::size_t>(std::max(0, steps - 1)),
                                 Matrix::Zero(all_states, all_states));
  if (has_departures_) responsibilities_.departures = Matrix::Zero(states, options_.identity.schema.period_count());
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
      if (t == 0 && counts) responsibilities_.initial += weight_of(s) * here.transpose();
      if (t > 0 && counts && before.size() > 0)
        responsibilities_.pairs[static_cast<std::size_t>(t - 1)] += weight_of(s) * before.transpose() * here;
      before = counts ? here : Eigen::RowVectorXd();
    }
    if (has_departures_) {
      const DepartureRange& range = evidence_.departures[static_cast<std::size_t>(s)];
      const double each = weight_of(s) / static_cast<double>(range.latest - range.earliest + 1);
      for (Id d = range.earliest; d <= range.latest; ++d)
        responsibilities_.departures.col(d - 1) += each * gamma[0].row(s).transpose();
    }
  }
  aggregate_rows(gamma);
  parameters_ = {};
  take_prior(prior_from(responsibilities_));
  maximize_emissions(nullptr);
}

void ChainProblem::start_from_kmeans(RandomStream stream) {
  const StepLayout& layout = *evidence_.layout;
  const Id steps = layout.step_count();
  SoftLabels labels;
  labels.weights = RowMatrix::Zero(evidence_.student_count() * steps, options_.states);
  labels.labelled.assign(static_cast<std::size_t>(evidence_.student_count() * steps), 0);
  for (std::size_t p = 0; p < evidence_.pools.size(); ++p) {
    const RowPool& pool = evidence_.pools[p];
    if (pool.rows.row_count() == 0) continue;
    const std::vector<Id> clusters =
        kmeans_labels(pool.rows, pool.rows.weights(), options_.states, stream.child("kmeans").child(p), compute_);
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
  start_from_labels(labels);
}

void ChainProblem::start_at_random(RandomStream stream) {
  const Id steps = evidence_.layout->step_count();
  SoftLabels labels;
  labels.weights.resize(evidence_.student_count() * steps, options_.states);
  labels.labelled.assign(static_cast<std::size_t>(evidence_.student_count() * steps), 0);
  for (std::int64_t s = 0; s < evidence_.student_count(); ++s) {
    RandomStream draw = stream.child("random").child(static_cast<std::uint64_t>(s));
    for (Id t = 0; t < steps; ++t) {
      auto row = labels.weights.row(s * steps + t);
      // Exponential weights: uniform on the simplex.
      for (Index k = 0; k < row.size(); ++k)
        row[k] = -std::log(draw.uniform_open());
      row /= row.sum();
      labels.labelled[static_cast<std::size_t>(s * steps + t)] = evidence_.row(s, t) >= 0 ? 1 : 0;
    }
  }
  start_from_labels(labels);
}

void ChainProblem::start_from_parameters(ChainParameters parameters) {
  parameters_ = std::move(parameters);
}

void ChainProblem::start_from_responsibilities(ChainResponsibilities responsibilities) {
  responsibilities_ = std::move(responsibilities);
  parameters_ = {};
  take_prior(prior_from(responsibilities_));
  maximize_emissions(nullptr);
}

void ChainProblem::aggregate_rows(const std::vector<RowMatrix>& gamma) {
  const std::int64_t students = evidence_.student_count();
  responsibilities_.rows.resize(evidence_.pools.size());
  for (std::size_t p = 0; p < evidence_.pools.size(); ++p) {
    const RowPool& pool = evidence_.pools[p];
    RowMatrix& sums = responsibilities_.rows[p];
    sums.resize(pool.rows.row_count(), options_.states);
    compute_.for_blocks(pool.rows.row_count(), 1024, [&](Range range) {
      for (std::int64_t row = range.first; row < range.last; ++row) {
        auto sum = sums.row(row);
        sum.setZero();
        for (const std::int64_t at : pool.occurrences_of(row)) {
          const std::int64_t s = at % students;
          const auto step =
              static_cast<std::size_t>(evidence_.layout->pools[p][static_cast<std::size_t>(at / students)]);
          const double weight = options_.weights.empty() ? 1 : options_.weights[static_cast<std::size_t>(s)];
          sum += weight * gamma[step].row(s);
        }
      }
    });
  }
}

Expectation ChainProblem::expectation() {
  scores_ = score_pools(parameters_, evidence_, parameters_.emissions.front()->training_kind(), compute_);
  const bool by_rows = evidence_.layout->step_count() == 1 && !has_departures_;
  Expectation found = by_rows ? expectation_by_rows() : expectation_by_students();
  found.log_prior = log_prior();
  return found;
}

Expectation ChainProblem::expectation_by_rows() {
  // Students with equal rows have equal posteriors: each distinct row is done once. A student of whom nothing is known
  // has no row; the prior is its posterior and its log-likelihood is 0.
  const Index states = options_.states;
  const std::span<const double> weights = evidence_.pools.front().rows.weights();
  Vector log_initial(states);
  for (Index k = 0; k < states; ++k)
    log_initial[k] = parameters_.prior.initial[k] > 0 ? std::log(parameters_.prior.initial[k]) : -infinity;
  RowMatrix& rows =
      responsibilities_.rows.empty() ? responsibilities_.rows.emplace_back() : responsibilities_.rows.front();
  rows.resize(scores_.front().log_likelihood.rows(), states);
  const Vector sums = compute_.sum_over(rows.rows(), 2 + states, [&](Range range, Vector& sum) {
    for (std::int64_t row = range.first; row < range.last; ++row) {
      auto posterior = rows.row(row);
      posterior = scores_.front().log_likelihood.row(row) + log_initial.transpose();
      const double weight = weights[static_cast<std::size_t>(row)];
      const double log_likelihood = normalise_logs({posterior.data(), static_cast<std::size_t>(states)});
      if (weight > 0) {
        sum[0] += weight * log_likelihood;
        for (Index k = 0; k < states; ++k)
          sum[1] -= weight * x_log_x(posterior[k]);
      }
      posterior *= weight;
      sum.tail(states) += posterior.transpose();
    }
  });
  responsibilities_.initial = sums.tail(states);
  double silent = total_weight_;
  for (const double weight : weights)
    silent -= weight;
  if (silent > 1e-9 * total_weight_) responsibilities_.initial += silent * parameters_.prior.initial;
  responsibilities_.pairs.clear();
  state_entropy_ = sums[1];
  state_weights_ = responsibilities_.initial.transpose();
  return {sums[0], 0};
}

void ChainProblem::add_departures(std::int64_t student, double weight, const Eigen::RowVectorXd& states,
                                  Eigen::Ref<Matrix> sums) const {
  const DepartureRange& allowed = evidence_.departures[static_cast<std::size_t>(student)];
  for (Index k = 0; k < sums.rows(); ++k) {
    double all = 0;
    for (Id d = allowed.earliest; d <= allowed.latest; ++d)
      all += parameters_.departures(k, d - 1);
    if (!(all > 0)) continue;
    for (Id d = allowed.earliest; d <= allowed.latest; ++d)
      sums(k, d - 1) += weight * states[k] * parameters_.departures(k, d - 1) / all;
  }
}

Expectation ChainProblem::expectation_by_students() {
  const StepLayout& layout = *evidence_.layout;
  const Id steps = layout.step_count();
  const Index states = parameters_.prior.state_count(), emitting = options_.states;
  const Id periods = options_.identity.schema.period_count();
  std::vector<RowMatrix> gamma(static_cast<std::size_t>(steps));
  for (RowMatrix& step : gamma)
    step.resize(evidence_.student_count(), emitting);
  const Index pair_size = states * states, departure_size = has_departures_ ? emitting * periods : 0;
  const Index pairs_at = 2 + steps * states, departures_at = pairs_at + (steps - 1) * pair_size;
  const Vector sums =
      compute_.sum_over(evidence_.student_count(), departures_at + departure_size, [&](Range range, Vector& sum) {
        ChainPosterior posterior(parameters_.prior);
        RowMatrix emissions(steps, states);
        for (std::int64_t s = range.first; s < range.last; ++s) {
          const double weight = options_.weights.empty() ? 1 : options_.weights[static_cast<std::size_t>(s)];
          student_emissions(parameters_, evidence_, scores_, s, emissions);
          const double log_likelihood = posterior.run(emissions);
          for (Id t = 0; t < steps; ++t)
            gamma[static_cast<std::size_t>(t)].row(s) = posterior.states().row(t).head(emitting);
          if (!(weight > 0)) continue;
          sum[0] += weight * log_likelihood;
          for (Id t = 0; t < steps; ++t)
            sum.segment(2 + t * states, states) += weight * posterior.states().row(t).transpose();
          for (Id t = 0; t + 1 < steps; ++t) {
            Eigen::Map<Matrix> pairs(sum.data() + pairs_at + t * pair_size, states, states);
            posterior.add_pairs(t, weight, pairs);
          }
          if (measures_entropy_) {
            // Of the path: that of the first state, then of each given the one before.
            double entropy = 0;
            for (Index k = 0; k < states; ++k)
              entropy -= x_log_x(posterior.states()(0, k));
            for (Id t = 0; t + 1 < steps; ++t) {
              Matrix pairs = Matrix::Zero(states, states);
              posterior.add_pairs(t, 1, pairs);
              for (Index k = 0; k < states; ++k)
                entropy += x_log_x(posterior.states()(t, k));
              for (Index i = 0; i < pairs.size(); ++i)
                entropy -= x_log_x(pairs.data()[i]);
            }
            sum[1] += weight * entropy;
          }
          if (has_departures_) {
            Eigen::Map<Matrix> departures(sum.data() + departures_at, emitting, periods);
            add_departures(s, weight, posterior.states().row(0), departures);
          }
        }
      });
  responsibilities_.initial = sums.segment(2, states);
  responsibilities_.pairs.clear();
  for (Id t = 0; t + 1 < steps; ++t) {
    responsibilities_.pairs.emplace_back(
        Eigen::Map<const Matrix>(sums.data() + pairs_at + t * pair_size, states, states));
  }
  if (has_departures_)
    responsibilities_.departures = Eigen::Map<const Matrix>(sums.data() + departures_at, emitting, periods);
  state_weights_ = Eigen::Map<const RowMatrix>(sums.data() + 2, steps, states);
  state_entropy_ = sums[1];
  aggregate_rows(gamma);
  return {sums[0], 0};
}

Expectation ChainProblem::measure() {
  measures_entropy_ = true;
  const Expectation found = expectation();
  measures_entropy_ = false;
  return found;
}

std::vector<std::string> ChainProblem::notes() const {
  std::vector<std::string> result;
  for (std::size_t p = 0; p < evidence_.pools.size(); ++p) {
    for (const EmissionNote& note :
         learner_.notes(evidence_.pools[p].rows, responsibilities_.rows[p], *parameters_.emissions[p])) {
      const bool per_period = evidence_.layout->structure == TimeStructure::per_period;
      std::string text = note.state >= 0 ? concat(state_name(static_cast<Id>(p), note.state), ": ", note.text)
                         : per_period
                             ? concat("period ", options_.identity.schema.period(static_cast<Id>(p)), ": ", note.text)
                             : note.text;
      if (note.bit >= 0) {
        const Schema& schema = options_.identity.schema;
        const PeriodRange& periods =
            evidence_.layout->steps[static_cast<std::size_t>(evidence_.layout->pools[p].front())];
        const Id bit = note.bit + periods.first * schema.course_count();
        text += concat(": course ", schema.course(schema.course_of(bit)).name, ", period ",
                       schema.period(schema.period_of(bit)));
      }
      if (std::ranges::find(result, text) == result.end()) result.push_back(std::move(text));
    }
  }
  return result;
}

bool ChainProblem::finish_emissions() {
  bool any = false;
  for (std::size_t p = 0; p < evidence_.pools.size(); ++p) {
    std::unique_ptr<Emission> finished =
        learner_.finish(evidence_.pools[p].rows, responsibilities_.rows[p], *parameters_.emissions[p], compute_);
    if (!finished) continue;
    parameters_.emissions[p] = std::move(finished);
    any = true;
  }
  return any;
}

ChainParameters ChainProblem::prior_from(const ChainResponsibilities& sums) const {
  const Id steps = evidence_.layout->step_count();
  const Id states = options_.states, all_states = states + (has_left_ ? 1 : 0);
  const double b = options_.state_pseudocount;
  ChainParameters result;
  result.has_left_state = has_left_;
  // Nobody has left before the first period.
  Vector initial = sums.initial.head(states).array() + b;
  const double total = initial.sum();
  if (total > 0)
    initial /= total;
  else
    initial.setConstant(1.0 / states);
  result.prior.initial = Vector::Zero(all_states);
  result.prior.initial.head(states) = initial;

  std::vector<Matrix> pairs = sums.pairs;
  if (options_.identity.structure == TimeStructure::tied && pairs.size() > 1) {
    for (std::size_t t = 1; t < pairs.size(); ++t)
      pairs[0] += pairs[t];
    for (std::size_t t = 1; t < pairs.size(); ++t)
      pairs[t] = pairs[0];
  }
  for (Id t = 0; t + 1 < steps; ++t) {
    Matrix transition = Matrix::Zero(all_states, all_states);
    for (Id from = 0; from < states; ++from) {
      Eigen::RowVectorXd weights = pairs[static_cast<std::size_t>(t)].row(from).array() + b;
      transition.row(from) = options_.fixed.row(t, from, std::move(weights));
    }
    if (has_left_) transition(states, states) = 1;  // who has left, has left
    result.prior.transitions.push_back(std::move(transition));
  }
  if (has_departures_) {
    result.departures = sums.departures.array() + b;
    for (Index k = 0; k < result.departures.rows(); ++k) {
      const double sum = result.departures.row(k).sum();
      if (sum > 0)
        result.departures.row(k) /= sum;
      else
        result.departures.row(k).setConstant(1.0 / static_cast<double>(result.departures.cols()));
    }
  }
  return result;
}

void ChainProblem::take_prior(ChainParameters prior) {
  parameters_.prior = std::move(prior.prior);
  parameters_.departures = std::move(prior.departures);
  parameters_.has_left_state = prior.has_left_state;
}

void ChainProblem::maximize_emissions(const ChainParameters* previous) {
  std::vector<std::unique_ptr<Emission>> emissions;
  for (std::size_t p = 0; p < evidence_.pools.size(); ++p) {
    const Emission* before = previous != nullptr ? previous->emissions[p].get() : nullptr;
    emissions.push_back(learner_.maximize(evidence_.pools[p].rows, responsibilities_.rows[p], before, compute_));
  }
  parameters_.emissions = std::move(emissions);
}

void ChainProblem::maximization() {
  // The old emissions serve the M step where rows leave bits unknown. They come first: an interruption in them leaves
  // the old parameters whole.
  maximize_emissions(&parameters_);
  take_prior(prior_from(responsibilities_));
  on_proposal_ = false;
}

double ChainProblem::log_prior() const {
  const Id states = options_.states;
  double sum = 0;
  for (Id k = 0; k < states; ++k)
    sum += parameters_.prior.initial[k] > 0 ? std::log(parameters_.prior.initial[k]) : 0;
  const std::size_t own = options_.identity.structure == TimeStructure::tied
                              ? std::min<std::size_t>(1, parameters_.prior.transitions.size())
                              : parameters_.prior.transitions.size();
  for (std::size_t t = 0; t < own; ++t) {
    for (Id from = 0; from < states; ++from) {
      const Eigen::RowVectorXd row = parameters_.prior.transitions[t].row(from);
      sum += sum_of_logs(row, options_.fixed.free_entries(static_cast<Id>(t), from, static_cast<Id>(row.size())));
    }
  }
  for (Index k = 0; k < parameters_.departures.rows(); ++k) {
    for (Index d = 0; d < parameters_.departures.cols(); ++d)
      sum += parameters_.departures(k, d) > 0 ? std::log(parameters_.departures(k, d)) : 0;
  }
  double total = options_.state_pseudocount * sum;
  for (std::size_t p = 0; p < parameters_.emissions.size(); ++p)
    total += learner_.log_prior(evidence_.pools[p].rows, *parameters_.emissions[p]);
  return total;
}

std::string ChainProblem::state_name(Id pool, Id state) const {
  if (evidence_.layout->structure != TimeStructure::per_period) return concat("state ", state + 1);
  const Id step = evidence_.layout->pools[static_cast<std::size_t>(pool)].front();
  return concat("state ", state + 1, " of period ", options_.identity.schema.period(step));
}

bool ChainProblem::propose(int iteration) {
  if (reseed_empty_states(iteration)) return true;
  // Another shape: often in the beginning, then now and then.
  if (iteration > 5 && iteration % 5 != 0) return false;
  std::vector<std::unique_ptr<Emission>> proposed;
  bool any = false;
  for (std::size_t p = 0; p < evidence_.pools.size(); ++p) {
    proposed.push_back(
        learner_.propose(evidence_.pools[p].rows, responsibilities_.rows[p], *parameters_.emissions[p], compute_));
    any = any || proposed.back() != nullptr;
  }
  if (!any) return false;
  withdrawn_ = parameters_.copy();
  for (std::size_t p = 0; p < proposed.size(); ++p) {
    if (proposed[p]) parameters_.emissions[p] = std::move(proposed[p]);
  }
  on_proposal_ = true;
  return true;
}

bool ChainProblem::reseed_empty_states(int) {
  // An emptied state goes to the row that the model explains worst for its size and to those like it, with a weight
  // that costs the others little; run_em keeps it only if the objective rises.
  for (std::size_t p = 0; p < evidence_.pools.size(); ++p) {
    const StepRows& rows = evidence_.pools[p].rows;
    const RowMatrix& weights = responsibilities_.rows[p];
    const Eigen::RowVectorXd total = weights.colwise().sum();
    for (Id k = 0; k < options_.states; ++k) {
      int& tries = reseeds_[p][static_cast<std::size_t>(k)];
      if (total[k] > empty_weight || tries >= most_reseeds || rows.row_count() <= 1) continue;
      ++tries;
      warnings_.insert(concat(state_name(static_cast<Id>(p), k), " emptied and was re-seeded"));
      std::vector<std::pair<double, std::int64_t>> worst;
      for (std::int64_t row = 0; row < rows.row_count(); ++row) {
        const double weight = weights.row(row).sum();
        if (weight > 0) worst.emplace_back(scores_[p].log_likelihood.row(row).maxCoeff(), row);
      }
      std::ranges::sort(worst);
      if (worst.size() < 2) continue;
      const std::size_t chosen = std::min<std::size_t>(worst.size() - 1, static_cast<std::size_t>(tries - 1));
      withdrawn_ = parameters_.copy();
      RowMatrix seeded = weights;
      const std::int64_t row = worst[chosen].second;
      const double weight = seeded.row(row).sum();
      seeded.row(row).setZero();
      seeded(row, k) = weight;
      std::unique_ptr<Emission> emission = learner_.maximize(rows, seeded, parameters_.emissions[p].get(), compute_);
      parameters_.emissions[p] = std::move(emission);
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
        } else if (options_.fixed.empty()) {
          Matrix& transition = parameters_.prior.transitions[static_cast<std::size_t>(step - 1)];
          for (Id from = 0; from < options_.states; ++from) {
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
