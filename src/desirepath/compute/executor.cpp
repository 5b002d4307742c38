#include "desirepath/compute/executor.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "desirepath/core/available_memory.h"
#include "desirepath/core/error.h"

namespace desirepath::inline compute {

namespace {
thread_local bool inside_task = false;

/// Tells of one call's work, from the thread that called, twice a second at most and not of what is short.
class Teller {
 public:
  Teller(const Executor::Watch& watch, std::int64_t count) : watch_(watch), count_(count) {}
  void one_done() {
    const std::int64_t done = ++done_;
    if (std::this_thread::get_id() != caller_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + interval;
    watch_(static_cast<double>(done) / static_cast<double>(count_));
  }

 private:
  static constexpr std::chrono::milliseconds interval{500};
  const Executor::Watch& watch_;
  std::int64_t count_;
  std::thread::id caller_ = std::this_thread::get_id();
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + interval;
  std::atomic<std::int64_t> done_{0};
};

/// So many threads that half of the addresses is left for the work, where they have a limit: each takes some for its
/// stack, and for its heap when it first needs one, which may be later than anyone has looked at what is free.
std::size_t threads_with_room(int count) {
  if (count <= 1) return 0;
  constexpr double bytes_a_thread = 80 << 20;
  const auto wanted = static_cast<double>(count - 1);
  return static_cast<std::size_t>(std::min(wanted, addresses_left() / 2 / bytes_a_thread));
}

}  // namespace

struct Executor::Pool {
  explicit Pool(int count) {
    threads.reserve(static_cast<std::size_t>(count));
    // Where the system gives fewer, half of what it gives: the work needs room beside their stacks.
    for (std::size_t wanted = threads_with_room(count); wanted > 0;) {
      try {
        while (threads.size() < wanted)
          threads.emplace_back([this] { serve(); });
        return;
      } catch (const std::system_error&) {
        wanted = threads.size() / 2;
        stop();
      }
    }
  }
  ~Pool() { stop(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void stop() {
    {
      const std::lock_guard lock(mutex);
      closing = true;
    }
    wake.notify_all();
    for (std::thread& thread : threads)
      thread.join();
    threads.clear();
    closing = false;
  }

  struct Job {
    std::int64_t count = 0;
    const std::function<void(std::int64_t)>* task = nullptr;
    std::atomic<std::int64_t> next{0};
    std::atomic<bool> failed{false};
    std::mutex failure_mutex;
    std::int64_t failed_at = 0;
    std::exception_ptr failure;
  };

  static void work(Job& job) {
    inside_task = true;
    while (!job.failed.load(std::memory_order_relaxed)) {
      const std::int64_t number = job.next.fetch_add(1);
      if (number >= job.count) break;
      try {
        (*job.task)(number);
      } catch (...) {
        // Carried to the calling thread; of several, the first in order.
        const std::lock_guard lock(job.failure_mutex);
        if (!job.failure || number < job.failed_at) {
          job.failure = std::current_exception();
          job.failed_at = number;
        }
        job.failed = true;
      }
    }
    inside_task = false;
  }

  void serve() {
    std::unique_lock lock(mutex);
    std::uint64_t seen = 0;
    while (true) {
      wake.wait(lock, [&] { return closing || generation != seen; });
      if (closing) return;
      seen = generation;
      Job* job = current;
      if (job == nullptr) continue;
      ++busy;
      lock.unlock();
      work(*job);
      lock.lock();
      if (--busy == 0) idle.notify_all();
    }
  }

  void run(Job& job) {
    const std::lock_guard one_at_a_time(run_mutex);
    {
      const std::lock_guard lock(mutex);
      current = &job;
      ++generation;
    }
    wake.notify_all();
    work(job);
    std::unique_lock lock(mutex);
    current = nullptr;  // a thread that wakes late finds nothing to do
    idle.wait(lock, [&] { return busy == 0; });
  }

  std::vector<std::thread> threads;
  std::mutex mutex, run_mutex;
  std::condition_variable wake, idle;
  bool closing = false;
  std::uint64_t generation = 0;
  int busy = 0;
  Job* current = nullptr;
};

Executor::Executor(int threads, const std::atomic<bool>* interrupt, Watch watch, const Peers* peers)
    : pool_(std::make_unique<Pool>(std::max(1, threads))),
      interrupt_(interrupt),
      watch_(std::move(watch)),
      peers_(peers) {}
Executor::~Executor() = default;

int Executor::threads() const {
  return static_cast<int>(pool_->threads.size()) + 1;
}

void Executor::check_interrupt() const {
  if (interrupt_ != nullptr && interrupt_->load(std::memory_order_relaxed)) throw Interrupted("interrupted");
}

void Executor::for_each(std::int64_t count, const std::function<void(std::int64_t)>& task) const {
  std::optional<Teller> teller;
  if (watch_ && !inside_task) teller.emplace(watch_, count);
  const std::function<void(std::int64_t)> guarded = [&](std::int64_t number) {
    check_interrupt();
    task(number);
    if (teller) teller->one_done();
  };
  run_tasks(count, guarded);
}

void Executor::run_tasks(std::int64_t count, const std::function<void(std::int64_t)>& task) const {
  if (inside_task || threads() == 1 || count <= 1) {
    for (std::int64_t number = 0; number < count; ++number)
      task(number);
    return;
  }
  Pool::Job job;
  job.count = count;
  job.task = &task;
  pool_->run(job);
  if (job.failure) std::rethrow_exception(job.failure);
}

void Executor::for_blocks(std::int64_t items, std::int64_t block, const std::function<void(Range)>& task) const {
  for_each((items + block - 1) / block, [&](std::int64_t number) {
    task({number * block, std::min(items, (number + 1) * block)});
  });
}

std::int64_t block_size(std::int64_t items) {
  return std::max<std::int64_t>(512, (items + 255) / 256);
}

void Executor::add_up(Statistics& statistics) const {
  if (peers_ == nullptr) return;
  for (const std::span<double> numbers : statistics.numbers())
    peers_->add_up(numbers);
}

Vector Executor::sum_over(std::int64_t items, Index size, const std::function<void(Range, Vector&)>& task) const {
  const std::int64_t block = block_size(items);
  const std::int64_t blocks = std::max<std::int64_t>(1, (items + block - 1) / block);
  std::vector<Vector> sums(static_cast<std::size_t>(blocks));
  for_each(blocks, [&](std::int64_t number) {
    Vector& sum = sums[static_cast<std::size_t>(number)];
    sum.setZero(size);
    task({number * block, std::min(items, (number + 1) * block)}, sum);
  });
  for (std::size_t distance = 1; distance < sums.size(); distance *= 2) {
    for (std::size_t i = 0; i + distance < sums.size(); i += 2 * distance)
      sums[i] += sums[i + distance];
  }
  return std::move(sums[0]);
}

/// Every thread of the executor serves: it has the next thing given, works on it, and hands in what it made.
class Executor::OrderedWork {
 public:
  OrderedWork(const Executor& executor, const OrderedSteps& steps)
      : executor_(executor), steps_(steps), outcomes_(executor.most_under_way()) {}

  void serve() {
    while (true) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return is_over_ || (!is_giving_ && given_ - taken_ < outcomes_.size()); });
      if (is_over_) return;
      is_giving_ = true;
      const std::size_t slot = given_ % outcomes_.size();
      lock.unlock();
      Outcome outcome{/*is_ready=*/true, {}};
      bool is_more = false;
      try {
        executor_.check_interrupt();
        is_more = steps_.give(slot);
      } catch (...) {
        outcome.failure = std::current_exception();
      }
      lock.lock();
      is_giving_ = false;
      is_over_ = is_over_ || !is_more;
      if (is_more || outcome.failure) ++given_;
      changed_.notify_all();
      lock.unlock();
      if (!is_more && !outcome.failure) return;
      try {
        if (is_more) steps_.work(slot);
      } catch (...) {
        outcome.failure = std::current_exception();
      }
      hand_in(slot, std::move(outcome));
    }
  }

