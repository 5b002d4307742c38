#include "desirepath/emissions/hidden_tree_start.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "desirepath/emissions/bernoulli.h"
#include "desirepath/emissions/timing_pairs.h"
#include "desirepath/probability/log_space.h"

namespace desirepath::inline emissions {

namespace {

constexpr int mixture_steps = 40;
constexpr double label_concentration = 0.3;  // of the Dirichlet that first labels are drawn from
constexpr double stay = 0.9;                 // of a hidden variable with its parent, at the start
constexpr int pooling_steps = 30;

/// A gamma variable (Marsaglia and Tsang; below one by a power of a uniform).
double draw_gamma(double shape, RandomStream& stream) {
  const double boost = shape < 1 ? std::pow(stream.uniform_open(), 1 / shape) : 1;
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = stream.normal(), v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(stream.uniform_open()) < 0.5 * x * x + d - d * v + d * std::log(v)) return boost * d * v;
  }
}

/// Sums of each row's values over the kinds its courses have, those at rest by subtraction: kinds by columns.
RowMatrix sum_by_kind(const TimingRows& timings, const RowMatrix& values) {
  RowMatrix sums = RowMatrix::Zero(std::ssize(timings.kinds()), values.cols());
  for (std::size_t g = 0; g < timings.groups().size(); ++g) {
    const auto rest = timings.rest_kinds(g);
    Eigen::RowVectorXd all = Eigen::RowVectorXd::Zero(values.cols());
    RowMatrix changed = RowMatrix::Zero(std::ssize(rest), values.cols());
    for (const std::int64_t row : timings.groups()[g].rows) {
      all += values.row(row);
      for (const TimingRows::Change& change : timings.changes(row)) {
        sums.row(change.kind) += values.row(row);
        changed.row(change.course) += values.row(row);
      }
    }
    for (std::size_t c = 0; c < rest.size(); ++c)
      sums.row(rest[c]) += (all - changed.row(static_cast<Index>(c))).cwiseMax(0);  // rounding
  }
  return sums;
}

/// Expected first enrollments under these shares of a kind's course, of weight one: by v.
Eigen::RowVectorXd expected_first(const CourseTiming& kind, const RowMatrix& shares, const RowMatrix& retake) {
  std::vector<double> weights(static_cast<std::size_t>(shares.cols()));
  timing_weights(kind.code, {retake.row(kind.course).data(), static_cast<std::size_t>(retake.cols())}, weights);
  Eigen::RowVectorXd first = Eigen::Map<const Eigen::RowVectorXd>(weights.data(), shares.cols());
  first.array() *= shares.row(kind.course).array();
  return first / first.sum();
}

}  // namespace

HiddenTreeStart::HiddenTreeStart(const HiddenTreeOptions& options, const StepShape& shape, const RandomStream& stream)
    : options_(options), shape_(shape), stream_(stream) {}
HiddenTreeStart::~HiddenTreeStart() = default;
HiddenTreeStart::HiddenTreeStart(HiddenTreeStart&&) noexcept = default;

Statistics HiddenTreeStart::count(const StepRows& rows, const TimingRows& timings, std::span<const double> weights,
                                  const Executor& executor) const {
  switch (phase_) {
    case Phase::totals: {
      // Weight of rows known throughout, and of all.
      RowMatrix totals = RowMatrix::Zero(1, 2);
      for (const TimingRows::Group& group : timings.groups()) {
        for (const std::int64_t row : group.rows) {
          totals(0, 1) += weights[static_cast<std::size_t>(row)];
          if (group.rest == 0) totals(0, 0) += weights[static_cast<std::size_t>(row)];
        }
      }
      Statistics sums;
      sums.add(std::move(totals));
      return sums;
    }
    case Phase::pairs:
      return pairs_->count(timings, weights, executor);
    case Phase::pooling:
      return count_pooled(timings, weights);
    case Phase::mixture: {
      const RowMatrix labels = labels_of(rows, weights, executor);
      Statistics sums = to_statistics(count_bits(rows, labels, executor));
      sums.add(RowMatrix(labels.colwise().sum()));
      return sums;
    }
    case Phase::timings:
      break;
  }
  return count_labels(rows, timings, weights, executor);
}

