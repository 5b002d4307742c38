#include "desirepath/compute/executor.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <numbers>
#include <optional>
#include <thread>

#include "support/support.h"

#include "desirepath/core/error.h"

namespace desirepath::executor_test {
namespace {

TEST(Executor, DoesEveryTaskOnce) {
  for (const int threads : {1, 2, 5}) {
    const Executor executor(threads);
    for (int round = 0; round < 50; ++round) {
      // Atomic, or two threads that do the same task might count it once.
      std::vector<std::atomic<int>> done(1000);
      executor.for_each(1000, [&](std::int64_t i) { ++done[static_cast<std::size_t>(i)]; });
      EXPECT_EQ(std::count(done.begin(), done.end(), 1), 1000) << threads << " threads";
    }
  }
}

TEST(Executor, BlocksHoldEveryItemOnceAndAreNoLonger) {
  for (const int threads : {1, 3}) {
    const Executor executor(threads);
    for (const std::int64_t items : {0, 1, 7, 8, 9, 100}) {
      std::vector<std::atomic<int>> done(static_cast<std::size_t>(items));
      std::atomic<int> blocks = 0;
      executor.for_blocks(items, 8, [&](Range range) {
        ++blocks;
        EXPECT_GT(range.size(), 0);
        EXPECT_LE(range.size(), 8);
        EXPECT_EQ(range.first % 8, 0);
        for (std::int64_t i = range.first; i < range.last; ++i)
          ++done.at(static_cast<std::size_t>(i));
      });
      EXPECT_EQ(std::count(done.begin(), done.end(), 1), items);
      EXPECT_EQ(blocks, (items + 7) / 8);
    }
  }
}

TEST(Executor, SumsAreTheSameForAnyNumberOfThreads) {
  const auto sum_with = [](int threads) {
    return Executor(threads).sum_over(100001, 3, [](Range range, Vector& sum) {
      for (std::int64_t i = range.first; i < range.last; ++i) {
        const auto value = static_cast<double>(i);
        sum[0] += 1.0 / (1 + value);
        sum[1] += 1;
        sum[2] += value * value;
      }
    });
  };
  const Vector one = sum_with(1);
  // 1 + 1/2 + ... + 1/n = log n + 0.5772... + 1/(2n) - ...
  EXPECT_NEAR(one[0], std::log(100001.0) + std::numbers::egamma + 0.5 / 100001, 1e-9);
  EXPECT_EQ(one[1], 100001);
  EXPECT_EQ(one[2], 333338333350000);  // n (n + 1) (2 n + 1) / 6, whole numbers: exact
  for (const int threads : {2, 3, 7})
    EXPECT_EQ(sum_with(threads), one) << threads << " threads";
  EXPECT_EQ(Executor(3).sum_over(0, 2, [](Range, Vector&) {}), Vector::Zero(2));
}

TEST(Executor, TellsOfLongWorkOnTheCallingThread) {
  for (const int threads : {1, 3}) {
    std::vector<double> disclosed;
    const auto caller = std::this_thread::get_id();
    const Executor executor(threads, nullptr, [&](double fraction) {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      disclosed.push_back(fraction);
    });
    executor.for_each(100, [](std::int64_t) {});
    EXPECT_TRUE(disclosed.empty());  // short work is not worth a word
    executor.for_each(60, [&](std::int64_t) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20 * threads));
      executor.for_each(3, [](std::int64_t) {});  // part of the same work
    });
    ASSERT_GE(disclosed.size(), 1U);
    EXPECT_LE(disclosed.size(), 3U);
    EXPECT_TRUE(std::ranges::is_sorted(disclosed));
    EXPECT_GT(disclosed.front(), 0.1);
    EXPECT_LE(disclosed.back(), 1);
  }
}

