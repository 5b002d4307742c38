#include "desirepath/ingest/period_check.h"

#include <algorithm>
#include <tuple>

#include "desirepath/ingest/term.h"

namespace desirepath::inline ingest {

namespace {

constexpr std::uint32_t most_students = 20'000;  // enough to tell, and little to hold

}  // namespace

void PeriodCheck::note(std::size_t column, std::uint32_t student, int period, std::string_view text) {
  Column& here = columns_[column];
  if (here.dropped || text.empty()) return;
  const std::uint32_t number = here.texts.number_of(text);
  if (number == here.years.size()) {
    const auto term = TermRules().parse(text);
    if (!term) {
      here = {};
      here.dropped = true;
      return;
    }
    here.years.push_back(term->academic_year);
  }
  const auto at = static_cast<std::int16_t>(period);
  add(here, {student, here.years[number], at, at});
}

void PeriodCheck::add(Column& column, const Seen& seen) {
  if (!column.seen.empty()) {
    Seen& last = column.seen.back();
    if (last.student == seen.student && last.academic_year == seen.academic_year) {
      last.first = std::min(last.first, seen.first);
      last.last = std::max(last.last, seen.last);
      return;
    }
  }
  column.seen.push_back(seen);
  constexpr std::size_t least = 100'000;
  if (column.seen.size() > std::max(least, 2 * column.sorted)) fold(column);
}

void PeriodCheck::fold(Column& column) {
  std::ranges::sort(column.seen, {},
                    [](const Seen& seen) { return std::tuple(seen.student, seen.academic_year, seen.first); });
  std::vector<Seen> folded;
  for (const Seen& seen : column.seen) {
    if (!folded.empty() && folded.back().student == seen.student && folded.back().academic_year == seen.academic_year)
      folded.back().last = std::max(folded.back().last, seen.last);
    else
      folded.push_back(seen);
  }
  column.seen = std::move(folded);
  column.sorted = column.seen.size();
}

void PeriodCheck::take_in(const PeriodCheck& part, const std::vector<std::uint32_t>& students,
                          const std::vector<std::size_t>& columns) {
  for (std::size_t c = 0; c < part.columns_.size(); ++c) {
    if (columns[c] >= columns_.size()) columns_.resize(columns[c] + 1);
    Column& here = columns_[columns[c]];
    if (here.dropped) continue;
    if (part.columns_[c].dropped) {
      here = {};
      here.dropped = true;
      continue;
    }
    for (const Seen& seen : part.columns_[c].seen) {
      const std::uint32_t student = students[seen.student];
      if (student < most_students) add(here, {student, seen.academic_year, seen.first, seen.last});
    }
  }
}

std::optional<PeriodCheck::Finding> PeriodCheck::finding() const {
  std::optional<Finding> worst;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    Column column = columns_[c];
    fold(column);
    Finding found{c, 0, 0};
    for (std::size_t i = 0; i < column.seen.size();) {
      const std::uint32_t student = column.seen[i].student;
      std::int16_t latest = column.seen[i].last;
      bool back = false;
      std::size_t years = 1;
      for (++i; i < column.seen.size() && column.seen[i].student == student; ++i, ++years) {
        back = back || column.seen[i].first < latest;
        latest = std::max(latest, column.seen[i].last);
      }
      if (years < 2) continue;
      ++found.students;
      found.back += back ? 1 : 0;
    }
    const bool most = found.students >= 2 && 2 * found.back > found.students;
    if (most && (!worst || found.back > worst->back)) worst = found;
  }
  return worst;
}

}  // namespace desirepath::inline ingest
