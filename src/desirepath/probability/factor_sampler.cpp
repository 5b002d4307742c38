#include "desirepath/probability/factor_sampler.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/probability/normal.h"
#include "desirepath/probability/normal_kernels.h"

namespace desirepath::inline probability {

namespace {

constexpr std::int64_t block_points = 64;               // worked on together
constexpr std::int64_t piece_points = 1024;             // handed to a thread together
constexpr Index point_strip = pack_width == 8 ? 2 : 1;  // packs of points that share the loads of a course's slopes
constexpr Index rows_in_product = 16;                   // factors multiplied before a logarithm is taken

/// E sqrt(1 + t^2), t standard normal.
constexpr double mean_of_root = 1.354530;

/// y = t + stretch (sqrt(1 + t^2) - mean), t = e sqrt(1 + heaviness e^2): a skewed variable of mean near 0, variance
/// near 1 and exponential tails, from a standard normal e.
struct Reshaped {
  Pack value;
  Pack derivative;
};

Reshaped reshape(const Pack& e, double heaviness) {
  const Pack square = heaviness * e * e;
  const Pack root = square_root(1.0 + square);
  return {e * root, (1.0 + 2.0 * square) / root};
}

Reshaped stretch(const Reshaped& t, double stretching) {
  const Pack root = square_root(1.0 + t.value * t.value);
  return {t.value + stretching * (root - mean_of_root), t.derivative * (1.0 + stretching * t.value / root)};
}

}  // namespace

/// One student's integrand and proposal z = m + L^-T H y: y the reshaped standard normals, H the reflection that turns
/// the first axis into the most skewed direction.
struct FactorSampler::Target {
  Index factor_count = 0;
  Index course_count = 0;    // known ones
  std::vector<double> rows;  // a and b of each known course, times its sign
  Vector mean;
  Matrix precision_factor;  // L
  Vector mirror;            // H = I - mirror mirror'
  double heaviness = 0;
  double stretching = 0;
  double log_scale = 0;  // log of |L| and of the number of points
};

/// Over the points of a scramble.
struct FactorSampler::Sums {
  LogWeightSum weights;
  double controls = 0;
};

/// Working memory for a block of points.
class FactorSampler::Block {
 public:
  explicit Block(Index factor_count)
      : factor_count_(factor_count),
        z_(static_cast<std::size_t>(factor_count * block_points)),
        log_weights_(block_points),
        controls_(block_points) {}

  /// Points first .. first + count - 1, all scrambles counted through, and their weights: log of prior times likelihood
  /// over the proposal's density and the number of points in a scramble.
  void draw(const Target& target, const std::vector<QuasiRandomPoints>& scrambles, std::int64_t first,
            std::int64_t count) {
    const std::int64_t each = scrambles.front().point_count();
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t scramble = (first + done) / each;
      const std::int64_t begin = (first + done) % each;
      const std::int64_t part = std::min(count - done, each - begin);
      for (Index k = 0; k < factor_count_; ++k)
        scrambles[static_cast<std::size_t>(scramble)].normal(k, begin,
                                                             {factor(k) + done, static_cast<std::size_t>(part)});
      done += part;
    }
    for (Index k = 0; k < factor_count_; ++k)
      std::fill(factor(k) + count, factor(k) + block_points, 0.0);
    place(target);
    add_log_likelihood(target);
  }

  double* factor(Index k) { return z_.data() + k * block_points; }
  double log_weight(std::int64_t point) const { return log_weights_[static_cast<std::size_t>(point)]; }
  /// The proposal's density without its heavy tails over that with them: of mean one, and close to the weight over P.
  double control(std::int64_t point) const { return controls_[static_cast<std::size_t>(point)]; }

 private:
  void place(const Target& target);
  void add_log_likelihood(const Target& target);

  Index factor_count_;
  std::vector<double> z_;  // factors by points
  std::vector<double> log_weights_;
  std::vector<double> controls_;
};

/// From standard normal coordinates to the point, in place; starts its weight with prior over proposal.
void FactorSampler::Block::place(const Target& target) {
  const Matrix& lower = target.precision_factor;
  for (Index p = 0; p < block_points; p += pack_width) {
    Pack standard = broadcast(0);  // |e|^2
    Pack length = broadcast(0);    // |z|^2
    Pack derivative = broadcast(1);
    Pack heavy = broadcast(0);  // |t|^2, t the coordinates with heavy tails before they are stretched
    Pack heavy_derivative = broadcast(1);
    Pack reflected = broadcast(0);
    for (Index k = 0; k < factor_count_; ++k) {
      const Pack e = load(factor(k) + p);
      standard += e * e;
      Reshaped y = reshape(e, target.heaviness);
      heavy += y.value * y.value;
      heavy_derivative *= y.derivative;
      if (k == 0) y = stretch(y, target.stretching);
      derivative *= y.derivative;
      reflected += target.mirror[k] * y.value;
      store(factor(k) + p, y.value);
    }
    for (Index k = factor_count_ - 1; k >= 0; --k) {
      Pack rest = load(factor(k) + p) - target.mirror[k] * reflected;
      for (Index l = k + 1; l < factor_count_; ++l)
        rest -= lower(l, k) * load(factor(l) + p);
      store(factor(k) + p, rest / lower(k, k));
    }
    for (Index k = 0; k < factor_count_; ++k) {
      const Pack point = load(factor(k) + p) + target.mean[k];
      length += point * point;
      store(factor(k) + p, point);
    }
    store(log_weights_.data() + p, 0.5 * (standard - length) + logarithm(derivative) - target.log_scale);
    const Pack thinning = larger(0.5 * (standard - heavy), broadcast(-700));
    store(controls_.data() + p, exponential(thinning, broadcast(0)) * heavy_derivative);
  }
}

