// The paper's own estimator (its appendix): y ~ N(mu_G, Sigma_G) for the courses taken, the indicator that all of them
// exceed zero, and the probability of the courses not taken given y, here by one sequential path, which leaves the mean
// unbiased. Plain random draws, as printed: the hit rate is P(G), so it starves as the number of courses grows.
#include <algorithm>

#include "desirepath/core/text.h"
#include "desirepath/probability/log_weights.h"
#include "desirepath/probability/orthant_estimators.h"
#include "desirepath/probability/orthant_paths.h"

namespace desirepath::inline probability {

namespace {

constexpr std::int64_t piece_samples = 1024;  // handed to a thread together

/// Draws y until one of the courses is not taken; true where all are. z receives the draws.
class TakenCourses {
 public:
  TakenCourses(const OrderedRegion& region, Index count) : region_(region), count_(count), z_(count) {}

  bool draw(RandomStream& stream) {
    Vector state = Vector::Zero(region_.gain().cols());
    for (Index k = 0; k < count_; ++k) {
      const double mean =
          region_.has_factors() ? region_.left().row(k).dot(state) : region_.weights().row(k).head(k).dot(z_.head(k));
      z_[k] = stream.normal();
      if (!(z_[k] + mean > region_.lower()[k])) return false;
      if (region_.has_factors()) state += z_[k] * region_.gain().row(k).transpose();
    }
    return true;
  }

  const Vector& z() const { return z_; }

 private:
  const OrderedRegion& region_;
  Index count_;
  Vector z_;
};

}  // namespace

OrthantEstimate estimate_by_paper(const OrthantProblem& problem, const SampleOptions& options,
                                  const RandomStream& stream) {
  std::vector<Id> order = courses_taken(problem);
  const auto taken_count = static_cast<Index>(order.size());
  for (Id course = 0; course < problem.course_count(); ++course) {
    if (problem.taken[static_cast<std::size_t>(course)] == 0) order.push_back(course);
  }
  const OrderedRegion region = OrderedRegion::in_order(problem, order);
  const PathPlan plan(region, Vector::Zero(region.size()));

  const std::int64_t pieces_each = (options.samples + piece_samples - 1) / piece_samples;
  std::vector<LogWeightSum> sums(static_cast<std::size_t>(pieces_each * options.scrambles));
  options.executor.for_each(pieces_each * options.scrambles, [&](std::int64_t piece) {
    RandomStream own = stream.child(static_cast<std::uint64_t>(piece / pieces_each))
                           .child(static_cast<std::uint64_t>(piece % pieces_each));
    const std::int64_t begin = piece % pieces_each * piece_samples;
    const std::int64_t count = std::min(piece_samples, options.samples - begin);
    TakenCourses taken(region, taken_count);
    PathBlock block(plan);
    LogWeightSum sum;
    Index hits = 0;
    const auto finish_hits = [&] {
      block.draw(taken_count, false, [&](Index /*place*/, std::span<double> u) {
        for (double& coordinate : u)
          coordinate = own.uniform_open();
      });
      for (Index hit = 0; hit < hits; ++hit)
        sum.add(block.log_weights()[static_cast<std::size_t>(hit)]);
      hits = 0;
    };
    for (std::int64_t sample = 0; sample < count; ++sample) {
      if (!taken.draw(own)) {
        sum.add(-infinity);
        continue;
      }
      for (Index k = 0; k < taken_count; ++k)
        block.z(k)[static_cast<std::size_t>(hits)] = taken.z()[k];
      if (++hits == path_block) finish_hits();
    }
    if (hits > 0) finish_hits();
    sums[static_cast<std::size_t>(piece)] = sum;
  });

  std::vector<double> log_means;
  for (int scramble = 0; scramble < options.scrambles; ++scramble) {
    LogWeightSum sum;
    for (std::int64_t piece = 0; piece < pieces_each; ++piece)
      sum.add(sums[static_cast<std::size_t>(scramble * pieces_each + piece)]);
    log_means.push_back(sum.log_mean());
  }
  OrthantEstimate estimate = estimate_of_scrambles(log_means, problem.course_count());
  if (estimate.log_probability == -infinity) {
    estimate.note =
        concat("none of ", with_separators(options.samples * options.scrambles), " samples had all of the ",
               counted(taken_count, "course", "courses"), " taken: the estimate is zero, its error unknown");
  }
  return estimate;
}

}  // namespace desirepath::inline probability
