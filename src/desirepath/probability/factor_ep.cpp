#include "desirepath/probability/factor_ep.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include <Eigen/Cholesky>

#include "desirepath/core/error.h"
#include "desirepath/probability/normal.h"
#include "desirepath/probability/normal_kernels.h"

namespace desirepath::inline probability {

namespace {

/// A site's surroundings and the truth it must match, for a pack of courses.
struct PackedCavity {
  Pack variance;  // of f without the site
  Pack mean;
  Pack root;      // 1/sqrt(1 + variance)
  Pack argument;  // u = s (a + mean) root
};

PackedCavity cavity_of(const Pack& threshold, const Pack& sign, const Pack& variance, const Pack& mean,
                       const Pack& site_precision, const Pack& site_shift) {
  // The share of f's precision that is not the site's own; positive for proper sites, floored against rounding.
  const Pack kept = larger(1.0 - site_precision * variance, broadcast(1e-12));
  const Pack inverse = 1.0 / kept;
  PackedCavity cavity;
  cavity.variance = variance * inverse;
  cavity.mean = (mean - site_shift * variance) * inverse;
  cavity.root = 1.0 / square_root(1.0 + cavity.variance);
  cavity.argument = sign * (threshold + cavity.mean) * cavity.root;
  return cavity;
}

struct Site {
  Pack precision;
  Pack shift;
};

Site matching_site(const PackedCavity& cavity, const Pack& sign, const Pack& mills) {
  // r (u + r) lies in (0, 1); rounding may leave that far out in the tail.
  const Pack curvature = smaller(larger(mills * (cavity.argument + mills), broadcast(0)), broadcast(1));
  const Pack w = curvature * cavity.root * cavity.root;
  const Pack inverse = 1.0 / (1.0 - cavity.variance * w);
  const PackMask known = sign != 0.0;
  return {known ? w * inverse : broadcast(0),
          known ? (sign * mills * cavity.root + w * cavity.mean) * inverse : broadcast(0)};
}

/// Third and fourth cumulant of what the true factor gives at a course, in units in which its part of the sums below is
/// cumulant * (L^-1 b)^(3 or 4).
struct SiteCumulants {
  Pack third;
  Pack fourth;
};

SiteCumulants cumulants_of(const PackedCavity& cavity, const Pack& sign, const Pack& kept) {
  const NormalParts parts = normal_parts(cavity.argument);
  const Pack u = cavity.argument;
  const Pack r = packed_inverse_mills_ratio(parts);
  const Pack slope = -r * (u + r);  // r'
  const Pack g = (u + r) * (u + 2.0 * r) - 1.0;
  const Pack scale = sign * cavity.root / kept;
  const Pack square = scale * scale;
  return {square * scale * (r * g),
          square * square * (slope * g + r * (2.0 * u + 3.0 * r + slope * (3.0 * u + 4.0 * r)))};
}

/// As many packs as there are factors: an array where the number is fixed, which the compiler keeps in registers.
template <int fixed>
struct PackRow {
  explicit PackRow(Index /*count*/) {}
  Pack& operator[](Index k) { return packs[k]; }
  Pack packs[fixed] = {};
};

template <>
struct PackRow<0> {
  explicit PackRow(Index count) : packs(static_cast<std::size_t>(count), broadcast(0)) {}
  Pack& operator[](Index k) { return packs[static_cast<std::size_t>(k)]; }
  std::vector<Pack> packs;
};

constexpr int triangle(int n) {
  return n * (n + 1) / 2;
}

/// Calls body.template operator()<factor_count>(), with 0 standing for any number.
template <class Body>
decltype(auto) with_factor_count(Index factor_count, Body body) {
  switch (factor_count) {
    case 1:
      return body.template operator()<1>();
    case 2:
      return body.template operator()<2>();
    case 3:
      return body.template operator()<3>();
    case 4:
      return body.template operator()<4>();
    case 5:
      return body.template operator()<5>();
    case 6:
      return body.template operator()<6>();
    default:
      return body.template operator()<0>();
  }
}

/// Variance |L^-1 b|^2 and mean b . m of f for a pack of courses; leaves their slopes and L^-1 b behind.
template <int fixed>
class Projection {
 public:
  Projection(const ThresholdedFactors& factors, const FactorPosterior& posterior)
      : slopes(factors.factor_count()),
        whitened(factors.factor_count()),
        factors_(factors),
        posterior_(posterior),
        inverse_diagonal_(posterior.precision_factor.diagonal().cwiseInverse()),
        count_(fixed > 0 ? fixed : factors.factor_count()) {}

