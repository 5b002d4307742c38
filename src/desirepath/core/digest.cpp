#include "desirepath/core/digest.h"

#define XXH_INLINE_ALL
#include <array>

#include <xxhash.h>

namespace desirepath::inline core {

std::string Digest::hex() const {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::uint64_t word : {high, low}) {
    for (int shift = 60; shift >= 0; shift -= 4)
      text += digits[(word >> shift) & 15];
  }
  return text;
}

Digest digest_of(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

std::uint64_t hash_of(std::string_view text) {
  return XXH3_64bits(text.data(), text.size());
}

struct DigestBuilder::State {
  XXH3_state_t state;
};

DigestBuilder::DigestBuilder() : state_(new State) {
  XXH3_128bits_reset(&state_->state);
}
DigestBuilder::~DigestBuilder() = default;

void DigestBuilder::add(std::span<const std::byte> bytes) {
  XXH3_128bits_update(&state_->state, bytes.data(), bytes.size());
}

Digest DigestBuilder::finish() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->state);
  return {hash.high64, hash.low64};
}

}  // namespace desirepath::inline core
