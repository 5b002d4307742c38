#include "desirepath/probability/bivariate_normal.h"

#include <cmath>
#include <numbers>

#include "support/support.h"

#include "desirepath/core/random_stream.h"
#include "desirepath/core/types.h"
#include "desirepath/probability/normal.h"

namespace desirepath::bivariate_normal_test {
namespace {

struct KnownValue {
  double h;
  double k;
  double correlation;
  double cdf;
};

// Computed with 30 digits.
constexpr KnownValue known_values[] = {
    {0.0, 0.0, 0.5, 0.333333333333333333},       {-2.0, -2.0, 0.6, 0.00549997597713619294},
    {-2.0, -1.0, 0.3, 0.00868789741471930582},   {1.0, -1.0, -0.7, 0.0746758723058086247},
    {0.5, 1.5, 0.9, 0.690985672371337269},       {-1.0, 0.3, 0.95, 0.158654733134248631},
    {-2.3, -2.1, 0.97, 0.00972698380713873534},  {1.2, -0.4, -0.95, 0.229676540142253338},
    {-1.0, -1.1, 0.99, 0.131077345682611312},    {-0.2, 0.1, -0.99, 0.00788637258391809782},
    {-3.5, -4.0, 0.8, 0.0000133556140205643539}, {-6.0, -5.0, 0.5, 1.34331873976726013e-11},
    {0.4, 0.4, 0.999, 0.648850885211992111},     {2.0, -3.0, 0.93, 0.00134989803163009453},
};

TEST(BivariateNormal, AgreesWithKnownValues) {
  for (const KnownValue& known : known_values) {
    EXPECT_NEAR(bivariate_normal_cdf(known.h, known.k, known.correlation), known.cdf, 2e-16 + 1e-14 * known.cdf)
        << known.h << " " << known.k << " " << known.correlation;
  }
}

TEST(BivariateNormal, HasItsLimits) {
  EXPECT_NEAR(bivariate_normal_cdf(0.3, -0.2, 1), normal_cdf(-0.2), 1e-16);
  EXPECT_NEAR(bivariate_normal_cdf(0.3, 0.2, -1), normal_cdf(0.3) - normal_cdf(-0.2), 1e-16);
  EXPECT_EQ(bivariate_normal_cdf(-1, -1, -1), 0);
  EXPECT_EQ(bivariate_normal_cdf(infinity, 0.7, 0.4), normal_cdf(0.7));
  EXPECT_EQ(bivariate_normal_cdf(-infinity, 0.7, 0.4), 0);
}

TEST(BivariateNormalProperty, QuadrantsSumToOneAndTheCentreIsTheArcsine) {
  test::expect_property("four quadrants", [](std::uint64_t seed) {
    RandomStream stream(seed);
    const double h = 1.5 * stream.normal();
    const double k = 1.5 * stream.normal();
    const double r = 2 * stream.uniform_open() - 1;
    const double total = bivariate_normal_cdf(h, k, r) + bivariate_normal_cdf(-h, k, -r) +
                         bivariate_normal_cdf(h, -k, -r) + bivariate_normal_cdf(-h, -k, r);
    RC_ASSERT(std::abs(total - 1) < 1e-14);
    RC_ASSERT(std::abs(bivariate_normal_cdf(0, 0, r) - (0.25 + std::asin(r) / (2 * std::numbers::pi))) < 1e-14);
  });
}

TEST(BivariateNormalProperty, TheTetrachoricCorrelationInvertsIt) {
  test::expect_property("tetrachoric", [](std::uint64_t seed) {
    RandomStream stream(seed);
    const double h = -1 + stream.normal();
    const double k = -1 + stream.normal();
    const double r = 1.98 * stream.uniform_open() - 0.99;
    const double both = bivariate_normal_cdf(h, k, r);
    const double found = tetrachoric_correlation(h, k, both);
    // Only the probability is pinned where the correlation hardly moves it.
    RC_ASSERT(std::abs(bivariate_normal_cdf(h, k, found) - both) <= 1e-15 + 1e-13 * both);
    const double sensitivity = bivariate_normal_density(h, k, r);
    if (sensitivity > 1e-4) RC_ASSERT(std::abs(found - r) < 1e-10);
  });
  EXPECT_EQ(tetrachoric_correlation(-1, -1, normal_cdf(-1)), 1);
  EXPECT_EQ(tetrachoric_correlation(-1, -1, 0), -1);
  EXPECT_EQ(tetrachoric_correlation(-1, -1, 0.7), 1);
}

}  // namespace
}  // namespace desirepath::bivariate_normal_test
