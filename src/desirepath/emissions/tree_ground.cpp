#include "desirepath/emissions/tree_ground.h"

namespace desirepath::inline emissions {

namespace {

constexpr int pooling_steps = 30;

}  // namespace

void expected_first(const CourseTiming& kind, Id courses, const RowMatrix& shares, const RowMatrix& retake,
                    Eigen::Ref<Eigen::RowVectorXd> out) {
  node_weights(kind, courses, {retake.row(kind.course).data(), static_cast<std::size_t>(retake.cols())},
               {out.data(), static_cast<std::size_t>(out.size())});
  out.array() *= shares.row(kind.course).array();
  out /= out.sum();
}

TreeGround::TreeGround(const HiddenTreeOptions& options, const StepShape& shape)
    : retakes_(options.retakes), retake_prior_(options.retake_prior), shape_(shape) {}

Statistics TreeGround::count(const StartRows& rows, const Executor& executor) const {
  if (phase_ == Phase::pairs) return pairs_->count(rows.timings(), rows.weights(), executor);
  if (phase_ == Phase::pooling) return count_pooled(rows);
  // Weight of rows known throughout, and of all.
  RowMatrix totals = RowMatrix::Zero(1, 2);
  for (const TimingRows::Group& group : rows.timings().groups()) {
    for (const std::int64_t row : group.rows) {
      const double weight = rows.weights()[static_cast<std::size_t>(row)];
      totals(0, 1) += weight;
      if (group.baseline == 0) totals(0, 0) += weight;
    }
  }
  Statistics sums;
  sums.add(std::move(totals));
  return sums;
}

bool TreeGround::take(const Statistics& sums, const Executor& executor) {
  if (phase_ == Phase::totals) {
    take_totals(sums.table(0));
    phase_ = Phase::pairs;
    return false;
  }
  if (phase_ == Phase::pairs) {
    if (pairs_->take(sums, executor)) phase_ = Phase::pooling;
    return false;
  }
  take_pooled(sums);
  return ++step_ == pooling_steps;
}

void TreeGround::take_totals(const RowMatrix& totals) {
  // Rows known throughout where they suffice, else all by their first known enrollment.
  const double whole = totals(0, 0);
  students_ = totals(0, 1);
  const bool only_whole = 3 * whole >= students_;
  pairs_.emplace(shape_, only_whole, only_whole ? whole : students_, students_);
  const Id nodes = shape_.courses + shape_.trait_count();
  centres_.timing = RowMatrix::Zero(nodes, widest_node(shape_));
  for (Id c = 0; c < nodes; ++c)
    centres_.timing.row(c).head(values(c)).setConstant(1.0 / values(c));
  centres_.retake = Vector::Constant(shape_.periods, retakes_ == Retakes::learned ? 0.5 : 0);
  retake_ = centres_.retake.transpose().replicate(nodes, 1);
}

Statistics TreeGround::count_pooled(const StartRows& rows) const {
  const Id courses = shape_.courses, periods = shape_.periods;
  const Vector& weight = rows.weights_of_kinds();
  RowMatrix counts = RowMatrix::Zero(centres_.timing.rows(), centres_.timing.cols()),
            risk = RowMatrix::Zero(centres_.timing.rows(), periods), retaken = risk;
  Eigen::RowVectorXd first(counts.cols());
  for (std::size_t k = 0; k < rows.timings().kinds().size(); ++k) {
    const CourseTiming& kind = rows.timings().kinds()[k];
    expected_first(kind, courses, centres_.timing, retake_, first);
    first *= weight[static_cast<Index>(k)];
    counts.row(kind.course) += first;
    if (kind.course >= courses) continue;
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

void TreeGround::take_pooled(const Statistics& sums) {
  const RowMatrix &counts = sums.table(0), &risk = sums.table(1), &retaken = sums.table(2);
  for (Id c = 0; c < counts.rows(); ++c) {
    const Eigen::RowVectorXd raised = counts.row(c).head(values(c)).array() + 0.5 / values(c);
    centres_.timing.row(c).head(values(c)) = raised / raised.sum();
  }
  if (retakes_ == Retakes::never) return;
  for (Id t = 1; t < shape_.periods; ++t) {
    centres_.retake[t] = (retaken.col(t).sum() + 0.5) / (risk.col(t).sum() + 1);
    retake_.col(t) =
        (retaken.col(t).array() + retake_prior_ * centres_.retake[t]) / (risk.col(t).array() + retake_prior_);
  }
}

}  // namespace desirepath::inline emissions
