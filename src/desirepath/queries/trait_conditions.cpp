#include "desirepath/queries/trait_conditions.h"

#include <algorithm>
#include <functional>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline queries {

namespace {

/// Parts between commas; one without = goes on with the value before it, which has a comma in it.
std::vector<std::string> condition_texts(const std::vector<std::string>& texts) {
  std::vector<std::string> conditions;
  for (const std::string& text : texts) {
    bool is_first = true;
    for (const std::string& part : split(text, ',')) {
      if (is_first || part.find('=') != std::string::npos)
        conditions.push_back(part);
      else
        conditions.back() += "," + part;
      is_first = false;
    }
  }
  return conditions;
}

/// What is known of each trait, changed where `change` says so.
EvidenceBatch with_changed_traits(const EvidenceBatch& evidence,
                                  const std::function<TraitValues(Id trait, TraitValues known)>& change) {
  std::vector<TraitValues> known;
  known.reserve(static_cast<std::size_t>(evidence.student_count() * evidence.trait_count()));
  for (std::int64_t s = 0; s < evidence.student_count(); ++s) {
    for (Id i = 0; i < evidence.trait_count(); ++i)
      known.push_back(change(i, evidence.possible(s, evidence.trait(i))));
  }
  return evidence.trait_count() == 0 ? evidence : evidence.with_traits(evidence.traits(), std::move(known));
}

}  // namespace

std::vector<TraitCondition> parse_conditions(const Schema& schema, const std::vector<std::string>& texts) {
  std::vector<TraitCondition> conditions;
  for (const std::string& text : condition_texts(texts)) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || trimmed(std::string_view(text).substr(0, equals)).empty())
      throw OptionError(concat(setting_name("given"), " '", text, "': NAME=VALUE, such as residence=commuter"));
    const Id trait = schema.require_trait(trimmed(std::string_view(text).substr(0, equals)));
    const Trait& named = schema.traits()[static_cast<std::size_t>(trait)];
    if (named.kind == TraitKind::departure)
      throw OptionError(
          concat(setting_name("given"), ": '", named.name, "' follows from the periods, and cannot be given"));
    if (std::ranges::find(conditions, trait, &TraitCondition::trait) != conditions.end())
      throw OptionError(concat(setting_name("given"), ": '", named.name, "' is given twice"));
    conditions.push_back({trait, named.require(trimmed(std::string_view(text).substr(equals + 1)))});
  }
  return conditions;
}

Setting condition_setting() {
  return Setting("given",
                 "only students of whom this attribute or outcome, which the model knows, has this value, against what "
                 "the model expects of such students (repeatable)")
      .taking("NAME=VALUE")
      .undivided();
}

std::string words_for(const Schema& schema, std::span<const TraitCondition> conditions) {
  std::vector<std::string> words;
  for (const TraitCondition& condition : conditions) {
    const Trait& trait = schema.traits()[static_cast<std::size_t>(condition.trait)];
    words.push_back(concat(trait.name, " = ", trait.values[static_cast<std::size_t>(condition.value)]));
  }
  return join(words, " and ");
}

EvidenceBatch with_traits_of(const Schema& schema, const EvidenceBatch& evidence) {
  if (schema.traits().empty() || evidence.traits() == schema.traits()) return evidence;
  std::vector<TraitValues> known;
  for (std::int64_t s = 0; s < evidence.student_count(); ++s) {
    for (const Trait& trait : schema.traits())
      known.push_back(trait.all());
  }
  return evidence.with_traits(schema.traits(), std::move(known));
}

EvidenceBatch given_conditions(const Schema& schema, const EvidenceBatch& evidence,
                               std::span<const TraitCondition> conditions) {
  if (conditions.empty()) return evidence;
  return with_changed_traits(with_traits_of(schema, evidence), [&](Id trait, TraitValues known) {
    const auto given = std::ranges::find(conditions, trait, &TraitCondition::trait);
    return given == conditions.end() ? known : TraitValues{1} << given->value;
  });
}

EvidenceBatch without_outcomes(const EvidenceBatch& evidence, std::span<const Id> others) {
  return with_changed_traits(evidence, [&](Id trait, TraitValues known) {
    const bool is_forgotten =
        evidence.trait(trait).kind == TraitKind::outcome || std::ranges::find(others, trait) != others.end();
    return is_forgotten ? evidence.trait(trait).all() : known;
  });
}

EvidenceBatch without_traits(const EvidenceBatch& evidence) {
  return with_changed_traits(evidence, [&](Id trait, TraitValues) { return evidence.trait(trait).all(); });
}

Cohort students_with(const Cohort& cohort, const Schema& schema, std::span<const TraitCondition> conditions,
                     const Disclosure& disclosure) {
  if (conditions.empty()) return cohort;
  const std::vector<TraitValues> known = known_traits(cohort, schema.traits());
  const std::size_t traits = schema.traits().size();
  std::vector<std::int64_t> chosen;
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    const bool hold = std::ranges::all_of(conditions, [&](const TraitCondition& condition) {
      const TraitValues own = known[static_cast<std::size_t>(s) * traits + static_cast<std::size_t>(condition.trait)];
      return own == TraitValues{1} << condition.value;
    });
    if (hold) chosen.push_back(s);
  }
  if (chosen.empty())
    throw InputError(concat(setting_name("given"), ": of no student ", words_for(schema, conditions), " is known"));
  disclosure.require(std::ssize(chosen));
  const std::int64_t others = cohort.student_count() - std::ssize(chosen);
  if (others > 0) disclosure.require(others);
  return cohort.select(chosen);
}

}  // namespace desirepath::inline queries
