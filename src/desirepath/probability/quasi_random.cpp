#include "desirepath/probability/quasi_random.h"

#include <array>
#include <bit>
#include <cmath>

#include <boost/random/sobol.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/probability/normal.h"

namespace desirepath::inline probability {

namespace {

using SobolTable = boost::random::default_sobol_table;
constexpr int max_columns = 32;
constexpr std::size_t run_length = 64;  // points made together

/// Direction numbers of one dimension, first binary digit in the highest bit (Bratley and Fox, section 2).
std::array<std::uint64_t, max_columns> direction_numbers(Index dimension, int column_count) {
  std::array<std::uint64_t, max_columns> columns{};
  if (dimension == 0) {
    for (int j = 0; j < column_count; ++j)
      columns[static_cast<std::size_t>(j)] = 1ULL << (63 - j);
    return columns;
  }
  const auto row = static_cast<std::size_t>(dimension - 1);
  const std::uint64_t polynomial = SobolTable::polynomial(row);
  const int degree = std::bit_width(polynomial) - 1;
  for (int j = 0; j < column_count; ++j) {
    std::uint64_t& column = columns[static_cast<std::size_t>(j)];
    if (j < degree) {
      column = static_cast<std::uint64_t>(SobolTable::minit(row, static_cast<std::size_t>(j))) << (63 - j);
      continue;
    }
    const std::uint64_t oldest = columns[static_cast<std::size_t>(j - degree)];
    column = oldest ^ (oldest >> degree);
    for (int k = 1; k < degree; ++k) {
      if ((polynomial >> (degree - k)) & 1) column ^= columns[static_cast<std::size_t>(j - k)];
    }
  }
  return columns;
}

/// The product of a random unit lower triangular matrix with each column.
void scramble(std::span<std::uint64_t> columns, RandomStream& stream) {
  std::array<std::uint64_t, max_columns> factor;
  for (std::size_t digit = 0; digit < columns.size(); ++digit) {
    const std::uint64_t diagonal = 1ULL << (63 - digit);
    factor[digit] = diagonal | (stream.bits() & (diagonal - 1));
  }
  for (std::uint64_t& column : columns) {
    std::uint64_t left = column;
    column = 0;
    while (left != 0) {
      const int digit = std::countl_zero(left);
      column ^= factor[static_cast<std::size_t>(digit)];
      left &= ~(1ULL << (63 - digit));
    }
  }
}

std::vector<std::uint64_t> first_primes(std::size_t count) {
  std::vector<std::uint64_t> primes;
  for (std::uint64_t candidate = 2; primes.size() < count; ++candidate) {
    bool prime = true;
    for (const std::uint64_t divisor : primes) {
      if (divisor * divisor > candidate) break;
      if (candidate % divisor == 0) {
        prime = false;
        break;
      }
    }
    if (prime) primes.push_back(candidate);
  }
  return primes;
}

/// 52 leading bits as a double strictly inside (0, 1): mantissa of a number in [1, 2), less 1, plus half a unit.
double to_unit(std::uint64_t bits) {
  return std::bit_cast<double>((bits >> 12) | 0x3ff0000000000000ULL) - (1 - 0x1p-53);
}

}  // namespace

QuasiRandomPoints::QuasiRandomPoints(Index dimension_count, std::int64_t point_count, const RandomStream& stream)
    : point_count_(point_count), shift_(static_cast<std::size_t>(dimension_count)) {
  if (point_count < 1 || point_count > (std::int64_t{1} << max_columns)) {
    throw OptionError(concat("quasi-random points: ", point_count, " asked for; the range is 1 to 2^32"));
  }
  const bool sobol = dimension_count <= static_cast<Index>(SobolTable::max_dimension);
  if (sobol) {
    column_count_ = std::bit_width(static_cast<std::uint64_t>(point_count - 1));
    columns_.resize(shift_.size() * static_cast<std::size_t>(column_count_));
  } else {
    steps_ = first_primes(shift_.size());
    for (std::uint64_t& step : steps_) {
      const long double root = std::sqrt(static_cast<long double>(step));
      step = static_cast<std::uint64_t>((root - std::floor(root)) * 0x1p64L);
    }
  }
  for (std::size_t dimension = 0; dimension < shift_.size(); ++dimension) {
    RandomStream own = stream.child(dimension);
    shift_[dimension] = own.bits();
    if (!sobol || column_count_ == 0) continue;
    auto columns = direction_numbers(static_cast<Index>(dimension), column_count_);
    scramble(std::span(columns).first(static_cast<std::size_t>(column_count_)), own);
    std::copy_n(columns.begin(), column_count_,
                columns_.begin() + static_cast<std::ptrdiff_t>(dimension) * column_count_);
  }
}

void QuasiRandomPoints::uniform(Index dimension, std::int64_t first, std::span<double> coordinates) const {
  const auto row = static_cast<std::size_t>(dimension);
  auto number = static_cast<std::uint64_t>(first);
  if (!steps_.empty()) {
    std::uint64_t position = shift_[row] + number * steps_[row];
    for (double& coordinate : coordinates) {
      // The tent |2u - 1| makes the integrand periodic; folding the top bit away is the same map.
      coordinate = to_unit((position << 1) ^ (0 - (position >> 63)));
      position += steps_[row];
    }
    return;
  }
  const std::uint64_t* columns = columns_.data() + row * static_cast<std::size_t>(column_count_);
  std::size_t done = 0;
  while (done < coordinates.size()) {
    // As many points as share the higher bits of their number: the first by all its bits, the others by doubling.
    std::array<std::uint64_t, run_length> bits;
    const std::uint64_t begin = number % run_length;
    const std::size_t count = std::min(coordinates.size() - done, static_cast<std::size_t>(run_length - begin));
    bits[0] = shift_[row];
    for (std::uint64_t left = number - begin; left != 0; left &= left - 1)
      bits[0] ^= columns[std::countr_zero(left)];
    for (std::size_t half = 1, column = 0; half < begin + count; half *= 2, ++column) {
      for (std::size_t i = 0; i < half; ++i)
        bits[half + i] = bits[i] ^ columns[column];
    }
    for (std::size_t i = 0; i < count; ++i)
      coordinates[done + i] = to_unit(bits[begin + i]);
    done += count;
    number += count;
  }
}

void QuasiRandomPoints::normal(Index dimension, std::int64_t first, std::span<double> coordinates) const {
  uniform(dimension, first, coordinates);
  normal_quantile(coordinates, coordinates);
}

}  // namespace desirepath::inline probability
