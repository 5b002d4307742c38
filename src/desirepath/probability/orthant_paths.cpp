#include "desirepath/probability/orthant_paths.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/probability/log_weights.h"
#include "desirepath/probability/normal_kernels.h"
#include "desirepath/probability/quasi_random.h"

namespace desirepath::inline probability {

namespace {

constexpr Index group = 8;                             // places whose means are gathered together
constexpr Index path_strip = pack_width == 8 ? 2 : 1;  // packs of paths that share the loads of A
constexpr std::int64_t piece_paths = 1024;             // handed to a thread together

}  // namespace

PathPlan::PathPlan(const OrderedRegion& region, const Vector& shift)
    : region_(region), shift_(shift), bound_(shift - region.lower()) {
  if (region.has_factors()) return;
  const Index size = region.size();
  for (Index begin = 0; begin < size; begin += group) {
    group_begin_.push_back(packed_.size());
    for (Index j = 0; j < std::min(begin + group, size); ++j) {
      for (Index r = 0; r < group; ++r)
        packed_.push_back(begin + r < size && begin + r > j ? region.weights()(begin + r, j) : 0);
    }
  }
}

PathBlock::PathBlock(const PathPlan& plan)
    : plan_(plan),
      z_(static_cast<std::size_t>(plan.size() * path_block)),
      means_(static_cast<std::size_t>(group * path_block)),
      state_(static_cast<std::size_t>(plan.region().gain().cols() * path_block)),
      uniforms_(static_cast<std::size_t>(path_block)),
      product_(static_cast<std::size_t>(path_block)),
      log_weights_(static_cast<std::size_t>(path_block)) {}

/// A z over the places before a group, for all places of the group.
void PathBlock::gather_means(std::size_t number, Index before) {
  const double* weights = plan_.packed_.data() + plan_.group_begin_[number];
  for (Index p = 0; p < path_block; p += path_strip * pack_width) {
    Pack sums[group][path_strip] = {};
    for (Index j = 0; j < before; ++j) {
      const double* z = z_.data() + j * path_block + p;
      const double* row = weights + j * group;
      Pack values[path_strip];
      for (Index i = 0; i < path_strip; ++i)
        values[i] = load(z + i * pack_width);
      for (Index r = 0; r < group; ++r) {
        for (Index i = 0; i < path_strip; ++i)
          sums[r][i] += row[r] * values[i];
      }
    }
    for (Index r = 0; r < group; ++r) {
      for (Index i = 0; i < path_strip; ++i)
        store(means_.data() + r * path_block + p + i * pack_width, sums[r][i]);
    }
  }
}

void PathBlock::gather_factor_mean(Index place) {
  const RowMatrix& left = plan_.region().left();
  for (Index p = 0; p < path_block; p += pack_width) {
    Pack mean = broadcast(0);
    for (Index k = 0; k < left.cols(); ++k)
      mean += left(place, k) * load(state_.data() + k * path_block + p);
    store(means_.data() + p, mean);
  }
}

/// The probability of the bound at a place given the conditional means, and a variable inside it.
void PathBlock::step(Index place, bool draw_variable, std::span<const double> uniforms) {
  const double shift = plan_.shift_[place];
  const double bound = plan_.bound_[place];
  const double* means = means_.data() + (plan_.region().has_factors() ? 0 : place % group) * path_block;
  double* z = z_.data() + place * path_block;
  for (Index p = 0; p < path_block; p += pack_width) {
    const Pack a = load(means + p) + bound;
    const Pack x = smaller(absolute(a), broadcast(1e150));
    const Pack capped = smaller(x, broadcast(vanishing_tail));
    const Pack tail = scaled_normal_tail(x);
    const Pack far_side = exponential(-0.5 * capped * capped, broadcast(0)) * tail;  // Phi(-|a|)
    const PackMask negative = a < 0.0;
    const Pack square = negative ? 0.5 * a * a : broadcast(0);
    store(product_.data() + p, load(product_.data() + p) * (negative ? tail : 1.0 - far_side));
    Pack log_weight = load(log_weights_.data() + p) - square;
    if (draw_variable) {
      // z = shift - Phi^-1(u Phi(a)), by whichever of u Phi(a) and its complement is the smaller.
      const Pack u = load(uniforms.data() + p);
      const Pack below = u * (1.0 - far_side);
      const Pack above = (1.0 - u) + u * far_side;
      const PackMask mirrored = (above < below) & ~negative;
      const Pack smallest = negative ? u * tail : smaller(below, above);
      const Pack quantile = lower_normal_quantile(logarithm(smallest) - square);
      const Pack drawn = shift - (mirrored ? -quantile : quantile);
      log_weight += shift * (0.5 * shift - drawn);
      store(z + p, drawn);
    }
    store(log_weights_.data() + p, log_weight);
  }
}

void PathBlock::draw(Index first, bool draw_last, const Uniforms& uniforms) {
  const Index size = plan_.size();
  std::fill(log_weights_.begin(), log_weights_.end(), 0.0);
  std::fill(product_.begin(), product_.end(), 1.0);
  std::fill(state_.begin(), state_.end(), 0.0);
  const bool factors = plan_.region().has_factors();
  const RowMatrix& gain = plan_.region().gain();
  const auto learn = [&](Index place) {
    for (Index k = 0; k < gain.cols(); ++k) {
      double* state = state_.data() + k * path_block;
      for (Index p = 0; p < path_block; p += pack_width)
        store(state + p, load(state + p) + gain(place, k) * load(z_.data() + place * path_block + p));
    }
  };
  if (factors) {
    for (Index place = 0; place < first; ++place)
      learn(place);
  }
  for (Index begin = first / group * group; begin < size; begin += group) {
    const Index end = std::min(begin + group, size);
    const auto number = static_cast<std::size_t>(begin / group);
    if (!factors) gather_means(number, begin);
    for (Index place = begin; place < end; ++place) {
      if (factors) gather_factor_mean(place);
      if (place >= first) {
        const bool draw_variable = place + 1 < size || draw_last;
        if (draw_variable) uniforms(place, uniforms_);
        step(place, draw_variable, uniforms_);
        if (factors) learn(place);
      }
      if (factors || place + 1 == end) continue;
      // The places of the group that come after see this one.
      const double* weights = plan_.packed_.data() + plan_.group_begin_[number] + place * group;
      for (Index r = place - begin + 1; r < end - begin; ++r) {
        for (Index p = 0; p < path_block; p += pack_width) {
          double* mean = means_.data() + r * path_block + p;
          store(mean, load(mean) + weights[r] * load(z_.data() + place * path_block + p));
        }
      }
    }
    for (Index p = 0; p < path_block; p += pack_width) {
      store(log_weights_.data() + p, load(log_weights_.data() + p) + logarithm(load(product_.data() + p)));
      store(product_.data() + p, broadcast(1));
    }
  }
}

namespace {

std::vector<QuasiRandomPoints> scrambled_points(Index dimensions, std::int64_t paths, int scrambles,
                                                const RandomStream& stream, const Executor& executor) {
  if (paths < 1 || scrambles < 1) {
    throw OptionError(
        concat("orthant paths: ", paths, " samples in ", scrambles, " scrambles; at least one of each is needed"));
  }
  std::vector<std::unique_ptr<QuasiRandomPoints>> built(static_cast<std::size_t>(scrambles));
  executor.for_each(scrambles, [&](std::int64_t scramble) {
    built[static_cast<std::size_t>(scramble)] =
        std::make_unique<QuasiRandomPoints>(dimensions, paths, stream.child(static_cast<std::uint64_t>(scramble)));
  });
  std::vector<QuasiRandomPoints> points;
  points.reserve(built.size());
  for (auto& one : built)
    points.push_back(std::move(*one));
  return points;
}

}  // namespace

std::vector<double> path_log_means(const PathPlan& plan, std::int64_t paths, int scrambles, const RandomStream& stream,
                                   const Executor& executor) {
  const std::vector<QuasiRandomPoints> points = scrambled_points(plan.size() - 1, paths, scrambles, stream, executor);
  const std::int64_t pieces_each = (paths + piece_paths - 1) / piece_paths;
  std::vector<LogWeightSum> sums(static_cast<std::size_t>(pieces_each * scrambles));
  executor.for_each(pieces_each * scrambles, [&](std::int64_t piece) {
    const QuasiRandomPoints& own = points[static_cast<std::size_t>(piece / pieces_each)];
    const std::int64_t begin = piece % pieces_each * piece_paths;
    const std::int64_t end = std::min(begin + piece_paths, paths);
    PathBlock block(plan);
    LogWeightSum sum;
    for (std::int64_t first = begin; first < end; first += path_block) {
      const auto count = static_cast<std::size_t>(std::min<std::int64_t>(path_block, end - first));
      block.draw(0, false, [&](Index place, std::span<double> u) {
        std::fill(u.begin(), u.end(), 0.5);
        own.uniform(place, first, u.first(count));
      });
      for (std::size_t p = 0; p < count; ++p)
        sum.add(block.log_weights()[p]);
    }
    sums[static_cast<std::size_t>(piece)] = sum;
  });
  std::vector<double> log_means;
  for (int scramble = 0; scramble < scrambles; ++scramble) {
    LogWeightSum sum;
    for (std::int64_t piece = 0; piece < pieces_each; ++piece)
      sum.add(sums[static_cast<std::size_t>(scramble * pieces_each + piece)]);
    log_means.push_back(sum.log_mean());
  }
  return log_means;
}

WeightedPaths weighted_paths(const PathPlan& plan, std::int64_t paths, int scrambles, const RandomStream& stream) {
  const Index size = plan.size();
  const std::vector<QuasiRandomPoints> points = scrambled_points(size, paths, scrambles, stream, Executor(1));
  WeightedPaths result{Matrix(size, paths * scrambles), Vector(paths * scrambles)};
  PathBlock block(plan);
  Index filled = 0;
  for (const QuasiRandomPoints& own : points) {
    for (std::int64_t first = 0; first < paths; first += path_block) {
      const Index count = std::min<Index>(path_block, paths - first);
      block.draw(0, true, [&](Index place, std::span<double> u) {
        std::fill(u.begin(), u.end(), 0.5);
        own.uniform(place, first, u.first(static_cast<std::size_t>(count)));
      });
      const Eigen::Map<const RowMatrix> z(block.z(0).data(), size, path_block);
      result.z.middleCols(filled, count) = z.leftCols(count);
      for (Index p = 0; p < count; ++p)
        result.log_weights[filled + p] = block.log_weights()[static_cast<std::size_t>(p)];
      filled += count;
    }
  }
  return result;
}

}  // namespace desirepath::inline probability
