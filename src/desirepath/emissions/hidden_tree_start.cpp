#include "desirepath/emissions/hidden_tree_start.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "desirepath/emissions/bernoulli.h"
#include "desirepath/probability/log_space.h"

namespace desirepath::inline emissions {

namespace {

constexpr int mixture_steps = 40;
constexpr double label_concentration = 0.3;  // of the Dirichlet that first labels are drawn from
constexpr double cell_students = 0.1;        // added to each cell of two courses' timings
constexpr double stay = 0.9;                 // of a hidden variable with its parent, at the start
constexpr int pooling_steps = 30;

struct FirstEnrollment {
  Id course;
  Id period;  // from 1
};

/// A gamma variable (Marsaglia and Tsang; below one by a power of a uniform).
double draw_gamma(double shape, RandomStream& stream) {
  const double boost = shape < 1 ? std::pow(stream.uniform_open(), 1 / shape) : 1;
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = stream.normal(), v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(stream.uniform_open()) < 0.5 * x * x + d - d * v + d * std::log(v)) return boost * d * v;
  }
}

/// Sums of each row's values over the kinds its courses have, those of the baseline by subtraction: kinds by columns.
RowMatrix sum_by_kind(const TimingRows& timings, const RowMatrix& values) {
  RowMatrix sums = RowMatrix::Zero(std::ssize(timings.kinds()), values.cols());
  for (std::size_t g = 0; g < timings.groups().size(); ++g) {
    const auto baseline = timings.baseline_kinds(g);
    Eigen::RowVectorXd all = Eigen::RowVectorXd::Zero(values.cols());
    RowMatrix changed = RowMatrix::Zero(std::ssize(baseline), values.cols());
    for (const std::int64_t row : timings.groups()[g].rows) {
      all += values.row(row);
      for (const std::int32_t kind : timings.changes(row)) {
        sums.row(kind) += values.row(row);
        changed.row(timings.kinds()[static_cast<std::size_t>(kind)].course) += values.row(row);
      }
    }
    for (std::size_t c = 0; c < baseline.size(); ++c)
      sums.row(baseline[c]) += (all - changed.row(static_cast<Index>(c))).cwiseMax(0);  // rounding
  }
  return sums;
}

/// Responsibilities of a mixture of independent bits: rows by classes, each row times its weight.
RowMatrix mixture_labels(const StepRows& rows, std::span<const double> weights, Id classes, const RandomStream& stream,
                         const Executor& executor) {
  const Index count = rows.row_count();
  const Eigen::Map<const Vector> weight(weights.data(), count);
  RowMatrix labels(count, classes);
  executor.for_blocks(count, 1024, [&](Range range) {
    for (std::int64_t row = range.first; row < range.last; ++row) {
      RandomStream draws = stream.child(static_cast<std::uint64_t>(row));
      for (Index z = 0; z < classes; ++z)
        labels(row, z) = draw_gamma(label_concentration, draws) + 1e-300;
      labels.row(row) *= weight[row] / labels.row(row).sum();
    }
  });
  const BernoulliLearner learner(BernoulliOptions{});
  for (int step = 0; step < mixture_steps; ++step) {
    const Eigen::RowVectorXd size = labels.colwise().sum().array() + 1;
    const Eigen::RowVectorXd log_size = (size / size.sum()).array().log();
    const auto emission = learner.maximise(rows, labels, nullptr, executor);
    labels = emission->score(rows, LikelihoodKind::mass, Precision::quick, executor).log_likelihood;
    executor.for_blocks(count, 1024, [&](Range range) {
      for (std::int64_t row = range.first; row < range.last; ++row) {
        labels.row(row) += log_size;
        normalise_logs({labels.row(row).data(), static_cast<std::size_t>(classes)});
        labels.row(row) *= weight[row];
      }
    });
  }
  return labels;
}

}  // namespace

