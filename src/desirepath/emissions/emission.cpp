#include "desirepath/emissions/emission.h"

#include "desirepath/core/text.h"
#include "desirepath/emissions/bernoulli.h"
#include "desirepath/emissions/emission_file.h"
#include "desirepath/emissions/gaussian.h"
#include "desirepath/emissions/probit.h"
#include "desirepath/emissions/tree.h"

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

std::unique_ptr<Emission> load_emission(const ArchiveReader& archive, const std::string& family,
                                        const std::string& prefix) {
  if (family == BernoulliEmission::family_name) return BernoulliEmission::load(archive, prefix);
  if (family == TreeEmission::family_name) return TreeEmission::load(archive, prefix);
  if (family == GaussianEmission::family_name) return GaussianEmission::load(archive, prefix);
  if (family == ProbitEmission::family_name) return ProbitEmission::load(archive, prefix);
  archive.refuse(concat("emission family '", family, "' is not known to this version"));
}

}  // namespace desirepath::inline emissions
