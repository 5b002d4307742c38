#include "desirepath/disclosure/disclosed_bins.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace desirepath::inline disclosure {

namespace {

std::vector<DisclosedBin> merged_bins(const std::vector<std::int64_t>& counts, std::int64_t width,
                                      const Disclosure& disclosure) {
  std::vector<DisclosedBin> bins;
  const auto size = static_cast<std::int64_t>(counts.size());
  for (std::int64_t first = 0; first < size; first += width) {
    DisclosedBin bin{first, std::min(first + width, size) - 1, 0};
    for (std::int64_t v = bin.first; v <= bin.last; ++v)
      bin.students += counts[static_cast<std::size_t>(v)];
    bins.push_back(bin);
  }
  // The smallest offender joins a neighbour, towards the middle, until none is left.
  while (bins.size() > 1) {
    std::size_t worst = bins.size();
    for (std::size_t b = 0; b < bins.size(); ++b) {
      const bool small = !disclosure.allows(static_cast<double>(bins[b].students));
      if (small && (worst == bins.size() || bins[b].students < bins[worst].students)) worst = b;
    }
    if (worst == bins.size()) break;
    const bool has_left = worst > 0, has_right = worst + 1 < bins.size();
    const bool to_left = has_left && (!has_right || worst >= bins.size() / 2);
    const std::size_t low = to_left ? worst - 1 : worst;
    bins[low].last = bins[low + 1].last;
    bins[low].students += bins[low + 1].students;
    bins.erase(bins.begin() + static_cast<std::ptrdiff_t>(low) + 1);
  }
  return bins;
}

/// The end of the last bin says nothing of who stands in it.
std::vector<DisclosedBin> without_end(std::vector<DisclosedBin> bins, std::int64_t width) {
  if (bins.empty()) return bins;
  DisclosedBin& last = bins.back();
  last.open = last.last - last.first >= width;
  last.last = last.first + (last.open ? 2 : 1) * width - 1;
  return bins;
}

}  // namespace

std::vector<DisclosedBin> merge_small_bins(const std::vector<std::int64_t>& counts, std::int64_t width,
                                           const Disclosure& disclosure) {
  return without_end(merged_bins(counts, width, disclosure), width);
}

