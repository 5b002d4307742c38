#include <algorithm>
#include <cmath>
#include <numeric>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/bernoulli.h"
#include "desirepath/emissions/probit.h"
#include "desirepath/emissions/probit_gaussian.h"
#include "desirepath/probability/bivariate_normal.h"
#include "desirepath/probability/factor_fit.h"
#include "desirepath/probability/normal.h"
#include "desirepath/probability/probit_regression.h"

namespace desirepath::inline emissions {

namespace {

/// Responsibilities below this share of a student are left out: they could not move the objective by a last digit.
constexpr double negligible = 1e-13;
constexpr std::int64_t learned_rows_per_task = 1024;
constexpr std::int64_t bits_a_task = 4;
/// Newton steps of a course's regression in one M step, which starts where the last one ended.
constexpr int newton_steps = 4;
constexpr double newton_tolerance = 1e-7;  // nats
/// Courses whose correlations make the start: the most taken; the others join at the first M step.
constexpr std::size_t anchor_courses = 120;
constexpr double start_explained = 0.8;  // most of a course's variance that the factors begin with
constexpr double start_noise = 0.05;     // on the slopes: where all are zero, EM would stay
constexpr double lift_shrinkage = 0.5;   // students, on the number who take both of a pair
constexpr double most_correlation = 0.95;

/// p(bit = 1 | state) as the counts say it, smoothed: bits by states.
RowMatrix smoothed_shares(const BitCounts& counts, double pseudocount) {
  // An exact 0 or 1 has no threshold: without a pseudocount a course stays possible by a hair.
  constexpr double least = 1e-9;
  RowMatrix shares(counts.taken.rows(), counts.taken.cols());
  for (Index j = 0; j < shares.rows(); ++j) {
    for (Index k = 0; k < shares.cols(); ++k) {
      const double known = counts.known(j, k) + 2 * pseudocount;
      shares(j, k) = known > 0 ? std::clamp((counts.taken(j, k) + pseudocount) / known, least, 1 - least) : 0.5;
    }
  }
  return shares;
}

/// The prior of a course's slopes in K states: normal, variance V, correlation c between states, so that a course
/// rarely taken in a state leans on the others. As quadratic form (sum_k |l_k|^2 - |sum_k l_k|^2 / (K + r)) / (2 v)
/// with v = (1 - c) V, r = (1 - c) / c.
struct SharedSlopePrior {
  double own_variance, crowd;  // v and K + r

