// Whole numbers out of files: a real one of 1e300 has no conversion.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::inline core {

/// Nothing where it is no whole number, or none of this type.
template <class Whole = std::int64_t, class Json>
std::optional<Whole> whole_number_in(const Json& value) {
  const auto fitting = [](auto number) {
    return std::in_range<Whole>(number) ? std::optional(static_cast<Whole>(number)) : std::nullopt;
  };
  if (value.is_number_unsigned()) return fitting(value.template get<std::uint64_t>());
  if (value.is_number_integer()) return fitting(value.template get<std::int64_t>());
  return std::nullopt;
}

/// Throws ArchiveError that names it where it is no whole number of this type.
template <class Whole, class Json>
Whole whole_number_in(const Json& value, std::string_view what) {
  const std::optional<Whole> number = whole_number_in<Whole>(value);
  if (!number) throw ArchiveError(concat(what, " is no whole number"));
  return *number;
}

}  // namespace desirepath::inline core
