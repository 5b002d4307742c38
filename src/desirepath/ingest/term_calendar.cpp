#include "desirepath/ingest/term_calendar.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline ingest {

TermCalendar::TermCalendar(const RowCollection& collection) {
  const std::vector<Term>& terms = collection.terms;
  std::vector<std::size_t> all(terms.size()), of_rows;
  std::iota(all.begin(), all.end(), 0);
  std::ranges::sort(all, {}, [&](std::size_t t) { return terms[t].key(); });
  numbers_.assign(terms.size(), -1);
  for (const Term& term : terms)
    years_.push_back(term.academic_year);
  place_terms(collection, all);
  for (const std::size_t t : all) {
    if (collection.term_rows[t] == 0) continue;
    numbers_[t] = static_cast<std::int16_t>(terms_.size());
    terms_.push_back({collection.term_names[t], terms[t].academic_year, terms[t].summer});
    of_rows.push_back(t);
  }
  if (of_rows.empty()) return;
  find_end(collection, of_rows);
  find_last_year(collection, of_rows);
}

void TermCalendar::place_terms(const RowCollection& collection, const std::vector<std::size_t>& order) {
  const std::vector<Term>& terms = collection.terms;
  places_.assign(terms.size(), 0);
  const auto first = std::ranges::find_if(order, [&](std::size_t t) { return collection.term_rows[t] > 0; });
  if (first == order.end()) return;
  const std::int32_t first_year = terms[*first].academic_year;
  const auto is_before = [&](std::size_t t) { return terms[t].academic_year < first_year; };
  std::int32_t next = 0;
  std::map<std::int32_t, std::int32_t> first_in;              // by academic year
  std::map<std::int32_t, std::vector<std::int32_t>> main_in;  // the order of its terms
  for (const std::size_t t : order) {
    if (terms[t].whole_year || is_before(t)) continue;
    places_[t] = terms[t].summer ? std::max(0, next - 1) : next++;
    if (terms[t].summer) continue;
    first_in.emplace(terms[t].academic_year, places_[t]);
    main_in[terms[t].academic_year].push_back(terms[t].order);
  }
  std::vector<std::int32_t> usual = {0};
  for (const auto& [year, orders] : main_in) {
    if (year == main_in.begin()->first || orders.size() > usual.size()) usual = orders;
  }
  // A year begins with its first term. Before the data, where only an entry can lie, years are as the fullest of them.
  for (const std::size_t t : order) {
    const auto before = first_year - terms[t].academic_year;
    const auto within = std::ranges::count_if(usual, [&](std::int32_t other) { return other < terms[t].order; });
    const auto at = first_in.lower_bound(terms[t].academic_year);
    if (before > 0)
      places_[t] = static_cast<std::int32_t>(within - before * std::ssize(usual));
    else if (terms[t].whole_year)
      places_[t] = at == first_in.end() ? next : at->second;
  }
}

void TermCalendar::find_end(const RowCollection& collection, const std::vector<std::size_t>& order) {
  const std::vector<Term>& terms = collection.terms;
  const std::vector<std::int64_t>& rows = collection.term_rows;
  if (collection.data_end >= 0) {
    const Term& named = terms[static_cast<std::size_t>(collection.data_end)];
    const auto is_within = [&](std::size_t t) {
      return named.whole_year ? terms[t].academic_year <= named.academic_year : terms[t].key() <= named.key();
    };
    for (std::size_t i = 0; i < order.size() && is_within(order[i]); ++i)
      data_end_ = static_cast<std::int32_t>(i);
    const bool is_later = named.whole_year ? named.academic_year > terms[order.back()].academic_year
                                           : named.key() > terms[order.back()].key();
    if (data_end_ < 0 || is_later) {
      throw OptionError(concat(setting_name("data-end"), " lies ", is_later ? "after" : "before",
                               " all terms of the data, from '", terms_.front().label, "' to '", terms_.back().label,
                               "'"));
    }
    note_ = concat("the data end with the term '", terms_[static_cast<std::size_t>(data_end_)].label, "', as ",
                   setting_name("data-end"), " says");
    return;
  }
  // Where a term has no like one year earlier, it is held against the mean term of that year, or else of all years.
  std::map<std::int32_t, std::pair<double, double>> of_year;  // rows, terms
  std::pair<double, double> in_all{0, 0};
  for (const std::size_t t : order) {
    for (auto* sums : {&of_year[terms[t].academic_year], &in_all}) {
      sums->first += static_cast<double>(rows[t]);
      sums->second += 1;
    }
  }
  const auto usual_rows = [&](std::size_t t) {
    for (const std::size_t other : order) {
      const bool is_like = terms[other].academic_year == terms[t].academic_year - 1 &&
                           terms[other].order == terms[t].order && terms[other].summer == terms[t].summer;
      if (is_like) return static_cast<double>(rows[other]);
    }
    const auto before = of_year.find(terms[t].academic_year - 1);
    const auto& sums = before == of_year.end() ? in_all : before->second;
    return sums.first / sums.second;
  };
  std::int64_t later_rows = 0;
  for (std::size_t i = order.size(); i-- > 0;) {
    if (3 * static_cast<double>(rows[order[i]]) >= usual_rows(order[i])) {
      data_end_ = static_cast<std::int32_t>(i);
      break;
    }
    later_rows += rows[order[i]];
  }
  note_ = concat("the data end with the term '", terms_[static_cast<std::size_t>(data_end_)].label,
                 "', the last with at least a third of the rows of the same term one year earlier",
                 later_rows == 0
                     ? std::string()
                     : concat("; ", counted(later_rows, "row of a later term counts", "rows of later terms count"),
                              " as enrollment"),
                 " (", setting_name("data-end"), " says otherwise)");
}

/// A year has ended with the last of its terms that other years have, whatever small or summer term may follow.
void TermCalendar::find_last_year(const RowCollection& collection, const std::vector<std::size_t>& order) {
  const std::vector<Term>& terms = collection.terms;
  const Term& end = terms[order[static_cast<std::size_t>(data_end_)]];
  last_place_ = places_[order[static_cast<std::size_t>(data_end_)]];
  last_year_ = end.academic_year;
  constexpr std::int64_t small = 10;  // a term with a tenth of the rows of the largest of its year is none that matters
  std::map<std::int32_t, std::int64_t> largest;
  for (const std::size_t t : order) {
    auto& most = largest[terms[t].academic_year];
    most = std::max(most, collection.term_rows[t]);
  }
  std::map<std::int32_t, std::int32_t> last_of_year;
  for (const std::size_t t : order) {
    const bool matters = !terms[t].summer && small * collection.term_rows[t] >= largest[terms[t].academic_year];
    if (terms[t].academic_year < end.academic_year && matters) last_of_year[terms[t].academic_year] = terms[t].order;
  }
  if (last_of_year.empty()) return;
  std::vector<std::int32_t> usual;
  for (const auto& [year, last] : last_of_year)
    usual.push_back(last);
  std::ranges::sort(usual);
  if (end.order < usual[(usual.size() - 1) / 2]) --last_year_;
}

}  // namespace desirepath::inline ingest
