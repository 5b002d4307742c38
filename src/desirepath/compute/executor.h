// Threads, so used that results never depend on how many there are.
//
// Work is cut into blocks by its size alone; a block is done by one thread; sums over blocks are taken in a tree that
// depends on the number of blocks alone. Same build and seed: same bits for any number of threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "desirepath/compute/statistics.h"
#include "desirepath/core/types.h"

namespace desirepath::inline compute {

/// Items first .. last-1.
struct Range {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t size() const { return last - first; }
};

class Executor {
 public:
  /// Told, on the calling thread, which share of a long piece of work is done.
  using Watch = std::function<void(double fraction)>;

  /// interrupt: where given and set, work stops with Interrupted before the next block.
  /// peers: those who learn with us; null: nobody.
  explicit Executor(int threads, const std::atomic<bool>* interrupt = nullptr, Watch watch = {},
                    const Peers* peers = nullptr);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  int threads() const;
  const std::atomic<bool>* interrupt() const { return interrupt_; }
  void check_interrupt() const;

  /// task(0) .. task(count-1), each once, on any thread; done when this returns. Of several exceptions the one of the
  /// lowest number is thrown. Called from inside a task it runs on the calling thread.
  void for_each(std::int64_t count, const std::function<void(std::int64_t)>& task) const;

  /// task over consecutive ranges of at most `block` items.
  void for_blocks(std::int64_t items, std::int64_t block, const std::function<void(Range)>& task) const;

  /// Sum over all items of a vector of `size` numbers: task adds its block's share to the zeros it is given.
  Vector sum_over(std::int64_t items, Index size, const std::function<void(Range, Vector&)>& task) const;

  /// What peers have counted is added; alone, the statistics stay as they are.
  void add_up(Statistics& statistics) const;
  int peer_count() const { return peers_ == nullptr ? 1 : peers_->count(); }
  /// Our number among them, from 0.
  int peer() const { return peers_ == nullptr ? 0 : peers_->number(); }

  /// give() names the next thing (nothing at the end), work(thing) makes something of it on any thread, take() gets
  /// these in the order of the things; neither give nor take is ever called twice at a time. What the first of them in
  /// that order throws is thrown here, after all things before it are taken. At most a few things per thread are under
  /// way.
  template <class Give, class Work, class Take>
  void ordered(Give give, Work work, Take take) const {
    using Thing = typename decltype(give())::value_type;
    struct Slot {
      std::optional<Thing> thing;
      std::optional<decltype(work(std::declval<Thing>()))> made;
    };
    std::vector<Slot> slots(most_under_way());
    run_ordered({[&](std::size_t slot) {
                   slots[slot].thing = give();
                   return slots[slot].thing.has_value();
                 },
                 [&](std::size_t slot) { slots[slot].made.emplace(work(*std::exchange(slots[slot].thing, {}))); },
                 [&](std::size_t slot) { take(*std::exchange(slots[slot].made, {})); }});
  }

 private:
  struct Pool;
  class OrderedWork;
  /// The steps of ordered(), each for the thing in a slot: whether there was one more, and what to do with it.
  struct OrderedSteps {
    std::function<bool(std::size_t slot)> give;
    std::function<void(std::size_t slot)> work, take;
  };
  std::size_t most_under_way() const { return 2 * static_cast<std::size_t>(threads()) + 1; }
  void run_ordered(const OrderedSteps& steps) const;
  /// task(0) .. task(count-1) on as many threads as there are.
  void run_tasks(std::int64_t count, const std::function<void(std::int64_t)>& task) const;

  std::unique_ptr<Pool> pool_;
  const std::atomic<bool>* interrupt_;
  Watch watch_;
  const Peers* peers_;
};

/// Items a block of sum_over holds: by the number of items alone, at most 256 blocks.
std::int64_t block_size(std::int64_t items);

}  // namespace desirepath::inline compute
