#include "desirepath/ingest/row_rules.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "desirepath/ingest/ordered_work.h"

namespace desirepath::inline ingest {

namespace {

void end_presence(std::span<Row> rows, Fate fate) {
  for (Row& row : rows) {
    if (row.presence == Fate::kept) row.presence = fate;
    if (row.fate == Fate::kept) row.fate = fate;
  }
}

SiftedRows group_by_student(RowCollection& collection, int threads) {
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
  on_threads(threads, place.size(), [&](std::size_t first, std::size_t last_one) {
    for (const Row& row : unsorted) {
      const std::uint32_t student = place[row.student];
      if (student >= first && student < last_one) sifted.rows[next[student]++] = row;
    }
  });
  return sifted;
}

/// From the number of its term to the period of each row, for whom the years or terms since entry count.
class PeriodsFromEntry {
 public:
  explicit PeriodsFromEntry(const RowCollection& collection)
      : collection_(collection), place_(collection.terms.size()) {
    std::vector<std::size_t> order(place_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [&](std::size_t t) { return collection.terms[t].key(); });
    std::int32_t next = 0;
    for (const std::size_t t : order)
      place_[t] = collection.terms[t].summer ? std::max(0, next - 1) : next++;
  }

  void set(std::uint32_t student, std::span<Row> rows) const {
    const auto key = [&](std::int32_t number) { return term(number).key(); };
    std::int32_t entry = std::ranges::min(rows, {}, [&](const Row& row) { return key(row.when); }).when;
    const std::int32_t named = student < collection_.entry.size() ? collection_.entry[student] : -1;
    if (named >= 0 && key(named) <= key(entry)) entry = named;
    for (Row& row : rows)
      row.when = step_of(row.when) - step_of(entry) + 1;
  }

 private:
  const Term& term(std::int32_t number) const { return collection_.terms[static_cast<std::size_t>(number)]; }
  std::int32_t step_of(std::int32_t number) const {
    const bool by_terms = collection_.periods == PeriodRule::terms_since_entry;
    return by_terms ? place_[static_cast<std::size_t>(number)] : term(number).academic_year;
  }

  const RowCollection& collection_;
  std::vector<std::int32_t> place_;  // of each term among those that count; a summer term shares that of the one before
};

void end_after_last_period(std::span<Row> rows, int last_period, LaterRule rule) {
  for (Row& row : rows) {
    if (row.when <= last_period) continue;
    if (rule == LaterRule::last)
      row.when = last_period;
    else
      end_presence({&row, 1}, Fate::later);
  }
}

void mark_duplicates(std::span<Row> rows) {
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const Row& before = rows[i - 1];
    const bool same = rows[i].counts() && rows[i].when == before.when && rows[i].course == before.course;
    if (same && (before.fate == Fate::kept || before.fate == Fate::duplicate)) rows[i].fate = Fate::duplicate;
  }
}

void mark_repeats(std::span<Row> rows, RepeatRule rule) {
  std::unordered_map<std::uint32_t, std::int32_t> period;  // of each course, that counts
  for (const Row& row : rows) {
    if (!row.counts()) continue;
    const auto [known, added] = period.emplace(row.course, row.when);
    if (!added && rule == RepeatRule::last) known->second = row.when;
  }
  for (Row& row : rows) {
    if (row.counts() && period[row.course] != row.when) row.fate = Fate::repeat;
  }
}

void mark_part_time(std::span<Row> rows, const TableOptions& options) {
  bool once = false;
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    int courses = 0;
    double units = 0;
    bool present = false;
    for (; end < rows.size() && rows[end].when == rows[begin].when; ++end) {
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
    if (row.presence == Fate::kept && std::exchange(last, row.when) != row.when) ++periods;
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
    if (a.when != b.when) return a.when < b.when;
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

SiftedRows apply_rules(RowCollection& collection, const TableOptions& options) {
  SiftedRows sifted = group_by_student(collection, options.threads);
  sifted.last_period = last_period_of(collection.periods, options);
  const PeriodsFromEntry periods(collection);
  sifted.presence.resize(sifted.students.size());
  on_threads(options.threads, sifted.students.size(), [&](std::size_t first, std::size_t last) {
    for (std::size_t s = first; s < last; ++s) {
      const std::span<Row> rows(sifted.rows.data() + sifted.begin[s], sifted.rows.data() + sifted.begin[s + 1]);
      if (collection.periods != PeriodRule::as_given) periods.set(sifted.students[s], rows);
      apply_to_student(rows, sifted.last_period, options);
      sifted.presence[s] = std::ranges::max(rows, {}, &Row::presence).presence;
    }
  });
  drop_rare_courses(sifted, collection, options.least_takers());
  return sifted;
}

}  // namespace desirepath::inline ingest
