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

std::int32_t TermLabels::number_of(std::string_view label, LabelUse use) {
  const std::uint32_t text = texts_.number_of(label);
  if (text >= numbers_.size()) {
    const auto reading = rules_.back().read(label);
    numbers_.push_back(reading ? static_cast<std::int32_t>(labels_.size()) : -1);
    if (reading) labels_.push_back({std::string(label), *reading, rules_.size() - 1, reading->rough_key(), {}});
  }
  const std::int32_t number = numbers_[text];
  if (number >= 0) labels_[static_cast<std::size_t>(number)].use = labels_[static_cast<std::size_t>(number)].use | use;
  return number;
}

std::vector<std::int32_t> TermLabels::take_in(const TermLabels& part) {
  std::vector<std::int32_t> numbers(part.labels_.size(), -1);
  for (std::uint32_t text = 0; text < part.texts_.size(); ++text) {
    const std::int32_t in_part = part.numbers_[text];
    const LabelUse use = in_part < 0 ? LabelUse() : part.labels_[static_cast<std::size_t>(in_part)].use;
    const std::int32_t number = number_of(part.texts_.text(text), use);
    if (in_part >= 0) numbers[static_cast<std::size_t>(in_part)] = number;
  }
  return numbers;
}

namespace {

/// 2018 and 2018/19, which say no more than the year.
bool is_year_alone(const TermReading& reading, const TermChoice& choice) {
  return reading.shape == Shape::year || (reading.shape == Shape::pair && !choice.months);
}

/// One that people know the term by: its label, or of many dates the month.
std::string name_of_term(const std::set<std::string>& labels, const TermReading& reading, const Term& term,
                         bool may_be_named) {
  if (!may_be_named) return concat(term.academic_year, ", term ", term.order);
  if (labels.size() > 1 && reading.shape == Shape::calendar && reading.month > 0)
    return concat(reading.year, reading.month < 10 ? "-0" : "-", reading.month);
  return *std::ranges::min_element(labels, natural_less);
}

}  // namespace

TermLabels::Understood TermLabels::understand() const {
  const bool any_selected = std::ranges::any_of(labels_, [](const Label& label) { return label.use.selected_row; });
  const auto decides = [&](const Label& label) { return any_selected ? label.use.selected_row : label.use.in_rows(); };
  std::vector<TermReading> readings;
  for (const Label& label : labels_) {
    if (decides(label)) readings.push_back(label.reading);
  }
  const TermChoice choice = choose_reading(readings);

  std::map<Kind, std::set<std::string>> of_kind;
  for (const Label& label : labels_) {
    if (decides(label)) of_kind[kind_of(label.reading, choice)].insert(label.text);
  }
  const bool has_house_codes = of_kind.contains(Kind::house);
  Kind rule = Kind::house;
  for (const auto& [kind, texts] : of_kind) {
    if (kind != Kind::house && (rule == Kind::house || texts.size() > of_kind[rule].size())) rule = kind;
  }
  // Beside PeopleSoft's codes, entries are years where none of them is the code of a row.
  const bool entries_are_years =
      choice.century_codes && std::ranges::none_of(labels_, [](const Label& label) {
        return label.use.entry && (label.use.in_rows() || label.reading.shape != Shape::year);
      });

  Understood understood;
  std::map<std::int64_t, const Label*> by_time;
  std::vector<std::set<std::string>> texts;  // of each term
  std::vector<const Label*> first;
  for (const Label& label : labels_) {
    const Kind kind = kind_of(label.reading, choice);
    const bool names_year = label.use.entry && !label.use.in_rows() && is_year_alone(label.reading, choice) &&
                            (kind != rule || entries_are_years);
    if (kind != rule && kind != Kind::house && !names_year) {
      const bool matters = decides(label) || label.use.entry;
      if (matters && std::ranges::find(understood.misfits, label.text) == understood.misfits.end())
        understood.misfits.push_back(label.text);
      understood.of_label.push_back(-1);
      continue;
    }
    const Term term = names_year ? Term{label.reading.year, -1, false, /*whole_year=*/true}
                                 : rules_[label.rules].term_of(label.reading, choice);
    const auto same = std::ranges::find(understood.terms, term);
    const auto number = static_cast<std::size_t>(same - understood.terms.begin());
    understood.of_label.push_back(static_cast<std::int32_t>(number));
    if (same == understood.terms.end()) {
      understood.terms.push_back(term);
      texts.emplace_back();
      first.push_back(&label);
    }
    texts[number].insert(label.text);
    if (decides(label)) by_time.emplace(term.key(), &label);
    if (has_house_codes && kind != Kind::house && !names_year) understood.not_in_file.push_back(label.text);
  }
  std::ranges::sort(understood.misfits, natural_less);
  for (const std::string& text : of_kind[rule]) {
    if (understood.others.size() < 2) understood.others.push_back(text);
  }
  constexpr std::size_t most_labels = 400;
  understood.may_be_named = of_kind[rule].size() + understood.misfits.size() <= most_labels;
  for (std::size_t t = 0; t < texts.size(); ++t)
    understood.names.push_back(name_of_term(texts[t], first[t]->reading, understood.terms[t], understood.may_be_named));
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
