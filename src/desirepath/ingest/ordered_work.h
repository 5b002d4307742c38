// Work on one thing after the other by several threads, its results taken in the order of the things.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace desirepath::inline ingest {

/// give() names the next thing (nothing at the end), do_work(thing) makes something of it on any thread, take() gets
/// these in the order of the things; neither give nor take is ever called twice at a time. What the first of them in
/// that order throws is thrown here. At most a few things a thread are under way.
template <class Give, class Work, class Take>
class OrderedWork {
 public:
  OrderedWork(Give give, Work do_work, Take take)
      : give_(std::move(give)), do_work_(std::move(do_work)), take_(std::move(take)) {}

  void run(int threads) {
    most_under_way_ = 2 * static_cast<std::size_t>(threads) + 1;
    {
      std::vector<std::jthread> helpers;
      try {
        for (int t = 1; t < threads; ++t)
          helpers.emplace_back([this] { serve(); });
      } catch (const std::system_error&) {
        // The system gives no more threads: fewer do the same.
      }
      serve();
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  using Thing = typename decltype(std::declval<Give&>()())::value_type;
  using Made = decltype(std::declval<Work&>()(std::declval<Thing>()));
  struct Outcome {
    std::optional<Made> made;
    std::exception_ptr failure;
  };

  void serve() {
    while (true) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return is_over_ || (!is_giving_ && given_ - taken_ < most_under_way_); });
      if (is_over_) return;
      is_giving_ = true;
      const std::size_t number = given_;
      lock.unlock();
      Outcome outcome;
      std::optional<Thing> thing;
      try {
        thing = give_();
      } catch (...) {
        outcome.failure = std::current_exception();
      }
      lock.lock();
      is_giving_ = false;
      is_over_ = is_over_ || !thing;
      if (thing || outcome.failure) ++given_;
      changed_.notify_all();
      lock.unlock();
      if (!thing && !outcome.failure) return;
      try {
        if (thing) outcome.made.emplace(do_work_(std::move(*thing)));
      } catch (...) {
        outcome.failure = std::current_exception();
      }
      hand_in(number, std::move(outcome));
    }
  }

  /// Who hands in what is next takes all that is ready.
  void hand_in(std::size_t number, Outcome outcome) {
    std::unique_lock lock(mutex_);
    ready_.emplace(number, std::move(outcome));
    if (is_taking_) return;
    is_taking_ = true;
    while (!failure_ && !ready_.empty() && ready_.begin()->first == taken_) {
      Outcome next = std::move(ready_.begin()->second);
      ready_.erase(ready_.begin());
      lock.unlock();
      try {
        if (!next.failure) take_(std::move(*next.made));
      } catch (...) {
        next.failure = std::current_exception();
      }
      next.made.reset();
      lock.lock();
      ++taken_;
      if (next.failure) {
        failure_ = next.failure;
        is_over_ = true;
      }
      changed_.notify_all();
    }
    is_taking_ = false;
  }

  Give give_;
  Work do_work_;
  Take take_;
  std::size_t most_under_way_ = 1;
  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::size_t given_ = 0, taken_ = 0;
  bool is_giving_ = false, is_taking_ = false, is_over_ = false;
  std::map<std::size_t, Outcome> ready_;
  std::exception_ptr failure_;
};

/// task(first, last) over parts of 0 .. count, one a thread. What it throws is thrown here.
template <class Task>
void on_threads(int threads, std::size_t count, const Task& task) {
  constexpr std::size_t least = 4096;  // of which a thread is worth its start
  const std::size_t parts = std::clamp<std::size_t>(count / least, 1, static_cast<std::size_t>(threads));
  OrderedWork work([&, next = std::size_t{0}]() mutable { return next < parts ? std::optional(next++) : std::nullopt; },
                   [&](std::size_t part) {
                     task(count * part / parts, count * (part + 1) / parts);
                     return true;
                   },
                   [](bool) {});
  work.run(static_cast<int>(parts));
}

}  // namespace desirepath::inline ingest
