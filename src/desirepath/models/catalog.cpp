#include "desirepath/models/catalog.h"

#include <array>

#include "desirepath/core/error.h"
#include "desirepath/core/nearest_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline models {

namespace {

constexpr std::array<CatalogEntry, 5> entries = {{
    {"nb", "latent naive Bayes: one hidden state a student, courses independent in it", TimeStructure::one_step,
     "bernoulli"},
    {"tan", "tree-augmented naive Bayes: one hidden state a student, courses depend along a tree",
     TimeStructure::one_step, "tree"},
    {"gmm", "Gaussian mixture: one hidden state a student, courses of all periods correlated in it",
     TimeStructure::one_step, "gaussian"},
    {"hmm", "hidden Markov model: a state a period, the same transitions and states throughout", TimeStructure::tied,
     "bernoulli"},
    {"cmm", "contextual mixture: a state a period, own transitions and states in each", TimeStructure::per_period,
     "gaussian"},
}};
constexpr std::array<std::string_view, 4> emissions = {"bernoulli", "tree", "gaussian", "probit"};

}  // namespace

std::span<const CatalogEntry> model_catalog() {
  return entries;
}
std::span<const std::string_view> emission_catalog() {
  return emissions;
}

const CatalogEntry& require_model(std::string_view name) {
  std::vector<std::string> names;
  for (const CatalogEntry& entry : entries) {
    if (entry.name == name) return entry;
    names.emplace_back(entry.name);
  }
  throw OptionError(concat("no model '", name, "'", did_you_mean(name, names), "; there are: ", join(names, ", ")));
}

std::string require_emission(std::string_view name) {
  std::vector<std::string> names;
  for (const std::string_view family : emissions) {
    if (family == name) return std::string(name);
    names.emplace_back(family);
  }
  throw OptionError(concat("no emission '", name, "'", did_you_mean(name, names), "; there are: ", join(names, ", ")));
}

ModelChoice parse_model_choice(std::string_view text) {
  const std::vector<std::string> parts = split(text, '+');
  if (parts.size() > 2) throw OptionError(concat("'", text, "' is not MODEL or MODEL+EMISSION"));
  const CatalogEntry& model = require_model(parts[0]);
  return {&model, parts.size() == 2 ? require_emission(parts[1]) : std::string(model.default_emission)};
}

}  // namespace desirepath::inline models
