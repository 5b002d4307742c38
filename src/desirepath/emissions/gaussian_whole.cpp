#include "desirepath/emissions/gaussian_whole.h"

#include <algorithm>
#include <cmath>

#include "desirepath/core/text.h"
#include "desirepath/emissions/gaussian_dense.h"
#include "desirepath/emissions/gaussian_mass.h"
#include "desirepath/emissions/thresholded_rows.h"
#include "desirepath/probability/dense_ep.h"
#include "desirepath/probability/factor_ep.h"
#include "desirepath/probability/normal.h"
#include "desirepath/probability/truncated_sample.h"

namespace desirepath::inline emissions {

namespace {

/// States so many nats below a row's best have no part in its probability: a rough value does.
constexpr double far_below = 12;
constexpr double rough_error = 1;  // of that, at least
/// As many unknown bits are taken out of the solution in which all are known; more make a solution of their own.
constexpr std::size_t few_unknown = 64;
constexpr std::int64_t rows_compared = 16;
constexpr std::int64_t paths_of_score = 256, paths_of_answer = 64;
constexpr int scrambles = 8;

/// One state's thresholded Gaussian over some of its bits.
struct StateProblem {
  Vector mean;
  Matrix correlation;

  StateProblem(const GaussianEmission& emission, Index state, const std::vector<Id>& bits)
      : mean(emission.parameters().standard_mean.col(state)(bits)),
        correlation(correlation_of(emission.covariance(static_cast<Id>(state)))(bits, bits)) {}

  OrthantProblem with(std::span<const Id> taken) const {
    OrthantProblem problem{mean, FullCovariance{correlation},
                           std::vector<std::uint8_t>(static_cast<std::size_t>(mean.size()), 0)};
    for (const Id place : taken)
      problem.taken[static_cast<std::size_t>(place)] = 1;
    return problem;
  }
};

/// Numbers of bits among some of them.
std::vector<Id> places_of(std::span<const Id> taken, const std::vector<Id>& bits) {
  std::vector<Id> places;
  for (const Id bit : taken)
    places.push_back(static_cast<Id>(std::ranges::lower_bound(bits, bit) - bits.begin()));
  return places;
}

/// The states over the bits that one or more patterns know.
class WholeStates {
 public:
  WholeStates(const GaussianEmission& emission, std::vector<Id> bits, const Executor& executor)
      : bits_(std::move(bits)), states_(static_cast<std::size_t>(emission.state_count())) {
    executor.for_each(emission.state_count(), [&](std::int64_t k) {
      StateProblem state(emission, k, bits_);
      states_[static_cast<std::size_t>(k)].emplace(std::move(state.mean), std::move(state.correlation));
    });
  }

  /// unknown: of these bits, in the numbers of all.
  void score(std::span<const Id> taken, std::span<const Id> unknown, Eigen::Ref<Eigen::RowVectorXd> log_likelihood,
             Eigen::Ref<Eigen::RowVectorXd> error) const {
    const std::vector<Id> taken_here = places_of(taken, bits_), unknown_here = places_of(unknown, bits_);
    const KnownSigns signs{taken_here, unknown_here};
    const auto solve = [&](Index k) {
      const DenseEp::Estimate found = states_[static_cast<std::size_t>(k)]->solve(signs);
      log_likelihood[k] = found.log_probability;
      error[k] = found.error;
      return found.log_probability;
    };
    const Index states = log_likelihood.size();
    if (states == 1) {
      solve(0);
      return;
    }
    for (Index k = 0; k < states; ++k)
      log_likelihood[k] = states_[static_cast<std::size_t>(k)]->rough(signs);
    Index best = 0;
    const double rough = log_likelihood.maxCoeff(&best), value = solve(best);
    // What the best state's rough value lacks, the others' may lack twice.
    const double lack = std::max(rough_error, 2 * (value - rough));
    for (Index k = 0; k < states; ++k) {
      if (k == best) continue;
      if (log_likelihood[k] + lack > value - far_below)
        solve(k);
      else
        error[k] = lack;
    }
  }

