// Whole numbers out of files: a real one of 1e300 has no conversion.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::inline core {

/// Nothing where it is no whole number, or a larger one than there is.
template <class Json>
std::optional<std::int64_t> whole_number_in(const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.template get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
    return std::nullopt;
  return value.template get<std::int64_t>();
}

/// As above, for numbers that may fill all 64 bits, as seeds do.
template <class Json>
std::optional<std::uint64_t> natural_number_in(const Json& value) {
  if (!value.is_number_unsigned()) return std::nullopt;
  return value.template get<std::uint64_t>();
}

/// Throws ArchiveError that names it where it is no whole number of this type.
template <class Whole, class Json>
Whole whole_number_in(const Json& value, std::string_view what) {
  const std::optional<std::int64_t> number = whole_number_in(value);
  if (!number || *number < std::numeric_limits<Whole>::min() || *number > std::numeric_limits<Whole>::max())
    throw ArchiveError(concat(what, " is no whole number"));
  return static_cast<Whole>(*number);
}

}  // namespace desirepath::inline core