DependencyTree timing_tree(const TimingRows& timings, std::span<const double> weights, double noise,
                           const RandomStream& stream, const Executor& executor) {
  const Id courses = timings.shape().courses, periods = timings.shape().periods;
  // Rows known throughout where they suffice, else all by their first known enrollment.
  double whole = 0, all = 0;
  for (const TimingRows::Group& group : timings.groups()) {
    for (const std::int64_t row : group.rows) {
      all += weights[static_cast<std::size_t>(row)];
      if (group.baseline == 0) whole += weights[static_cast<std::size_t>(row)];
    }
  }
  const bool only_whole = 3 * whole >= all;
  const double total = only_whole ? whole : all;
  std::vector<FirstEnrollment> firsts;
  std::vector<std::size_t> begin = {0};
  std::vector<double> row_weight;
  std::vector<std::vector<std::pair<std::size_t, Id>>> takers(static_cast<std::size_t>(courses));  // row, period
  for (const TimingRows::Group& group : timings.groups()) {
    if (only_whole && group.baseline != 0) continue;
    for (const std::int64_t row : group.rows) {
      if (!(weights[static_cast<std::size_t>(row)] > 0)) continue;
      for (const std::int32_t kind : timings.changes(row)) {
        Id period = 1;
        auto [course, code] = timings.kinds()[static_cast<std::size_t>(kind)];
        while (code > 0 && code % 3 != 1) {
          code /= 3;
          ++period;
        }
        if (code == 0) continue;
        takers[static_cast<std::size_t>(course)].emplace_back(row_weight.size(), period);
        firsts.push_back({course, period});
      }
      begin.push_back(firsts.size());
      row_weight.push_back(weights[static_cast<std::size_t>(row)]);
    }
  }
  const Index values = periods + 1, cells = values * values;
  RowMatrix single = RowMatrix::Zero(courses, values);  // weight by first enrollment
  for (Id c = 0; c < courses; ++c) {
    for (const auto& [row, period] : takers[static_cast<std::size_t>(c)])
      single(c, period) += row_weight[row];
    single(c, 0) = total - single.row(c).tail(periods).sum();
  }
  // Information of course i with every later one, row by row of a triangle.
  std::vector<Vector> information(static_cast<std::size_t>(courses));
  executor.for_each(courses, [&](std::int64_t number) {
    const auto i = static_cast<Id>(number);
    RowMatrix together = RowMatrix::Zero(courses - i, cells);
    for (const auto& [row, u] : takers[static_cast<std::size_t>(i)]) {
      for (std::size_t at = begin[row]; at < begin[row + 1]; ++at) {
        if (firsts[at].course > i) together(firsts[at].course - i, u * values + firsts[at].period) += row_weight[row];
      }
    }
    Vector& found = information[static_cast<std::size_t>(i)];
    found = Vector::Zero(courses - i);
    RandomStream draws = stream.child("noise").child(static_cast<std::uint64_t>(i));
    const double sum = total + cell_students * static_cast<double>(cells);
    Vector left(values), right(values);
    for (Id j = i + 1; j < courses; ++j) {
      auto table = together.row(j - i);
      for (Id v = 1; v <= periods; ++v) {
        double with_i = 0, with_j = 0;
        for (Id u = 1; u <= periods; ++u) {
          with_i += table[u * values + v];
          with_j += table[v * values + u];
        }
        table[v] = single(j, v) - with_i;           // i never
        table[v * values] = single(i, v) - with_j;  // j never
      }
      table[0] = total - table.tail(cells - 1).sum();
      left.setZero();
      right.setZero();
      double entropy = 0;
      for (Index u = 0; u < values; ++u) {
        for (Index v = 0; v < values; ++v) {
          const double p = (std::max(0.0, table[u * values + v]) + cell_students) / sum;
          entropy += x_log_x(p);
          left[u] += p;
          right[v] += p;
        }
      }
      for (Index v = 0; v < values; ++v)
        entropy -= x_log_x(left[v]) + x_log_x(right[v]);
      found[j - i] = std::max(0.0, entropy) * (noise > 0 ? std::exp(noise * draws.normal()) : 1);
    }
  });
  std::vector<Id> members(static_cast<std::size_t>(courses));
  std::iota(members.begin(), members.end(), 0);
  return rooted_at_centre(maximum_spanning_tree(
      courses, members, [&](Id i, Id j) { return information[static_cast<std::size_t>(i)][j - i]; }));
}

