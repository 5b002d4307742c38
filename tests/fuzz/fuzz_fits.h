// Every family and form of the catalog, small enough that a fit takes milliseconds.
#pragma once

#include <map>
#include <string>

#include "desirepath/models/model_file.h"
#include "desirepath/models/training.h"

namespace desirepath::test {

inline std::vector<FitOptions> fuzz_fits() {
  const auto options = [](const char* choice, const SettingValues& more) {
    FitOptions fit(choice);
    fit.set("iterations", 4).set("tolerance", 0.0);
    return fit.set(more);
  };
  const auto chain = [&](const char* choice, SettingValues more) {
    more["states"] = std::int64_t{2};
    more["restarts"] = std::int64_t{2};
    return options(choice, more);
  };
  const auto form = [](const char* shape) { return SettingValue(std::string(shape)); };
  return {chain("nb", {}),
          chain("nb", {{"validation", 0.3}}),
          chain("tan", {}),
          chain("cmm+tree", {{"tree", form("per-state")}}),
          chain("hmm+bernoulli", {}),
          chain("gmm", {{"ridge", 0.1}}),
          chain("cmm", {{"covariance", form("tied")}}),
          chain("cmm", {{"covariance", form("factor:1")}}),
          chain("hmm+gaussian", {{"covariance", form("diagonal")}}),
          chain("cmm+probit", {{"covariance", form("factor:1")}, {"nodes", std::int64_t{32}}}),
          chain("nb+hidden-tree", {{"tree-states", std::int64_t{2}}}),
          options("hct", {{"trees", std::int64_t{2}}, {"tree-states", std::int64_t{2}}}),
          FitOptions("vae").set("latent", 1).set("hidden", 2).set("epochs", 5)};
}

}  // namespace desirepath::test