bool HiddenTreeStart::take(Statistics sums, const Executor& executor) {
  switch (phase_) {
    case Phase::totals:
      take_totals(sums.table(0));
      phase_ = Phase::pairs;
      return false;
    case Phase::pairs:
      if (!pairs_->take(sums, executor)) return false;
      parameters_.parents = pairs_->tree(options_.tree_noise, stream_.child("shape")).parents();
      pairs_.reset();
      phase_ = Phase::pooling;
      return false;
    case Phase::pooling:
      take_pooled(sums);
      if (++step_ < pooling_steps) return false;
      step_ = 0;
      phase_ = Phase::mixture;
      return false;
    case Phase::mixture:
      take_labels(std::move(sums));
      if (++step_ == mixture_steps) phase_ = Phase::timings;
      return false;
    case Phase::timings:
      break;
  }
  finish(sums);
  return true;
}

void HiddenTreeStart::take_totals(const RowMatrix& totals) {
  // Rows known throughout where they suffice, else all by their first known enrollment.
  const double whole = totals(0, 0), all = totals(0, 1);
  const bool only_whole = 3 * whole >= all;
  pairs_ = std::make_unique<TimingPairs>(shape_, only_whole, only_whole ? whole : all);
  states_ = options_.states_for(all);
  HiddenTreeCentres& centres = parameters_.centres;
  centres.timing = RowMatrix::Constant(shape_.courses, shape_.periods + 1, 1.0 / (shape_.periods + 1));
  centres.retake = Vector::Constant(shape_.periods, options_.retakes == Retakes::learned ? 0.5 : 0);
  retake_ = centres.retake.transpose().replicate(shape_.courses, 1);
}

Statistics HiddenTreeStart::count_pooled(const TimingRows& timings, std::span<const double> weights) const {
  const Id courses = shape_.courses, periods = shape_.periods;
  const RowMatrix weight =
      sum_by_kind(timings, Eigen::Map<const RowMatrix>(weights.data(), static_cast<Index>(weights.size()), 1));
  RowMatrix counts = RowMatrix::Zero(courses, periods + 1), risk = RowMatrix::Zero(courses, periods), retaken = risk;
  for (std::size_t k = 0; k < timings.kinds().size(); ++k) {
    const CourseTiming& kind = timings.kinds()[k];
    const Eigen::RowVectorXd first =
        weight(static_cast<Index>(k), 0) * expected_first(kind, parameters_.centres.timing, retake_);
    counts.row(kind.course) += first;
    TimingCode code = kind.code;
    double before = 0;
    for (Id t = 0; t < periods; ++t, code /= 3) {
      if (code % 3 != 2) risk(kind.course, t) += before;
      if (code % 3 == 1) retaken(kind.course, t) += before;
      before += first[t + 1];
    }
  }
  Statistics sums;
  sums.add(std::move(counts));
  sums.add(std::move(risk));
  sums.add(std::move(retaken));
  return sums;
}

void HiddenTreeStart::take_pooled(const Statistics& sums) {
  const RowMatrix &counts = sums.table(0), &risk = sums.table(1), &retaken = sums.table(2);
  HiddenTreeCentres& centres = parameters_.centres;
  for (Id c = 0; c < shape_.courses; ++c) {
    const Eigen::RowVectorXd raised = counts.row(c).array() + 0.5 / (shape_.periods + 1);
    centres.timing.row(c) = raised / raised.sum();
  }
  if (options_.retakes == Retakes::never) return;
  for (Id t = 1; t < shape_.periods; ++t) {
    centres.retake[t] = (retaken.col(t).sum() + 0.5) / (risk.col(t).sum() + 1);
    retake_.col(t) = (retaken.col(t).array() + options_.retake_prior * centres.retake[t]) /
                     (risk.col(t).array() + options_.retake_prior);
  }
}