 private:
  std::vector<Id> bits_;
  std::vector<std::optional<DenseEp>> states_;
};

/// Replaces the values of the states near the best by sampled ones.
void sample_near_states(const GaussianEmission& emission, const StepRows& rows, RowScores& scores,
                        const Executor& executor) {
  const Index states = emission.state_count();
  for (Id pattern = 0; pattern < rows.pattern_count(); ++pattern) {
    const std::int64_t first = rows.first_row(pattern), count = rows.end_row(pattern) - first;
    if (count == 0) continue;
    const std::vector<Id> known = known_bits(rows.unknown(pattern), emission.bit_count());
    for (Index k = 0; k < states; ++k) {
      const StateProblem state(emission, k, known);
      const RandomStream stream = RandomStream(0).child("mass").child(static_cast<std::uint64_t>(k));
      executor.for_blocks(count, 4, [&](Range range) {
        for (std::int64_t row = first + range.first; row < first + range.last; ++row) {
          // The rough ones stay: they are the only ones with an error of nats.
          if (scores.standard_error(row, k) >= rough_error) continue;
          OrthantOptions options;
          options.estimator = OrthantEstimator::tilted;
          options.samples = paths_of_score;
          const OrthantEstimate found =
              estimate_orthant(state.with(places_of(rows.taken(row), known)), options, stream, executor);
          scores.log_likelihood(row, k) = found.log_probability;
          scores.standard_error(row, k) = *found.standard_error;
        }
      });
    }
  }
}

}  // namespace

Matrix correlation_of(const Matrix& covariance) {
  const Vector inverse = covariance.diagonal().cwiseSqrt().cwiseInverse();
  Matrix result = inverse.asDiagonal() * covariance * inverse.asDiagonal();
  result = (0.5 * (result + result.transpose())).eval();
  result.diagonal().setOnes();
  return result;
}

RowScores whole_mass_scores(const GaussianEmission& emission, const StepRows& rows, Precision precision,
                            const Executor& executor) {
  const Index states = emission.state_count();
  RowScores scores{RowMatrix(rows.row_count(), states), RowMatrix(rows.row_count(), states)};
  std::optional<WholeStates> all_known;
  for (Id pattern = 0; pattern < rows.pattern_count(); ++pattern) {
    const std::int64_t first = rows.first_row(pattern), count = rows.end_row(pattern) - first;
    if (count == 0) continue;
    const UnknownBits& unknown = rows.unknown(pattern);
    const bool few = unknown.bits.size() <= few_unknown;
    if (few && !all_known) all_known.emplace(emission, known_bits({}, emission.bit_count()), executor);
    std::optional<WholeStates> own;
    if (!few) own.emplace(emission, known_bits(unknown, emission.bit_count()), executor);
    const WholeStates& whole = few ? *all_known : *own;
    executor.for_blocks(count, 8, [&](Range range) {
      for (std::int64_t row = first + range.first; row < first + range.last; ++row)
        whole.score(rows.taken(row), few ? std::span<const Id>(unknown.bits) : std::span<const Id>(),
                    scores.log_likelihood.row(row), scores.standard_error.row(row));
    });
  }
  if (precision == Precision::sampled) sample_near_states(emission, rows, scores, executor);
  return scores;
}

ScoreError gap_of_fit(const GaussianEmission& emission, const StepRows& rows, const Executor& executor) {
  const ThresholdedStates& fitted = emission.thresholded(executor);
  ScoreError gap{concat("computed by a shortcut: how courses go together in a state is summed up in ",
                        fitted.states.front().factor_count(), " common factors"),
                 std::min(rows_compared, rows.row_count())};
  Vector difference(gap.rows);
  executor.for_each(gap.rows, [&](std::int64_t i) {
    const std::int64_t row = i * rows.row_count() / gap.rows;
    Index best = 0;
    double value = -infinity;
    for (Index k = 0; k < emission.state_count(); ++k) {
      FactorEp ep(fitted.states[static_cast<std::size_t>(k)], score_tolerance);
      const double plain = ep.solve(signs_of(rows, row)).log_probability, here = plain + ep.correction();
      if (here <= value) continue;
      value = here;
      best = k;
    }
    const std::vector<Id> known = known_bits(rows.unknown(rows.pattern_of(row)), emission.bit_count());
    StateProblem state(emission, best, known);
    const DenseEp whole(std::move(state.mean), std::move(state.correlation));
    difference[i] = whole.solve({places_of(rows.taken(row), known)}).log_probability - std::min(0.0, value);
  });
  if (gap.rows == 0) return gap;
  gap.mean = difference.mean();
  gap.root_mean_square = std::sqrt(difference.squaredNorm() / static_cast<double>(gap.rows));
  gap.largest = difference.cwiseAbs().maxCoeff();
  return gap;
}

namespace {

class TruncatedGiven : public GivenPattern {
 public:
  TruncatedGiven(const GaussianEmission& emission, const UnknownBits& unknown)
      : unknown_(unknown), known_(known_bits(unknown, emission.bit_count())) {
    for (Index k = 0; k < emission.state_count(); ++k) {
      State& state = states_.emplace_back(emission, k, known_);
      state.mean = emission.parameters().standard_mean.col(k)(unknown.bits);
      const Matrix correlation = correlation_of(emission.covariance(static_cast<Id>(k)));
      if (known_.empty() || unknown.bits.empty()) {
        state.factor = correlation;
      } else {
        DenseConditional conditional = condition(correlation, unknown);
        state.gain = std::move(conditional.gain);
        state.factor = std::move(conditional.covariance);
      }
      state.deviation = state.factor.diagonal().cwiseMax(1e-12).cwiseSqrt();
      factorise_surely(state.factor);
    }
  }