  void throw_failure() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  struct Outcome {
    bool is_ready = false;
    std::exception_ptr failure;
  };

  /// Whoever hands in what is next takes all that is ready.
  void hand_in(std::size_t slot, Outcome outcome) {
    std::unique_lock lock(mutex_);
    outcomes_[slot] = std::move(outcome);
    if (is_taking_) return;
    is_taking_ = true;
    while (!failure_) {
      const std::size_t next_slot = taken_ % outcomes_.size();
      if (!outcomes_[next_slot].is_ready) break;
      Outcome next = std::exchange(outcomes_[next_slot], {});
      lock.unlock();
      try {
        if (!next.failure) steps_.take(next_slot);
      } catch (...) {
        next.failure = std::current_exception();
      }
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

  const Executor& executor_;
  const OrderedSteps& steps_;
  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::vector<Outcome> outcomes_;  // by slot
  std::size_t given_ = 0, taken_ = 0;
  bool is_giving_ = false, is_taking_ = false, is_over_ = false;
  std::exception_ptr failure_;
};

void Executor::run_ordered(const OrderedSteps& steps) const {
  OrderedWork work(*this, steps);
  run_tasks(threads(), [&](std::int64_t) { work.serve(); });
  work.throw_failure();
}

}  // namespace desirepath::inline compute