void FactorSampler::Block::add_log_likelihood(const Target& target) {
  const Index width = target.factor_count + 1;
  for (Index p = 0; p < block_points; p += point_strip * pack_width) {
    Pack product[point_strip];
    Pack total[point_strip];
    for (Index i = 0; i < point_strip; ++i) {
      product[i] = broadcast(1);
      total[i] = load(log_weights_.data() + p + i * pack_width);
    }
    for (Index first = 0; first < target.course_count; first += rows_in_product) {
      const Index last = std::min(first + rows_in_product, target.course_count);
      for (const double* row = target.rows.data() + first * width; row < target.rows.data() + last * width;
           row += width) {
        Pack argument[point_strip];
        for (Index i = 0; i < point_strip; ++i)
          argument[i] = broadcast(row[0]);
        for (Index k = 0; k + 1 < width; ++k) {
          for (Index i = 0; i < point_strip; ++i)
            argument[i] += row[k + 1] * load(z_.data() + k * block_points + p + i * pack_width);
        }
        for (Index i = 0; i < point_strip; ++i) {
          const ProductFactor phi = normal_cdf_factor(argument[i]);
          product[i] *= phi.factor;
          total[i] -= phi.square;
        }
      }
      for (Index i = 0; i < point_strip; ++i) {
        total[i] += logarithm(product[i]);
        product[i] = broadcast(1);
      }
    }
    for (Index i = 0; i < point_strip; ++i)
      store(log_weights_.data() + p + i * pack_width, total[i]);
  }
}

FactorSampler::FactorSampler(const ThresholdedFactors& factors, const FactorSamplerOptions& options,
                             const RandomStream& stream)
    : factors_(factors), point_count_(options.points) {
  if (options.points < 1 || options.scrambles < 1) {
    throw OptionError(concat("importance sampling: ", options.points, " points in ", options.scrambles,
                             " scrambles; at least one of each is needed"));
  }
  for (int scramble = 0; scramble < options.scrambles; ++scramble)
    scrambles_.emplace_back(factors.factor_count(), point_count_, stream.child(static_cast<std::uint64_t>(scramble)));
}

FactorSampler::Target FactorSampler::target_of(const KnownSigns& signs, const FactorPosterior& centre) const {
  Target target;
  target.factor_count = factors_.factor_count();
  const Index width = target.factor_count + 1;
  std::vector<double> sign(static_cast<std::size_t>(factors_.course_count()), -1);
  for (const Id course : signs.taken)
    sign[static_cast<std::size_t>(course)] = 1;
  for (const Id course : signs.unknown)
    sign[static_cast<std::size_t>(course)] = 0;
  target.rows.reserve(static_cast<std::size_t>(factors_.course_count() * width));
  for (Index j = 0; j < factors_.course_count(); ++j) {
    const double s = sign[static_cast<std::size_t>(j)];
    if (s == 0) continue;
    ++target.course_count;
    target.rows.push_back(s * factors_.thresholds()[j]);
    for (Index k = 0; k < target.factor_count; ++k)
      target.rows.push_back(s * factors_.slopes()(j, k));
  }
  target.mean = centre.mean;
  target.precision_factor = centre.precision_factor;
  target.log_scale =
      centre.precision_factor.diagonal().array().log().sum() + std::log(static_cast<double>(point_count_));
  target.heaviness = 0.1 / static_cast<double>(width);
  target.mirror = Vector::Zero(target.factor_count);
  if (target.factor_count == 0) return target;

  // Third cumulant of the posterior in its whitened coordinates: sum_j g_j beta_j^3 (a tensor), g_j the third
  // derivative of log Phi at the course's mean, smoothed by its variance.
  const Eigen::Map<const RowMatrix> rows(target.rows.data(), target.course_count, width);
  const Matrix whitened =
      centre.precision_factor.triangularView<Eigen::Lower>().solve(rows.rightCols(width - 1).transpose()).transpose();
  const Vector variance = 1 + whitened.rowwise().squaredNorm().array();
  const Vector u = (rows.col(0) + rows.rightCols(width - 1) * centre.mean).array() * variance.array().rsqrt();
  Vector mills(u.size());
  const auto size = static_cast<std::size_t>(u.size());
  inverse_mills_ratio({u.data(), size}, {mills.data(), size});
  const Vector g = mills.array() * ((u + mills).array() * (u + 2 * mills).array() - 1) / variance.array().pow(1.5);
  const Vector skewed = whitened.transpose() * (g.array() * (variance.array() - 1)).matrix();
  const double length = skewed.norm();
  if (!(length > 1e-8)) return target;
  const Vector direction = skewed / length;
  const double skewness = g.dot((whitened * direction).array().cube().matrix());
  target.stretching = std::clamp(0.5 * skewness, -0.6, 0.6);
  target.mirror = direction;
  target.mirror[0] -= 1;
  if (const double distance = target.mirror.norm(); distance > 1e-8) {
    target.mirror *= std::numbers::sqrt2 / distance;
  } else {
    target.mirror.setZero();
  }
  return target;
}

