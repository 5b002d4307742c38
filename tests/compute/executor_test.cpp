#include "desirepath/compute/executor.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

#include "support/support.h"

#include "desirepath/core/error.h"

namespace desirepath {
namespace {

TEST(Executor, DoesEveryTaskOnce) {
  for (const int threads : {1, 2, 5}) {
    const Compute compute(threads);
    for (int round = 0; round < 50; ++round) {
      std::vector<int> done(1000, 0);
      compute.for_each(1000, [&](std::int64_t i) { ++done[static_cast<std::size_t>(i)]; });
      EXPECT_EQ(std::accumulate(done.begin(), done.end(), 0), 1000);
    }
  }
}

TEST(Executor, SumsAreTheSameForAnyNumberOfThreads) {
  const auto sum_with = [](int threads) {
    return Compute(threads).sum_over(100001, 2, [](Range range, Vector& sum) {
      for (std::int64_t i = range.first; i < range.last; ++i) {
        sum[0] += 1.0 / (1 + static_cast<double>(i));
        sum[1] += 1;
      }
    });
  };
  const Vector one = sum_with(1);
  EXPECT_EQ(one[1], 100001);
  for (const int threads : {2, 3, 7})
    EXPECT_EQ(sum_with(threads)[0], one[0]);
}

TEST(Executor, TellsOfLongWorkOnTheCallingThread) {
  for (const int threads : {1, 3}) {
    std::vector<double> told;
    const auto caller = std::this_thread::get_id();
    const Compute compute(threads, nullptr, [&](double fraction) {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      told.push_back(fraction);
    });
    compute.for_each(100, [](std::int64_t) {});
    EXPECT_TRUE(told.empty());  // short work is not worth a word
    compute.for_each(60, [&](std::int64_t) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20 * threads));
      compute.for_each(3, [](std::int64_t) {});  // part of the same work
    });
    ASSERT_GE(told.size(), 1U);
    EXPECT_LE(told.size(), 3U);
    EXPECT_TRUE(std::ranges::is_sorted(told));
    EXPECT_GT(told.front(), 0.1);
    EXPECT_LE(told.back(), 1);
  }
}

TEST(Executor, ThrowsTheFirstFailure) {
  const Compute compute(3);
  const std::string message = test::message_of<InputError>([&] {
    compute.for_each(100, [](std::int64_t i) {
      if (i >= 40) throw InputError(std::to_string(i));
    });
  });
  EXPECT_GE(std::stoi(message), 40);
  int after = 0;
  compute.for_each(10, [&](std::int64_t i) { after += i == 0 ? 1 : 0; });
  EXPECT_EQ(after, 1);
}

TEST(Executor, NestsAndCanBeInterrupted) {
  std::atomic<bool> interrupt = false;
  const Compute compute(2, &interrupt);
  std::atomic<int> count = 0;
  compute.for_each(4, [&](std::int64_t) { compute.for_each(5, [&](std::int64_t) { ++count; }); });
  EXPECT_EQ(count, 20);
  interrupt = true;
  EXPECT_THROW(compute.for_each(4, [](std::int64_t) {}), Interrupted);
}

}  // namespace
}  // namespace desirepath
