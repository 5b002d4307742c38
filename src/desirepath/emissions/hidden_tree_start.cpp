#include "desirepath/emissions/hidden_tree_start.h"

namespace desirepath::inline emissions {

namespace {

constexpr double stay = 0.9;  // of a hidden variable with its parent, at the start

}  // namespace

HiddenTreeStart::HiddenTreeStart(const TreeGround& ground, const HiddenTreeOptions& options, const RandomStream& stream)
    : stream_(stream), mixture_(options.states_for(ground.students()), stream.child("labels")) {
  parameters_.parents = ground.tree(options.tree_noise, stream_.child("shape")).parents();
  parameters_.centres = ground.centres();
  parameters_.initial.resize(options.states_for(ground.students()));
  parameters_.trait_values = ground.shape().trait_values;
  parameters_.departure = ground.shape().departure;
  parameters_.retake = parameters_.centres.retake.transpose().replicate(parameters_.nodes(), 1);
  parameters_.retake.col(0).setZero();
  parameters_.retake.bottomRows(ground.shape().trait_count()).setZero();
}

Statistics HiddenTreeStart::count(const StartRows& rows, const Executor& executor) const {
  if (!is_mixed_) return mixture_.count(rows, executor);
  const Index states = parameters_.states();
  const TimingRows& timings = rows.timings();
  const RowMatrix by_kind = mixture_.weights_of_kinds(rows, executor);
  RowMatrix timing = RowMatrix::Zero(parameters_.nodes() * states, parameters_.centres.timing.cols());
  Eigen::RowVectorXd first(timing.cols());
  for (std::size_t k = 0; k < timings.kinds().size(); ++k) {
    const CourseTiming& kind = timings.kinds()[k];
    expected_first(kind, parameters_.courses(), parameters_.centres.timing, parameters_.retake, first);
    timing.middleRows(kind.course * states, states) += by_kind.row(static_cast<Index>(k)).transpose() * first;
  }
  Statistics sums;
  sums.add(by_kind.bottomRows(1));
  sums.add(std::move(timing));
  return sums;
}

bool HiddenTreeStart::take(const Statistics& sums) {
  if (is_mixed_) {
    finish(sums);
    return true;
  }
  is_mixed_ = mixture_.take(sums);
  return false;
}

void HiddenTreeStart::finish(const Statistics& sums) {
  const Index states = parameters_.states();
  const Vector size = sums.table(0).row(0).transpose();
  parameters_.centres.states = (size.array() + 1) / (size.sum() + static_cast<double>(states));
  parameters_.initial = parameters_.centres.states;
  // Timings by the shares of each label, two students at the pooled ones added.
  parameters_.timing = sums.table(1);
  for (Index r = 0; r < parameters_.timing.rows(); ++r) {
    parameters_.timing.row(r) += 2 * parameters_.centres.timing.row(r / states);
    parameters_.timing.row(r) /= parameters_.timing.row(r).sum();
  }
  parameters_.transition.resize(parameters_.nodes() * states, states);
  RandomStream draws = stream_.child("links");
  for (Index r = 0; r < parameters_.transition.rows(); ++r) {
    auto row = parameters_.transition.row(r);
    row = (1 - stay) * parameters_.initial.transpose();
    row[r % states] += stay;
    for (Index z = 0; z < states; ++z)
      row[z] *= 0.9 + 0.2 * draws.uniform();
    row /= row.sum();
  }
}

}  // namespace desirepath::inline emissions