FactorEstimate FactorSampler::estimate_of(const std::vector<Sums>& by_scramble, double log_approximation) const {
  LogWeightSum total;
  for (const Sums& sums : by_scramble)
    total.add(sums.weights);
  const double plain = total.log_sum() - std::log(static_cast<double>(by_scramble.size()));
  // The control has mean one and varies as the weight over P does: P^ (its mean - 1) is taken off, P^ the
  // approximation.
  const bool controlled = std::abs(plain - log_approximation) < 0.5;
  std::vector<double> log_means;
  for (const Sums& sums : by_scramble) {
    double log_mean = sums.weights.log_sum();  // the weights are already divided by the number of points
    if (controlled) {
      const double excess = sums.controls / static_cast<double>(point_count_) - 1;
      const double ratio = std::exp(log_mean - log_approximation) - excess;
      if (ratio > 0) log_mean = log_approximation + std::log(ratio);
    }
    log_means.push_back(log_mean);
  }
  const ScrambleMean mean = mean_of_scrambles(log_means);
  return {mean.log_mean, mean.standard_error, total.effective_count() / static_cast<double>(total.count())};
}

FactorEstimate FactorSampler::estimate(const KnownSigns& signs, const FactorPosterior& centre,
                                       const Executor& executor) const {
  const Target target = target_of(signs, centre);
  const std::int64_t total = point_count_ * static_cast<std::int64_t>(scrambles_.size());
  const std::int64_t pieces = (total + piece_points - 1) / piece_points;
  std::vector<std::vector<Sums>> sums(static_cast<std::size_t>(pieces));  // by piece, by scramble in it
  executor.for_each(pieces, [&](std::int64_t piece) {
    const std::int64_t begin = piece * piece_points;
    const std::int64_t end = std::min(begin + piece_points, total);
    const std::int64_t first_scramble = begin / point_count_;
    std::vector<Sums> mine(static_cast<std::size_t>((end - 1) / point_count_ - first_scramble + 1));
    Block block(target.factor_count);
    for (std::int64_t first = begin; first < end; first += block_points) {
      const std::int64_t count = std::min(block_points, end - first);
      block.draw(target, scrambles_, first, count);
      for (std::int64_t p = 0; p < count; ++p) {
        Sums& scramble = mine[static_cast<std::size_t>((first + p) / point_count_ - first_scramble)];
        scramble.weights.add(block.log_weight(p));
        scramble.controls += block.control(p);
      }
    }
    sums[static_cast<std::size_t>(piece)] = std::move(mine);
  });
  std::vector<Sums> by_scramble(scrambles_.size());
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    auto scramble = static_cast<std::size_t>(piece * piece_points / point_count_);
    for (const Sums& part : sums[static_cast<std::size_t>(piece)]) {
      by_scramble[scramble].weights.add(part.weights);
      by_scramble[scramble].controls += part.controls;
      ++scramble;
    }
  }
  return estimate_of(by_scramble, centre.log_probability);
}

FactorSample FactorSampler::sample(const KnownSigns& signs, const FactorPosterior& centre) const {
  const Target target = target_of(signs, centre);
  const auto total = static_cast<Index>(scrambles_.size()) * point_count_;
  FactorSample sample;
  sample.points.resize(total, target.factor_count);
  sample.log_weights.resize(total);
  Block block(target.factor_count);
  std::vector<Sums> by_scramble(scrambles_.size());
  LogWeightSum all;
  for (Index first = 0; first < total; first += block_points) {
    const Index count = std::min<Index>(block_points, total - first);
    block.draw(target, scrambles_, first, count);
    for (Index p = 0; p < count; ++p) {
      Sums& scramble = by_scramble[static_cast<std::size_t>((first + p) / point_count_)];
      scramble.weights.add(block.log_weight(p));
      scramble.controls += block.control(p);
      all.add(block.log_weight(p));
      sample.log_weights[first + p] = block.log_weight(p);
      for (Index k = 0; k < target.factor_count; ++k)
        sample.points(first + p, k) = block.factor(k)[p];
    }
  }
  sample.estimate = estimate_of(by_scramble, centre.log_probability);
  sample.log_weights.array() -= all.log_sum();
  return sample;
}

}  // namespace desirepath::inline probability
