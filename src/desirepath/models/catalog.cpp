#include "desirepath/models/catalog.h"

#include "desirepath/core/error.h"
#include "desirepath/core/nearest_name.h"
#include "desirepath/core/text.h"
#include "desirepath/models/chain_fit.h"
#include "desirepath/models/committee.h"
#include "desirepath/models/vae.h"

namespace desirepath::inline models {

const Catalog& standard_catalog() {
  static const Catalog catalog = {
      {
          chain_entry("nb", "latent naive Bayes: one hidden state a student, courses independent in it",
                      TimeStructure::one_step, "bernoulli"),
          chain_entry("tan", "tree-augmented naive Bayes: one hidden state a student, courses depend along a tree",
                      TimeStructure::one_step, "tree"),
          chain_entry("gmm", "Gaussian mixture: one hidden state a student, courses of all periods correlated in it",
                      TimeStructure::one_step, "gaussian"),
          chain_entry("hmm", "hidden Markov model: a state a period, the same transitions and states throughout",
                      TimeStructure::tied, "bernoulli"),
          chain_entry("cmm", "contextual mixture: a state a period, own transitions and states in each",
                      TimeStructure::per_period, "gaussian"),
          committee_entry("hidden-tree"),
          vae_entry(),
      },
      {emission_families().begin(), emission_families().end()},
  };
  return catalog;
}

namespace {

template <class Entries>
const auto& require(const Entries& entries, std::string_view name, std::string_view what) {
  std::vector<std::string> names;
  for (const auto& entry : entries) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  throw OptionError(
      concat("no ", what, " '", name, "'", did_you_mean(name, names), "; there are: ", join(names, ", ")));
}

}  // namespace

const ModelEntry& Catalog::model(std::string_view name) const {
  return require(models, name, "model");
}

const EmissionFamily& Catalog::emission(std::string_view name) const {
  return require(emissions, name, "emission");
}

ModelChoice Catalog::choice(std::string_view text) const {
  const std::vector<std::string> parts = split(text, '+');
  if (parts.size() > 2) throw OptionError(concat("'", text, "' is not MODEL or MODEL+EMISSION"));
  const ModelEntry& entry = model(parts[0]);
  if (parts.size() == 2 && entry.default_emission.empty())
    throw OptionError(concat("'", text, "': ", entry.name, " takes no emission"));
  if (entry.default_emission.empty()) return {&entry, nullptr};
  return {&entry, &emission(parts.size() == 2 ? parts[1] : entry.default_emission)};
}

std::string ModelChoice::name() const {
  return emission == nullptr || emission->name == model->default_emission ? model->name
                                                                          : concat(model->name, "+", emission->name);
}

}  // namespace desirepath::inline models