  SharedSlopePrior(const ProbitOptions& options, Id states)
      : own_variance((1 - options.slope_correlation) * options.slope_variance),
        crowd(states + (1 - options.slope_correlation) / options.slope_correlation) {}
  /// Of one state's slopes given the sum of the others'.
  SlopePrior given(const Eigen::Ref<const Vector>& sum_of_others) const {
    return {sum_of_others / (crowd - 1), (1 - 1 / crowd) / own_variance};
  }
};

std::vector<Id> most_taken(const Vector& shares) {
  std::vector<Id> bits(static_cast<std::size_t>(shares.size()));
  std::iota(bits.begin(), bits.end(), 0);
  // Courses taken by nearly all say as little as those taken by nearly none.
  std::ranges::stable_sort(bits, std::ranges::greater(),
                           [&](Id bit) { return std::min(shares[bit], 1 - shares[bit]); });
  bits.resize(std::min(bits.size(), anchor_courses));
  std::ranges::sort(bits);
  return bits;
}

/// Of pairs of some courses, below the diagonal: students who take both, and as many as would if the courses were
/// independent in every state.
struct PairCounts {
  RowMatrix both, expected;
};

PairCounts count_pairs(const StepRows& rows, const RowMatrix& responsibilities, const RowMatrix& shares,
                       std::span<const Id> bits, const Executor& executor) {
  const auto size = static_cast<Index>(bits.size());
  std::vector<Id> place(static_cast<std::size_t>(rows.bit_count()), -1);
  for (std::size_t i = 0; i < bits.size(); ++i)
    place[static_cast<std::size_t>(bits[i])] = static_cast<Id>(i);
  PairCounts counts{RowMatrix::Zero(size, size), RowMatrix::Zero(size, size)};
  RowMatrix pattern_weights = RowMatrix::Zero(rows.pattern_count(), responsibilities.cols());
  std::vector<Id> here;
  for (std::int64_t row = 0; row < rows.row_count(); ++row) {
    const double weight = responsibilities.row(row).sum();
    pattern_weights.row(rows.pattern_of(row)) += responsibilities.row(row);
    here.clear();
    for (const Id bit : rows.taken(row)) {
      if (const Id at = place[static_cast<std::size_t>(bit)]; at >= 0) here.push_back(at);
    }
    for (std::size_t i = 0; i < here.size(); ++i) {
      for (std::size_t l = 0; l < i; ++l)
        counts.both(here[i], here[l]) += weight;
    }
  }
  executor.for_blocks(size, 1, [&](Range range) {
    const Index i = range.first;
    const Id bit = bits[static_cast<std::size_t>(i)];
    for (Index l = 0; l < i; ++l) {
      const Id other = bits[static_cast<std::size_t>(l)];
      Eigen::RowVectorXd known = pattern_weights.colwise().sum();
      for (Id p = 1; p < rows.pattern_count(); ++p) {
        if (rows.unknown(p).contains(bit) || rows.unknown(p).contains(other)) known -= pattern_weights.row(p);
      }
      counts.expected(i, l) = std::max(0.0, known.dot(shares.row(bit).cwiseProduct(shares.row(other))));
    }
  });
  return counts;
}

/// Tetrachoric correlations inside the states: of what is taken together beyond what the states say. overall: shares
/// of all bits over all states.
Matrix tetrachoric_matrix(const PairCounts& counts, const Vector& overall, std::span<const Id> bits,
                          const Executor& executor) {
  const auto size = static_cast<Index>(bits.size());
  Matrix correlation = Matrix::Identity(size, size);
  executor.for_blocks(size, 1, [&](Range range) {
    const Index i = range.first;
    const Id bit = bits[static_cast<std::size_t>(i)];
    const double threshold = normal_quantile(overall[bit]);
    for (Index l = 0; l < i; ++l) {
      const Id other = bits[static_cast<std::size_t>(l)];
      const double lift = (counts.both(i, l) + lift_shrinkage) / (counts.expected(i, l) + lift_shrinkage);
      correlation(i, l) = std::clamp(
          tetrachoric_correlation(threshold, normal_quantile(overall[other]), overall[bit] * overall[other] * lift),
          -most_correlation, most_correlation);
    }
  });
  for (Index i = 0; i < size; ++i)
    correlation.row(i).tail(size - i - 1) = correlation.col(i).tail(size - i - 1).transpose();
  return correlation;
}

Vector node_weights(const NodeSet& nodes) {
  return nodes.log_weights.array().exp();
}

/// The intercepts with which the marginals are these shares, given the slopes.
Vector calibrated_intercepts(const RowMatrix& slopes, const Eigen::Ref<const Vector>& shares, const NodeSet& nodes,
                             const Executor& executor) {
  const Vector weights = node_weights(nodes);
  const auto count = static_cast<std::size_t>(weights.size());
  Vector intercepts(shares.size());
  executor.for_blocks(shares.size(), bits_a_task, [&](Range range) {
    Vector offsets(weights.size());
    for (Index j = range.first; j < range.last; ++j) {
      offsets = nodes.points * slopes.row(j).transpose();
      intercepts[j] = intercept_of_share({offsets.data(), count}, {weights.data(), count}, shares[j]);
    }
  });
  return intercepts;
}

const ProbitEmission& as_probit(const Emission& emission) {
  return dynamic_cast<const ProbitEmission&>(emission);
}

}  // namespace

Id ProbitOptions::default_nodes(Id factors) {
  return factors <= 3 ? 128 : factors <= 5 ? 256 : 512;
}

void ProbitOptions::validate() const {
  const std::string shape = concat(setting_name("covariance"), " ", to_text(covariance));
  if (covariance.shape != CovarianceShape::factor)
    throw OptionError(concat(shape, ": probit takes factor:Q, for example factor:4"));
  if (factors() < 1 || factors() > most_factors)
    throw OptionError(concat(shape, ": probit takes 1 to ", most_factors, " factors"));
  if (nodes % nodes_a_block != 0)
    throw OptionError(concat(setting_name("nodes"), " must be a multiple of ", nodes_a_block));
  if (!(slope_correlation < 1)) throw OptionError(concat(setting_name("slope-correlation"), " must be under 1"));
}

ProbitLearner::ProbitLearner(const ProbitOptions& options) : options_(options) {
  options_.validate();
  if (options_.nodes == 0) options_.nodes = ProbitOptions::default_nodes(options_.factors());
}

NodeBitCounts count_at_nodes(const StepRows& rows, const Vector& weights, const NodeTable& table,
                             const Executor& executor) {
  std::vector<std::int64_t> active;
  for (std::int64_t row = 0; row < rows.row_count(); ++row) {
    if (weights[row] > negligible) active.push_back(row);
  }
  std::vector<NodeBase> bases;
  for (Id p = 0; p < rows.pattern_count(); ++p)
    bases.push_back(table.base(rows.unknown(p)));
  // What a row's products are multiplied by to become its expected weight at each node; 0 where they are lost.
  std::vector<double> factors(active.size());
  executor.for_blocks(static_cast<std::int64_t>(active.size()), learned_rows_per_task, [&](Range range) {
    const std::span<const std::int64_t> numbers(active.data() + range.first, static_cast<std::size_t>(range.size()));
    const std::span<double> sums(factors.data() + range.first, numbers.size());
    std::size_t first = 0;
    while (first < numbers.size()) {
      // Runs of one pattern: equal patterns mostly lie together.
      std::size_t last = first + 1;
      const Id pattern = rows.pattern_of(numbers[first]);
      while (last < numbers.size() && rows.pattern_of(numbers[last]) == pattern)
        ++last;
      table.totals(bases[static_cast<std::size_t>(pattern)], rows, numbers.subspan(first, last - first),
                   sums.subspan(first, last - first));
      first = last;
    }
    for (std::size_t i = 0; i < numbers.size(); ++i)
      sums[i] = sums[i] > 0 ? weights[numbers[i]] / sums[i] : 0;
  });
  // Parallel over blocks of nodes, rows in order inside: no table is copied, and no sum depends on threads.
  const Index bits = table.bit_count(), nodes = table.node_count();
  RowMatrix taken(bits, nodes), at_pattern = RowMatrix::Zero(rows.pattern_count(), nodes);
  executor.for_each(table.block_count(), [&](std::int64_t block) {
    RowMatrix counts = RowMatrix::Zero(bits, nodes_a_block);
    RowMatrix all = RowMatrix::Zero(rows.pattern_count(), nodes_a_block);
    Vector posterior(nodes);
    for (std::size_t i = 0; i < active.size(); ++i) {
      const std::int64_t row = active[i];
      const Id pattern = rows.pattern_of(row);
      const NodeBase& base = bases[static_cast<std::size_t>(pattern)];
      if (factors[i] > 0) {
        table.add_products(base, rows.taken(row), block, factors[i], all.row(pattern).data(), counts.data());
        continue;
      }
      table.weigh(base, rows.taken(row), {posterior.data(), static_cast<std::size_t>(nodes)});
      const Eigen::RowVectorXd share =
          weights[row] * posterior.segment(block * nodes_a_block, nodes_a_block).transpose();
      all.row(pattern) += share;
      for (const Id bit : rows.taken(row))
        counts.row(bit) += share;
    }
    taken.middleCols(block * nodes_a_block, nodes_a_block) = counts;
    at_pattern.middleCols(block * nodes_a_block, nodes_a_block) = all;
  });
  NodeBitCounts result;
  result.not_taken = at_pattern.colwise().sum().replicate(bits, 1);
  for (Id p = 1; p < rows.pattern_count(); ++p) {
    for (const Id bit : rows.unknown(p).bits)
      result.not_taken.row(bit) -= at_pattern.row(p);
  }
  result.not_taken = (result.not_taken - taken).cwiseMax(0);  // rounding of the subtractions
  result.taken = std::move(taken);
  return result;
}

namespace {

/// The M step of one state. slope_sum: of all other states, bits by factors.
NodeTable improve(NodeBitCounts counts, const NodeTable& previous, const RowMatrix& slope_sum,
                  const ProbitOptions& options, Id states, const Executor& executor) {
  const Eigen::RowVectorXd prior = options.pseudocount * node_weights(previous.nodes()).transpose();
  const ProbitRegression regression(previous.nodes().points);
  const SharedSlopePrior slope_prior(options, states);
  Vector intercepts = previous.intercepts();
  RowMatrix slopes = previous.slopes();
  executor.for_blocks(intercepts.size(), bits_a_task, [&](Range range) {
    Vector coefficients(regression.coefficient_count());
    const auto nodes = static_cast<std::size_t>(regression.node_count());
    for (Index j = range.first; j < range.last; ++j) {
      coefficients << intercepts[j], slopes.row(j).transpose();
      counts.taken.row(j) += prior;
      counts.not_taken.row(j) += prior;
      regression.climb({{counts.taken.row(j).data(), nodes}, {counts.not_taken.row(j).data(), nodes}},
                       slope_prior.given(slope_sum.row(j).transpose()), coefficients, newton_steps, newton_tolerance);
      intercepts[j] = coefficients[0];
      slopes.row(j) = coefficients.tail(slopes.cols()).transpose();
    }
  });
  return {std::move(intercepts), std::move(slopes), previous.nodes()};
}

/// One set of slopes for all states, from what courses have to do with each other inside them.
class FirstProbitStep : public EmissionStep {
 public:
  FirstProbitStep(const ProbitOptions& options, const RandomStream& stream) : options_(options), stream_(stream) {}