/// Of the mixture of independent bits: rows by classes, each row times its weight; drawn at first.
RowMatrix HiddenTreeStart::labels_of(const StepRows& rows, std::span<const double> weights,
                                     const Executor& executor) const {
  const Index count = rows.row_count();
  RowMatrix labels(count, states_);
  const RandomStream stream = stream_.child("labels");
  if (mixture_) labels = mixture_->score(rows, LikelihoodKind::mass, Precision::quick, executor).log_likelihood;
  executor.for_blocks(count, 1024, [&](Range range) {
    for (std::int64_t row = range.first; row < range.last; ++row) {
      const double weight = weights[static_cast<std::size_t>(row)];
      if (mixture_) {
        labels.row(row) += log_size_;
        normalise_logs({labels.row(row).data(), static_cast<std::size_t>(states_)});
        labels.row(row) *= weight;
        continue;
      }
      RandomStream draws = stream.child(static_cast<std::uint64_t>(row));
      for (Index z = 0; z < states_; ++z)
        labels(row, z) = draw_gamma(label_concentration, draws) + 1e-300;
      labels.row(row) *= weight / labels.row(row).sum();
    }
  });
  return labels;
}

void HiddenTreeStart::take_labels(Statistics sums) {
  const Eigen::RowVectorXd size = sums.table(2).row(0).array() + 1;
  log_size_ = (size / size.sum()).array().log();
  mixture_ = std::make_unique<BernoulliEmission>(
      bernoulli_shares(to_bit_counts(std::move(sums)), BernoulliOptions().pseudocount));
}

Statistics HiddenTreeStart::count_labels(const StepRows& rows, const TimingRows& timings,
                                         std::span<const double> weights, const Executor& executor) const {
  const RowMatrix labels = labels_of(rows, weights, executor);
  const RowMatrix by_kind = sum_by_kind(timings, labels);
  RowMatrix retake = parameters_.centres.retake.transpose().replicate(shape_.courses, 1);
  retake.col(0).setZero();
  RowMatrix timing = RowMatrix::Zero(Index{shape_.courses} * states_, shape_.periods + 1);
  for (std::size_t k = 0; k < timings.kinds().size(); ++k) {
    const CourseTiming& kind = timings.kinds()[k];
    timing.middleRows(Index{kind.course} * states_, states_) +=
        by_kind.row(static_cast<Index>(k)).transpose() * expected_first(kind, parameters_.centres.timing, retake);
  }
  Statistics sums;
  sums.add(RowMatrix(labels.colwise().sum()));
  sums.add(std::move(timing));
  return sums;
}

void HiddenTreeStart::finish(const Statistics& sums) {
  const Vector size = sums.table(0).row(0).transpose();
  parameters_.centres.states = (size.array() + 1) / (size.sum() + states_);
  parameters_.initial = parameters_.centres.states;
  parameters_.retake = parameters_.centres.retake.transpose().replicate(shape_.courses, 1);
  parameters_.retake.col(0).setZero();
  // Timings by the shares of each label, two students at the pooled ones added.
  parameters_.timing = sums.table(1);
  for (Index r = 0; r < parameters_.timing.rows(); ++r) {
    parameters_.timing.row(r) += 2 * parameters_.centres.timing.row(r / states_);
    parameters_.timing.row(r) /= parameters_.timing.row(r).sum();
  }
  parameters_.transition.resize(Index{shape_.courses} * states_, states_);
  RandomStream draws = stream_.child("links");
  for (Index r = 0; r < parameters_.transition.rows(); ++r) {
    auto row = parameters_.transition.row(r);
    row = (1 - stay) * parameters_.initial.transpose();
    row[r % states_] += stay;
    for (Index z = 0; z < states_; ++z)
      row[z] *= 0.9 + 0.2 * draws.uniform();
    row /= row.sum();
  }
}

}  // namespace desirepath::inline emissions
