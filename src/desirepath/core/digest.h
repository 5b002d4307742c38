// A 128-bit digest (XXH3) of bytes: tells damage and difference, is no defence against forgery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace desirepath::inline core {

struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  bool operator==(const Digest&) const = default;
  /// 32 lower-case hexadecimal digits.
  std::string hex() const;
};

Digest digest_of(std::span<const std::byte> bytes);
std::uint64_t hash_of(std::string_view text);

/// Digest of a sequence of pieces, for what is never in memory at once.
class DigestBuilder {
 public:
  DigestBuilder();
  ~DigestBuilder();
  DigestBuilder(const DigestBuilder&) = delete;
  DigestBuilder& operator=(const DigestBuilder&) = delete;
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  Digest finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace desirepath::inline core
