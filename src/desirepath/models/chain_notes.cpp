#include "desirepath/models/chain_notes.h"

#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline models {

void warn_of_starts(FitResult& result) {
  result.starts_at_best = result.count_at_best();
  if (result.starts_at_best != 1 || result.restarts.size() < 2) return;
  result.warnings.push_back(concat("only one of ", result.restarts.size(),
                                   " starts reached the best likelihood: another run may find better states; raise ",
                                   setting_name("restarts")));
}

void warn_of_the_end(FitResult& result) {
  if (result.converged) return;
  result.warnings.push_back(concat("not converged after ", counted(result.iterations, "iteration", "iterations"),
                                   ": training was cut short and the states may still change; raise ",
                                   setting_name("iterations")));
}

}  // namespace desirepath::inline models
