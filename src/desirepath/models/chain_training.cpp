#include "desirepath/models/chain_training.h"

#include <algorithm>
#include <cmath>

#include "desirepath/core/text.h"
#include "desirepath/emissions/capabilities.h"
#include "desirepath/models/state_weights.h"
#include "desirepath/probability/log_space.h"

namespace desirepath::inline models {

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

double mean_log_likelihood(const ChainParameters& parameters, const ChainEvidence& evidence, const ChainTask& weighed,
                           const Executor& executor) {
  const std::vector<RowScores> scores =
      score_pools(parameters, evidence, parameters.emissions.front()->training_kind(), Precision::quick, executor);
  const Vector values = student_log_likelihoods(parameters, evidence, scores, executor);
  Statistics sums;
  sums.add(RowMatrix(executor.sum_over(evidence.student_count(), 2, [&](Range range, Vector& total) {
    for (std::int64_t s = range.first; s < range.last; ++s) {
      const double weight = weighed.weight_of(s);
      if (!(weight > 0)) continue;
      total[0] += weight * values[s];
      total[1] += weight;
    }
  })));
  executor.add_up(sums);
  const RowMatrix& sum = sums.table(0);
  return sum(1, 0) > 0 ? sum(0, 0) / sum(1, 0) : 0;
}

ChainProblem::ChainProblem(const ChainTask& task, ChainEvidence& evidence, const EmissionLearner& learner,
                           const Executor& executor)
    : task_(task), evidence_(evidence), learner_(learner), executor_(executor) {
  const bool one_step = evidence.layout->step_count() == 1;
  Vector facts = Vector::Zero(3);
  facts[0] = static_cast<double>(std::ranges::count(evidence.presence, Presence::left));
  for (const DepartureRange& range : evidence.departures)
    facts[1] += range.latest < task.schema.period_count() ? 1 : 0;
  for (std::int64_t s = 0; s < evidence.student_count(); ++s)
    own_weight_ += task.weight_of(s);
  facts[2] = own_weight_;
  facts = added_up(std::move(facts));
  has_left_ = facts[0] > 0 && !one_step;
  has_departures_ = facts[1] > 0 && one_step && !evidence.layout->rows_know_departure();
  total_weight_ = facts[2];
  weigh_rows(evidence_, task.weights);
  for (const RowPool& pool : evidence_.pools) {
    surveys_.push_back(learner_.survey(pool.rows));
    executor_.add_up(surveys_.back().sums);
  }
  reseeds_.assign(evidence.pools.size(), std::vector<int>(static_cast<std::size_t>(task.states), 0));
}

Vector ChainProblem::added_up(Vector numbers) const {
  Statistics sums;
  sums.add(RowMatrix(numbers));
  executor_.add_up(sums);
  return sums.table(0);
}

std::optional<std::string> ChainProblem::incompatibility(const ChainParameters& parameters) const {
  if (parameters.emitting_states() != task_.states)
    return concat(parameters.emitting_states(), " states, not ", task_.states);
  if (parameters.has_left_state != has_left_ || (parameters.departures.size() > 0) != has_departures_) {
    return parameters.has_left_state || parameters.departures.size() > 0
               ? "students who leave, of whom the cohort has none"
               : "no students who leave, as the cohort has";
  }
  for (const auto& emission : parameters.emissions) {
    if (emission->family() != learner_.family()) return "states of another family";
    if (std::optional<std::string> reason = learner_.incompatibility(*emission)) return reason;
  }
  return std::nullopt;
}

std::optional<std::string> ChainProblem::incompatibility(const ChainResponsibilities& given) const {
  const Index states = task_.states, all = states + (has_left_ ? 1 : 0), steps = evidence_.layout->step_count();
  const auto fits = [](const auto& matrix, Index rows, Index columns) {
    return matrix.rows() == rows && matrix.cols() == columns && (matrix.array() >= 0).all() && matrix.allFinite();
  };
  bool good = fits(given.initial, all, 1) && std::ssize(given.pairs) == steps - 1 &&
              given.rows.size() == evidence_.pools.size();
  for (const Matrix& pairs : given.pairs)
    good = good && fits(pairs, all, all);
  for (std::size_t p = 0; good && p < given.rows.size(); ++p)
    good = fits(given.rows[p], evidence_.pools[p].rows.row_count(), states);
  const Index periods = has_departures_ ? task_.schema.period_count() : 0;
  good = good && (has_departures_ ? fits(given.departures, states, periods) : given.departures.size() == 0);
  if (good) return std::nullopt;
  return "responsibilities do not fit the students";
}

void ChainProblem::aggregate_rows(const std::vector<RowMatrix>& gamma) {
  const std::int64_t students = evidence_.student_count();
  responsibilities_.rows.resize(evidence_.pools.size());
  for (std::size_t p = 0; p < evidence_.pools.size(); ++p) {
    const RowPool& pool = evidence_.pools[p];
    RowMatrix& sums = responsibilities_.rows[p];
    sums.resize(pool.rows.row_count(), task_.states);
    executor_.for_blocks(pool.rows.row_count(), 1024, [&](Range range) {
      for (std::int64_t row = range.first; row < range.last; ++row) {
        auto sum = sums.row(row);
        sum.setZero();
        for (const std::int64_t at : pool.occurrences_of(row)) {
          const std::int64_t s = at % students;
          const auto step =
              static_cast<std::size_t>(evidence_.layout->pools[p][static_cast<std::size_t>(at / students)]);
          sum += task_.weight_of(s) * gamma[step].row(s);
        }
      }
    });
  }
}

void ChainProblem::score_rows() {
  counted_.clear();
  const auto* counts = offered<CountsWhileScoring>(learner_);
  // With one state every row is wholly that state's, whatever its score. Nothing follows a measurement.
  if (counts == nullptr || task_.states > 1 || has_left_ || measures_entropy_) {
    scores_ = score_pools(parameters_, evidence_, parameters_.emissions.front()->training_kind(), Precision::quick,
                          executor_);
    return;
  }
  scores_.clear();
  for (std::size_t p = 0; p < evidence_.pools.size(); ++p) {
    const StepRows& rows = evidence_.pools[p].rows;
    const RowMatrix weights = Eigen::Map<const RowMatrix>(rows.weights().data(), rows.row_count(), 1);
    auto [scores, sums] = counts->score_and_count(rows, *parameters_.emissions[p], weights, executor_);
    scores_.push_back(std::move(scores));
    counted_.push_back({parameters_.emissions[p], std::move(sums)});
  }
}

Expectation ChainProblem::expectation() {
  score_rows();
  Expectation found = expectation_from_scores();
  found.log_prior = log_prior();
  if (const auto* large = offered<HasLargeTerms>(learner_)) {
    for (const auto& emission : parameters_.emissions)
      found.rounding = std::max(found.rounding, 1e-15 * total_weight_ * large->term_size(*emission));
  }
  return found;
}

Expectation ChainProblem::expectation_from_scores() {
  const bool by_rows = evidence_.layout->step_count() == 1 && !has_departures_;
  return by_rows ? expectation_by_rows() : expectation_by_students();
}

Expectation ChainProblem::expectation_by_rows() {
  // Students with equal rows have equal posteriors: each distinct row is done once. A student of whom nothing is known
  // has no row; the prior is its posterior and its log-likelihood is 0.
  const Index states = task_.states;
  const std::span<const double> weights = evidence_.pools.front().rows.weights();
  Vector log_initial(states);
  for (Index k = 0; k < states; ++k)
    log_initial[k] = parameters_.prior.initial[k] > 0 ? std::log(parameters_.prior.initial[k]) : -infinity;
  RowMatrix& rows =
      responsibilities_.rows.empty() ? responsibilities_.rows.emplace_back() : responsibilities_.rows.front();
  rows.resize(scores_.front().log_likelihood.rows(), states);
  Vector sums = executor_.sum_over(rows.rows(), 2 + states, [&](Range range, Vector& sum) {
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
  double silent = own_weight_;
  for (const double weight : weights)
    silent -= weight;
  sums.conservativeResize(3 + states);
  sums[2 + states] = silent;
  sums = added_up(std::move(sums));
  silent = sums[2 + states];
  responsibilities_.initial = sums.segment(2, states);
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
  const Index states = parameters_.prior.state_count(), emitting = task_.states;
  const Id periods = task_.schema.period_count();
  std::vector<RowMatrix> gamma(static_cast<std::size_t>(steps));
  for (RowMatrix& step : gamma)
    step.resize(evidence_.student_count(), emitting);
  const Index pair_size = states * states, departure_size = has_departures_ ? emitting * periods : 0;
  const Index pairs_at = 2 + steps * states, departures_at = pairs_at + (steps - 1) * pair_size;
  Vector sums =
      executor_.sum_over(evidence_.student_count(), departures_at + departure_size, [&](Range range, Vector& sum) {
        const auto add = [&](std::int64_t s, double log_likelihood, const ChainPosterior& posterior) {
          const double weight = task_.weight_of(s);
          for (Id t = 0; t < steps; ++t)
            gamma[static_cast<std::size_t>(t)].row(s) = posterior.states().row(t).head(emitting);
          if (!(weight > 0)) return;
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
        };
        for_each_posterior(parameters_, evidence_, scores_, range, add);
      });
  sums = added_up(std::move(sums));
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

Vector ChainProblem::pool_weights(std::size_t pool) const {
  return added_up(responsibilities_.rows[pool].colwise().sum().transpose());
}

RowMatrix ChainProblem::present_weights() const {
  RowMatrix present = state_weights_;
  if (evidence_.layout->structure == TimeStructure::tied) return present;
  for (Id t = 0; t < evidence_.layout->step_count(); ++t)
    present.row(t).head(task_.states) = pool_weights(static_cast<std::size_t>(t)).transpose();
  return present;
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
    for (const EmissionNote& note : learner_.notes(surveys_[p], pool_weights(p))) {
      const bool per_period = evidence_.layout->structure == TimeStructure::per_period;
      std::string text = note.state >= 0 ? concat(state_name(static_cast<Id>(p), note.state), ": ", note.text)
                         : per_period    ? concat("period ", task_.schema.period(static_cast<Id>(p)), ": ", note.text)
                                         : note.text;
      if (note.bit >= 0) {
        const Schema& schema = task_.schema;
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

std::unique_ptr<Emission> ChainProblem::run(const std::unique_ptr<EmissionStep>& step, std::size_t pool,
                                            std::optional<Statistics> counted) const {
  if (!step) return nullptr;
  return run_step(*step, evidence_.pools[pool].rows, responsibilities_.rows[pool], executor_, std::move(counted));
}

bool ChainProblem::finish_emissions() {
  const auto* finishes = offered<FinishesAfterClimb>(learner_);
  if (finishes == nullptr) return false;
  bool any = false;
  for (std::size_t p = 0; p < evidence_.pools.size(); ++p) {
    std::unique_ptr<Emission> finished = run(finishes->finishing_step(surveys_[p], *parameters_.emissions[p]), p);
    if (!finished) continue;
    parameters_.emissions[p] = std::move(finished);
    any = true;
  }
  return any;
}

ChainDynamics ChainProblem::fit_dynamics(LikelihoodKind kind) {
  constexpr int most_iterations = 500;
  constexpr double tolerance = 1e-7;  // relative, per student
  scores_ = score_pools(parameters_, evidence_, kind, weighing_precision(*parameters_.emissions.front()), executor_);
  // Whoever is not among these students may have left.
  has_left_ = parameters_.has_left_state;
  has_departures_ = parameters_.departures.size() > 0;
  double before = -infinity;
  for (int iteration = 0; iteration < most_iterations; ++iteration) {
    const double found = expectation_from_scores().log_likelihood / total_weight_;
    if (!(found - before > tolerance * (1 + std::abs(found)))) break;
    before = found;
    take_prior(prior_from(responsibilities_));
  }
  return {parameters_.prior, parameters_.departures};
}

ChainParameters ChainProblem::prior_from(const ChainResponsibilities& sums) const {
  const Id steps = evidence_.layout->step_count();
  const Id states = task_.states, all_states = states + (has_left_ ? 1 : 0);
  const double b = task_.state_pseudocount;
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
  if (evidence_.layout->structure == TimeStructure::tied && pairs.size() > 1) {
    for (std::size_t t = 1; t < pairs.size(); ++t)
      pairs[0] += pairs[t];
    for (std::size_t t = 1; t < pairs.size(); ++t)
      pairs[t] = pairs[0];
  }
  for (Id t = 0; t + 1 < steps; ++t) {
    Matrix transition = Matrix::Zero(all_states, all_states);
    for (Id from = 0; from < states; ++from) {
      Eigen::RowVectorXd weights = pairs[static_cast<std::size_t>(t)].row(from).array() + b;
      transition.row(from) = task_.fixed.row(t, from, std::move(weights));
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

void ChainProblem::maximise_emissions() {
  std::vector<std::shared_ptr<const Emission>> emissions;
  for (std::size_t p = 0; p < evidence_.pools.size(); ++p) {
    const bool is_counted = !counted_.empty() && counted_[p].emission == parameters_.emissions[p];
    emissions.push_back(run(learner_.step(surveys_[p], *parameters_.emissions[p]), p,
                            is_counted ? std::optional(std::move(counted_[p].sums)) : std::nullopt));
  }
  counted_.clear();
  parameters_.emissions = std::move(emissions);
}

void ChainProblem::maximisation() {
  // The old emissions serve the M step where rows leave bits unknown. They come first: an interruption in them leaves
  // the old parameters whole.
  maximise_emissions();
  take_prior(prior_from(responsibilities_));
  on_proposal_ = false;
}

double ChainProblem::log_prior() const {
  const Id states = task_.states;
  double sum = 0;
  for (Id k = 0; k < states; ++k)
    sum += parameters_.prior.initial[k] > 0 ? std::log(parameters_.prior.initial[k]) : 0;
  for (std::size_t t = 0; t < parameters_.own_transitions(evidence_.layout->structure); ++t) {
    for (Id from = 0; from < states; ++from) {
      const Eigen::RowVectorXd row = parameters_.prior.transitions[t].row(from);
      for (const Id to : task_.fixed.free_entries(static_cast<Id>(t), from, static_cast<Id>(row.size())))
        sum += row[to] > 0 ? std::log(row[to]) : 0;
    }
  }
  for (Index k = 0; k < parameters_.departures.rows(); ++k) {
    for (Index d = 0; d < parameters_.departures.cols(); ++d)
      sum += parameters_.departures(k, d) > 0 ? std::log(parameters_.departures(k, d)) : 0;
  }
  double total = task_.state_pseudocount * sum;
  for (std::size_t p = 0; p < parameters_.emissions.size(); ++p)
    total += learner_.log_prior(surveys_[p], *parameters_.emissions[p]);
  return total;
}

std::string ChainProblem::state_name(Id pool, Id state) const {
  if (evidence_.layout->structure != TimeStructure::per_period) return concat("state ", state);
  const Id step = evidence_.layout->pools[static_cast<std::size_t>(pool)].front();
  return concat("state ", state, " of period ", task_.schema.period(step));
}

}  // namespace desirepath::inline models