  void marginals(std::span<const Id> taken, std::span<const Id> asked, Eigen::Ref<RowMatrix> out) const override {
    RowMatrix errors(out.rows(), out.cols());
    marginals_with_errors(taken, asked, out, errors);
  }

  void marginals_with_errors(std::span<const Id> taken, std::span<const Id> asked, Eigen::Ref<RowMatrix> out,
                             Eigen::Ref<RowMatrix> errors) const override {
    errors.setZero();
    std::vector<Id> places;  // of the bits asked for, among the unknown
    std::vector<Index> columns;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const auto column = static_cast<Index>(i);
      if (!unknown_.contains(asked[i])) {
        out.col(column).setConstant(std::ranges::binary_search(taken, asked[i]) ? 1 : 0);
        continue;
      }
      places.push_back(static_cast<Id>(std::ranges::lower_bound(unknown_.bits, asked[i]) - unknown_.bits.begin()));
      columns.push_back(column);
    }
    if (places.empty()) return;
    const std::vector<Id> taken_here = places_of(taken, known_);
    for (Index k = 0; k < out.rows(); ++k) {
      const State& state = states_[static_cast<std::size_t>(k)];
      const Vector mean = state.mean(places), deviation = state.deviation(places);
      if (known_.empty()) {
        for (std::size_t i = 0; i < places.size(); ++i)
          out(k, columns[i]) = normal_cdf(mean[static_cast<Index>(i)]);
        continue;
      }
      const TruncatedSample sample =
          truncated_sample(state.known.with(taken_here), paths_of_answer, scrambles,
                           RandomStream(0).child("given").child(static_cast<std::uint64_t>(k)));
      RowMatrix shares = state.gain(places, Eigen::all) * sample.latent;
      shares.colwise() += mean;
      shares.array().colwise() /= deviation.array();
      const auto count = static_cast<std::size_t>(shares.size());
      log_normal_cdf({shares.data(), count}, {shares.data(), count});
      shares = shares.array().exp();
      for (std::size_t i = 0; i < places.size(); ++i) {
        const SampleMean found = mean_of(sample, shares.row(static_cast<Index>(i)));
        out(k, columns[i]) = found.value;
        errors(k, columns[i]) = found.standard_error;
      }
    }
  }

  void complete(std::span<const Id> taken, Id state_number, RandomStream& stream,
                std::vector<Id>& result) const override {
    result.assign(taken.begin(), taken.end());
    if (unknown_.bits.empty()) return;
    const State& state = states_[static_cast<std::size_t>(state_number)];
    Vector latent = state.mean;
    if (!known_.empty()) {
      const TruncatedSample sample = truncated_sample(state.known.with(places_of(taken, known_)), paths_of_answer,
                                                      scrambles, stream.child("paths"));
      latent += state.gain * sample.latent.col(static_cast<Index>(stream.categorical(
                                 {sample.weights.data(), sample.weights.data() + sample.weights.size()})));
    }
    Vector noise(latent.size());
    for (double& value : noise)
      value = stream.normal();
    latent.noalias() += state.factor.triangularView<Eigen::Lower>() * noise;
    for (Index i = 0; i < latent.size(); ++i) {
      if (latent[i] > 0) result.push_back(unknown_.bits[static_cast<std::size_t>(i)]);
    }
    std::ranges::sort(result);
  }

 private:
  struct State {
    State(const GaussianEmission& emission, Index number, const std::vector<Id>& bits)
        : known(emission, number, bits) {}
    StateProblem known;
    Matrix gain;             // unknown by known
    Vector mean, deviation;  // of the unknown, that of the latter given the known
    Matrix factor;           // of their covariance given the known
  };

  const UnknownBits& unknown_;
  std::vector<Id> known_;
  std::vector<State> states_;
};

}  // namespace

std::unique_ptr<GivenPattern> truncated_given(const GaussianEmission& emission, const UnknownBits& unknown) {
  return std::make_unique<TruncatedGiven>(emission, unknown);
}

}  // namespace desirepath::inline emissions
