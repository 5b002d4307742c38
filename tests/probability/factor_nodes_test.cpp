#include "desirepath/probability/factor_nodes.h"

#include <gtest/gtest.h>

namespace desirepath::factor_nodes_test {
namespace {

TEST(FactorNodes, WeightsSumToOneAndNodesStandForThePrior) {
  const NodeSet nodes = prior_nodes(2, 4096, RandomStream(1));
  EXPECT_NEAR(nodes.log_weights.array().exp().sum(), 1, 1e-12);
  const Vector weights = nodes.log_weights.array().exp();
  EXPECT_LT((nodes.points.transpose() * weights).norm(), 2e-3);
  const Matrix second = nodes.points.transpose() * weights.asDiagonal() * nodes.points;
  EXPECT_LT((second - Matrix::Identity(2, 2)).norm(), 1e-2);
}

}  // namespace
}  // namespace desirepath::factor_nodes_test
