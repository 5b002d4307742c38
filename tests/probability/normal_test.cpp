#include "desirepath/probability/normal.h"

#include <array>
#include <cmath>
#include <numbers>

#include "support/support.h"

#include "desirepath/core/random_stream.h"
#include "desirepath/core/types.h"
#include "desirepath/probability/normal_kernels.h"

namespace desirepath::normal_test {
namespace {

struct KnownValue {
  double t;
  double log_cdf;
  double mills;
};

// Computed with 50 digits.
constexpr KnownValue known_values[] = {
    {-1.0e+8, -5000000000000019.34, 100000000.00000001},
    {-12345.5, -76205695.464985443, 12345.5000810011735},
    {-300.0, -45006.6227321186634, 300.003333259263374},
    {-100.0, -5005.52420869420509, 100.009998000999261},
    {-38.5, -745.695270290411081, 38.5259390968544937},
    {-37.5, -707.668989317507191, 37.5266288748836536},
    {-30.0, -454.321243956343197, 30.033259667433677},
    {-20.0, -203.917155371097264, 20.0497530685278505},
    {-12.0, -75.4106730015687959, 12.0822141752542843},
    {-10.0, -53.2312851505124706, 10.098093233962512},
    {-8.0, -35.0134371599145499, 8.12136811223611268},
    {-6.0, -20.7367689499747057, 6.15848260454459892},
    {-5.0, -15.0649983939887257, 5.18650396712584212},
    {-4.5, -12.5924197357130787, 4.7043198448277324},
    {-4.0, -10.3601014865272908, 4.22560714448947107},
    {-3.5, -8.36606530834409293, 3.75139126485769973},
    {-3.0, -6.60772622151034954, 3.28309865493043651},
    {-2.5, -5.0816482772786905, 2.82274479766390725},
    {-2.0, -3.78318433368203195, 2.37321553282284087},
    {-1.5, -2.70594440082388981, 1.93867716662254319},
    {-1.0, -1.84102164500926351, 1.52513527616098121},
    {-0.75, -1.48444822991965629, 1.32877796522120704},
    {-0.5, -1.17591176159361861, 1.14107777036806448},
    {-0.25, -0.913061764811135055, 0.963553979416403907},
    {-0.001, -0.693945383466965179, 0.798521289562911379},
    {-1.0e-12, -0.693147180560743194, 0.797884560803501976},
    {0.0, -0.693147180559945309, 0.797884560802865356},
    {1.0e-12, -0.693147180559147425, 0.797884560802228736},
    {0.001, -0.692349614272688243, 0.797248050056433108},
    {0.25, -0.512984075409430432, 0.645839371016817266},
    {0.5, -0.368946415288656393, 0.509160433837033486},
    {0.54, -0.348988157717268756, 0.488825171715646665},
    {0.75, -0.256994266838365237, 0.389382056735927024},
    {1.0, -0.17275377902344989, 0.287599970939178361},
    {1.5, -0.069143455612233983, 0.138789750458850756},
    {2.0, -0.0230129093289634885, 0.0552478626789899591},
    {2.5, -0.00622902548586000238, 0.0176378254869167348},
    {3.0, -0.0013508099647481938, 0.00443783904212566379},
    {4.0, -0.0000316717433774892639, 0.000133834464468575142},
    {5.0, -2.86651612963763593e-7, 1.48671994090490571e-6},
    {6.0, -9.86587645524375732e-10, 6.07588285581767645e-9},
    {7.5, -3.19089167291094714e-14, 2.4343205330290875e-13},
    {8.5, -9.4795348222033184e-18, 8.16623563166955012e-17},
    {10.0, -7.61985302416052607e-24, 7.69459862670641935e-23},
    {15.0, -3.67096619931275089e-51, 5.53070954984441616e-50},
    {20.0, -2.7536241186062337e-89, 5.52094836215976319e-88},
    {30.0, -4.90671392714818706e-198, 1.47364613487854752e-196},
    {37.0, -5.72557122252457682e-300, 2.12000655152460563e-298},
};

TEST(Normal, LogCdfAndMillsRatioHaveFullRelativePrecisionOnTheWholeLine) {
  for (const KnownValue& known : known_values) {
    EXPECT_NEAR(log_normal_cdf(known.t) / known.log_cdf, 1, 3e-15) << known.t;
    EXPECT_NEAR(inverse_mills_ratio(known.t) / known.mills, 1, 3e-15) << known.t;
  }
}

TEST(Normal, QuantilesInvertTheLogCdf) {
  for (const KnownValue& known : known_values) {
    // Rounding of the argument alone moves the quantile by this much.
    const double resolution = 3e-16 * std::abs(known.log_cdf) / known.mills;
    EXPECT_NEAR(normal_quantile_of_log(known.log_cdf), known.t, 3e-15 * std::max(1.0, std::abs(known.t)) + resolution)
        << known.t;
    if (known.t > -37 && known.t < 8) {
      const double p = std::exp(known.log_cdf);
      const double rounding = 1e-16 * std::max(1.0, std::abs(known.log_cdf)) / known.mills;
      EXPECT_NEAR(normal_quantile(p), known.t, 3e-15 * std::max(1.0, std::abs(known.t)) + 3 * rounding) << known.t;
    }
  }
  EXPECT_EQ(normal_quantile(0.5), 0);
  EXPECT_NEAR(normal_quantile(0.5 + 0x1p-30) / (0x1p-30 * std::sqrt(2 * std::numbers::pi)), 1, 1e-14);
}

TEST(Normal, LimitsAreExactAndNothingIsEverNaN) {
  EXPECT_EQ(log_normal_cdf(-infinity), -infinity);
  EXPECT_EQ(log_normal_cdf(infinity), 0);
  EXPECT_EQ(log_normal_cdf(-1e200), -infinity);
  EXPECT_EQ(inverse_mills_ratio(infinity), 0);
  EXPECT_EQ(normal_cdf(-infinity), 0);
  EXPECT_EQ(normal_cdf(infinity), 1);
  EXPECT_EQ(normal_quantile(0), -infinity);
  EXPECT_EQ(normal_quantile(1), infinity);
  EXPECT_EQ(normal_quantile_of_log(-infinity), -infinity);
  EXPECT_EQ(normal_quantile_of_log(0), infinity);
  for (const double t : {-1e300, -1e155, -1e9, 36.9, 37.4, 37.6, 39.0, 1e9, 1e300, 5e-324, -5e-324}) {
    EXPECT_FALSE(std::isnan(log_normal_cdf(t))) << t;
    EXPECT_TRUE(std::isfinite(inverse_mills_ratio(t))) << t;
    EXPECT_LE(log_normal_cdf(t), 0) << t;
    if (t < -1e6 && t > -1e100) {
      EXPECT_NEAR(inverse_mills_ratio(t) / -t, 1, 1e-9) << t;
    } else if (t > 1) {
      EXPECT_GE(inverse_mills_ratio(t), 0) << t;
      EXPECT_LE(inverse_mills_ratio(t), 1e-290) << t;
    }
  }
  for (const double log_p : {-1e100, -745.0, -40.5, -40.4, -0.6931471805599453, -0.69})
    EXPECT_NEAR(log_normal_cdf(normal_quantile_of_log(log_p)) / log_p, 1, 1e-9) << log_p;
  EXPECT_LT(normal_quantile_of_log(-1e308), -1e149);
  EXPECT_NEAR(normal_quantile_of_log(-1e-300), 37.0470962993612, 1e-9);
  EXPECT_NEAR(normal_quantile(1e-300), -37.0470962993612, 1e-12);
  EXPECT_NEAR(normal_quantile(5e-324), -38.4674, 2);  // below the smallest normal number only the order is kept
}

TEST(Normal, AProductOfFactorsSumsTheLogarithms) {
  RandomStream stream(11);
  double expected = 0;
  Pack log_product = broadcast(0);
  for (int i = 0; i < 50; ++i) {
    const double t = 4 * stream.normal();
    expected += log_normal_cdf(t);
    const ProductFactor factor = normal_cdf_factor(broadcast(t));
    log_product += logarithm(factor.factor) - factor.square;
  }
  EXPECT_NEAR(log_product[0], expected, 1e-13 * std::abs(expected));
}

TEST(NormalProperty, ArraysHoldTheSameBitsAsSingleValues) {
  test::expect_property("a value does not depend on its place", [](const std::vector<int>& numbers) {
    std::vector<double> t;
    for (const int number : numbers)
      t.push_back(number * 0.37 - 3);
    std::vector<double> log_cdf(t.size()), ratio(t.size()), ratio_alone(t.size()), log_alone(t.size());
    log_normal_cdf_and_mills(t, log_cdf, ratio);
    log_normal_cdf(t, log_alone);
    inverse_mills_ratio(t, ratio_alone);
    for (std::size_t i = 0; i < t.size(); ++i) {
      RC_ASSERT(log_alone[i] == log_normal_cdf(t[i]));
      RC_ASSERT(ratio_alone[i] == inverse_mills_ratio(t[i]));
      RC_ASSERT(std::abs(log_cdf[i] - log_alone[i]) <= 1e-15 * std::abs(log_alone[i]));
      RC_ASSERT(std::abs(ratio[i] - ratio_alone[i]) <= 1e-15 * ratio_alone[i]);
    }
  });
}

TEST(NormalProperty, BothSidesSumToOneAndTheDerivativeIsTheMillsRatio) {
  test::expect_property("Phi(t) + Phi(-t) = 1", [](std::uint64_t seed) {
    RandomStream stream(seed);
    const double t = 3 * stream.normal();
    RC_ASSERT(std::abs(std::exp(log_normal_cdf(t)) + std::exp(log_normal_cdf(-t)) - 1) < 1e-15);
    const double step = 1e-5;
    const double slope = (log_normal_cdf(t + step) - log_normal_cdf(t - step)) / (2 * step);
    RC_ASSERT(std::abs(slope - inverse_mills_ratio(t)) < 1e-9 * (1 + std::abs(t)));
  });
}

}  // namespace
}  // namespace desirepath::normal_test
