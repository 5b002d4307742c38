#include "desirepath/probability/normal.h"

#include <cmath>

#include "desirepath/core/types.h"
#include "desirepath/probability/normal_kernels.h"

namespace desirepath::inline probability {

namespace {

/// Wichura's rational approximation (AS 241) around p = 1/2, |p - 1/2| <= 0.425, given q = p - 1/2.
Pack central_quantile(const Pack& q) {
  constexpr std::array<double, 8> numerator = {
      3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3, 1.3731693765509461125e+4,
      4.5921953931549871457e+4, 6.7265770927008700853e+4, 3.3430575583588128105e+4, 2.5090809287301226727e+3};
  constexpr std::array<double, 8> denominator = {1.0,
                                                 4.2313330701600911252e+1,
                                                 6.8718700749205790830e+2,
                                                 5.3941960214247511077e+3,
                                                 2.1213794301586595867e+4,
                                                 3.9307895800092710610e+4,
                                                 2.8729085735721942674e+4,
                                                 5.2264952788528545610e+3};
  const Pack r = 0.180625 - q * q;
  return q * polynomial(numerator, r) / polynomial(denominator, r);
}

// What the loops apply to each pack; single values go the same way, so that both have the same bits.
struct LogCdf {
  Pack operator()(const Pack& t) const { return packed_log_normal_cdf(normal_parts(t)); }
};

struct MillsRatio {
  Pack operator()(const Pack& t) const { return packed_inverse_mills_ratio(normal_parts(t)); }
};

struct Cdf {
  Pack operator()(const Pack& t) const {
    const NormalParts parts = normal_parts(t);
    return parts.negative ? parts.far_side : 1.0 - parts.far_side;
  }
};

struct Quantile {
  Pack operator()(const Pack& p) const {
    const Pack inner = smaller(larger(p, broadcast(0x1p-1022)), broadcast(1 - 0x1p-53));
    const Pack q = inner - 0.5;
    const Pack tail = lower_normal_quantile(logarithm(q < 0.0 ? inner : 1.0 - inner));
    const Pack t = absolute(q) <= 0.425 ? central_quantile(q) : (q < 0.0 ? tail : -tail);
    return p <= 0.0 ? broadcast(-infinity) : (p >= 1.0 ? broadcast(infinity) : t);
  }
};

}  // namespace

double normal_cdf(double t) {
  return for_one_value(t, Cdf());
}

double log_normal_cdf(double t) {
  return for_one_value(t, LogCdf());
}

double inverse_mills_ratio(double t) {
  return for_one_value(t, MillsRatio());
}

double normal_quantile(double p) {
  return for_one_value(p, Quantile());
}

double normal_quantile_of_log(double log_p) {
  if (log_p == -infinity) return -infinity;
  if (log_p >= 0) return infinity;
  if (log_p > -std::numbers::ln2) return -lower_normal_quantile(broadcast(std::log(-std::expm1(log_p))))[0];
  return lower_normal_quantile(broadcast(log_p))[0];
}

void log_normal_cdf(std::span<const double> t, std::span<double> log_cdf) {
  for_each_pack(t.size(), t.data(), log_cdf.data(), 0, LogCdf());
}

void inverse_mills_ratio(std::span<const double> t, std::span<double> ratio) {
  for_each_pack(t.size(), t.data(), ratio.data(), 0, MillsRatio());
}

void log_normal_cdf_and_mills(std::span<const double> t, std::span<double> log_cdf, std::span<double> ratio) {
  const std::size_t whole = t.size() / pack_width * pack_width;
  for (std::size_t i = 0; i < whole; i += pack_width) {
    const NormalParts parts = normal_parts(load(t.data() + i));
    store(log_cdf.data() + i, packed_log_normal_cdf(parts));
    store(ratio.data() + i, packed_inverse_mills_ratio(parts));
  }
  inverse_mills_ratio(t.subspan(whole), ratio.subspan(whole));
  log_normal_cdf(t.subspan(whole), log_cdf.subspan(whole));
}

void normal_quantile(std::span<const double> p, std::span<double> t) {
  for_each_pack(p.size(), p.data(), t.data(), 0.5, Quantile());
}

}  // namespace desirepath::inline probability
