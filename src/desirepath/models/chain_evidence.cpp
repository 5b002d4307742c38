#include "desirepath/models/chain_evidence.h"

#include <algorithm>

#include "desirepath/core/text.h"
#include "desirepath/models/chain_history.h"

namespace desirepath::inline models {

StepLayout StepLayout::of(TimeStructure structure, Id periods) {
  StepLayout layout;
  layout.structure = structure;
  if (structure == TimeStructure::one_step) {
    layout.steps = {{0, periods}};
  } else {
    for (Id t = 0; t < periods; ++t)
      layout.steps.push_back({t, t + 1});
  }
  for (Id s = 0; s < layout.step_count(); ++s) {
    const bool joins = structure == TimeStructure::tied && s > 0;
    if (!joins) layout.pools.emplace_back();
    layout.pool_of.push_back(layout.pool_count() - 1);
    layout.place_of.push_back(static_cast<Id>(layout.pools.back().size()));
    layout.pools.back().push_back(s);
  }
  return layout;
}

StepLayout StepLayout::of(TimeStructure structure, const Schema& schema) {
  StepLayout layout = of(structure, schema.period_count());
  if (structure == TimeStructure::one_step) layout.traits = schema.traits();
  return layout;
}

StepShape StepLayout::shape(const Schema& schema) const {
  StepShape shape{steps.front().last - steps.front().first, schema.course_count()};
  for (const Trait& trait : traits) {
    if (trait.kind == TraitKind::departure) shape.departure = shape.trait_count();
    shape.trait_values.push_back(trait.value_count());
  }
  return shape;
}

bool StepLayout::rows_know_departure() const {
  return std::ranges::find(traits, TraitKind::departure, &Trait::kind) != traits.end();
}

ChainEvidence::ChainEvidence(const EvidenceBatch& evidence, const StepLayout& step_layout)
    : layout(&step_layout), students(evidence.student_count()) {
  const EvidenceBatch rows = layout->with_history ? with_history(evidence) : evidence;
  for (const std::vector<Id>& pool : layout->pools) {
    std::vector<PeriodRange> steps;
    for (const Id step : pool)
      steps.push_back(layout->steps[static_cast<std::size_t>(step)]);
    pools.push_back(pool_rows(rows, steps, layout->traits));
  }
  presence.reserve(static_cast<std::size_t>(students * layout->step_count()));
  departures.reserve(static_cast<std::size_t>(students));
  for (std::int64_t student = 0; student < students; ++student) {
    const auto at = [&](Id period) { return evidence.seen(student, period); };
    for (const PeriodRange& step : layout->steps) {
      Presence found = Presence::unknown;
      for (Id t = step.first; t < step.last; ++t) {
        const Presence here = at(t);
        if (here == Presence::present || (here == Presence::left && found == Presence::unknown)) found = here;
      }
      presence.push_back(found);
    }
    departures.push_back(evidence.departure(student));
  }
}

const ChainEvidence& cut_evidence(const EvidenceBatch& evidence, const StepLayout& layout) {
  // The evidence may outlive the model whose layout this is.
  struct Cut {
    Cut(const EvidenceBatch& batch, const StepLayout& its_layout) : layout(its_layout), evidence(batch, layout) {}
    StepLayout layout;
    ChainEvidence evidence;
  };
  std::string key = concat("steps ", static_cast<int>(layout.structure), layout.with_history ? " history" : "");
  for (const Trait& trait : layout.traits)
    key += concat(" ", trait.value_count(), " ", trait.name);
  return evidence.forms().get<Cut>(key, [&] { return std::make_shared<const Cut>(evidence, layout); }).evidence;
}

}  // namespace desirepath::inline models
