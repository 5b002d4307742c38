// How Gaussian emissions are learned; the M steps themselves are in gaussian_dense_step.cpp and
// gaussian_factor_step.cpp.
#include <algorithm>
#include <cmath>
#include <tuple>

#include <Eigen/Dense>

#include "desirepath/core/error.h"
#include "desirepath/core/random_stream.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/bernoulli.h"
#include "desirepath/emissions/gaussian_dense.h"
#include "desirepath/emissions/gaussian_steps.h"
#include "desirepath/probability/gaussian.h"
#include "desirepath/probability/normal.h"

namespace desirepath::inline emissions {

RowSurvey GaussianLearner::survey(const StepRows& rows) const {
  RowSurvey survey(rows);
  const std::span<const double> weights = rows.weights();
  RowMatrix counts(2, rows.bit_count());  // students who know a bit, and who take it
  counts.row(0).setConstant(survey.students());
  counts.row(1).setZero();
  for (Id pattern = 1; pattern < rows.pattern_count(); ++pattern) {
    double sum = 0;
    for (std::int64_t row = rows.first_row(pattern); row < rows.end_row(pattern); ++row)
      sum += weights[static_cast<std::size_t>(row)];
    for (const Id bit : rows.unknown(pattern).bits)
      counts(0, bit) -= sum;
  }
  for (std::int64_t row = 0; row < rows.row_count(); ++row) {
    for (const Id bit : rows.taken(row))
      counts(1, bit) += weights[static_cast<std::size_t>(row)];
  }
  survey.sums.add(std::move(counts));
  return survey;
}

Vector pooled_variance(const RowSurvey& survey) {
  const Vector known = survey.sums.table(1).row(0).transpose(), taken = survey.sums.table(1).row(1).transpose();
  const Eigen::ArrayXd share = (taken.array() + 0.5) / (known.array().max(taken.array()) + 1);
  return 4 * share * (1 - share);
}

CovarianceChoice GaussianOptions::covariance_for(Id bits) const {
  if (covariance) return *covariance;
  return bits > most_dense_bits ? CovarianceChoice{CovarianceShape::factor, 8} : CovarianceChoice{};
}

void GaussianOptions::validate() const {
  const std::string prior = setting_name("covariance-prior"), floor = setting_name("ridge");
  if (covariance_prior && *covariance_prior == 0 && ridge == 0)
    throw OptionError(concat(prior, " 0 needs a ", floor, " above 0: without a floor the likelihood has no bound"));
  // Variances of courses are about one: what lies below these is lost in their rounding.
  for (const auto& [name, value, least] :
       {std::tuple{prior, covariance_prior.value_or(0), 1e-9}, {floor, ridge, 1e-12}}) {
    if (value > 0 && value < least) throw OptionError(concat(name, " must be 0 or at least ", shortest(least)));
  }
  if (ridge > 0 && covariance_prior && *covariance_prior > 0)
    throw OptionError(concat(floor, " and ", prior, ": one or the other"));
}

double GaussianLearner::prior_students(Id bits) const {
  if (options_.ridge > 0) return 0;
  if (options_.covariance_prior) return *options_.covariance_prior;
  return covariance_.is_dense() ? static_cast<double>(bits) : 2;
}

std::unique_ptr<Emission> uncalibrated_gaussian(GaussianParameters parameters) {
  parameters.standard_mean = parameters.mean.array() / parameters.variances().array().sqrt();
  return std::make_unique<GaussianEmission>(std::move(parameters));
}

GaussianStepTask GaussianLearner::task_for(const RowSurvey& survey) const {
  const auto bits = static_cast<Id>(survey.sums.table(1).cols());
  return {survey, covariance_.shape == CovarianceShape::tied, prior_students(bits), options_.ridge};
}

std::unique_ptr<EmissionStep> GaussianLearner::first_step(const RowSurvey& survey, Id states,
                                                          const RandomStream& stream) const {
  const Index bits = survey.sums.table(1).cols();
  const GaussianStepTask task = task_for(survey);
  if (covariance_.is_dense()) return dense_gaussian_step(task, nullptr);
  // Loadings at random, a third of each variance; the first steps turn them like a power iteration.
  const Index factors = std::min<Index>(covariance_.factors, bits);
  const Vector pooled = pooled_variance(survey);
  GaussianParameters parameters;
  parameters.noise = pooled.replicate(1, states);
  for (Index k = 0; k < states; ++k) {
    RandomStream draws = stream.child("loading").child(static_cast<std::uint64_t>(k));
    RowMatrix loading(bits, factors);
    for (Index j = 0; j < bits; ++j) {
      for (Index q = 0; q < factors; ++q)
        loading(j, q) = std::sqrt(pooled[j] / (3.0 * static_cast<double>(factors))) * draws.normal();
    }
    parameters.loading.push_back(std::move(loading));
  }
  return factor_gaussian_step(task, std::move(parameters));
}

std::unique_ptr<EmissionStep> GaussianLearner::step(const RowSurvey& survey, const Emission& previous) const {
  const auto& before = dynamic_cast<const GaussianEmission&>(previous);
  return covariance_.is_dense() ? dense_gaussian_step(task_for(survey), &before)
                                : factor_gaussian_step(task_for(survey), before.parameters());
}

std::unique_ptr<EmissionStep> GaussianLearner::finishing_step(const RowSurvey&, const Emission& emission) const {
  if (options_.calibrate == Calibration::none) return nullptr;
  const auto count = [](const StepRows& rows, const RowMatrix& responsibilities, const Executor& executor) {
    return to_statistics(count_bits(rows, responsibilities, executor));
  };
  const auto maximise = [this, &emission](Statistics sums, const Executor&) {
    GaussianParameters parameters = dynamic_cast<const GaussianEmission&>(emission).parameters();
    const BitCounts counts = to_bit_counts(std::move(sums));
    const double a = least_pseudocount();
    for (Index j = 0; j < parameters.mean.rows(); ++j) {
      for (Index k = 0; k < parameters.mean.cols(); ++k)
        parameters.standard_mean(j, k) = normal_quantile((counts.taken(j, k) + a) / (counts.known(j, k) + 2 * a));
    }
    return std::make_unique<GaussianEmission>(std::move(parameters));
  };
  return one_round(count, maximise);
}

std::unique_ptr<EmissionStep> GaussianLearner::balancing_step(const RowMatrix& state_shares,
                                                              const Emission& emission) const {
  const auto count = [](const StepRows& rows, const RowMatrix&, const Executor& executor) {
    const RowMatrix weights =
        Eigen::Map<const Vector>(rows.weights().data(), static_cast<Index>(rows.weights().size()));
    return to_statistics(count_bits(rows, weights, executor));
  };
  const auto maximise = [this, state_shares, &emission](Statistics sums, const Executor&) {
    GaussianParameters parameters = dynamic_cast<const GaussianEmission&>(emission).parameters();
    const BitCounts counts = to_bit_counts(std::move(sums));
    const double a = least_pseudocount();
    const Index courses = parameters.mean.rows() / state_shares.rows();
    for (Index j = 0; j < parameters.mean.rows(); ++j) {
      const double share = (counts.taken(j, 0) + a) / (counts.known(j, 0) + 2 * a);
      const auto states = state_shares.row(j / courses);
      auto mean = parameters.standard_mean.row(j);
      // All states move together, so that what tells them apart stays; the sum of their shares grows with the step.
      double low = -20, high = 20;
      for (int halving = 0; halving < 60; ++halving) {
        const double step = 0.5 * (low + high);
        double found = 0;
        for (Index k = 0; k < states.size(); ++k)
          found += states[k] * normal_cdf(mean[k] + step);
        (found < share ? low : high) = step;
      }
      mean.array() += 0.5 * (low + high);
    }
    return std::make_unique<GaussianEmission>(std::move(parameters));
  };
  return one_round(count, maximise);
}

double GaussianLearner::term_size(const Emission& emission) const {
  const auto& gaussian = dynamic_cast<const GaussianEmission&>(emission);
  const GaussianParameters& parameters = gaussian.parameters();
  return parameters.is_dense() ? gaussian.dense_form(Executor(1)).precision_diagonal().colwise().sum().maxCoeff()
                               : parameters.noise.array().inverse().colwise().sum().maxCoeff();
}

std::optional<std::string> GaussianLearner::incompatibility(const Emission& emission) const {
  const auto* gaussian = dynamic_cast<const GaussianEmission*>(&emission);
  if (gaussian == nullptr) return "no Gaussian states";
  const GaussianParameters& given = gaussian->parameters();
  const bool tied = covariance_.shape == CovarianceShape::tied;
  if (given.is_dense() == covariance_.is_dense()) {
    const auto count = static_cast<Index>(given.cholesky.size());
    if (given.is_dense() ? count == (tied ? 1 : given.mean.cols())
                         : given.loading.front().cols() == std::min<Index>(covariance_.factors, given.mean.rows()))
      return std::nullopt;
  }
  const CovarianceChoice own =
      !given.is_dense()
          ? CovarianceChoice{given.loading.front().cols() == 0 ? CovarianceShape::diagonal : CovarianceShape::factor,
                             static_cast<Id>(given.loading.front().cols())}
          : CovarianceChoice{given.cholesky.size() == 1 ? CovarianceShape::tied : CovarianceShape::full};
  return concat(setting_name("covariance"), " ", to_text(own), ", not ", to_text(covariance_));
}

double GaussianLearner::log_prior(const RowSurvey& survey, const Emission& emission) const {
  const double prior = prior_students(emission.bit_count());
  if (prior == 0) return 0;
  const auto& gaussian = dynamic_cast<const GaussianEmission&>(emission);
  const GaussianParameters& parameters = gaussian.parameters();
  const Vector pooled = pooled_variance(survey);
  // `prior` students who vary as all do, each course on its own.
  double sum = 0;
  if (parameters.is_dense()) {
    const DenseForm& form = gaussian.dense_form(Executor(1));
    sum = form.log_determinants().sum() + (form.precision_diagonal().transpose() * pooled).sum();
  } else {
    for (Index k = 0; k < parameters.noise.cols(); ++k)
      sum += (parameters.noise.col(k).array().log() + pooled.array() / parameters.noise.col(k).array()).sum();
  }
  return -0.5 * prior * sum;
}

double GaussianLearner::memory_estimate(Id bits, Id states, int) const {
  const double cells = static_cast<double>(bits) * bits;
  if (covariance_.is_dense()) {
    // Old and new factors, the table of pairs, precisions and moments on the way.
    return 8 * cells * (covariance_.shape == CovarianceShape::tied ? 1 : states) * 4.5;
  }
  return 8.0 * bits * states * (4.0 + 3.0 * covariance_.factors);
}

double GaussianLearner::work_estimate(const StepRows& rows, Id states) const {
  double singles = 0, pairs = 0;
  for (std::int64_t row = 0; row < rows.row_count(); ++row) {
    const auto count = static_cast<double>(rows.taken(row).size());
    singles += count;
    pairs += count * count / 2;
  }
  const double bits = rows.bit_count();
  const double lanes = covariance_.shape == CovarianceShape::tied ? 1 : states;
  if (!covariance_.is_dense())
    return states * (covariance_.factors + 1.0) *
           (4 * singles + static_cast<double>(rows.row_count()) * (covariance_.factors + 1));
  // A multiplication of matrices runs some ten times faster than looking up.
  return lanes * (0.5 * pairs + 0.1 * bits * bits * bits * (1 + 3.0 * (rows.pattern_count() - 1)));
}

std::vector<EmissionNote> GaussianLearner::notes(const RowSurvey& survey, const Vector& state_weights) const {
  if (covariance_.shape != CovarianceShape::full) return {};
  const auto bits = static_cast<double>(survey.sums.table(1).cols());
  const auto small = (state_weights.array() < bits).count();
  if (small == 0) return {};
  return {{-1, -1,
           concat(small, " of ", state_weights.size(),
                  " states have fewer students than courses: which courses go together in them is ",
                  options_.ridge > 0 ? concat("kept faint by ", setting_name("ridge")) : "mostly assumed",
                  ", hardly seen; trust these pairs little, or ask for fewer ", setting_name("states"))}};
}

}  // namespace desirepath::inline emissions
