#include "desirepath/disclosure/disclosure.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline disclosure {

Disclosure::Disclosure(std::int64_t least) : asked_(least) {
  if (least < fewest)
    throw OptionError(concat(setting_name("min-cell"), " under ", fewest,
                             " is refused: what is shown would rest on single students"));
}

void Disclosure::declare(SettingVisitor& visit) {
  visit(
      Setting("min-cell",
              concat("what rests on fewer students is merged or withheld (default: what the cohort was prepared with, "
                     "else ",
                     usual, ")"))
          .at_least(fewest),
      asked_);
}

Disclosure Disclosure::bound_to(std::optional<std::int64_t> recorded) const {
  if (!recorded) return *this;
  if (asked_ && *asked_ != *recorded) {
    throw OptionError(concat(setting_name("min-cell"), " ", *asked_, ": the cohort was prepared with ", *recorded,
                             ", and numbers shown under both could be subtracted; 'desirepath prepare' with ",
                             setting_name("min-cell"), " changes it"));
  }
  Disclosure bound;
  bound.recorded_ = *recorded;
  return bound;
}

void Disclosure::require(std::int64_t students) const {
  if (students >= least()) return;
  throw PrivacyError(
      concat("the answer would rest on ", few(), " students (", setting_name("min-cell"), "): nothing is shown"));
}

void Disclosure::require_behind(std::span<const double> weights) const {
  require(static_cast<std::int64_t>(std::floor(students_behind(weights) + rounding_of_sums)));
}

double students_behind(std::span<const double> weights) {
  double sum = 0, largest = 0;
  for (const double weight : weights) {
    sum += weight;
    largest = std::max(largest, weight);
  }
  return largest > 0 ? sum / largest : 0;
}

namespace {

/// together: how many students some parts, so many and one more of a size, are at least.
template <class Together>
Hidden hide_and_company(const std::vector<double>& parts, const Disclosure& disclosure, const Together& together) {
  std::vector<std::size_t> order(parts.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return parts[i]; });
  Hidden hidden(parts.size(), 0);
  double students = 0;
  for (const std::size_t i : order) {
    if (disclosure.allows(parts[i]) && (parts[i] <= 0 || disclosure.allows(students))) continue;
    hidden[i] = 1;
    students = together(students, parts[i]);
  }
  return hidden;
}

}  // namespace

Hidden Disclosure::hide(const std::vector<double>& parts) const {
  return hide_and_company(parts, *this, std::plus<>());
}

Hidden Disclosure::hide_overlapping(const std::vector<double>& parts) const {
  return hide_and_company(parts, *this, [](double some, double more) { return std::max(some, more); });
}

double Disclosure::coarse_share(double students, double of) const {
  constexpr double finest = 10;
  // Within a step, nobody and enough are both possible at its ends.
  const double steps = std::clamp(std::floor(of / static_cast<double>(least() + 1)), 1.0, finest);
  return of > 0 ? std::min(std::floor(students / of * steps + rounding_of_sums), steps - 1) / steps : 0;
}

std::string Disclosure::few() const {
  return concat("fewer than ", least());
}

}  // namespace desirepath::inline disclosure