namespace {

/// Students who may stand anywhere between two values.
struct Stretch {
  double low = 0, high = 0, students = 0;
};

/// The least sum of squares where the sum is given: whoever is lowest goes up first.
double least_squares(const std::vector<Stretch>& stretches, double sum) {
  double level_low = 0, level_high = 0;
  for (const Stretch& stretch : stretches)
    level_high = std::max(level_high, stretch.high);
  const auto at = [&](double level, const auto& value) {
    double total = 0;
    for (const Stretch& stretch : stretches)
      total += stretch.students * value(std::clamp(level, stretch.low, stretch.high));
    return total;
  };
  for (int halving = 0; halving < 60; ++halving) {
    const double middle = (level_low + level_high) / 2;
    (at(middle, [](double v) { return v; }) < sum ? level_low : level_high) = middle;
  }
  // Between two values some stand at the one and some at the other.
  return at(level_high, [](double v) {
    const double below = std::floor(v);
    return below * below + (v - below) * (2 * below + 1);
  });
}

/// The largest: all stand at an end, those who gain most at the high one.
double most_squares(std::vector<Stretch> stretches, double sum) {
  double squares = 0;
  for (const Stretch& stretch : stretches) {
    squares += stretch.students * stretch.low * stretch.low;
    sum -= stretch.students * stretch.low;
  }
  std::ranges::sort(stretches, std::ranges::greater(), [](const Stretch& s) { return s.low + s.high; });
  for (const Stretch& stretch : stretches) {
    const double reach = std::min(sum, stretch.students * (stretch.high - stretch.low));
    squares += reach * (stretch.low + stretch.high);
    sum -= reach;
  }
  return squares;
}

/// What is told beside the bins.
struct Moments {
  double sum = 0, least_squares = 0, most_squares = 0;
};

/// Whether a value can have `here` students beside the bins and the moments.
bool is_possible(const std::vector<DisclosedBin>& bins, const DisclosedBin& own, std::int64_t value, std::int64_t here,
                 const Moments& disclosed) {
  if (here > own.students) return false;
  std::vector<Stretch> stretches;
  double least = 0, most = 0;
  const auto add = [&](std::int64_t low, std::int64_t high, std::int64_t students) {
    stretches.push_back({static_cast<double>(low), static_cast<double>(high), static_cast<double>(students)});
    least += static_cast<double>(low * students);
    most += static_cast<double>(high * students);
  };
  for (const DisclosedBin& bin : bins) {
    if (&bin != &own) add(bin.first, bin.last, bin.students);
  }
  add(value, value, here);
  // Whoever is elsewhere in the bin is not at the value itself.
  const bool wide = own.last > own.first;
  if (!wide && here != own.students) return false;
  add(own.first == value && wide ? own.first + 1 : own.first, own.last == value && wide ? own.last - 1 : own.last,
      own.students - here);
  if (disclosed.sum < least || disclosed.sum > most) return false;
  // Whole students cannot have every sum of squares: one who moves by a course changes it by so much.
  const double step = 2 * static_cast<double>(bins.back().last) + 1;
  return least_squares(stretches, disclosed.sum) + step <= disclosed.most_squares &&
         most_squares(stretches, disclosed.sum) - step >= disclosed.least_squares;
}

bool are_disclosed(const std::vector<DisclosedBin>& bins, const std::vector<std::int64_t>& counts,
                   const Moments& disclosed, const Disclosure& disclosure) {
  return std::ranges::all_of(bins, [&](const DisclosedBin& bin) {
    for (std::int64_t v = bin.first; v <= bin.last; ++v) {
      if (disclosure.allows(static_cast<double>(counts[static_cast<std::size_t>(v)]))) continue;
      if (!is_possible(bins, bin, v, 0, disclosed) || !is_possible(bins, bin, v, disclosure.least(), disclosed))
        return false;
    }
    return true;
  });
}

}  // namespace

DisclosedHistogram histogram_beside_sum(const std::vector<std::int64_t>& counts, std::int64_t width,
                                        const Disclosure& disclosure) {
  double students = 0, sum = 0, squares = 0;
  for (std::size_t v = 0; v < counts.size(); ++v) {
    const auto value = static_cast<double>(v), here = static_cast<double>(counts[v]);
    students += here;
    sum += here * value;
    squares += here * value * value;
  }
  const double mean = sum / std::max(1.0, students);
  const double deviation = std::sqrt(std::max(0.0, squares / std::max(1.0, students) - mean * mean));
  const auto second = [&](double disclosed) {
    return students * (std::max(0.0, disclosed) * std::max(0.0, disclosed) + mean * mean);
  };
  constexpr double unlimited = std::numeric_limits<double>::infinity();
  for (const bool with_deviation : {true, false}) {
    for (std::int64_t wide = width;; wide *= 2) {
      const std::vector<DisclosedBin> bins = merged_bins(counts, wide, disclosure);
      for (const double digit : with_deviation ? std::vector<double>{0.1, 0.5, 1} : std::vector<double>{0}) {
        const double disclosed = with_deviation ? digit * std::round(deviation / digit) : 0;
        const Moments moments = with_deviation
                                    ? Moments{sum, second(disclosed - digit / 2), second(disclosed + digit / 2)}
                                    : Moments{sum, 0, unlimited};
        if (!are_disclosed(bins, counts, moments, disclosure)) continue;
        return {without_end(bins, wide), with_deviation ? std::optional(disclosed) : std::nullopt};
      }
      if (bins.size() <= 1) break;
    }
  }
  return {};
}

}  // namespace desirepath::inline disclosure