HiddenTreeCentres pooled_timings(const TimingRows& timings, std::span<const double> weights,
                                 const HiddenTreeOptions& options) {
  const Id courses = timings.shape().courses, periods = timings.shape().periods;
  const RowMatrix weight =
      sum_by_kind(timings, Eigen::Map<const RowMatrix>(weights.data(), static_cast<Index>(weights.size()), 1));
  HiddenTreeCentres centres;
  centres.timing = RowMatrix::Constant(courses, periods + 1, 1.0 / (periods + 1));
  centres.retake = Vector::Constant(periods, options.retakes == Retakes::learned ? 0.5 : 0);
  RowMatrix retake = centres.retake.transpose().replicate(courses, 1);
  std::vector<double> shares(static_cast<std::size_t>(periods) + 1);
  for (int step = 0; step < pooling_steps; ++step) {
    RowMatrix counts = RowMatrix::Zero(courses, periods + 1), risk = RowMatrix::Zero(courses, periods), retaken = risk;
    for (std::size_t k = 0; k < timings.kinds().size(); ++k) {
      const CourseTiming& kind = timings.kinds()[k];
      timing_weights(kind.code, {retake.row(kind.course).data(), static_cast<std::size_t>(periods)}, shares);
      Eigen::Map<Eigen::RowVectorXd> first(shares.data(), periods + 1);
      first.array() *= centres.timing.row(kind.course).array();
      first *= weight(static_cast<Index>(k), 0) / first.sum();
      counts.row(kind.course) += first;
      TimingCode code = kind.code;
      double before = 0;
      for (Id t = 0; t < periods; ++t, code /= 3) {
        if (code % 3 != 2) risk(kind.course, t) += before;
        if (code % 3 == 1) retaken(kind.course, t) += before;
        before += first[t + 1];
      }
    }
    for (Id c = 0; c < courses; ++c) {
      counts.row(c).array() += 0.5 / (periods + 1);
      centres.timing.row(c) = counts.row(c) / counts.row(c).sum();
    }
    if (options.retakes == Retakes::never) continue;
    for (Id t = 1; t < periods; ++t) {
      centres.retake[t] = (retaken.col(t).sum() + 0.5) / (risk.col(t).sum() + 1);
      retake.col(t) = (retaken.col(t).array() + options.retake_prior * centres.retake[t]) /
                      (risk.col(t).array() + options.retake_prior);
    }
  }
  return centres;
}

HiddenTreeParameters start_hidden_tree(const StepRows& rows, const TimingRows& timings, std::span<const double> weights,
                                       const HiddenTreeOptions& options, const RandomStream& stream,
                                       const Executor& executor) {
  const Id courses = timings.shape().courses, periods = timings.shape().periods,
           states = options.states_for(std::accumulate(weights.begin(), weights.end(), 0.0));
  HiddenTreeParameters parameters;
  parameters.parents = timing_tree(timings, weights, options.tree_noise, stream.child("shape"), executor).parents();
  parameters.centres = pooled_timings(timings, weights, options);
  const RowMatrix labels = mixture_labels(rows, weights, states, stream.child("labels"), executor);
  const Vector size = labels.colwise().sum().transpose();
  parameters.centres.states = (size.array() + 1) / (size.sum() + states);
  parameters.initial = parameters.centres.states;
  parameters.retake = parameters.centres.retake.transpose().replicate(courses, 1);
  parameters.retake.col(0).setZero();

  // Timings by the shares of each label, two students at the pooled ones added.
  const RowMatrix by_kind = sum_by_kind(timings, labels);
  parameters.timing.resize(Index{courses} * states, periods + 1);
  for (Id c = 0; c < courses; ++c)
    parameters.timing.middleRows(Index{c} * states, states) = 2 * parameters.centres.timing.row(c).replicate(states, 1);
  std::vector<double> shares(static_cast<std::size_t>(periods) + 1);
  for (std::size_t k = 0; k < timings.kinds().size(); ++k) {
    const CourseTiming& kind = timings.kinds()[k];
    timing_weights(kind.code, {parameters.retake.row(kind.course).data(), static_cast<std::size_t>(periods)}, shares);
    Eigen::Map<Eigen::RowVectorXd> first(shares.data(), periods + 1);
    first.array() *= parameters.centres.timing.row(kind.course).array();
    first /= first.sum();
    parameters.timing.middleRows(Index{kind.course} * states, states) +=
        by_kind.row(static_cast<Index>(k)).transpose() * first;
  }
  for (Index r = 0; r < parameters.timing.rows(); ++r)
    parameters.timing.row(r) /= parameters.timing.row(r).sum();

  parameters.transition.resize(Index{courses} * states, states);
  RandomStream draws = stream.child("links");
  for (Index r = 0; r < parameters.transition.rows(); ++r) {
    auto row = parameters.transition.row(r);
    row = (1 - stay) * parameters.initial.transpose();
    row[r % states] += stay;
    for (Index z = 0; z < states; ++z)
      row[z] *= 0.9 + 0.2 * draws.uniform();
    row /= row.sum();
  }
  return parameters;
}

}  // namespace desirepath::inline emissions
