// Whole numbers out of files: a real one of 1e300 has no conversion.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::inline core {

/// Throws ArchiveError that names it where it is no whole number of this type.
template <class Whole, class Json>
Whole whole_number_in(const Json& value, std::string_view what) {
  const bool is_whole =
      value.is_number_integer() &&
      !(value.is_number_unsigned() && value.template get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max());
  const std::int64_t number = is_whole ? value.template get<std::int64_t>() : 0;
  if (!is_whole || number < std::numeric_limits<Whole>::min() || number > std::numeric_limits<Whole>::max())
    throw ArchiveError(concat(what, " is no whole number"));
  return static_cast<Whole>(number);
}

}  // namespace desirepath::inline core
