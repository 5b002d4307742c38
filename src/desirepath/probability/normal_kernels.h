// The standard normal distribution on packs: the inner loops of everything that computes with thresholded Gaussians.
//
// All rest on the scaled tail m(x) = Phi(-x) exp(x^2/2), x >= 0, which neither overflows nor vanishes: (x + 6) m(x) is
// a smooth function of y = (x - 6)/(x + 6) on [-1, 1), here a polynomial of degree 23 (truncated Chebyshev series,
// error 1e-17). The other polynomials come from Chebyshev series in the same way. For sources only, as packs.h.
#pragma once

#include <array>
#include <numbers>

#include "desirepath/probability/packs.h"

namespace desirepath::inline probability {
namespace {

inline constexpr double log_2_high = 0x1.62e42fefa3800p-1;  // its product with an exponent is exact
inline constexpr double log_2_low = 0x1.ef35793c76730p-45;
inline constexpr double inverse_sqrt_2_pi = 0.398942280401432677939946;
inline constexpr double log_sqrt_2_pi = 0.918938533204672741780330;
/// Beyond this the normal tail is below the smallest double.
inline constexpr double vanishing_tail = 37.5;

/// c[0] + c[1] x + ...; the powers of x go up by four so that the chain of dependent operations stays short.
template <std::size_t size>
inline Pack polynomial(const std::array<double, size>& c, const Pack& x) {
  static_assert(size % 4 == 0);
  const Pack x2 = x * x;
  const Pack x4 = x2 * x2;
  Pack value = (c[size - 4] + x * c[size - 3]) + x2 * (c[size - 2] + x * c[size - 1]);
  for (std::size_t k = size - 4; k >= 4; k -= 4)
    value = ((c[k - 4] + x * c[k - 3]) + x2 * (c[k - 2] + x * c[k - 1])) + x4 * value;
  return value;
}

/// m(x) = Phi(-x) exp(x^2/2) for 0 <= x <= 1e150.
inline Pack scaled_normal_tail(const Pack& x) {
  constexpr std::array<double, 24> coefficients = {
      0.7773517718933621832,     -0.7010090295908656845,   0.5689688918147859329,     -0.4139035857755745256,
      0.2679742458415497014,     -0.1526802320650391694,   0.07517191567087724866,    -0.03098531549895508738,
      0.01002982062287665747,    -0.002131605285716135306, 0.00003287010887352331255, 0.0001813608156529500257,
      -6.475225443446430912e-05, 1.074284010701570226e-06, 6.796707412831091247e-06,  -1.796994561825869137e-06,
      -4.295192491977758293e-07, 3.070236789362754278e-07, 6.847501754876200407e-09,  -4.103804316591019782e-08,
      2.827692671238881e-09,     4.666464392585821735e-09, -3.605325111090558492e-10, -3.403350501945895831e-10};
  const Pack inverse = 1.0 / (x + 6.0);
  return inverse * polynomial(coefficients, 1.0 - 12.0 * inverse);
}

/// exp(high + low) for -709 < high <= 700 and a small low.
inline Pack exponential(const Pack& high, const Pack& low) {
  constexpr double shift = 0x1.8p52;  // adding it leaves the rounded integer in the low bits
  const Pack shifted = high * std::numbers::log2e + shift;
  const Pack power = shifted - shift;
  const Pack rest = (high - power * log_2_high) + (low - power * log_2_low);
  constexpr std::array<double, 12> coefficients = {
      1,
      1,
      0.5000000000000018388,
      0.1666666666666670241,
      0.04166666666648808147,
      0.008333333333309525639,
      0.001388888895231804535,
      0.000198412699092198422,
      0.00002480148547921642936,
      2.755722495611072294e-06,
      2.763264067543023571e-07,
      2.511487021949747532e-08,
  };
  const PackBits scale = (__builtin_bit_cast(PackBits, shifted) + 1023) << 52;
  return polynomial(coefficients, rest) * __builtin_bit_cast(Pack, scale);
}

/// exp(-x^2/2) to full relative precision for 0 <= x <= 37.5.
inline Pack normal_bell(const Pack& x) {
  constexpr double cut = 0x1.8p32;  // leaves 20 bits after the point, so that the square is exact
  const Pack high = (x + cut) - cut;
  const Pack low = x - high;
  return exponential(-0.5 * high * high, -low * (high + 0.5 * low));
}

/// power * log 2 + log(1 + fraction), fraction within [sqrt(1/2) - 1, sqrt(2) - 1].
inline Pack logarithm_of_parts(const Pack& power, const Pack& fraction) {
  constexpr std::array<double, 8> coefficients = {
      0,
      0.6666666666666669706,
      0.3999999999989900671,
      0.2857142862617305743,
      0.2222221110612709047,
      0.181828910050497708,
      0.1533166479930626211,
      0.146170932375582034,
  };
  const Pack s = fraction / (2.0 + fraction);
  const Pack half_square = 0.5 * fraction * fraction;
  const Pack correction = s * (half_square + polynomial(coefficients, s * s)) + power * log_2_low;
  return power * log_2_high - ((half_square - correction) - fraction);
}

struct LogarithmParts {
  Pack power;     // a whole number
  Pack fraction;  // value = 2^power (1 + fraction)
};

inline LogarithmParts logarithm_parts(const Pack& value) {
  constexpr std::uint64_t sqrt_half = 0x3fe6a09e667f3bcdULL;
  const PackBits bits = __builtin_bit_cast(PackBits, value) + (0x3ff0000000000000ULL - sqrt_half);
  const PackBits mantissa = (bits & 0x000fffffffffffffULL) + sqrt_half;
  const PackBits power = (bits >> 52) | 0x4330000000000000ULL;  // the double 2^52 + biased exponent
  return {__builtin_bit_cast(Pack, power) - (0x1p52 + 1023), __builtin_bit_cast(Pack, mantissa) - 1.0};
}

/// log of positive normal numbers.
inline Pack logarithm(const Pack& value) {
  const LogarithmParts parts = logarithm_parts(value);
  return logarithm_of_parts(parts.power, parts.fraction);
}

/// What the functions of one argument t share.
struct NormalParts {
  PackMask negative;  // t < 0
  Pack square;        // t^2/2
  Pack bell;          // exp(-t^2/2), 0 in the far tail
  Pack tail;          // m(|t|)
  Pack far_side;      // Phi(-|t|)
};

inline NormalParts normal_parts(const Pack& t) {
  const Pack x = smaller(absolute(t), broadcast(1e150));
  const PackMask vanishing = x >= vanishing_tail;
  const Pack bell = normal_bell(smaller(x, broadcast(vanishing_tail)));
  const Pack tail = scaled_normal_tail(x);
  return {t < 0.0, 0.5 * t * t, vanishing ? broadcast(0) : bell, tail, vanishing ? broadcast(0) : bell * tail};
}

inline Pack packed_log_normal_cdf(const NormalParts& parts) {
  // Left of zero -t^2/2 + log m(-t); right of it log(1 - Phi(-t)), by two branches of log(1 + f) near f = 0.
  const LogarithmParts left = logarithm_parts(parts.tail);
  const PackMask near_half = parts.far_side > 1 - std::numbers::sqrt2 / 2;
  const Pack right_power = near_half ? broadcast(-1) : broadcast(0);
  const Pack right_fraction = near_half ? 1.0 - 2.0 * parts.far_side : -parts.far_side;
  const Pack logarithm =
      logarithm_of_parts(parts.negative ? left.power : right_power, parts.negative ? left.fraction : right_fraction);
  return parts.negative ? logarithm - parts.square : logarithm;
}

/// phi(t)/Phi(t).
inline Pack packed_inverse_mills_ratio(const NormalParts& parts) {
  return inverse_sqrt_2_pi * (parts.negative ? broadcast(1) : parts.bell) /
         (parts.negative ? parts.tail : 1.0 - parts.far_side);
}

/// Phi(t) without its factor exp(-t^2/2) where t < 0: the factors of a long product of Phi's, whose logarithms are
/// then taken many at a time; the sum of t^2/2 over the negative t is kept beside it.
struct ProductFactor {
  Pack factor;
  Pack square;  // t^2/2 where t < 0, else 0
};

/// Absolute precision 1e-15; unlike packed_log_normal_cdf a value beyond t = 8 is lost in the rounding of the product.
inline ProductFactor normal_cdf_factor(const Pack& t) {
  const Pack x = smaller(absolute(t), broadcast(1e150));
  const Pack capped = smaller(x, broadcast(vanishing_tail));
  const Pack bell = exponential(-0.5 * capped * capped, broadcast(0));
  const Pack tail = scaled_normal_tail(x);
  const PackMask negative = t < 0.0;
  return {negative ? tail : 1.0 - bell * tail, negative ? 0.5 * t * t : broadcast(0)};
}

/// x <= 0 with Phi(x) = exp(log_p), log_p <= log(1/2).
inline Pack lower_normal_quantile(const Pack& log_p) {
  // x = -(s - s0) times a smooth function of s = sqrt(-2 log p) >= s0; a polynomial in 1/(s + 2) up to s = 9.
  constexpr double s0 = 1.177410022515474691;
  constexpr double s_end = 9;
  constexpr std::array<double, 20> coefficients = {
      1.259006426309974502,      -0.175901276228166756,     0.02933965011544054708,   -0.008249415307108662219,
      0.002139150876364972297,   -0.0007191008269696038296, 0.0002039571161626832545, -0.00007245434382292244332,
      0.00002137716516932972703, -8.087409398898382377e-06, 2.339254348648876774e-06, -9.596435119491002515e-07,
      2.629158525996721915e-07,  -1.178476888218629634e-07, 2.779789476292406926e-08, -1.819905996652044217e-08,
      3.771107201387979213e-09,  -5.572044158178293397e-10, -1.09958890364749024e-11, -9.613546243742278452e-10};
  const Pack squared = smaller(larger(-2.0 * log_p, broadcast(s0 * s0)), broadcast(1e300));
  const Pack s = square_root(squared);
  const Pack y = 1.8123677788714218113 - 8.9360455675856399245 / (s + 2.0);
  Pack x = larger(s - s0, broadcast(0)) * polynomial(coefficients, y);
  const PackMask beyond = s > s_end;
  if (any(beyond)) {
    // Newton on log Phi(-x) = -x^2/2 + log m(x), from the asymptotic x^2 = s^2 - 2 log(sqrt(2 pi) x).
    Pack far = square_root(larger(squared - 2.0 * (log_sqrt_2_pi + logarithm(s)), broadcast(1)));
    for (int step = 0; step < 3; ++step) {
      const Pack tail = scaled_normal_tail(far);
      far += (0.5 * (s - far) * (s + far) + logarithm(tail)) * tail / inverse_sqrt_2_pi;
    }
    x = beyond ? far : x;
  }
  return -x;
}

}  // namespace
}  // namespace desirepath::inline probability
