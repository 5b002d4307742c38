#include "desirepath/core/random_stream.h"

#include <array>
#include <cmath>
#include <map>
#include <set>

#include "support/support.h"

namespace desirepath::random_stream_test {
namespace {

TEST(RandomStream, ThePathDecidesTheNumbers) {
  RandomStream a = RandomStream(7).child("start").child(3);
  RandomStream parent(7);
  parent.bits();
  RandomStream b = parent.child("start").child(3);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(a.bits(), b.bits());
}

TEST(RandomStream, PathsDoNotMeet) {
  std::set<std::uint64_t> seen;
  const RandomStream root(1);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    seen.insert(root.child(i).bits());
    seen.insert(root.child(std::to_string(i)).bits());
    seen.insert(root.child("x").child(i).bits());
    seen.insert(RandomStream(i).bits());
  }
  EXPECT_EQ(seen.size(), 4000U);
}

TEST(RandomStream, StaysTheSameInEveryVersion) {
  // Kept results (same seed, same bytes) rest on these.
  RandomStream stream = RandomStream(42).child("a").child(1);
  const std::array<std::uint64_t, 3> drawn = {stream.bits(), stream.bits(), stream.bits()};
  EXPECT_EQ(drawn,
            (std::array<std::uint64_t, 3>{17499645768622474262ULL, 18361597265647995923ULL, 12049641257028978399ULL}));
}

// Each statistical check below is 5 standard errors wide: it fails by chance once in 1.7 million seeds; the seed is
// fixed.
TEST(RandomStream, UniformAndNormalHaveTheirMoments) {
  RandomStream stream(5);
  constexpr int count = 200000;
  double sum = 0, squares = 0, products = 0, before = 0, normal_sum = 0, normal_squares = 0, normal_fourth = 0;
  for (int i = 0; i < count; ++i) {
    const double u = stream.uniform();
    ASSERT_TRUE(u >= 0 && u < 1);
    sum += u;
    squares += (u - 0.5) * (u - 0.5);
    products += (u - 0.5) * before;
    before = u - 0.5;
    const double z = stream.normal();
    normal_sum += z;
    normal_squares += z * z;
    normal_fourth += z * z * z * z;
  }
  EXPECT_NEAR(sum / count, 0.5, 5 * std::sqrt(1.0 / 12 / count));
  EXPECT_NEAR(squares / count, 1.0 / 12, 5 * std::sqrt(1.0 / 180 / count));
  EXPECT_NEAR(products / count, 0, 5.0 / 12 / std::sqrt(count));  // one after the other
  EXPECT_NEAR(normal_sum / count, 0, 5 / std::sqrt(count));
  EXPECT_NEAR(normal_squares / count, 1, 5 * std::sqrt(2.0 / count));
  EXPECT_NEAR(normal_fourth / count, 3, 5 * std::sqrt(96.0 / count));
}

TEST(RandomStream, BelowAndCategoricalFollowTheirWeights) {
  RandomStream stream(6);
  constexpr int count = 60000;
  std::array<int, 6> dice{};
  std::array<int, 4> picks{};
  const std::array<double, 4> weights = {1, 0, 3, 2};
  for (int i = 0; i < count; ++i) {
    ++dice[stream.below(6)];
    ++picks[stream.categorical(weights)];
  }
  for (const int face : dice)
    EXPECT_NEAR(face, count / 6.0, 5 * std::sqrt(count * 5.0 / 36));
  EXPECT_EQ(picks[1], 0);
  for (const std::size_t pick : {0U, 2U, 3U}) {
    const double share = weights[pick] / 6;
    EXPECT_NEAR(picks[pick], count * share, 5 * std::sqrt(count * share * (1 - share))) << pick;
  }
}

TEST(RandomStream, BelowLeavesNoRemainderOver) {
  // Three quarters of all numbers there are: a remainder would fall into the lowest third a second time.
  constexpr std::uint64_t quarter = std::uint64_t{1} << 62;
  RandomStream stream(8);
  constexpr int count = 30000;
  int low = 0;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t drawn = stream.below(3 * quarter);
    ASSERT_LT(drawn, 3 * quarter);
    low += drawn < quarter ? 1 : 0;
  }
  EXPECT_NEAR(low, count / 3.0, 5 * std::sqrt(count * 2.0 / 9));
}

TEST(RandomStream, BernoulliAndShufflesFollowTheirProbabilities) {
  RandomStream stream(7);
  constexpr int count = 60000;
  for (const double p : {0.0, 0.03, 0.5, 0.97, 1.0}) {
    int taken = 0;
    for (int i = 0; i < count; ++i)
      taken += stream.bernoulli(p) ? 1 : 0;
    EXPECT_NEAR(taken, count * p, 5 * std::sqrt(count * p * (1 - p))) << p;
  }
  std::map<std::vector<int>, int> orders;
  for (int i = 0; i < count; ++i) {
    std::vector<int> order = {0, 1, 2, 3};
    shuffle(order, stream);
    ++orders[order];
  }
  EXPECT_EQ(orders.size(), 24U);
  for (const auto& [order, times] : orders)
    EXPECT_NEAR(times, count / 24.0, 5 * std::sqrt(count * 23.0 / 24 / 24));
}

TEST(RandomStreamProperty, ShuffleKeepsTheElements) {
  test::expect_property("a shuffle is a permutation", [](std::vector<int> values, std::uint64_t seed) {
    std::vector<int> shuffled = values;
    RandomStream stream(seed);
    shuffle(shuffled, stream);
    std::sort(values.begin(), values.end());
    std::sort(shuffled.begin(), shuffled.end());
    RC_ASSERT(values == shuffled);
  });
}

}  // namespace
}  // namespace desirepath::random_stream_test
