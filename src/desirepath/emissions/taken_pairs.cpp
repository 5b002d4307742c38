#include "desirepath/emissions/taken_pairs.h"

#include <algorithm>
#include <array>

namespace desirepath::inline emissions {

namespace {

constexpr Index widest = 32;

/// Lanes are worked on in fixed numbers, so that they stay in registers: the least of these that holds them.
Index width_for(Index lanes) {
  return lanes == 1 ? 1 : std::min(widest, (lanes + 3) / 4 * 4);
}

template <int Width>
using Lanes = Eigen::Array<double, Width, 1>;

template <int Width>
struct AddPairs {
  static void run(const StepRows& rows, Range range, const double* values, double* sums) {
    const Id bits = rows.bit_count();
    for (Id bit = 0; bit < bits; ++bit) {
      for (const ColumnEntry& entry : rows.column(bit, range.first, range.last)) {
        Eigen::Map<Lanes<Width>> sum(sums + (entry.row - range.first) * Width);
        Lanes<Width> total = sum;
        for (const Id other : rows.taken(entry.row).subspan(static_cast<std::size_t>(entry.place) + 1))
          total += Eigen::Map<const Lanes<Width>>(values + static_cast<Index>(other - bit - 1) * Width);
        sum = total;
      }
      values += static_cast<Index>(bits - bit - 1) * Width;
    }
  }
};

template <int Width>
struct SumPairs {
  static void run(const StepRows& rows, Range range, Id bit, const double* weights, double* slab) {
    for (const ColumnEntry& entry : rows.column(bit, range.first, range.last)) {
      const Lanes<Width> weight = Eigen::Map<const Lanes<Width>>(weights + std::ptrdiff_t{entry.row} * Width);
      for (const Id other : rows.taken(entry.row).subspan(static_cast<std::size_t>(entry.place)))
        Eigen::Map<Lanes<Width>>(slab + static_cast<Index>(other - bit) * Width) += weight;
    }
  }
};

template <template <int> class Kernel, class... Arguments>
void run_with(Index width, Arguments... arguments) {
  switch (width) {
    case 1:
      return Kernel<1>::run(arguments...);
    case 4:
      return Kernel<4>::run(arguments...);
    case 8:
      return Kernel<8>::run(arguments...);
    case 12:
      return Kernel<12>::run(arguments...);
    case 16:
      return Kernel<16>::run(arguments...);
    case 20:
      return Kernel<20>::run(arguments...);
    case 24:
      return Kernel<24>::run(arguments...);
    case 28:
      return Kernel<28>::run(arguments...);
    default:
      return Kernel<widest>::run(arguments...);
  }
}

}  // namespace

PairTable::PairTable(Id bits, Index lanes) : bits_(bits), lanes_(lanes) {
  for (Index first = 0; first < lanes; first += widest) {
    const Index count = std::min(widest, lanes - first), width = width_for(count);
    groups_.push_back({first, count, width, std::vector<double>(static_cast<std::size_t>(begin_of(bits) * width), 0)});
  }
}

double PairTable::byte_count() const {
  double bytes = 0;
  for (const Group& group : groups_)
    bytes += 8.0 * static_cast<double>(group.values.size());
  return bytes;
}

void PairTable::set(Id bit, Index lane, const double* values) {
  Group& group = groups_[static_cast<std::size_t>(lane / widest)];
  double* target = group.values.data() + begin_of(bit) * group.width + (lane - group.first);
  for (Id other = bit + 1; other < bits_; ++other, target += group.width)
    *target = *values++;
}

void PairTable::add_to(const StepRows& rows, Range range, Eigen::Ref<RowMatrix> sums) const {
  for (const Group& group : groups_) {
    std::vector<double> padded(static_cast<std::size_t>(range.size() * group.width), 0);
    run_with<AddPairs>(group.width, std::cref(rows), range, group.values.data(), padded.data());
    sums.middleCols(group.first, group.count) +=
        Eigen::Map<const RowMatrix>(padded.data(), range.size(), group.width).leftCols(group.count);
  }
}

std::vector<Matrix> pair_moments(const StepRows& rows, Range range, const RowMatrix& weights,
                                 const Executor& executor) {
  const Id bits = rows.bit_count();
  std::vector<Matrix> moments(static_cast<std::size_t>(weights.cols()), Matrix(bits, bits));
  for (Index first = 0; first < weights.cols(); first += widest) {
    const Index count = std::min(widest, weights.cols() - first), width = width_for(count);
    RowMatrix padded = RowMatrix::Zero(weights.rows(), width);
    padded.leftCols(count) = weights.middleCols(first, count);
    executor.for_blocks(bits, 4, [&](Range block) {
      std::vector<double> slab;
      for (auto bit = static_cast<Id>(block.first); bit < block.last; ++bit) {
        slab.assign(static_cast<std::size_t>((bits - bit) * width), 0);
        run_with<SumPairs>(width, std::cref(rows), range, bit, padded.data(), slab.data());
        for (Index lane = 0; lane < count; ++lane) {
          double* target = &moments[static_cast<std::size_t>(first + lane)](bit, bit);
          for (Id other = bit; other < bits; ++other)
            *target++ = slab[static_cast<std::size_t>((other - bit) * width + lane)];
        }
      }
    });
  }
  return moments;
}

}  // namespace desirepath::inline emissions
