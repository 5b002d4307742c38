#include <array>

#include "desirepath/emissions/bernoulli.h"
#include "desirepath/emissions/family.h"
#include "desirepath/emissions/gaussian.h"
#include "desirepath/emissions/hidden_tree.h"
#include "desirepath/emissions/probit.h"
#include "desirepath/emissions/tree.h"

namespace desirepath::inline emissions {

std::span<const EmissionFamily> emission_families() {
  static const std::array families = {bernoulli_family(), tree_family(), gaussian_family(), probit_family(),
                                      hidden_tree_family()};
  return families;
}

}  // namespace desirepath::inline emissions
