#include "desirepath/transcripts/calendar.h"

#include <map>

#include "desirepath/core/error.h"

namespace desirepath::inline transcripts {

Calendar Calendar::of_years(std::span<const std::int32_t> years) {
  std::map<std::int32_t, std::int16_t> number_of;
  for (const std::int32_t year : years) {
    if (year < -1 || year > 9999) throw InputError("a calendar year out of range");
    if (year >= 0) number_of.emplace(year, 0);
  }
  Calendar calendar;
  for (auto& [year, number] : number_of) {
    number = static_cast<std::int16_t>(calendar.terms.size());
    calendar.terms.push_back({std::to_string(year), year, false});
  }
  calendar.term_of.reserve(years.size());
  for (const std::int32_t year : years)
    calendar.term_of.push_back(year < 0 ? std::int16_t{-1} : number_of[year]);
  return calendar;
}

}  // namespace desirepath::inline transcripts
