#include "desirepath/emissions/emission.h"

#include <array>

namespace desirepath::inline emissions {

std::string_view name_of(LikelihoodKind kind) {
  switch (kind) {
    case LikelihoodKind::mass:
      return "mass";
    case LikelihoodKind::density:
      return "density";
    case LikelihoodKind::lower_bound:
      return "lower_bound";
  }
  return "";
}

std::span<const std::string_view> value_names(Precision) {
  static constexpr std::array<std::string_view, 3> names = {"quick", "sampled", "fitted"};
  return names;
}

}  // namespace desirepath::inline emissions
