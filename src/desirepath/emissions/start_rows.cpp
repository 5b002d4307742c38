#include "desirepath/emissions/start_rows.h"

#include <algorithm>

namespace desirepath::inline emissions {

namespace {

Vector weigh_kinds(const TimingRows& timings, std::span<const double> weights) {
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
    // Those of the baseline are what is left; less than nothing only by rounding.
    for (std::size_t c = 0; c < baseline.size(); ++c)
      sums[baseline[c]] += std::max(0.0, all - changed[static_cast<Index>(c)]);
  }
  return sums;
}

}  // namespace

StartRows::StartRows(const StepRows& rows, const TimingRows& timings, std::span<const double> weights)
    : rows_(rows), timings_(timings), weights_(weights), cut_(timings) {}

const Vector& StartRows::weights_of_kinds() const {
  if (std::ranges::equal(weights_, rows_.weights())) {
    return timings_.kept<Vector>("weights of kinds",
                                 [&] { return std::make_shared<const Vector>(weigh_kinds(timings_, weights_)); });
  }
  std::call_once(weighed_, [&] { weights_of_kinds_ = weigh_kinds(timings_, weights_); });
  return weights_of_kinds_;
}

const RowBlocks& StartRows::blocks(const Executor& executor) const {
  return timings_.kept<RowBlocks>("blocks",
                                  [&] { return std::make_shared<const RowBlocks>(rows_, timings_, cut_, executor); });
}

}  // namespace desirepath::inline emissions
