// Products of small tables with rows of beliefs, in whole packs of the machine: what passes over hidden trees are made
// of.
#pragma once

#include <algorithm>

#include "desirepath/core/types.h"
#include "desirepath/probability/normal_kernels.h"

namespace desirepath::inline emissions {

/// In the padding of logs: never the largest, and finite.
constexpr double nowhere = -1e300;
/// exp() of less than this is 0.
constexpr double vanishing = -700;
/// A product whose largest entry is below this may have lost others that matter.
constexpr double smallest_peak = 1e-200;

/// out_e = start + sum_z x_e[z] table.row(z), for four rows x_e at a time or one; each as if it were alone.
template <int count, int packs>
void multiply_tile(const double* table, Index states, Index stride, const double* const* x, const double* start,
                   double* const* out) {
  Pack sum[count][packs];
  for (int p = 0; p < packs; ++p) {
    for (int e = 0; e < count; ++e)
      sum[e][p] = load(start + p * pack_width);
  }
  for (Index z = 0; z < states; ++z) {
    const double* row = table + z * stride;
    Pack a[packs];
    for (int p = 0; p < packs; ++p)
      a[p] = load(row + p * pack_width);
    for (int e = 0; e < count; ++e) {
      const Pack factor = broadcast(x[e][z]);
      for (int p = 0; p < packs; ++p)
        sum[e][p] += factor * a[p];
    }
  }
  for (int e = 0; e < count; ++e) {
    for (int p = 0; p < packs; ++p)
      store(out[e] + p * pack_width, sum[e][p]);
  }
}

template <int count>
void multiply(const double* table, Index states, Index stride, const double* const* x, const double* start,
              double* const* out) {
  constexpr int widest = 4;
  for (Index begin = 0; begin < stride; begin += widest * pack_width) {
    double* targets[count];
    for (int e = 0; e < count; ++e)
      targets[e] = out[e] + begin;
    const Index packs = std::min<Index>(widest, (stride - begin) / pack_width);
    if (packs == 1) multiply_tile<count, 1>(table + begin, states, stride, x, start + begin, targets);
    if (packs == 2) multiply_tile<count, 2>(table + begin, states, stride, x, start + begin, targets);
    if (packs == 3) multiply_tile<count, 3>(table + begin, states, stride, x, start + begin, targets);
    if (packs == 4) multiply_tile<count, 4>(table + begin, states, stride, x, start + begin, targets);
  }
}

/// Rows first .. last-1 of x times a table of states by stride.
template <class Input, class Output>
void multiply_rows(const double* table, Index states, Index stride, std::size_t first, std::size_t last,
                   const double* start, const Input& x, const Output& out) {
  std::size_t e = first;
  for (; e + 4 <= last; e += 4) {
    const double* in[4] = {x(e), x(e + 1), x(e + 2), x(e + 3)};
    double* to[4] = {out(e), out(e + 1), out(e + 2), out(e + 3)};
    multiply<4>(table, states, stride, in, start, to);
  }
  for (; e < last; ++e) {
    const double* in[1] = {x(e)};
    double* to[1] = {out(e)};
    multiply<1>(table, states, stride, in, start, to);
  }
}

/// sums.row(z') += sum over four rows (or one) of weight_e[z'] x_e.
template <int count>
void add_products(double* sums, Index states, Index stride, const double* const* weight, const double* const* x) {
  for (Index begin = 0; begin < stride; begin += pack_width) {
    Pack right[count];
    for (int e = 0; e < count; ++e)
      right[e] = load(x[e] + begin);
    for (Index z = 0; z < states; ++z) {
      double* target = sums + z * stride + begin;
      Pack sum = load(target);
      for (int e = 0; e < count; ++e)
        sum += weight[e][z] * right[e];
      store(target, sum);
    }
  }
}

/// Halves at a time: comparisons do not wait for each other.
template <std::ptrdiff_t first = 0, std::ptrdiff_t count = pack_width>
double largest_lane(const Pack& pack) {
  if constexpr (count == 1) {
    return pack[first];
  } else {
    return std::max(largest_lane<first, count / 2>(pack), largest_lane<first + count / 2, count / 2>(pack));
  }
}

inline double largest_of(const double* values, Index stride) {
  Pack largest = load(values);
  for (Index z = pack_width; z < stride; z += pack_width)
    largest = larger(largest, load(values + z));
  return largest_lane(largest);
}

/// Shifts logs by their largest and exponentiates them; the padding becomes 0. Returns the shift.
inline double exponentiate(double* logs, Index states, Index stride) {
  const double shift = largest_of(logs, stride);
  for (Index z = 0; z < stride; z += pack_width) {
    const Pack x = load(logs + z) - shift;
    const Pack exponents = exponential(larger(x, broadcast(vanishing)), broadcast(0));
    store(logs + z, x > vanishing ? exponents : broadcast(0));
  }
  for (Index z = states; z < stride; ++z)
    logs[z] = 0;
  return shift;
}

}  // namespace desirepath::inline emissions
