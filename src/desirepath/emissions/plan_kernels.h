// Products of a course's tables with rows of beliefs that lie one after the other: what passes over hidden trees spend
// their time on.
#pragma once

#include <algorithm>

#include "desirepath/emissions/pack_kernels.h"

namespace desirepath::inline emissions {
namespace {

/// Registers that what a tile sums up may take; the others hold what is multiplied.
inline constexpr int tile_registers = pack_width == 8 ? 16 : 8;
/// Packs of a row that are worked on together.
inline constexpr int widest_part = 4;
inline constexpr int lower_packs = 2;

constexpr int rows_in_tile(int registers, int packs) {
  return registers >= 8 * packs ? 8 : registers >= 4 * packs ? 4 : registers >= 2 * packs ? 2 : 1;
}

/// out_e = (start + sum_z x_e[z] table.row(z)) * factor, for `count` rows; x begins with the row, all else at the part
/// of the row.
template <int count, int packs>
void multiply_tile(const double* table, Index states, Index stride, const double* x, const double* start,
                   const double* factor, double* out) {
  Pack sum[count][packs];
  for (int p = 0; p < packs; ++p) {
    for (int e = 0; e < count; ++e)
      sum[e][p] = load(start + p * pack_width);
  }
  for (Index z = 0; z < states; ++z) {
    Pack a[packs];
    for (int p = 0; p < packs; ++p)
      a[p] = load(table + z * stride + p * pack_width);
    for (int e = 0; e < count; ++e) {
      const Pack scale = broadcast(x[e * stride + z]);
      for (int p = 0; p < packs; ++p)
        sum[e][p] += scale * a[p];
    }
  }
  for (int p = 0; p < packs; ++p) {
    const Pack scale = load(factor + p * pack_width);
    for (int e = 0; e < count; ++e)
      store(out + e * stride + p * pack_width, sum[e][p] * scale);
  }
}

template <int count, int packs>
void multiply_part(const double* table, Index states, Index stride, Index rows, const double* x, const double* start,
                   const double* factor, double* out) {
  for (; rows >= count; rows -= count, x += count * stride, out += count * stride)
    multiply_tile<count, packs>(table, states, stride, x, start, factor, out);
  if constexpr (count > 1) multiply_part<count / 2, packs>(table, states, stride, rows, x, start, factor, out);
}

/// out_e = (start + sum_z x_e[z] table.row(z)) * factor for `rows` rows. Upwards: table = A transposed, factor = one
/// over the baseline's message.
inline void multiply_rows(const double* table, Index states, Index stride, Index rows, const double* x,
                          const double* start, const double* factor, double* out) {
  for (Index at = 0; at < stride; at += widest_part * pack_width) {
    const auto part = [&]<int packs>() {
      multiply_part<rows_in_tile(tile_registers, packs), packs>(table + at, states, stride, rows, x, start + at,
                                                                factor + at, out + at);
    };
    const Index packs = std::min<Index>(widest_part, (stride - at) / pack_width);
    if (packs == 1) part.template operator()<1>();
    if (packs == 2) part.template operator()<2>();
    if (packs == 3) part.template operator()<3>();
    if (packs == 4) part.template operator()<4>();
  }
}

/// For `count` nodes: pairs.row(z') += sum_e g_e[z'] x_e, and x_e becomes x_e * sum_z' g_e[z'] table.row(z'). g begins
/// with the row, all else at the part of the row.
template <int count, int packs>
void lower_tile(const double* table, Index states, Index stride, const double* g, double* x, double* pairs) {
  Pack belief[count][packs], sum[count][packs];
  for (int e = 0; e < count; ++e) {
    for (int p = 0; p < packs; ++p) {
      belief[e][p] = load(x + e * stride + p * pack_width);
      sum[e][p] = broadcast(0);
    }
  }
  for (Index z = 0; z < states; ++z) {
    Pack a[packs], pair[packs];
    for (int p = 0; p < packs; ++p) {
      a[p] = load(table + z * stride + p * pack_width);
      pair[p] = load(pairs + z * stride + p * pack_width);
    }
    for (int e = 0; e < count; ++e) {
      const Pack scale = broadcast(g[e * stride + z]);
      for (int p = 0; p < packs; ++p) {
        sum[e][p] += scale * a[p];
        pair[p] += scale * belief[e][p];
      }
    }
    for (int p = 0; p < packs; ++p)
      store(pairs + z * stride + p * pack_width, pair[p]);
  }
  for (int e = 0; e < count; ++e) {
    for (int p = 0; p < packs; ++p)
      store(x + e * stride + p * pack_width, belief[e][p] * sum[e][p]);
  }
}

template <int count, int packs>
void lower_part(const double* table, Index states, Index stride, Index rows, const double* g, double* x,
                double* pairs) {
  for (; rows >= count; rows -= count, g += count * stride, x += count * stride)
    lower_tile<count, packs>(table, states, stride, g, x, pairs);
  if constexpr (count > 1) lower_part<count / 2, packs>(table, states, stride, rows, g, x, pairs);
}

/// Posteriors of `rows` nodes of a course into x, where their beliefs were, and the pairs of their states with those of
/// the parent, over A, added up. g: the parent's posterior over the node's message; table = A.
inline void lower(const double* table, Index states, Index stride, Index rows, const double* g, double* x,
                  double* pairs) {
  for (Index at = 0; at < stride; at += lower_packs * pack_width) {
    const auto part = [&]<int packs>() {
      lower_part<rows_in_tile(tile_registers / 2, packs), packs>(table + at, states, stride, rows, g, x + at,
                                                                 pairs + at);
    };
    const Index packs = std::min<Index>(lower_packs, (stride - at) / pack_width);
    if (packs == 1) part.template operator()<1>();
    if (packs == 2) part.template operator()<2>();
  }
}

}  // namespace
}  // namespace desirepath::inline emissions