  Statistics count(const StepRows& rows, const RowMatrix& responsibilities, const Executor& executor) const override {
    if (shares_.size() > 0) {
      PairCounts pairs = count_pairs(rows, responsibilities, shares_, bits_, executor);
      Statistics sums;
      sums.add(std::move(pairs.both));
      sums.add(std::move(pairs.expected));
      return sums;
    }
    Statistics sums = to_statistics(count_bits(rows, responsibilities, executor));
    sums.add(RowMatrix(responsibilities.colwise().sum()));
    return sums;
  }

  StepResult maximise(Statistics sums, const Executor& executor) override {
    if (shares_.size() == 0) {
      Vector state_weights = sums.table(2).row(0).transpose();
      if (!(state_weights.sum() > 0)) state_weights.setOnes();
      shares_ = smoothed_shares(to_bit_counts(std::move(sums)), options_.pseudocount);
      overall_ = shares_ * (state_weights / state_weights.sum());
      bits_ = most_taken(overall_);
      return StepResult::count_again();
    }
    const Index bits = shares_.rows();
    const NodeSet nodes = factor_nodes(std::min<Index>(options_.factors(), bits), options_.nodes);
    const PairCounts pairs{std::move(sums.table(0)), std::move(sums.table(1))};
    const FactorFit fit =
        fit_factors(tetrachoric_matrix(pairs, overall_, bits_, executor), nodes.points.cols(), start_explained);
    RowMatrix slopes(bits, nodes.points.cols());
    RandomStream draws = stream_.child("slopes");
    for (Index i = 0; i < slopes.size(); ++i)
      slopes.data()[i] = start_noise * draws.normal();
    for (std::size_t i = 0; i < bits_.size(); ++i) {
      const auto at = static_cast<Index>(i);
      slopes.row(bits_[i]) += fit.covariance.loadings.row(at) / std::sqrt(fit.covariance.noise[at]);
    }
    std::vector<NodeTable> tables;
    for (Index k = 0; k < shares_.cols(); ++k)
      tables.emplace_back(calibrated_intercepts(slopes, shares_.col(k), nodes, executor), slopes, nodes);
    return {std::make_unique<ProbitEmission>(std::move(tables))};
  }

