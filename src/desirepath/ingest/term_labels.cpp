#include "desirepath/ingest/term_labels.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline ingest {

namespace {

using Shape = TermReading::Shape;

/// Labels of one kind go together. In the order in which, of as many, they are taken for the rule.
enum class Kind { calendar, coded, century, year, house };

Kind kind_of(const TermReading& reading, const TermChoice& choice) {
  switch (reading.shape) {
    case Shape::house:
      return Kind::house;
    case Shape::calendar:
      return Kind::calendar;
    case Shape::digits:
      return Kind::century;
    case Shape::year:
      return choice.century_codes && !reading.two_years ? Kind::century : Kind::year;
    case Shape::pair:
      return choice.months ? Kind::calendar : Kind::year;
    case Shape::coded:
      return choice.months ? Kind::calendar : Kind::coded;
  }
  return Kind::year;
}

std::string in_year(const std::string& label, const Term& term) {
  return concat("'", label, "' is in the academic year ", term.academic_year, term.summer ? " (summer)" : "");
}

}  // namespace

std::string quoted_list(const std::vector<std::string>& labels) {
  constexpr std::size_t most = 5;
  std::string list;
  for (std::size_t i = 0; i < std::min(most, labels.size()); ++i)
    list += concat(i == 0 ? "'" : ", '", labels[i], "'");
  if (labels.size() > most) list += concat(" and ", labels.size() - most, " more");
  return list;
}

void TermLabels::begin_file(TermRules rules) {
  rules_.push_back(std::move(rules));
  texts_ = {};
  numbers_.clear();
}

std::int32_t TermLabels::number_of(std::string_view label) {
  const std::uint32_t text = texts_.number_of(label);
  if (text < numbers_.size()) return numbers_[text];
  const auto reading = rules_.back().read(label);
  numbers_.push_back(reading ? static_cast<std::int32_t>(labels_.size()) : -1);
  if (reading) labels_.push_back({std::string(label), *reading, rules_.size() - 1, reading->rough_key()});
  return numbers_.back();
}

std::vector<std::int32_t> TermLabels::take_in(const TermLabels& part) {
  std::vector<std::int32_t> numbers(part.labels_.size(), -1);
  for (std::uint32_t text = 0; text < part.texts_.size(); ++text) {
    const std::int32_t number = number_of(part.texts_.text(text));
    if (part.numbers_[text] >= 0) numbers[static_cast<std::size_t>(part.numbers_[text])] = number;
  }
  return numbers;
}

TermLabels::Understood TermLabels::understand() const {
  std::vector<TermReading> readings;
  for (const Label& label : labels_)
    readings.push_back(label.reading);
  const TermChoice choice = choose_reading(readings);

  std::map<Kind, std::set<std::string>> of_kind;
  for (const Label& label : labels_)
    of_kind[kind_of(label.reading, choice)].insert(label.text);
  const bool has_house_codes = of_kind.contains(Kind::house);
  Kind rule = Kind::house;
  for (const auto& [kind, texts] : of_kind) {
    if (kind != Kind::house && (rule == Kind::house || texts.size() > of_kind[rule].size())) rule = kind;
  }

  Understood understood;
  std::map<std::int64_t, const Label*> by_time;
  for (const Label& label : labels_) {
    const Kind kind = kind_of(label.reading, choice);
    if (kind != rule && kind != Kind::house) {
      if (std::ranges::find(understood.misfits, label.text) == understood.misfits.end())
        understood.misfits.push_back(label.text);
      understood.of_label.push_back(-1);
      continue;
    }
    const Term term = rules_[label.rules].term_of(label.reading, choice);
    const auto same = std::ranges::find(understood.terms, term);
    understood.of_label.push_back(static_cast<std::int32_t>(same - understood.terms.begin()));
    if (same == understood.terms.end()) understood.terms.push_back(term);
    by_time.emplace(term.key(), &label);
    if (has_house_codes && kind != Kind::house) understood.not_in_file.push_back(label.text);
  }
  std::ranges::sort(understood.misfits, natural_less);
  for (const std::string& text : of_kind[rule]) {
    if (understood.others.size() < 2) understood.others.push_back(text);
  }
  constexpr std::size_t most_labels = 400;
  understood.may_be_named = of_kind[rule].size() + understood.misfits.size() <= most_labels;
  if (by_time.empty()) return understood;
  static constexpr std::array<std::string_view, 5> names = {"seasons or months", "a year and a code within it",
                                                            "PeopleSoft's century, year and term", "years",
                                                            "the codes that are listed"};
  const auto said = [&](const Label& label) {
    return in_year(label.text, rules_[label.rules].term_of(label.reading, choice));
  };
  understood.note = concat("terms are read as ", names.at(static_cast<std::size_t>(rule)));
  if (understood.may_be_named) understood.note += concat(": ", said(*by_time.begin()->second));
  if (understood.may_be_named && by_time.size() > 1) understood.note += concat(", ", said(*by_time.rbegin()->second));
  understood.note += concat(" (", setting_name(rule == Kind::calendar ? "year-starts" : "terms"), " says otherwise)");
  return understood;
}

}  // namespace desirepath::inline ingest
