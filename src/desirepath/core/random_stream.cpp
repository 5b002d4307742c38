#include "desirepath/core/random_stream.h"

#include <cmath>
#include <numbers>

#include <Random123/philox.h>

#include "desirepath/core/digest.h"

namespace desirepath::inline core {

namespace {

// The last counter word keeps draws, named children and numbered children apart.
enum Purpose : std::uint64_t { draw = 0, named_child = 1, numbered_child = 2, root = 3 };

std::array<std::uint64_t, 4> philox(const std::array<std::uint64_t, 2>& key, std::uint64_t c0, std::uint64_t c1,
                                    Purpose purpose) {
  const r123::Philox4x64::ctr_type counter = {{c0, c1, 0, purpose}};
  const r123::Philox4x64::key_type philox_key = {{key[0], key[1]}};
  const auto out = r123::Philox4x64()(counter, philox_key);
  return {out[0], out[1], out[2], out[3]};
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed) : key_{} {
  const auto mixed = philox({seed, 0}, 0, 0, root);
  key_ = {mixed[0], mixed[1]};
}

RandomStream RandomStream::child(std::string_view name) const {
  const Digest digest = digest_of(std::as_bytes(std::span(name)));
  const auto mixed = philox(key_, digest.high, digest.low, named_child);
  return {mixed[0], mixed[1]};
}

RandomStream RandomStream::child(std::uint64_t number) const {
  const auto mixed = philox(key_, number, 0, numbered_child);
  return {mixed[0], mixed[1]};
}

std::uint64_t RandomStream::bits() {
  if (buffered_ == 0) {
    buffer_ = philox(key_, block_++, 0, draw);
    buffered_ = 4;
  }
  return buffer_[static_cast<std::size_t>(4 - buffered_--)];
}

double RandomStream::uniform() {
  return static_cast<double>(bits() >> 11) * 0x1.0p-53;
}

double RandomStream::uniform_open() {
  return (static_cast<double>(bits() >> 12) + 0.5) * 0x1.0p-52;
}

double RandomStream::normal() {
  if (has_spare_normal_) {
    has_spare_normal_ = false;
    return spare_normal_;
  }
  const double radius = std::sqrt(-2 * std::log(uniform_open()));
  const double angle = 2 * std::numbers::pi * uniform();
  spare_normal_ = radius * std::sin(angle);
  has_spare_normal_ = true;
  return radius * std::cos(angle);
}

std::uint64_t RandomStream::below(std::uint64_t count) {
  // Rejects the last, incomplete run of the residues, so that each is as likely as every other.
  const std::uint64_t incomplete = -count % count;
  std::uint64_t drawn = bits();
  while (drawn < incomplete)
    drawn = bits();
  return drawn % count;
}

std::size_t RandomStream::categorical(std::span<const double> weights) {
  double total = 0;
  for (const double weight : weights)
    total += weight;
  double left = uniform() * total;
  std::size_t last_possible = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) continue;
    last_possible = i;
    left -= weights[i];
    if (left < 0) return i;
  }
  return last_possible;  // rounding left a crumb
}

}  // namespace desirepath::inline core
