#include "desirepath/transcripts/traits.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/nearest_name.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/transcripts/cohort.h"
#include "desirepath/transcripts/outcome_expression.h"

namespace desirepath::inline transcripts {

namespace {

constexpr std::size_t most_plain_numbers = 12;  // with more, numbers are cut at their quantiles
constexpr int quantile_parts = 5;
constexpr const char *no = "no", *yes = "yes";  // of a derived outcome

std::vector<std::string> no_and_yes() {
  return {no, yes};
}

/// Equal parts of the students, as far as equal numbers allow; none of fewer students than `least`.
void cut_at_quantiles(const std::vector<double>& sorted, std::int64_t least, Trait& trait) {
  const auto count = std::ssize(sorted);
  std::int64_t begin = 0;  // of the part
  for (int part = 1; part < quantile_parts; ++part) {
    const double bound = sorted[static_cast<std::size_t>(count * part / quantile_parts)];
    const auto end = std::ranges::upper_bound(sorted, bound) - sorted.begin();
    if (end - begin < least || count - end < least) continue;
    trait.bounds.push_back(bound);
    begin = end;
  }
  for (std::size_t v = 0; v <= trait.bounds.size(); ++v) {
    const std::string upper = v < trait.bounds.size() ? shortest(trait.bounds[v]) : "";
    trait.values.push_back(v == 0                    ? concat("up to ", upper)
                           : v < trait.bounds.size() ? concat("over ", shortest(trait.bounds[v - 1]), " to ", upper)
                                                     : concat("over ", shortest(trait.bounds[v - 1])));
  }
}

/// The values of enough students, most first, as far as there is room for them. The others are one, which has enough
/// students too: where it has not, the next value is among them.
void name_values(const std::vector<std::int64_t>& students, const std::vector<std::string>& names, std::int64_t least,
                 std::size_t room, Trait& trait) {
  std::vector<std::size_t> order;
  std::int64_t others = 0;
  for (std::size_t v = 0; v < names.size(); ++v) {
    if (students[v] > 0) order.push_back(v);
  }
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t v) { return students[v]; });
  while (!order.empty() && (students[order.back()] < least || order.size() > room || (others > 0 && others < least) ||
                            (others > 0 && order.size() == room))) {
    others += students[order.back()];
    order.pop_back();
  }
  for (const std::size_t v : order)
    trait.values.push_back(names[v]);
  std::ranges::sort(trait.values);
  if (others > 0) trait.values.emplace_back(Trait::other_values);
}

/// Parts of a list between commas that stand neither in quotation marks nor in parentheses; without blanks around them.
std::vector<std::string> items_of(std::string_view list) {
  std::vector<std::string> items;
  int depth = 0;
  char quote = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    const char letter = i < list.size() ? list[i] : ',';
    if (i < list.size() && quote != 0) {
      if (letter == quote) quote = 0;
    } else if (letter == '\'' || letter == '"') {
      quote = letter;
    } else if (letter == '(' || letter == ')') {
      depth += letter == '(' ? 1 : -1;
    } else if (letter == ',' && (depth <= 0 || i == list.size())) {
      const std::string_view item = trimmed(list.substr(begin, i - begin));
      if (!item.empty()) items.emplace_back(item);
      begin = i + 1;
    }
  }
  return items;
}

/// Columns of which prepare saw several values of one student.
std::vector<std::string> changing_columns(const Cohort& cohort) {
  const auto provenance = nlohmann::json::parse(cohort.provenance(), nullptr, /*allow_exceptions=*/false);
  std::vector<std::string> columns;
  if (!provenance.is_object() || !provenance.contains("changing_columns")) return columns;
  for (const auto& column : provenance["changing_columns"]) {
    if (column.is_string()) columns.push_back(column.get<std::string>());
  }
  return columns;
}

/// Students by the attribute's value (the last: not known) and the outcome's, where that is known.
RowMatrix count_pairs(const std::vector<TraitValues>& known, std::span<const Trait> traits, std::size_t attribute,
                      std::size_t outcome) {
  RowMatrix pairs = RowMatrix::Zero(traits[attribute].value_count() + 1, traits[outcome].value_count());
  for (std::size_t row = 0; row < known.size(); row += traits.size()) {
    const TraitValues own = known[row + attribute], its = known[row + outcome];
    if (std::popcount(its) != 1) continue;
    const int value = std::popcount(own) == 1 ? std::countr_zero(own) : traits[attribute].value_count();
    pairs(value, std::countr_zero(its)) += 1;
  }
  return pairs;
}

