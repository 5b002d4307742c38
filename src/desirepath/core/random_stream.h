// Random numbers addressed by path: RandomStream(seed).child("start").child(restart).
//
// Counter-based (Philox 4x64-10 of Random123). The path decides the numbers, not the order of calls elsewhere,
// so results do not depend on threads or on what else was drawn.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace desirepath::inline core {

class RandomStream {
 public:
  explicit RandomStream(std::uint64_t seed);

  /// A stream of its own, independent of this one and of every other child. Does not advance this stream.
  RandomStream child(std::string_view name) const;
  RandomStream child(std::uint64_t number) const;

  std::uint64_t bits();
  /// In [0, 1), 53 random bits.
  double uniform();
  /// In (0, 1), never an end point: safe under logarithms and quantiles.
  double uniform_open();
  /// Standard normal.
  double normal();
  /// In 0 .. count-1, without bias; count > 0.
  std::uint64_t below(std::uint64_t count);
  bool bernoulli(double probability) { return uniform() < probability; }
  /// Index drawn with probability proportional to weights (non-negative, not all zero).
  std::size_t categorical(std::span<const double> weights);

 private:
  RandomStream(std::uint64_t key0, std::uint64_t key1) : key_{key0, key1} {}

  std::array<std::uint64_t, 2> key_;
  std::uint64_t block_ = 0;
  std::array<std::uint64_t, 4> buffer_{};
  int buffered_ = 0;
  double spare_normal_ = 0;
  bool has_spare_normal_ = false;
};

/// Fisher-Yates.
template <class Range>
void shuffle(Range& range, RandomStream& stream) {
  for (std::size_t left = range.size(); left > 1; --left) {
    using std::swap;
    swap(range[left - 1], range[static_cast<std::size_t>(stream.below(left))]);
  }
}

}  // namespace desirepath::inline core
