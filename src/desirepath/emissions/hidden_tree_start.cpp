#include "desirepath/emissions/hidden_tree_start.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "desirepath/emissions/label_mixture.h"

namespace desirepath::inline emissions {

namespace {

constexpr double stay = 0.9;  // of a hidden variable with its parent, at the start
constexpr int pooling_steps = 30;

/// Weight of the rows by the kinds their courses have: kinds.
Vector weights_of_kinds(const TimingRows& timings, std::span<const double> weights) {
  Vector sums = Vector::Zero(std::ssize(timings.kinds()));
  for (std::size_t g = 0; g < timings.groups().size(); ++g) {
    const auto baseline = timings.baseline_kinds(g);
    double all = 0;
    Vector changed = Vector::Zero(std::ssize(baseline));
    for (const std::int64_t row : timings.groups()[g].rows) {
      const double weight = weights[static_cast<std::size_t>(row)];
      all += weight;
      for (const std::int32_t kind : timings.changes(row)) {
        sums[kind] += weight;
        changed[timings.kinds()[static_cast<std::size_t>(kind)].course] += weight;
      }
    }
    for (std::size_t c = 0; c < baseline.size(); ++c)
      sums[baseline[c]] += std::max(0.0, all - changed[static_cast<Index>(c)]);  // rounding
  }
  return sums;
}

}  // namespace

HiddenTreeCentres pooled_timings(const TimingRows& timings, std::span<const double> weights,
                                 const HiddenTreeOptions& options) {
  const Id courses = timings.shape().courses, periods = timings.shape().periods;
  const Vector weight = weights_of_kinds(timings, weights);
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
      first *= weight[static_cast<Index>(k)] / first.sum();
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

TreeGround::TreeGround(const TimingRows& timings, std::span<const double> weights, const HiddenTreeOptions& options,
                       const Executor& executor)
    : information(timings, weights, executor), centres(pooled_timings(timings, weights, options)) {}

HiddenTreeParameters start_hidden_tree(const StepRows& rows, const TimingRows& timings, std::span<const double> weights,
                                       const TreeGround& ground, const HiddenTreeOptions& options,
                                       const RandomStream& stream, const Executor& executor) {
  const Id courses = timings.shape().courses, periods = timings.shape().periods,
           states = options.states_for(std::accumulate(weights.begin(), weights.end(), 0.0));
  HiddenTreeParameters parameters;
  parameters.parents = timing_tree(ground.information, options.tree_noise, stream.child("shape")).parents();
  parameters.centres = ground.centres;
  const LabelShares labels = mix_labels(rows, timings, weights, states, stream.child("labels"), executor);
  const Vector& size = labels.size;
  parameters.centres.states = (size.array() + 1) / (size.sum() + states);
  parameters.initial = parameters.centres.states;
  parameters.retake = parameters.centres.retake.transpose().replicate(courses, 1);
  parameters.retake.col(0).setZero();

  // Timings by the shares of each label, two students at the pooled ones added.
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
        labels.by_kind.row(static_cast<Index>(k)).transpose() * first;
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
