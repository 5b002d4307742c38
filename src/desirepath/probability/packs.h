// Several doubles at once: a vector register of the machine the file is compiled for.
//
// Plain arithmetic and comparisons work lane by lane; `mask ? a : b` selects. The hot loops of the module are written
// with these, so that they are vectorised by every compiler and at every optimisation level alike, and a value never
// depends on its place in an array. Internal linkage (unnamed namespace), for sources only: a file compiled for
// another machine has packs of another width and must not share these functions.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace desirepath::inline probability {
namespace {

#if defined(__AVX512F__)
inline constexpr std::ptrdiff_t pack_width = 8;
#elif defined(__AVX__)
inline constexpr std::ptrdiff_t pack_width = 4;
#else
inline constexpr std::ptrdiff_t pack_width = 2;
#endif
inline constexpr std::size_t pack_bytes = pack_width * sizeof(double);

using Pack [[gnu::vector_size(pack_bytes)]] = double;
using PackBits [[gnu::vector_size(pack_bytes)]] = std::uint64_t;
using PackMask [[gnu::vector_size(pack_bytes)]] = std::int64_t;  // all ones where true

inline Pack broadcast(double value) {
  return Pack{} + value;
}

inline Pack load(const double* from) {
  Pack pack;
  std::memcpy(&pack, from, pack_bytes);
  return pack;
}

inline void store(double* to, const Pack& pack) {
  std::memcpy(to, &pack, pack_bytes);
}

inline Pack absolute(const Pack& value) {
  return __builtin_bit_cast(Pack, __builtin_bit_cast(PackBits, value) & 0x7fffffffffffffffULL);
}

inline Pack smaller(const Pack& a, const Pack& b) {
  return a < b ? a : b;
}

inline Pack larger(const Pack& a, const Pack& b) {
  return a > b ? a : b;
}

inline Pack square_root(const Pack& value) {
#if defined(__AVX512F__)
  return _mm512_sqrt_pd(value);
#elif defined(__AVX__)
  return _mm256_sqrt_pd(value);
#elif defined(__SSE2__)
  return _mm_sqrt_pd(value);
#else
  Pack root;
  for (std::ptrdiff_t lane = 0; lane < pack_width; ++lane)
    root[lane] = std::sqrt(value[lane]);
  return root;
#endif
}

inline bool any(const PackMask& mask) {
#if defined(__AVX512F__)
  return _mm512_test_epi64_mask(__builtin_bit_cast(__m512i, mask), __builtin_bit_cast(__m512i, mask)) != 0;
#elif defined(__AVX__)
  return _mm256_movemask_pd(__builtin_bit_cast(Pack, mask)) != 0;
#elif defined(__SSE2__)
  return _mm_movemask_pd(__builtin_bit_cast(Pack, mask)) != 0;
#else
  std::int64_t all = 0;
  for (std::ptrdiff_t lane = 0; lane < pack_width; ++lane)
    all |= mask[lane];
  return all != 0;
#endif
}

/// Sum over the lanes, first to last.
inline double sum(const Pack& pack) {
  double total = 0;
  for (std::ptrdiff_t lane = 0; lane < pack_width; ++lane)
    total += pack[lane];
  return total;
}

/// Applies an operation on packs to whole packs of an array. Not inlined: the one copy serves whole and filled packs.
template <class Operation>
[[gnu::noinline]] void for_whole_packs(std::size_t pack_count, const double* in, double* out, Operation operation) {
  for (std::size_t i = 0; i < pack_count * pack_width; i += pack_width)
    store(out + i, operation(load(in + i)));
}

/// The same for one value.
template <class Operation>
double for_one_value(double value, Operation operation) {
  double buffer[pack_width];
  store(buffer, broadcast(value));
  for_whole_packs(1, buffer, buffer, operation);
  return buffer[0];
}

/// The same for arrays of any length; the last, incomplete pack is filled up.
template <class Operation>
void for_each_pack(std::size_t count, const double* in, double* out, double filling, Operation operation) {
  const std::size_t whole = count / pack_width;
  for_whole_packs(whole, in, out, operation);
  const std::size_t begin = whole * pack_width;
  if (begin == count) return;
  double buffer[pack_width];
  store(buffer, broadcast(filling));
  std::memcpy(buffer, in + begin, (count - begin) * sizeof(double));
  for_whole_packs(1, buffer, buffer, operation);
  std::memcpy(out + begin, buffer, (count - begin) * sizeof(double));
}

}  // namespace
}  // namespace desirepath::inline probability