  void at(Index course) {
    variance = mean = broadcast(0);
    for (Index k = 0; k < count_; ++k) {
      slopes[k] = load(factors_.padded_slopes(k) + course);
      Pack rest = slopes[k];
      for (Index l = 0; l < k; ++l)
        rest -= posterior_.precision_factor(k, l) * whitened[l];
      whitened[k] = rest * inverse_diagonal_[k];
      variance += whitened[k] * whitened[k];
      mean += posterior_.mean[k] * slopes[k];
    }
  }

  Index count() const { return count_; }

  PackRow<fixed> slopes;
  PackRow<fixed> whitened;
  Pack variance;
  Pack mean;

 private:
  const ThresholdedFactors& factors_;
  const FactorPosterior& posterior_;
  Vector inverse_diagonal_;
  Index count_;
};

}  // namespace

struct FactorEp::Moments {
  Matrix precision;  // I + sum tau b b'
  Vector shift;      // sum nu b
};

Matrix FactorPosterior::covariance() const {
  const Matrix inverse =
      precision_factor.triangularView<Eigen::Lower>().solve(Matrix::Identity(mean.size(), mean.size()));
  return inverse.transpose() * inverse;
}

FactorEp::FactorEp(const ThresholdedFactors& factors, double tolerance)
    : factors_(factors),
      tolerance_(tolerance),
      sign_(Vector::Zero(factors.padded_count())),
      site_precision_(Vector::Zero(factors.padded_count())),
      site_shift_(Vector::Zero(factors.padded_count())),
      start_precision_(Vector::Zero(factors.padded_count())),
      start_shift_(Vector::Zero(factors.padded_count())) {
  sign_.head(factors.course_count()).setConstant(-1);
  start_ = std::make_unique<Moments>(sum_of_sites());
  solve({});
  start_precision_ = site_precision_;
  start_shift_ = site_shift_;
  *start_ = sum_of_sites();
}

FactorEp::~FactorEp() = default;

void FactorEp::set_signs(const KnownSigns& signs) {
  for (const Id course : changed_)
    sign_[course] = -1;
  changed_.assign(signs.taken.begin(), signs.taken.end());
  changed_.insert(changed_.end(), signs.unknown.begin(), signs.unknown.end());
  for (const Id course : signs.taken)
    sign_[course] = 1;
  for (const Id course : signs.unknown)
    sign_[course] = 0;
}

const FactorPosterior& FactorEp::solve(const KnownSigns& signs) {
  set_signs(signs);
  site_precision_ = start_precision_;
  site_shift_ = start_shift_;
  // The sums of the sites follow the few that change.
  Moments sums = *start_;
  const auto add_site = [&](Id course, double sign) {
    const auto slope = factors_.slopes().row(course).transpose();
    sums.precision += sign * site_precision_[course] * slope * slope.transpose();
    sums.shift += sign * site_shift_[course] * slope;
  };
  for (const Id course : changed_) {
    add_site(course, -1);
    site_precision_[course] = site_shift_[course] = 0;
  }
  posterior_.passes = 0;
  set_posterior(sums);
  match_in_turn(signs.taken);
  for (const Id course : signs.taken)
    add_site(course, 1);
  set_posterior(sums);
  posterior_.converged = parallel_passes(40);
  if (!posterior_.converged) sequential_passes(200);
  const double site_evidence = with_factor_count(
      factors_.factor_count(), [&]<int factor_count>() { return sum_of_site_evidence<factor_count>(); });
  posterior_.log_probability =
      std::min(0.0, site_evidence - posterior_.precision_factor.diagonal().array().log().sum() +
                        0.5 * shift_.dot(posterior_.mean));
  return posterior_;
}

void FactorEp::set_posterior(const Moments& sums) {
  const Eigen::LLT<Matrix> cholesky(sums.precision);
  posterior_.precision_factor = cholesky.matrixL();
  posterior_.mean = cholesky.solve(sums.shift);
  shift_ = sums.shift;
}

/// How far the posterior is from another, in its own standard deviations.
double FactorEp::distance_to(const Moments& sums) const {
  const auto factor = posterior_.precision_factor.triangularView<Eigen::Lower>();
  Matrix change = factor.solve(sums.precision);
  change = factor.solve(change.transpose()).eval();
  change.diagonal().array() -= 1;
  const Vector shift_change = factor.solve(sums.shift - sums.precision * posterior_.mean);
  return std::sqrt(change.squaredNorm() + shift_change.squaredNorm());
}

/// Moves every site towards the one that matches its surroundings, all from the same posterior; sums the new ones.
template <int factor_count>
void FactorEp::match_sites(double damping, Moments& sums) {
  Projection<factor_count> f(factors_, posterior_);
  const Index count = f.count();
  PackRow<triangle(factor_count)> precision(count * (count + 1) / 2);
  PackRow<factor_count> shift(count);
  // In stages over a few packs: the stages' chains of dependent operations then overlap from pack to pack.
  constexpr Index stage = 4 * pack_width;
  std::array<PackedCavity, 4> cavities;
  std::array<Pack, 4> mills;
  for (Index begin = 0; begin < factors_.padded_count(); begin += stage) {
    const Index end = std::min(begin + stage, factors_.padded_count());
    const auto place = [&](Index j) { return static_cast<std::size_t>((j - begin) / pack_width); };
    for (Index j = begin; j < end; j += pack_width) {
      f.at(j);
      cavities[place(j)] = cavity_of(load(factors_.padded_thresholds() + j), load(sign_.data() + j), f.variance, f.mean,
                                     load(site_precision_.data() + j), load(site_shift_.data() + j));
    }
    for (Index j = begin; j < end; j += pack_width)
      mills[place(j)] = packed_inverse_mills_ratio(normal_parts(cavities[place(j)].argument));
    for (Index j = begin; j < end; j += pack_width) {
      const Site site = matching_site(cavities[place(j)], load(sign_.data() + j), mills[place(j)]);
      const Pack old_precision = load(site_precision_.data() + j);
      const Pack old_shift = load(site_shift_.data() + j);
      const Pack new_precision = old_precision + damping * (site.precision - old_precision);
      const Pack new_shift = old_shift + damping * (site.shift - old_shift);
      store(site_precision_.data() + j, new_precision);
      store(site_shift_.data() + j, new_shift);
      for (Index k = 0, entry = 0; k < count; ++k) {
        const Pack slope = load(factors_.padded_slopes(k) + j);
        const Pack weighted = new_precision * slope;
        shift[k] += new_shift * slope;
        for (Index l = 0; l <= k; ++l, ++entry)
          precision[entry] += weighted * load(factors_.padded_slopes(l) + j);
      }
    }
  }
  sums.precision.setIdentity(count, count);
  sums.shift.resize(count);
  for (Index k = 0, place = 0; k < count; ++k) {
    sums.shift[k] = sum(shift[k]);
    for (Index l = 0; l <= k; ++l, ++place) {
      const double total = sum(precision[place]);
      sums.precision(k, l) += total;
      if (l < k) sums.precision(l, k) += total;
    }
  }
}

FactorEp::Moments FactorEp::sum_of_sites() const {
  const RowMatrix& slopes = factors_.slopes();
  Moments sums;
  sums.precision = slopes.transpose() * site_precision_.head(factors_.course_count()).asDiagonal() * slopes;
  sums.precision.diagonal().array() += 1;
  sums.shift = slopes.transpose() * site_shift_.head(factors_.course_count());
  return sums;
}

/// One site after the other, each seeing those before it. Leaves the posterior as it was.
void FactorEp::match_in_turn(std::span<const Id> courses) {
  Matrix covariance = posterior_.covariance();
  Vector mean = posterior_.mean;
  for (const Id j : courses) {
    const Vector slope = factors_.slopes().row(j).transpose();
    const Vector projected = covariance * slope;
    const double variance = slope.dot(projected);
    const double old_mean = slope.dot(mean);
    const Pack sign = broadcast(sign_[j]);
    const PackedCavity cavity =
        cavity_of(broadcast(factors_.thresholds()[j]), sign, broadcast(variance), broadcast(old_mean),
                  broadcast(site_precision_[j]), broadcast(site_shift_[j]));
    const Site site = matching_site(cavity, sign, packed_inverse_mills_ratio(normal_parts(cavity.argument)));
    const double precision_change = site.precision[0] - site_precision_[j];
    const double shift_change = site.shift[0] - site_shift_[j];
    site_precision_[j] = site.precision[0];
    site_shift_[j] = site.shift[0];
    const double factor = precision_change / (1 + precision_change * variance);
    mean += projected * (shift_change * (1 - factor * variance) - factor * old_mean);
    covariance -= factor * projected * projected.transpose();
  }
}

/// All sites at once, again and again: fast, and settles in a few passes where no site dominates.
bool FactorEp::parallel_passes(int limit) {
  Moments sums;
  double damping = 1;
  double previous = infinity;
  for (int pass = 0; pass < limit; ++pass) {
    with_factor_count(factors_.factor_count(), [&]<int factor_count>() { match_sites<factor_count>(damping, sums); });
    ++posterior_.passes;
    const double distance = distance_to(sums);
    set_posterior(sums);
    if (!(distance < infinity)) return false;
    if (distance < tolerance_) return true;
    // Sites that overshoot together swing: walk slower.
    if (distance > 0.7 * previous) damping = std::max(0.25, 0.7 * damping);
    previous = distance;
  }
  return false;
}

/// From scratch and in turn: slower, and steadier where few strong sites compete.
void FactorEp::sequential_passes(int limit) {
  site_precision_.setZero();
  site_shift_.setZero();
  std::vector<Id> known;
  for (Id j = 0; j < factors_.course_count(); ++j) {
    if (sign_[j] != 0) known.push_back(j);
  }
  set_posterior(sum_of_sites());
  for (int pass = 0; pass < limit && !posterior_.converged; ++pass) {
    match_in_turn(known);
    ++posterior_.passes;
    const Moments sums = sum_of_sites();
    posterior_.converged = distance_to(sums) < tolerance_;
    set_posterior(sums);
  }
}

/// Sum over the known courses of log Phi(u) less the logarithm of the site's own integral over its cavity.
template <int factor_count>
double FactorEp::sum_of_site_evidence() const {
  Projection<factor_count> f(factors_, posterior_);
  Pack total = broadcast(0);
  for (Index j = 0; j < factors_.padded_count(); j += pack_width) {
    f.at(j);
    const Pack sign = load(sign_.data() + j);
    const Pack precision = load(site_precision_.data() + j);
    const Pack shift = load(site_shift_.data() + j);
    const PackedCavity cavity =
        cavity_of(load(factors_.padded_thresholds() + j), sign, f.variance, f.mean, precision, shift);
    const Pack log_phi = packed_log_normal_cdf(normal_parts(cavity.argument));
    const Pack spread = 1.0 + precision * cavity.variance;
    const Pack site =
        0.5 * (shift * shift * cavity.variance + (2.0 * shift - precision * cavity.mean) * cavity.mean) / spread -
        0.5 * logarithm(spread);
    total += sign != 0.0 ? log_phi - site : broadcast(0);
  }
  return sum(total);
}

double FactorEp::correction() const {
  // The sum over pairs of courses m < n of c_m c_n (beta_m . beta_n)^l / l!, l = 3 and 4, beta = L^-1 b. Twice that is
  // the squared length of a tensor, sum_n c_n beta_n^(l), less the pairs m = n. What follows in the series has mostly
  // the other sign, so the last term is taken half (Euler's summation).
  if (factors_.factor_count() > 8) return correction_by_pairs();
  return with_factor_count(factors_.factor_count(),
                           [&]<int factor_count>() { return correction_by_tensors<factor_count>(); });
}

template <int factor_count>
double FactorEp::correction_by_tensors() const {
  Projection<factor_count> f(factors_, posterior_);
  const Index count = f.count();
  // Entries with indices k >= l >= m (>= n); the others equal one of these.
  PackRow<factor_count*(factor_count + 1) * (factor_count + 2) / 6> third(count * (count + 1) * (count + 2) / 6);
  PackRow<factor_count*(factor_count + 1) * (factor_count + 2) * (factor_count + 3) / 24> fourth(
      count * (count + 1) * (count + 2) * (count + 3) / 24);
  Pack own = broadcast(0);
  for (Index j = 0; j < factors_.padded_count(); j += pack_width) {
    f.at(j);
    const Pack sign = load(sign_.data() + j);
    const Pack precision = load(site_precision_.data() + j);
    const PackedCavity cavity = cavity_of(load(factors_.padded_thresholds() + j), sign, f.variance, f.mean, precision,
                                          load(site_shift_.data() + j));
    const SiteCumulants c = cumulants_of(cavity, sign, larger(1.0 - precision * f.variance, broadcast(1e-12)));
    const Pack cube = f.variance * f.variance * f.variance;
    own += cube * (c.third * c.third / 12.0 + f.variance * c.fourth * c.fourth / 96.0);
    for (Index k = 0, place3 = 0, place4 = 0; k < count; ++k) {
      for (Index l = 0; l <= k; ++l) {
        const Pack pair = f.whitened[k] * f.whitened[l];
        for (Index m = 0; m <= l; ++m) {
          const Pack triple = pair * f.whitened[m];
          third[place3++] += c.third * triple;
          const Pack weighted = c.fourth * triple;
          for (Index n = 0; n <= m; ++n)
            fourth[place4++] += weighted * f.whitened[n];
        }
      }
    }
  }
  // How many orders of the indices give the same entry.
  const auto repeats = [](Index a, Index b, Index c, Index d) {
    Index run = 1, product = 1;
    for (const bool same : {a == b, b == c, c == d}) {
      run = same ? run + 1 : 1;
      product *= run;
    }
    return static_cast<double>(product);
  };
  double total = -sum(own);
  for (Index k = 0, place3 = 0, place4 = 0; k < count; ++k) {
    for (Index l = 0; l <= k; ++l) {
      for (Index m = 0; m <= l; ++m) {
        const double entry3 = sum(third[place3++]);
        total += entry3 * entry3 / 12 * (6 / repeats(k, l, m, -1));
        for (Index n = 0; n <= m; ++n) {
          const double entry4 = sum(fourth[place4++]);
          total += entry4 * entry4 / 96 * (24 / repeats(k, l, m, n));
        }
      }
    }
  }
  return total;
}

double FactorEp::correction_by_pairs() const {
  Projection<0> f(factors_, posterior_);
  const Index size = factors_.padded_count();
  RowMatrix whitened(size, f.count());
  Vector third(size), fourth(size);
  for (Index j = 0; j < size; j += pack_width) {
    f.at(j);
    const Pack sign = load(sign_.data() + j);
    const Pack precision = load(site_precision_.data() + j);
    const PackedCavity cavity = cavity_of(load(factors_.padded_thresholds() + j), sign, f.variance, f.mean, precision,
                                          load(site_shift_.data() + j));
    const SiteCumulants c = cumulants_of(cavity, sign, larger(1.0 - precision * f.variance, broadcast(1e-12)));
    store(third.data() + j, c.third);
    store(fourth.data() + j, c.fourth);
    for (Index k = 0; k < f.count(); ++k) {
      for (Index lane = 0; lane < pack_width; ++lane)
        whitened(j + lane, k) = f.whitened[k][lane];
    }
  }
  constexpr Index block = 64;
  double total = 0;
  for (Index begin = 0; begin < size; begin += block) {
    const Index rows = std::min(block, size - begin);
    const Index columns = begin + rows;
    const Matrix products = whitened.topRows(columns) * whitened.middleRows(begin, rows).transpose();
    for (Index i = 0; i < rows; ++i) {
      const auto x = products.col(i).head(begin + i).array();
      total += third[begin + i] / 6 * (third.head(begin + i).array() * x.cube()).sum() +
               fourth[begin + i] / 48 * (fourth.head(begin + i).array() * x.square().square()).sum();
    }
  }
  return total;
}

}  // namespace desirepath::inline probability