/// Whether hardly a student's outcome differs from that of most students with the same value of the attribute, though
/// outcomes differ among all.
bool settles(const RowMatrix& pairs) {
  const double students = pairs.sum(), differing = students - pairs.rowwise().maxCoeff().sum(),
               differing_among_all = students - pairs.colwise().sum().maxCoeff();
  constexpr double few_of_all = 0.01, few_of_differing = 0.1;
  return differing_among_all > 0 && differing <= few_of_all * students &&
         differing <= few_of_differing * differing_among_all;
}

/// Whether the column is known far less often of students whose periods are not over.
bool comes_later(const Cohort& cohort, const Attribute& attribute, std::int64_t least) {
  std::int64_t students[2] = {0, 0}, known[2] = {0, 0};
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    const int is_over = periods_are_over(cohort, s) ? 1 : 0;
    ++students[is_over];
    known[is_over] += attribute.codes[static_cast<std::size_t>(s)] >= 0 ? 1 : 0;
  }
  if (students[0] < least || students[1] < least) return false;
  const double early = static_cast<double>(known[0]) / static_cast<double>(students[0]);
  const double late = static_cast<double>(known[1]) / static_cast<double>(students[1]);
  return early < late / 2;
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
    const auto number = number_in<double>(value);
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
  const bool has_none =
      trait.kind == TraitKind::outcome && !trait.values.empty() && trait.values.back() == Trait::no_value;
  const bool fits = kind == name_of(trait.kind) && !trait.name.empty() && !trait.values.empty() &&
                    trait.values.size() <= most_values && std::ranges::is_sorted(trait.bounds) &&
                    (trait.bounds.empty() || trait.bounds.size() + 1 + (has_none ? 1 : 0) == trait.values.size());
  if (!fits) throw InputError("damaged list of what is known about students");
  if (!trait.expression.empty()) {
    if (trait.kind != TraitKind::outcome || trait.values != no_and_yes())
      throw InputError("damaged list of what is known about students");
    try {
      OutcomeExpression::parse(trait.expression);
    } catch (const OptionError&) {
      throw InputError("damaged list of what is known about students");
    }
  }
  return trait;
}

Trait departure_trait(const std::vector<std::string>& periods) {
  return {"last period", TraitKind::departure, periods, {}, {}};
}

std::int64_t least_students_of_a_value(const Cohort& cohort) {
  constexpr std::int64_t least_of_all = 10;
  return std::max(least_of_all, cohort.min_cell().value_or(0));
}

Trait trait_from(const Cohort& cohort, const std::string& name, TraitKind kind, std::int64_t least) {
  const Attribute& attribute = cohort.attribute(name);
  Trait trait{name, kind, {}, {}, {}};
  std::vector<std::int64_t> students(attribute.values.size(), 0);
  std::vector<double> numbers;
  bool all_numbers = attribute.values.size() > most_plain_numbers;
  std::int64_t missing = 0;
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    const Id code = attribute.codes[static_cast<std::size_t>(s)];
    if (code < 0) {
      missing += periods_are_over(cohort, s) ? 1 : 0;
      continue;
    }
    ++students[static_cast<std::size_t>(code)];
    if (!all_numbers) continue;
    const auto number = number_in<double>(attribute.values[static_cast<std::size_t>(code)]);
    all_numbers = number.has_value();
    numbers.push_back(number.value_or(0));
  }
  // Fewer students without a value are students of whom it is not known.
  const bool has_none = kind == TraitKind::outcome && missing >= least;
  if (all_numbers && !numbers.empty()) {
    std::ranges::sort(numbers);
    cut_at_quantiles(numbers, least, trait);
    if (trait.bounds.empty()) trait.values = {"any number"};
  } else {
    name_values(students, attribute.values, least, Trait::most_values - (has_none ? 1 : 0), trait);
  }
  if (has_none) trait.values.emplace_back(Trait::no_value);
  if (trait.values.size() < 2) {
    throw OptionError(
        concat("column '", name, "' has no two values of at least ", least, " students each: a model cannot learn it"));
  }
  return trait;
}

Trait derived_outcome(const Cohort& cohort, const std::string& name, const std::string& expression,
                      std::int64_t least) {
  const OutcomeExpression parsed = OutcomeExpression::parse(expression);
  for (const std::string& column : parsed.columns()) {
    if (OutcomeExpression::find_column(cohort, column) == nullptr) cohort.attribute(column);  // says which there are
  }
  std::int64_t students[2] = {0, 0};
  for (const std::optional<bool> holds : parsed.evaluate(cohort)) {
    if (holds) ++students[*holds ? 1 : 0];
  }
  if (students[0] < least || students[1] < least) {
    throw OptionError(concat("outcome '", name, "': '", expression, "' is ", students[1] < least ? "true" : "false",
                             " for fewer than ", least, " students: a model cannot learn it"));
  }
  return {name, TraitKind::outcome, no_and_yes(), {}, expression};
}

