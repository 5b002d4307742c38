#include "desirepath/probability/factor_batch.h"

#include <cmath>
#include <thread>

#include "probability/orthant_truths.h"
#include "support/support.h"

#include "desirepath/core/error.h"

namespace desirepath {
namespace {

BinaryMatrix matrix(const std::vector<std::vector<Id>>& rows, Id columns) {
  BinaryMatrixBuilder builder(columns);
  for (const std::vector<Id>& row : rows) {
    for (const Id column : row)
      builder.add(column);
    builder.finish_row();
  }
  return std::move(builder).build();
}

TEST(FactorBatch, ScoresEveryStudent) {
  const test::RandomFactorProblem problem(30, 2, 0.7, 4);
  const ThresholdedFactors factors = problem.factors();
  std::vector<std::vector<Id>> taken, unknown;
  RandomStream stream(2);
  for (int n = 0; n < 600; ++n) {
    taken.emplace_back();
    unknown.emplace_back();
    for (Id j = 0; j < 30; ++j) {
      const double u = stream.uniform();
      if (u < 0.1) taken.back().push_back(j);
      if (u > 0.9) unknown.back().push_back(j);
    }
  }
  const BinaryMatrix taken_rows = matrix(taken, 30), unknown_rows = matrix(unknown, 30);
  const StudentSigns students{taken_rows, &unknown_rows};
  const Vector by_ep = log_probabilities_by_ep(factors, students);
  const std::vector<FactorEstimate> sampled =
      log_probabilities_by_sampling(factors, students, {128, 8}, RandomStream(3));
  for (const std::size_t n : {0UL, 77UL, 255UL, 256UL, 599UL}) {
    const double truth = test::quadrature_log_probability(factors, {taken[n], unknown[n]}, 0.1);
    EXPECT_NEAR(by_ep[static_cast<Index>(n)], truth, 0.01);
    EXPECT_NEAR(sampled[n].log_probability, truth, 6 * sampled[n].standard_error + 1e-9);
  }
  const ParallelFor backwards = [](std::int64_t count, const std::function<void(std::int64_t)>& body) {
    std::vector<std::jthread> threads;
    for (std::int64_t piece = count - 1; piece >= 0; --piece)
      threads.emplace_back([&body, piece] { body(piece); });
  };
  EXPECT_EQ(log_probabilities_by_ep(factors, students, backwards), by_ep);
  EXPECT_EQ(log_probabilities_by_sampling(factors, students, {128, 8}, RandomStream(3), backwards)[300].log_probability,
            sampled[300].log_probability);
}

TEST(FactorBatch, RefusesStudentsOfAnotherModel) {
  const ThresholdedFactors factors(Vector::Zero(3), RowMatrix::Zero(3, 1));
  const BinaryMatrix other = matrix({{0}}, 4), good = matrix({{0}}, 3), both = matrix({{0, 1}}, 3);
  const BinaryMatrix two = matrix({{1}, {2}}, 3);
  EXPECT_THROW(log_probabilities_by_ep(factors, {other}), InputError);
  EXPECT_THROW(log_probabilities_by_ep(factors, {good, &both}), InputError);
  EXPECT_THROW(log_probabilities_by_ep(factors, {good, &two}), InputError);
  const BinaryMatrix none = matrix({}, 3);
  EXPECT_EQ(log_probabilities_by_ep(factors, {none}).size(), 0);
}

}  // namespace
}  // namespace desirepath
