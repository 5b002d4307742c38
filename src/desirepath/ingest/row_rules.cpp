#include "desirepath/ingest/row_rules.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

namespace desirepath::inline ingest {

namespace {

constexpr std::int64_t students_per_task = 4096;

void end_presence(std::span<Row> rows, Fate fate) {
  for (Row& row : rows) {
    if (row.presence == Fate::kept) row.presence = fate;
    if (row.fate == Fate::kept) row.fate = fate;
  }
}

SiftedRows group_by_student(RowCollection& collection, const Executor& executor) {
  std::vector<Row> unsorted = std::move(collection.rows);
  SiftedRows sifted;
  sifted.students = collection.students.in_natural_order();
  std::vector<std::uint32_t> place(sifted.students.size());
  for (std::uint32_t s = 0; s < place.size(); ++s)
    place[sifted.students[s]] = s;
  sifted.begin.assign(place.size() + 1, 0);
  bool is_grouped = true;
  std::uint32_t last = 0;
  for (const Row& row : unsorted) {
    const std::uint32_t student = place[row.student];
    is_grouped = is_grouped && student >= last;
    last = student;
    ++sifted.begin[student + 1];
  }
  std::partial_sum(sifted.begin.begin(), sifted.begin.end(), sifted.begin.begin());
  if (is_grouped) {  // many tables are written by student
    sifted.rows = std::move(unsorted);
    return sifted;
  }
  std::vector<std::size_t> next(sifted.begin.begin(), sifted.begin.end() - 1);
  sifted.rows.resize(unsorted.size());
  // Every block looks at all rows: there are no more of them than threads.
  const std::int64_t students = std::ssize(place), threads = executor.threads();
  executor.for_blocks(students, std::max(students_per_task, (students + threads - 1) / threads), [&](Range block) {
    for (const Row& row : unsorted) {
      const std::uint32_t student = place[row.student];
      if (student >= block.first && student < block.last) sifted.rows[next[student]++] = row;
    }
  });
  return sifted;
}

/// Whatever lies so far off is later than any period that counts.
std::int16_t period_of(std::int32_t period) {
  return static_cast<std::int16_t>(std::min<std::int32_t>(period, std::numeric_limits<std::int16_t>::max()));
}

/// From the number of its term to the period of each row, where years or terms since entry count; the step of period 1.
std::int32_t set_periods(const RowCollection& collection, const TermCalendar& calendar, std::uint32_t student,
                         std::span<Row> rows) {
  const auto key = [&](std::int32_t number) { return collection.terms[static_cast<std::size_t>(number)].key(); };
  std::int32_t entry = std::ranges::min(rows, {}, [&](const Row& row) { return key(row.term); }).term;
  const std::int32_t named = student < collection.entry.size() ? collection.entry[student] : -1;
  if (named >= 0 && key(named) <= key(entry)) entry = named;
  // A summer term shares the place of the one before it, which may lie before the first of a year that is named.
  const auto step_of_row = [&](const Row& row) { return calendar.step_of(row.term); };
  const std::int32_t first_step =
      std::min(calendar.step_of(entry), step_of_row(std::ranges::min(rows, {}, step_of_row)));
  for (Row& row : rows)
    row.period = period_of(calendar.step_of(row.term) - first_step + 1);
  return first_step;
}

/// Of a student's rows, the first term in each period, by period.
std::vector<std::pair<std::int32_t, std::int32_t>> first_terms(const RowCollection& collection,
                                                               std::span<const Row> rows) {
  const auto key = [&](std::int32_t number) { return collection.terms[static_cast<std::size_t>(number)].key(); };
  std::vector<std::pair<std::int32_t, std::int32_t>> found;
  for (const Row& row : rows) {
    if (row.term < 0) continue;
    const auto at = std::ranges::lower_bound(found, row.period, {}, &std::pair<std::int32_t, std::int32_t>::first);
    if (at == found.end() || at->first != row.period)
      found.emplace(at, row.period, row.term);
    else if (key(row.term) < key(at->second))
      at->second = row.term;
  }
  return found;
}

/// Whether periods that are given follow the years, or the terms, that stand beside them.
PeriodStep step_of_given_periods(const RowCollection& collection, const TermCalendar& calendar,
                                 const SiftedRows& sifted) {
  std::int64_t pairs = 0, by_year = 0, by_term = 0;
  for (std::size_t s = 0; s < sifted.students.size(); ++s) {
    const auto terms = first_terms(collection, sifted.rows_of(s));
    for (std::size_t i = 1; i < terms.size(); ++i) {
      const std::int32_t steps = terms[i].first - terms[i - 1].first;
      const auto apart = [&](auto place) { return place(terms[i].second) - place(terms[i - 1].second); };
      ++pairs;
      by_year += apart([&](std::int32_t t) { return calendar.year_of(t); }) == steps ? 1 : 0;
      by_term += apart([&](std::int32_t t) { return calendar.place_of(t); }) == steps ? 1 : 0;
    }
  }
  const auto nearly_all = [&](std::int64_t count) { return pairs > 0 && 20 * count >= 19 * pairs; };
  return nearly_all(by_year) ? PeriodStep::year : nearly_all(by_term) ? PeriodStep::term : PeriodStep::not_known;
}

/// The step at which period 1 lies, told by the last period whose term is known.
std::int32_t first_step_of_given(const RowCollection& collection, const TermCalendar& calendar,
                                 std::span<const Row> rows) {
  if (!calendar.is_known()) return TermCalendar::no_step;
  const auto terms = first_terms(collection, rows);
  return terms.empty() ? TermCalendar::no_step : calendar.step_of(terms.back().second) - terms.back().first + 1;
}

void end_after_last_period(std::span<Row> rows, int last_period, LaterRule rule) {
  for (Row& row : rows) {
    if (row.period <= last_period) continue;
    if (rule == LaterRule::last)
      row.period = static_cast<std::int16_t>(last_period);
    else
      end_presence({&row, 1}, Fate::later);
  }
}

void mark_duplicates(std::span<Row> rows) {
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const Row& before = rows[i - 1];
    const bool same = rows[i].counts() && rows[i].period == before.period && rows[i].course == before.course;
    if (same && (before.fate == Fate::kept || before.fate == Fate::duplicate)) rows[i].fate = Fate::duplicate;
  }
}

void mark_repeats(std::span<Row> rows, RepeatRule rule) {
  std::unordered_map<std::uint32_t, std::int32_t> period;  // of each course, that counts
  for (const Row& row : rows) {
    if (!row.counts()) continue;
    const auto [known, added] = period.emplace(row.course, row.period);
    if (!added && rule == RepeatRule::last) known->second = row.period;
  }
  for (Row& row : rows) {
    if (row.counts() && period[row.course] != row.period) row.fate = Fate::repeat;
  }
}

void mark_part_time(std::span<Row> rows, const TableOptions& options) {
  bool once = false;
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    int courses = 0;
    double units = 0;
    bool present = false;
    for (; end < rows.size() && rows[end].period == rows[begin].period; ++end) {
      present = present || rows[end].presence == Fate::kept;
      if (!rows[end].counts()) continue;
      ++courses;
      units += rows[end].units;
    }
    if (!present || (courses >= options.full_time_courses && units >= options.full_time_units)) continue;
    once = true;
    if (options.part_time == PartTimeRule::drop_periods)
      end_presence(rows.subspan(begin, end - begin), Fate::part_time);
  }
  if (once && options.part_time == PartTimeRule::drop_students) end_presence(rows, Fate::part_time);
}