std::vector<NamedTrait> read_trait_names(const std::string& attributes, const std::string& outcomes) {
  std::vector<NamedTrait> named;
  for (std::string& name : items_of(attributes))
    named.push_back({std::move(name), TraitKind::attribute, {}});
  for (const std::string& item : items_of(outcomes)) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos) {
      named.push_back({item, TraitKind::outcome, {}});
      continue;
    }
    const std::string_view name = trimmed(std::string_view(item).substr(0, equals));
    const std::string_view expression = trimmed(std::string_view(item).substr(equals + 1));
    if (name.empty() || expression.empty() || name.find_first_of("<>!()'\"") != std::string_view::npos)
      throw OptionError(concat("'", item, "': a derived outcome needs a name, as in NAME=EXPRESSION"));
    named.push_back({std::string(name), TraitKind::outcome, std::string(expression)});
  }
  return named;
}

std::vector<Trait> traits_named(const Cohort& cohort, const std::string& attributes, const std::string& outcomes) {
  const std::int64_t least = least_students_of_a_value(cohort);
  const std::string departure = departure_trait({}).name;
  std::vector<Trait> traits;
  for (const NamedTrait& named : read_trait_names(attributes, outcomes)) {
    if (named.name == departure)
      throw OptionError(concat("'", departure, "' follows from the periods: give the column another name"));
    if (std::ranges::find(traits, named.name, &Trait::name) != traits.end()) {
      throw OptionError(concat("'", named.name, "' is named twice among ", setting_name("attributes"), " and ",
                               setting_name("outcomes")));
    }
    traits.push_back(named.expression.empty() ? trait_from(cohort, named.name, named.kind, least)
                                              : derived_outcome(cohort, named.name, named.expression, least));
  }
  return traits;
}

std::vector<std::string> trait_warnings(const Cohort& cohort, std::span<const Trait> traits) {
  std::vector<std::string> warnings;
  const std::vector<std::string> changing = changing_columns(cohort);
  const std::vector<TraitValues> known = known_traits(cohort, traits);
  for (std::size_t a = 0; a < traits.size(); ++a) {
    const std::string& name = traits[a].name;
    if (traits[a].kind != TraitKind::attribute) continue;
    const std::string advice = concat("; a column recorded after entry belongs under ", setting_name("outcomes"));
    const auto own = std::ranges::find(cohort.attributes(), name, &Attribute::name);
    if (std::ranges::find(changing, name) != changing.end()) {
      warnings.push_back(concat("attribute '", name, "' changes within students, and its last value was kept", advice));
    } else if (own != cohort.attributes().end() && comes_later(cohort, *own, least_students_of_a_value(cohort))) {
      warnings.push_back(
          concat("attribute '", name, "' is mostly missing for students whose periods are not over", advice));
    }
    for (std::size_t o = 0; o < traits.size(); ++o) {
      if (traits[o].kind != TraitKind::outcome || !settles(count_pairs(known, traits, a, o))) continue;
      warnings.push_back(concat("attribute '", name, "' determines outcome '", traits[o].name,
                                "', or nearly: other things known will hardly matter for it", advice));
    }
  }
  return warnings;
}

std::vector<TraitValues> known_traits(const Cohort& cohort, std::span<const Trait> traits) {
  std::vector<TraitValues> known(static_cast<std::size_t>(cohort.student_count()) * traits.size());
  for (std::size_t i = 0; i < traits.size(); ++i) {
    const Trait& trait = traits[i];
    const auto values_of = [&](std::int64_t s) -> TraitValues& {
      return known[static_cast<std::size_t>(s) * traits.size() + i];
    };
    if (!trait.expression.empty()) {
      const auto holds = OutcomeExpression::parse(trait.expression).evaluate(cohort);
      for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
        const auto is = holds[static_cast<std::size_t>(s)];
        values_of(s) = is ? TraitValues{1} << trait.require(*is ? yes : no) : trait.all();
      }
      continue;
    }
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
      values_of(s) = code >= 0                                   ? of_code[static_cast<std::size_t>(code)]
                     : knows_none && periods_are_over(cohort, s) ? TraitValues{1} << *none
                                                                 : trait.all();
    }
  }
  return known;
}

}  // namespace desirepath::inline transcripts
