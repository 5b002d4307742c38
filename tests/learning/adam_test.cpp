#include "desirepath/learning/adam.h"

#include "support/support.h"

#include "desirepath/core/random_stream.h"

namespace desirepath::adam_test {
namespace {

TEST(Adam, FirstStepIsTheRateInTheDirectionOfEachSign) {
  Adam adam(3, {.rate = 0.1});
  Vector parameters = Vector::Zero(3), gradient(3);
  gradient << 1000, -1e-3, 0;
  adam.ascend(gradient, parameters);
  EXPECT_NEAR(parameters[0], 0.1, 1e-9);
  EXPECT_NEAR(parameters[1], -0.1, 1e-5);
  EXPECT_EQ(parameters[2], 0);
}

TEST(Adam, FindsTheTopOfAQuadraticOfUnequalScales) {
  Vector top(4), curvature(4);
  top << 1, -2, 0.5, 3;
  curvature << 100, 1, 0.01, 10;
  Adam exact(4, {.rate = 0.02});
  Vector parameters = Vector::Zero(4);
  for (int step = 0; step < 3000; ++step)
    exact.ascend(curvature.cwiseProduct(top - parameters), parameters);
  EXPECT_LT((parameters - top).cwiseAbs().maxCoeff(), 1e-3);

  // Noise as large as the slope at the start leaves it within a few steps' length.
  Adam noisy(4, {.rate = 0.005});
  RandomStream stream(1);
  parameters.setZero();
  for (int step = 0; step < 6000; ++step) {
    Vector gradient = curvature.cwiseProduct(top - parameters);
    for (Index i = 0; i < 4; ++i)
      gradient[i] += curvature[i] * stream.normal();
    noisy.ascend(gradient, parameters);
  }
  EXPECT_LT((parameters - top).cwiseAbs().maxCoeff(), 0.25);
}

}  // namespace
}  // namespace desirepath::adam_test
