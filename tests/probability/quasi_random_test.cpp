#include "desirepath/probability/quasi_random.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <boost/random/sobol.hpp>

#include "support/support.h"

#include "desirepath/core/error.h"

namespace desirepath::quasi_random_test {
namespace {

std::vector<double> coordinates(const QuasiRandomPoints& points, Index dimension, std::int64_t count) {
  std::vector<double> u(static_cast<std::size_t>(count));
  points.uniform(dimension, 0, u);
  return u;
}

TEST(QuasiRandom, EveryDimensionIsStratified) {
  const QuasiRandomPoints points(3667, 256, RandomStream(3));
  for (const Index dimension : {0, 1, 2, 17, 400, 3666}) {
    std::vector<double> u = coordinates(points, dimension, 256);
    std::sort(u.begin(), u.end());
    for (std::size_t i = 0; i < 256; ++i)
      ASSERT_EQ(std::floor(u[i] * 256), static_cast<double>(i)) << dimension;
  }
}

// A scramble permutes elementary boxes, so the numbers of points in them must be those of the plain sequence.
TEST(QuasiRandom, BoxesHoldAsManyPointsAsThoseOfThePlainSequence) {
  constexpr std::int64_t count = 512;
  constexpr Index dimensions = 40;
  boost::random::sobol_engine<std::uint32_t, 32> plain(dimensions);
  std::vector<std::vector<double>> expected(dimensions, std::vector<double>(count, 0));
  for (std::size_t i = 1; i < count; ++i) {  // Boost leaves out the first point, the origin
    for (auto& dimension : expected)
      dimension[i] = plain() * 0x1p-32;
  }
  const QuasiRandomPoints points(dimensions, count, RandomStream(8));
  const auto box_counts = [](const std::vector<double>& u, const std::vector<double>& v, double rows, double columns) {
    std::map<std::pair<int, int>, int> boxes;
    for (std::size_t i = 0; i < u.size(); ++i)
      ++boxes[{static_cast<int>(u[i] * rows), static_cast<int>(v[i] * columns)}];
    std::vector<int> counts;
    for (const auto& [box, number] : boxes)
      counts.push_back(number);
    std::sort(counts.begin(), counts.end());
    return counts;
  };
  for (Index a = 0; a < dimensions; a += 3) {
    for (Index b = a + 1; b < dimensions; b += 5) {
      const auto u = coordinates(points, a, count);
      const auto v = coordinates(points, b, count);
      for (const int bits : {1, 3, 4, 7}) {
        const double rows = std::exp2(bits);
        EXPECT_EQ(box_counts(u, v, rows, count / rows),
                  box_counts(expected[static_cast<std::size_t>(a)], expected[static_cast<std::size_t>(b)], rows,
                             count / rows))
            << a << " " << b << " " << bits;
      }
    }
  }
}

TEST(QuasiRandom, PointsDoNotDependOnHowTheyAreAskedFor) {
  for (const Index dimensions : {5, 4000}) {
    const QuasiRandomPoints points(dimensions, 1000, RandomStream(4).child("x"));
    const std::vector<double> all = coordinates(points, 4, 1000);
    std::vector<double> part(77);
    points.uniform(4, 345, part);
    for (std::size_t i = 0; i < part.size(); ++i)
      EXPECT_EQ(part[i], all[345 + i]);
    // The dimension, not the number of dimensions, addresses the scramble.
    const Index more = dimensions + 4;
    EXPECT_EQ(coordinates(QuasiRandomPoints(more, 1000, RandomStream(4).child("x")), 4, 1000), all);
  }
}

// Means over scrambles are unbiased: 5 standard errors, once in 1.7 million seeds.
TEST(QuasiRandom, EachPointIsUniformAndTheMeanConvergesFast) {
  for (const Index dimensions : {6, 3700}) {
    double sum = 0, squares = 0, first_sum = 0;
    constexpr int scrambles = 200;
    for (std::uint64_t s = 0; s < scrambles; ++s) {
      const QuasiRandomPoints points(dimensions, 1024, RandomStream(s));
      std::vector<double> product(1024, 1);
      for (Index d = 0; d < 6; ++d) {
        const auto u = coordinates(points, d, 1024);
        for (std::size_t i = 0; i < u.size(); ++i) {
          ASSERT_TRUE(u[i] > 0 && u[i] < 1);
          product[i] *= 1 + (u[i] - 0.5);
        }
        if (d == 0) first_sum += u[0];
      }
      double mean = 0;
      for (const double p : product)
        mean += p / 1024;
      sum += mean - 1;
      squares += (mean - 1) * (mean - 1);
    }
    const double spread = std::sqrt(squares / scrambles);
    EXPECT_LT(std::abs(sum / scrambles), 5 * spread / std::sqrt(scrambles));
    EXPECT_NEAR(first_sum / scrambles, 0.5, 5 * std::sqrt(1.0 / 12 / scrambles));
    // Plain Monte Carlo would have 0.76/sqrt(1024) = 0.024.
    EXPECT_LT(spread, 0.004) << dimensions;
  }
}

TEST(QuasiRandom, NormalCoordinatesHaveTheirMoments) {
  const QuasiRandomPoints points(3, 4096, RandomStream(1));
  std::vector<double> z(4096);
  points.normal(2, 0, z);
  double sum = 0, squares = 0;
  for (const double value : z) {
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / 4096, 0, 1e-3);
  EXPECT_NEAR(squares / 4096, 1, 3e-3);
}

TEST(QuasiRandom, RefusesImpossibleCounts) {
  EXPECT_THROW(QuasiRandomPoints(3, 0, RandomStream(1)), OptionError);
  EXPECT_THROW(QuasiRandomPoints(3, (std::int64_t{1} << 32) + 1, RandomStream(1)), OptionError);
  EXPECT_EQ(QuasiRandomPoints(0, 1, RandomStream(1)).dimension_count(), 0);
  std::vector<double> one(1);
  QuasiRandomPoints(1, 1, RandomStream(1)).uniform(0, 0, one);
  EXPECT_TRUE(one[0] > 0 && one[0] < 1);
}

}  // namespace
}  // namespace desirepath::quasi_random_test
