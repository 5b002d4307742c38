// What a model may know about students beside their courses: attributes that are known at entry, outcomes that are
// known later, and when they left. A trait has a few values; evidence says which of them are possible for a student.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "desirepath/core/types.h"

namespace desirepath::inline transcripts {

class Cohort;

enum class TraitKind {
  attribute,  // known at entry
  outcome,    // known later: unknown as long as the student's periods are not over
  departure   // the last period of enrollment; it follows from the periods themselves
};
std::string_view name_of(TraitKind kind);

/// The values that are possible: bit v for value v.
using TraitValues = std::uint32_t;

struct Trait {
  std::string name;
  TraitKind kind = TraitKind::attribute;
  std::vector<std::string> values;  // two at least, most_values at most
  /// Of a column of numbers: value v holds numbers up to bounds[v], the one after them all above; else empty. An
  /// outcome may have no_value behind them.
  std::vector<double> bounds;
  /// An outcome that follows from other columns (OutcomeExpression); its values are no and yes. Else empty.
  std::string expression;

  static constexpr std::size_t most_values = 30;
  /// What stands for values of few students, and for a missing value of an outcome.
  static constexpr const char* other_values = "other";
  static constexpr const char* no_value = "none";

  Id value_count() const { return static_cast<Id>(values.size()); }
  TraitValues all() const { return (TraitValues{1} << values.size()) - 1; }
  std::optional<Id> find(std::string_view value) const;
  /// Throws InputError that names the values there are.
  Id require(std::string_view value) const;
  bool operator==(const Trait&) const = default;

  nlohmann::ordered_json to_json() const;
  static Trait from_json(const nlohmann::json& json);
};

/// The last period of enrollment, "1" .. "T".
Trait departure_trait(const std::vector<std::string>& periods);

/// Whether all periods of a student lie within the data, so that what is not known of an outcome did not happen.
bool periods_are_over(const Cohort& cohort, std::int64_t student);

/// The fewest students that a value of a trait may stand for, whatever the cohort's own bound.
std::int64_t least_students_of_a_value(const Cohort& cohort);

/// A trait as a model is to learn it from these students, from the attribute of that name. Values of fewer than `least`
/// students are one; columns of many numbers are cut at their quantiles. Throws OptionError for a column that the
/// cohort lacks or that has fewer than two values.
Trait trait_from(const Cohort& cohort, const std::string& name, TraitKind kind, std::int64_t least);

/// An outcome that follows from other columns of the cohort. Throws OptionError for an expression that cannot be read,
/// for a column that the cohort lacks and where too few students have the outcome, or do not.
Trait derived_outcome(const Cohort& cohort, const std::string& name, const std::string& expression, std::int64_t least);

/// A trait as a setting names it.
struct NamedTrait {
  std::string name;
  TraitKind kind = TraitKind::attribute;
  std::string expression;  // of a derived outcome
};
/// Lists of columns with commas between them; an outcome may also be `name=EXPRESSION`. Throws OptionError for a
/// derived outcome without a name.
std::vector<NamedTrait> read_trait_names(const std::string& attributes, const std::string& outcomes);

/// The traits that the settings name, as a model is to learn them from the cohort. Throws OptionError that names the
/// columns there are, and for a name that stands there twice.
std::vector<Trait> traits_named(const Cohort& cohort, const std::string& attributes, const std::string& outcomes);

/// What speaks against an attribute's being known at entry: it changes within students, is missing for those whose
/// periods are not over, or settles an outcome.
std::vector<std::string> trait_warnings(const Cohort& cohort, std::span<const Trait> traits);

/// What is known of each student about attributes and outcomes (departure: everything is possible): students by
/// traits.
std::vector<TraitValues> known_traits(const Cohort& cohort, std::span<const Trait> traits);

}  // namespace desirepath::inline transcripts
