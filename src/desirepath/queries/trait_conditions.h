// What is known of students beside their courses, as people say it: NAME=VALUE.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "desirepath/core/settings.h"
#include "desirepath/disclosure/disclosure.h"
#include "desirepath/models/model.h"

namespace desirepath::inline queries {

struct TraitCondition {
  Id trait = 0, value = 0;
};

/// Each text holds one condition, or several with commas between them; a number falls into its band. Throws OptionError
/// for a text that is no condition and for a trait given twice, InputError for a trait or a value that the model does
/// not know.
std::vector<TraitCondition> parse_conditions(const Schema& schema, const std::vector<std::string>& texts);
/// The setting of queries that look only at students of whom conditions hold.
Setting condition_setting();
/// "residence = commuter and entry_major = MATH"
std::string words_for(const Schema& schema, std::span<const TraitCondition> conditions);

/// The evidence with the model's traits: of those it says nothing about, nothing is known.
EvidenceBatch with_traits_of(const Schema& schema, const EvidenceBatch& evidence);
/// The same for every student, whatever was known of these traits.
EvidenceBatch given_conditions(const Schema& schema, const EvidenceBatch& evidence,
                               std::span<const TraitCondition> conditions);
/// Nothing is known of outcomes, which are known later than anything that may be asked, nor of the other traits named;
/// other attributes stay.
EvidenceBatch without_outcomes(const EvidenceBatch& evidence, std::span<const Id> others = {});
/// Nothing is known but courses and who was enrolled.
EvidenceBatch without_traits(const EvidenceBatch& evidence);

/// The students of whom every condition is known to hold. Throws InputError where there is none, PrivacyError where
/// they, or all others, are few: the answer beside that of all students would tell of them.
Cohort students_with(const Cohort& cohort, const Schema& schema, std::span<const TraitCondition> conditions,
                     const Disclosure& disclosure);

}  // namespace desirepath::inline queries
