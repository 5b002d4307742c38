// Committees of students of whom more is known than their courses: what the members are to know is made part of the
// cohorts that they learn from.
#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/models/committee_training.h"
#include "desirepath/models/training_run.h"

namespace desirepath::inline models {

namespace {

/// A fit to students of whom more is known than their courses.
class CommitteeFitWithTraits : public Training {
 public:
  CommitteeFitWithTraits(const TrainingTask& task, const std::vector<Trait>& traits)
      : cohort_(task.cohort.with_traits(traits)), context_(task.context) {
    if (context_.validation != nullptr) {
      if (!context_.validation->schema().has_same_bits(cohort_.schema())) refuse_other_bits();
      validation_ = context_.validation->with_traits(traits);
      context_.validation = &*validation_;
    }
    fit_ = prepare_members({cohort_, task.options, context_});
    warnings_ = trait_warnings(cohort_, traits);
  }
  FitEstimate estimate() const override { return fit_->estimate(); }
  FitResult run() override {
    FitResult result = fit_->run();
    result.warnings.insert(result.warnings.end(), warnings_.begin(), warnings_.end());
    return result;
  }

 private:
  Cohort cohort_;
  TrainingContext context_;
  std::optional<Cohort> validation_;
  std::unique_ptr<Training> fit_;
  std::vector<std::string> warnings_;
};

/// What the model is to know about students beside their courses: when they left, where they do, and what the user
/// names.
std::vector<Trait> traits_of(const TrainingTask& task) {
  const auto settings = task.options.read<CommitteeSettings>();
  if (task.context.warm != nullptr) {
    const std::vector<Trait>& known = task.context.warm->schema().traits();
    for (const NamedTrait& named : read_trait_names(settings.attributes, settings.outcomes)) {
      const bool is_known = std::ranges::any_of(known, [&](const Trait& trait) {
        return trait.name == named.name && trait.kind == named.kind && trait.expression == named.expression;
      });
      if (!is_known)
        throw OptionError(concat(setting_name("warm"), ": the model knows no ", name_of(named.kind), " '", named.name,
                                 "' like this, and cannot learn it anew"));
    }
    if (task.context.warm->models_leaving() && !task.cohort.has_departures())
      throw OptionError(
          concat(setting_name("warm"), ": the model knows students who leave, of whom the cohort has none"));
    return known;
  }
  std::vector<Trait> traits = traits_named(task.cohort, settings.attributes, settings.outcomes);
  if (task.cohort.has_departures() && task.cohort.schema().period_count() > 1)
    traits.insert(traits.begin(), departure_trait(task.cohort.schema().periods()));
  return traits;
}

}  // namespace

std::unique_ptr<Training> prepare_committee(const TrainingTask& task) {
  const std::vector<Trait> traits = traits_of(task);
  if (traits.empty()) return prepare_members(task);
  return std::make_unique<CommitteeFitWithTraits>(task, traits);
}

}  // namespace desirepath::inline models