 private:
  ProbitOptions options_;
  RandomStream stream_;
  RowMatrix shares_;      // bits by states
  Vector overall_;        // of bits, over all states
  std::vector<Id> bits_;  // whose correlations make the start
};

}  // namespace

std::unique_ptr<EmissionStep> ProbitLearner::first_step(const RowSurvey&, Id, const RandomStream& stream) const {
  return std::make_unique<FirstProbitStep>(options_, stream);
}

std::unique_ptr<EmissionStep> ProbitLearner::step(const RowSurvey&, const Emission& previous) const {
  const std::vector<NodeTable>& before = as_probit(previous).states();
  const auto count = [&before](const StepRows& rows, const RowMatrix& responsibilities, const Executor& executor) {
    Statistics sums;
    for (std::size_t k = 0; k < before.size(); ++k) {
      NodeBitCounts counts = count_at_nodes(rows, responsibilities.col(static_cast<Index>(k)), before[k], executor);
      sums.add(std::move(counts.taken));
      sums.add(std::move(counts.not_taken));
    }
    return sums;
  };
  const auto maximise = [this, &before](Statistics sums, const Executor& executor) {
    // State by state; each leans on the newest slopes of the others.
    RowMatrix slope_sum = before.front().slopes();
    for (std::size_t k = 1; k < before.size(); ++k)
      slope_sum += before[k].slopes();
    std::vector<NodeTable> tables;
    for (const NodeTable& table : before) {
      const std::size_t k = tables.size();
      slope_sum -= table.slopes();
      tables.push_back(improve({std::move(sums.table(2 * k)), std::move(sums.table(2 * k + 1))}, table, slope_sum,
                               options_, static_cast<Id>(before.size()), executor));
      slope_sum += tables.back().slopes();
    }
    return std::make_unique<ProbitEmission>(std::move(tables));
  };
  return one_round(count, maximise);
}

std::unique_ptr<EmissionStep> ProbitLearner::finishing_step(const RowSurvey&, const Emission& emission) const {
  const ProbitEmission& probit = as_probit(emission);
  if (options_.calibrate == Calibration::none && probit.factor_count() <= ProbitOptions::most_node_factors)
    return nullptr;
  const auto count = [](const StepRows& rows, const RowMatrix& responsibilities, const Executor& executor) {
    return to_statistics(count_bits(rows, responsibilities, executor));
  };
  const auto maximise = [this, &probit](Statistics sums, const Executor& executor) {
    return finished(probit, to_bit_counts(std::move(sums)), executor);
  };
  return one_round(count, maximise);
}

std::unique_ptr<Emission> ProbitLearner::finished(const ProbitEmission& probit, const BitCounts& counts,
                                                  const Executor& executor) const {
  const RowMatrix shares = smoothed_shares(counts, options_.pseudocount);
  if (probit.factor_count() > ProbitOptions::most_node_factors) {
    RowMatrix intercepts = probit.intercepts();
    const Index bits = intercepts.rows();
    for (Index k = 0; k < intercepts.cols() && options_.calibrate == Calibration::marginals; ++k) {
      for (Index j = 0; j < bits; ++j)
        intercepts(j, k) =
            normal_quantile(shares(j, k)) * std::sqrt(1 + probit.slopes().row(k * bits + j).squaredNorm());
    }
    return std::make_unique<ProbitGaussianEmission>(std::move(intercepts), probit.slopes());
  }
  std::vector<NodeTable> tables;
  for (const NodeTable& table : probit.states()) {
    const auto k = static_cast<Index>(tables.size());
    tables.emplace_back(calibrated_intercepts(table.slopes(), shares.col(k), table.nodes(), executor), table.slopes(),
                        table.nodes());
  }
  return std::make_unique<ProbitEmission>(std::move(tables));
}

std::unique_ptr<Emission> ProbitLearner::reopened(const Emission& emission) const {
  const auto* gaussian = dynamic_cast<const ProbitGaussianEmission*>(&emission);
  if (gaussian == nullptr) return nullptr;
  return std::make_unique<ProbitEmission>(gaussian->intercepts(), gaussian->slopes(),
                                          factor_nodes(gaussian->slopes().cols(), options_.nodes));
}

std::optional<std::string> ProbitLearner::incompatibility(const Emission& emission) const {
  const auto* probit = dynamic_cast<const ProbitEmission*>(&emission);
  if (probit == nullptr) return "no probit states";
  if (probit->factor_count() == factors_of(probit->bit_count())) return std::nullopt;
  return concat(setting_name("covariance"), " factor:", probit->factor_count(), ", not factor:", options_.factors());
}

double ProbitLearner::log_prior(const RowSurvey&, const Emission& emission) const {
  const std::unique_ptr<Emission> on_nodes = reopened(emission);
  const ProbitEmission& probit = as_probit(on_nodes ? *on_nodes : emission);
  double balance = 0;
  RowMatrix slope_sum = RowMatrix::Zero(probit.bit_count(), probit.factor_count());
  for (const NodeTable& table : probit.states()) {
    balance += table.log_balance();
    slope_sum += table.slopes();
  }
  const SharedSlopePrior prior(options_, probit.state_count());
  return options_.pseudocount * balance -
         0.5 * (probit.slopes().squaredNorm() - slope_sum.squaredNorm() / prior.crowd) / prior.own_variance;
}

double ProbitLearner::memory_estimate(Id bits, Id states, int threads) const {
  const double nodes = options_.nodes, cells = static_cast<double>(bits) * nodes;
  // Tables old and new; the counts of all states; each thread's block.
  return 8 * (4 * cells * states + 3 * cells + static_cast<double>(bits) * nodes_a_block * threads +
              3.0 * bits * states * (options_.factors() + 1));
}

double ProbitLearner::work_estimate(const StepRows& rows, Id states) const {
  // Scores and counts a node and course taken; regressions a node, course and pair of factors.
  const double nodes = options_.nodes, taken = static_cast<double>(rows.all_taken().one_count());
  const double pairs = 0.5 * (options_.factors() + 1) * (options_.factors() + 2);
  return nodes * states * (0.5 * (taken + static_cast<double>(rows.row_count())) + rows.bit_count() * (20 + pairs));
}

}  // namespace desirepath::inline emissions