void mark_few_periods(std::span<Row> rows, int least) {
  int periods = 0;
  std::int32_t last = 0;
  for (const Row& row : rows) {
    if (row.presence == Fate::kept && std::exchange(last, row.period) != row.period) ++periods;
  }
  if (periods < least) end_presence(rows, Fate::few_periods);
}

/// Courses with enough takers stay, and those of the course file.
void drop_rare_courses(SiftedRows& sifted, const RowCollection& collection, int least) {
  std::vector<std::int64_t> takers(collection.courses.size(), 0);
  std::vector<std::size_t> last_taker(takers.size(), sifted.students.size());
  for (std::size_t s = 0; s < sifted.students.size(); ++s) {
    for (const Row& row : sifted.rows_of(s)) {
      if (row.counts() && std::exchange(last_taker[row.course], s) != s) ++takers[row.course];
    }
  }
  std::set<std::string, std::less<>> listed;
  for (const Course& course : collection.listed)
    listed.insert(course.name);
  sifted.course_stays.resize(takers.size());
  for (std::uint32_t c = 0; c < takers.size(); ++c)
    sifted.course_stays[c] = takers[c] >= std::max(1, least) || listed.contains(collection.courses.text(c));
  for (Row& row : sifted.rows) {
    if (row.counts() && !sifted.course_stays[row.course]) row.fate = Fate::rare_course;
  }
}

