#include "desirepath/transcripts/traits.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/nearest_name.h"
#include "desirepath/core/text.h"
#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline transcripts {

namespace {

constexpr std::size_t most_plain_numbers = 12;  // with more, numbers are cut at their quantiles
constexpr int quantile_parts = 5;

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
  return whole ? std::optional(value) : std::nullopt;
}

/// Equal parts of the students, as far as equal numbers allow.
void cut_at_quantiles(const std::vector<double>& sorted, Trait& trait) {
  for (int part = 1; part < quantile_parts; ++part) {
    const double bound = sorted[sorted.size() * static_cast<std::size_t>(part) / quantile_parts];
    if (bound < sorted.back() && (trait.bounds.empty() || bound > trait.bounds.back())) trait.bounds.push_back(bound);
  }
  for (std::size_t v = 0; v <= trait.bounds.size(); ++v) {
    const std::string upper = v < trait.bounds.size() ? shortest(trait.bounds[v]) : "";
    trait.values.push_back(v == 0                    ? concat("up to ", upper)
                           : v < trait.bounds.size() ? concat("over ", shortest(trait.bounds[v - 1]), " to ", upper)
                                                     : concat("over ", shortest(trait.bounds[v - 1])));
  }
}

/// The values of enough students, most first, as far as there is room for them; the others are one.
void name_values(const std::vector<std::int64_t>& students, const std::vector<std::string>& names, std::int64_t least,
                 std::size_t room, Trait& trait) {
  std::vector<std::size_t> order(names.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t v) { return students[v]; });
  std::int64_t others = 0;
  for (const std::size_t v : order) {
    if (students[v] == 0) continue;
    if (students[v] >= least && trait.values.size() + 1 < room)
      trait.values.push_back(names[v]);
    else
      others += students[v];
  }
  std::ranges::sort(trait.values);
  if (others > 0) trait.values.emplace_back(Trait::other_values);
}

}  // namespace

std::string_view name_of(TraitKind kind) {
  switch (kind) {
    case TraitKind::attribute:
      return "attribute";
    case TraitKind::outcome:
      return "outcome";
    case TraitKind::departure:
      return "departure";
  }
  return "";
}

bool periods_are_over(const Cohort& cohort, std::int64_t student) {
  for (Id t = 0; t < cohort.schema().period_count(); ++t) {
    if (cohort.status(student, t) == EnrollmentStatus::not_yet) return false;
  }
  return true;
}

std::optional<Id> Trait::find(std::string_view value) const {
  if (!bounds.empty()) {
    const auto number = number_of(value);
    if (number) return static_cast<Id>(std::ranges::lower_bound(bounds, *number) - bounds.begin());
  }
  const auto found = std::ranges::find(values, value);
  if (found == values.end()) return std::nullopt;
  return static_cast<Id>(found - values.begin());
}

Id Trait::require(std::string_view value) const {
  if (const auto found = find(value)) return *found;
  throw InputError(concat("'", name, "' has no value '", value, "'", did_you_mean(value, values), " (there are ",
                          join(values, ", "), ")"));
}

nlohmann::ordered_json Trait::to_json() const {
  nlohmann::ordered_json json = {{"name", name}, {"kind", name_of(kind)}, {"values", values}};
  if (!bounds.empty()) json["bounds"] = bounds;
  if (!expression.empty()) json["expression"] = expression;
  return json;
}

Trait Trait::from_json(const nlohmann::json& json) {
  Trait trait;
  trait.name = json.at("name").get<std::string>();
  const auto kind = json.at("kind").get<std::string>();
  for (const TraitKind known : {TraitKind::outcome, TraitKind::departure}) {
    if (kind == name_of(known)) trait.kind = known;
  }
  trait.values = json.at("values").get<std::vector<std::string>>();
  trait.bounds = json.value("bounds", std::vector<double>());
  trait.expression = json.value("expression", "");
  const bool fits = kind == name_of(trait.kind) && !trait.name.empty() && !trait.values.empty() &&
                    trait.values.size() <= most_values && std::ranges::is_sorted(trait.bounds) &&
                    (trait.bounds.empty() || trait.bounds.size() + 1 == trait.values.size());
  if (!fits) throw InputError("damaged list of what is known about students");
  return trait;
}

Trait departure_trait(const std::vector<std::string>& periods) {
  return {"last period", TraitKind::departure, periods, {}, {}};
}

Trait trait_from(const Cohort& cohort, const std::string& name, TraitKind kind, std::int64_t least) {
  const Attribute& attribute = cohort.attribute(name);
  Trait trait{name, kind, {}, {}, {}};
  std::vector<std::int64_t> students(attribute.values.size(), 0);
  std::vector<double> numbers;
  bool all_numbers = attribute.values.size() > most_plain_numbers, some_missing = false;
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    const Id code = attribute.codes[static_cast<std::size_t>(s)];
    if (code < 0) {
      some_missing = some_missing || periods_are_over(cohort, s);
      continue;
    }
    ++students[static_cast<std::size_t>(code)];
    if (!all_numbers) continue;
    const auto number = number_of(attribute.values[static_cast<std::size_t>(code)]);
    all_numbers = number.has_value();
    numbers.push_back(number.value_or(0));
  }
  const bool has_none = kind == TraitKind::outcome && some_missing;
  if (all_numbers && !numbers.empty() && !has_none) {
    std::ranges::sort(numbers);
    cut_at_quantiles(numbers, trait);
  } else {
    name_values(students, attribute.values, least, Trait::most_values - (has_none ? 1 : 0), trait);
  }
  if (has_none) trait.values.emplace_back(Trait::no_value);
  if (trait.values.size() < 2) {
    throw OptionError(concat("column '", name, "' has ",
                             trait.values.empty() ? "no values" : concat("one value alone ('", trait.values[0], "')"),
                             " among these students: a model cannot learn it"));
  }
  return trait;
}

std::vector<TraitValues> known_traits(const Cohort& cohort, std::span<const Trait> traits) {
  std::vector<TraitValues> known(static_cast<std::size_t>(cohort.student_count()) * traits.size());
  for (std::size_t i = 0; i < traits.size(); ++i) {
    const Trait& trait = traits[i];
    const Attribute* attribute = nullptr;
    for (const Attribute& own : cohort.attributes()) {
      if (own.name == trait.name && trait.kind != TraitKind::departure) attribute = &own;
    }
    std::vector<TraitValues> of_code;
    for (const std::string& value : attribute == nullptr ? std::vector<std::string>() : attribute->values) {
      const auto found = trait.find(value);
      const auto other = trait.find(Trait::other_values);
      of_code.push_back(found || other ? TraitValues{1} << found.value_or(other.value_or(0)) : trait.all());
    }
    const auto none = trait.find(Trait::no_value);
    const bool knows_none = trait.kind == TraitKind::outcome && none && attribute != nullptr;
    for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
      const Id code = attribute == nullptr ? -1 : attribute->codes[static_cast<std::size_t>(s)];
      TraitValues& values = known[static_cast<std::size_t>(s) * traits.size() + i];
      values = code >= 0                                   ? of_code[static_cast<std::size_t>(code)]
               : knows_none && periods_are_over(cohort, s) ? TraitValues{1} << *none
                                                           : trait.all();
    }
  }
  return known;
}

}  // namespace desirepath::inline transcripts