TEST(Executor, ThrowsTheFirstFailure) {
  for (const int threads : {1, 2, 3, 5}) {
    const Executor executor(threads);
    for (int round = 0; round < 20; ++round) {
      std::vector<std::atomic<int>> done(100);
      const std::string number = test::message_of<InputError>([&] {
        executor.for_each(100, [&](std::int64_t i) {
          ++done[static_cast<std::size_t>(i)];
          // The first to fail takes its time: the others have failed before it does.
          if (i == 40 && round % 4 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
          if (i >= 40) throw InputError(std::to_string(i));
        });
      });
      EXPECT_EQ(number, "40") << threads << " threads";
      // All before it were done, once, and every other thread fails once at most.
      EXPECT_EQ(std::count(done.begin(), done.begin() + 41, 1), 41);
      EXPECT_LE(std::count(done.begin() + 41, done.end(), 1), threads - 1);
      // The threads are there for what comes next.
      std::atomic<int> after = 0;
      executor.for_each(10, [&](std::int64_t) { ++after; });
      EXPECT_EQ(after, 10);
    }
  }
}

TEST(Executor, NestsAndCanBeInterrupted) {
  std::atomic<bool> interrupt = false;
  const Executor executor(2, &interrupt);
  std::atomic<int> count = 0;
  executor.for_each(4, [&](std::int64_t) { executor.for_each(5, [&](std::int64_t) { ++count; }); });
  EXPECT_EQ(count, 20);
  interrupt = true;
  EXPECT_THROW(executor.for_each(4, [&](std::int64_t) { ++count; }), Interrupted);
  EXPECT_EQ(count, 20);  // nothing is begun any more
  interrupt = false;
  executor.for_each(4, [&](std::int64_t) { ++count; });
  EXPECT_EQ(count, 24);
}

std::optional<int> up_to(int& next, int end) {
  return next < end ? std::optional(next++) : std::nullopt;
}

TEST(Executor, TakesInOrderForAnyNumberOfThreads) {
  for (const int threads : {1, 2, 3, 7}) {
    const Executor executor(threads);
    int next = 0;
    std::atomic<int> under_way = 0;
    int most = 0;
    std::vector<int> taken;
    const auto give = [&] {
      most = std::max(most, ++under_way);
      return up_to(next, 500);
    };
    const auto square = [](int thing) { return std::make_unique<int>(thing * thing); };
    const auto take = [&](std::unique_ptr<int> made) {
      --under_way;
      taken.push_back(*made);
    };
    executor.ordered(give, square, take);
    ASSERT_EQ(taken.size(), 500U);
    for (int i = 0; i < 500; ++i)
      EXPECT_EQ(taken[static_cast<std::size_t>(i)], i * i);
    EXPECT_LE(most, 2 * threads + 2);
    // From inside a task, by one thread.
    next = under_way = 0;
    taken.clear();
    executor.for_each(1, [&](std::int64_t) { executor.ordered(give, square, take); });
    EXPECT_EQ(taken.size(), 500U);
  }
}

TEST(Executor, OrderedWorkIsDoneByAllThreads) {
  const Executor executor(3);
  ASSERT_EQ(executor.threads(), 3);
  std::atomic<int> at_work = 0;
  int next = 0;
  // Each waits for the others: none would end if they came one after the other.
  executor.ordered([&] { return up_to(next, 3); },
                   [&](int thing) {
                     ++at_work;
                     while (at_work < 3)
                       std::this_thread::yield();
                     return thing;
                   },
                   [](int) {});
  EXPECT_EQ(at_work, 3);
}

TEST(Executor, OrderedWorkThrowsWhatTheFirstInOrderThrew) {
  for (const int threads : {1, 2, 7}) {
    const Executor executor(threads);
    for (const char* place : {"give", "work", "take"}) {
      int next = 0;
      std::vector<int> taken;
      const auto fail = [&](const char* where, int thing) {
        if (std::string(place) == where && thing >= 40) throw InputError(std::to_string(thing));
      };
      const auto ordered = [&] {
        executor.ordered(
            [&] {
              fail("give", next);
              return up_to(next, 200);
            },
            [&](int thing) {
              fail("work", thing);
              return thing;
            },
            [&](int made) {
              fail("take", made);
              taken.push_back(made);
            });
      };
      EXPECT_EQ(test::message_of<InputError>(ordered), "40") << place;
      EXPECT_EQ(taken.size(), 40U) << place;
    }
  }
}

TEST(Executor, OrderedWorkCanBeInterrupted) {
  for (const int threads : {1, 3}) {
    std::atomic<bool> interrupt = false;
    const Executor executor(threads, &interrupt);
    int next = 0, taken = 0;
    EXPECT_THROW(executor.ordered([&] { return up_to(next, 100'000); }, [](int thing) { return thing; },
                                  [&](int made) {
                                    ++taken;
                                    if (made == 10) interrupt = true;
                                  }),
                 Interrupted);
    EXPECT_GT(taken, 10);  // what was begun before is taken
    EXPECT_LT(taken, 100'000);
  }
}

}  // namespace
}  // namespace desirepath::executor_test