int last_period_of(PeriodRule rule, const TableOptions& options) {
  if (options.keep_periods) return *options.keep_periods;
  return rule == PeriodRule::as_given ? most_periods : rule == PeriodRule::terms_since_entry ? 8 : 4;
}

/// The rules that go by one student's rows alone; rows come out by period and course.
void apply_to_student(std::span<Row> rows, int last_period, const TableOptions& options) {
  end_after_last_period(rows, last_period, options.later);
  std::ranges::sort(rows, [](const Row& a, const Row& b) {
    if (a.period != b.period) return a.period < b.period;
    if (a.course != b.course) return a.course < b.course;
    if (a.fate != b.fate) return a.fate > b.fate;  // a row that counts stands for its duplicates
    return a.units > b.units;                      // whichever came first
  });
  mark_duplicates(rows);
  if (options.repeats != RepeatRule::keep) mark_repeats(rows, options.repeats);
  if (options.part_time != PartTimeRule::keep) mark_part_time(rows, options);
  mark_few_periods(rows, options.min_periods);
}

}  // namespace

SiftedRows apply_rules(RowCollection& collection, const TableOptions& options, const Executor& executor) {
  SiftedRows sifted = group_by_student(collection, executor);
  sifted.last_period = last_period_of(collection.periods, options);
  sifted.calendar = TermCalendar(collection);
  const bool from_entry = collection.periods != PeriodRule::as_given;
  sifted.calendar.set_step(!from_entry ? step_of_given_periods(collection, sifted.calendar, sifted)
                           : collection.periods == PeriodRule::terms_since_entry ? PeriodStep::term
                                                                                 : PeriodStep::year);
  sifted.presence.resize(sifted.students.size());
  sifted.first_step.resize(sifted.students.size());
  executor.for_blocks(std::ssize(sifted.students), students_per_task, [&](Range block) {
    for (auto s = static_cast<std::size_t>(block.first); s < static_cast<std::size_t>(block.last); ++s) {
      const std::span<Row> rows(sifted.rows.data() + sifted.begin[s], sifted.rows.data() + sifted.begin[s + 1]);
      if (rows.empty()) {  // none is selected, and nobody can say when
        sifted.presence[s] = Fate::where;
        continue;
      }
      sifted.first_step[s] = from_entry ? set_periods(collection, sifted.calendar, sifted.students[s], rows)
                                        : first_step_of_given(collection, sifted.calendar, rows);
      apply_to_student(rows, sifted.last_period, options);
      sifted.presence[s] = std::ranges::max(rows, {}, &Row::presence).presence;
    }
  });
  drop_rare_courses(sifted, collection, options.least_takers());
  return sifted;
}

}  // namespace desirepath::inline ingest
