#include "desirepath/ingest/prepare.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/nearest_name.h"
#include "desirepath/core/text.h"
#include "desirepath/ingest/course_list.h"
#include "desirepath/ingest/source.h"
#include "desirepath/ingest/string_interner.h"
#include "desirepath/ingest/term.h"

namespace desirepath::inline ingest {

namespace {

constexpr std::uint32_t no_course = 0xFFFFFFFF;  // the row marks presence alone
constexpr int most_periods = 64;
constexpr std::size_t most_varying_values = 1000;

/// What became of a row: the rule that took it out, in the order the rules apply, or kept.
enum class Fate : std::uint8_t {
  where,
  summer,
  withdrawn,
  not_passed,
  later,
  duplicate,
  repeat,
  part_time,
  few_periods,
  rare_course,
  kept
};
constexpr std::size_t fate_count = static_cast<std::size_t>(Fate::kept) + 1;

std::string fate_name(Fate fate, const TableOptions& options, int last_period) {
  switch (fate) {
    case Fate::where:
      return "not selected by --where";
    case Fate::summer:
      return "summer term";
    case Fate::withdrawn:
      return "withdrawn";
    case Fate::not_passed:
      return "not passed";
    case Fate::later:
      return concat("later than period ", last_period);
    case Fate::duplicate:
      return "the same course again in the same period";
    case Fate::repeat:
      return concat("repeat (the ", options.repeats == RepeatRule::first ? "first" : "last", " period counts)");
    case Fate::part_time:
      return options.part_time == PartTimeRule::drop_periods ? "part-time period" : "part-time student";
    case Fate::few_periods:
      return concat("student present in under ", options.min_periods, " periods");
    case Fate::rare_course:
      return concat("course with under ", options.least_takers(), " takers");
    case Fate::kept:
      return "kept";
  }
  return "";
}

struct Row {
  std::uint32_t student;
  std::uint32_t course;
  std::int32_t when;  // number of the term, or the period itself; the period once it is known
  Fate fate = Fate::kept;
  Fate presence = Fate::kept;  // the rule that ended the student's presence in the period, or kept
};

using Grades = std::set<std::string>;

Grades grade_set(const std::vector<std::string>& given, std::initializer_list<const char*> usual) {
  Grades grades;
  for (const std::string& grade : given)
    grades.insert(lower_case(trimmed(grade)));
  if (given.empty()) {
    for (const char* grade : usual)
      grades.insert(grade);
  }
  return grades;
}

/// A number with a decimal point or comma.
std::optional<double> parse_number(std::string_view text) {
  std::string plain(trimmed(text));
  std::ranges::replace(plain, ',', '.');
  double value = 0;
  const auto parsed = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != plain.data() + plain.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

/// A whole period number; "2.0" and "2,0" are 2, as spreadsheets write them.
std::optional<int> parse_period(std::string_view text) {
  int value = 0;
  text = trimmed(text);
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec == std::errc() && parsed.ptr == text.data() + text.size()) {
    return value >= 1 && value <= most_periods ? std::optional(value) : std::nullopt;
  }
  const auto real = parse_number(text);
  if (!real || *real != std::floor(*real) || *real < 1 || *real > most_periods) return std::nullopt;
  return static_cast<int>(*real);
}

/// A student's value of an attribute: that of the latest row; of several there, the first in the alphabet.
struct AttributeValue {
  std::int64_t when = std::numeric_limits<std::int64_t>::min();
  std::uint32_t value = no_course;
};

struct AttributeColumn {
  std::string name;
  StringInterner values;
  std::vector<AttributeValue> of_student;
  bool varies = false;  // within a student
  bool dropped = false;
};

/// A course's subject or school as rows give it: the most frequent text, then the first in the alphabet.
class CourseText {
 public:
  void add(std::uint32_t course, std::string_view text) {
    if (text.empty()) return;
    if (course >= counts_.size()) counts_.resize(course + 1);
    auto& list = counts_[course];
    const std::uint32_t number = texts_.number_of(text);
    for (auto& [value, count] : list) {
      if (value == number) {
        ++count;
        return;
      }
    }
    list.emplace_back(number, 1);
  }
  std::string of(std::uint32_t course) const {
    if (course >= counts_.size()) return "";
    std::string best;
    std::int64_t best_count = 0;
    for (const auto& [value, count] : counts_[course]) {
      const std::string_view text = texts_.text(value);
      if (count > best_count || (count == best_count && text < best)) {
        best = text;
        best_count = count;
      }
    }
    return best;
  }

 private:
  StringInterner texts_;
  std::vector<std::vector<std::pair<std::uint32_t, std::int64_t>>> counts_;
};

/// Everything the rows said, coded.
class Collection {
 public:
  Collection(const TableOptions& options, PrepareReport& report) : options_(options), report_(report) {
    failing_ = grade_set(options.failing_grades, {"f", "fail", "failed", "nc", "np", "u", "e", "wf", "i", "incomplete",
                                                  "no credit", "not passed", "0"});
    withdrawn_ = grade_set(options.withdrawn_grades,
                           {"w", "wd", "wdr", "withdrawn", "withdraw", "withdrew", "dr", "drop", "dropped"});
    if (!options.terms_file.empty()) house_terms_ = terms_from_table(read_small_table(options.terms_file.string()));
    if (!options.aliases_file.empty()) aliases_ = aliases_from_table(read_small_table(options.aliases_file.string()));
    if (!options.courses_file.empty()) listed_ = courses_from_table(read_small_table(options.courses_file.string()));
  }

  void read(const std::vector<std::string>& files, const ProgressSink& progress) {
    for (std::size_t f = 0; f < files.size(); ++f) {
      const std::int64_t rejected_before = report_.rejects.count();
      MappedSource source = open_source(files[f], f, options_, report_.rejects);
      decide_rule(source, files[f]);
      const std::int64_t rows_before = seen_;
      read_rows(source, f, files.size(), progress);
      const std::int64_t rejected_rows = report_.rejects.count() - rejected_before - rejected_here_;
      rejected_here_ = 0;
      report_.sources.push_back(
          {files[f], source.rows->description(), source.preset, source.mapping, seen_ - rows_before + rejected_rows});
      report_.rows_in += report_.sources.back().rows;
    }
    if (withdrawn_kept_ > 0 && options_.withdrawn == RowRule::keep) {
      report_.notes.push_back(
          concat(counted(withdrawn_kept_, "row has", "rows have"),
                 " a withdrawal grade: taken all the same (--withdrawn drop leaves such rows out)"));
    }
  }

  const TableOptions& options_;
  PrepareReport& report_;
  StringInterner students_, courses_;
  std::vector<Course> listed_;  // courses of --courses
  std::vector<Row> rows_;
  std::vector<float> units_;            // a row each, where units count
  std::vector<std::int32_t> calendar_;  // academic year of each row where terms are known, else -1
  std::vector<Term> terms_;             // by number
  std::vector<std::int64_t> entry_;     // term key of entry, where the input names it
  std::vector<AttributeColumn> attributes_;
  CourseText subject_, school_;
  std::int64_t dropped_by_where_ = 0;
  std::int64_t last_year_ = -1;  // last academic year anybody was seen in
  bool counts_from_entry_ = false;
  bool by_terms_ = false;

 private:
  void decide_rule(const MappedSource& source, const std::string& file) {
    PeriodRule rule = options_.periods;
    if (rule == PeriodRule::automatic) rule = source.period ? PeriodRule::as_given : PeriodRule::years_since_entry;
    if (rule == PeriodRule::as_given && !source.period) {
      throw OptionError(concat(file, ": --periods as-given needs a period column (--map period=COLUMN)"));
    }
    if (rule != PeriodRule::as_given && !source.term) {
      throw OptionError(concat(file, ": --periods ", name_of_value(rule), " needs a term column (--map term=COLUMN)"));
    }
    const bool from_entry = rule != PeriodRule::as_given;
    if (!report_.sources.empty() && from_entry != counts_from_entry_) {
      throw InputError(concat(file, ": some files have a period column and some do not; say which by --periods"));
    }
    if (from_entry && options_.periods == PeriodRule::automatic && report_.sources.empty()) {
      report_.notes.emplace_back("no period column: periods are years since entry, counted from the terms (--periods)");
    }
    counts_from_entry_ = from_entry;
    by_terms_ = rule == PeriodRule::terms_since_entry;
    if (options_.summer == RowRule::drop && !source.term) {
      throw OptionError(concat(file, ": --summer drop needs a term column (--map term=COLUMN)"));
    }
    if (options_.full_time_units > 0 && !source.units) {
      throw OptionError(concat(file, ": --full-time-units needs a units column (--map units=COLUMN)"));
    }
    if ((options_.passed_only) && !source.grade) {
      throw OptionError(concat(file, ": --passed-only needs a grade column (--map grade=COLUMN)"));
    }
    std::vector<std::string> summer = options_.summer_codes;
    if (summer.empty()) summer = source.summer_codes;
    rules_ = TermRules(house_terms_, summer, source.term_coding);
    term_numbers_.clear();
  }

  void reject(std::size_t file, std::int64_t record, const char* column, const std::string& reason) {
    ++rejected_here_;
    report_.rejects.add(file, record, column, reason);
  }

  /// Number of the term a label stands for, or -1.
  std::int32_t term_number(std::string_view label) {
    const std::uint32_t text = term_labels_.number_of(label);
    const auto known = term_numbers_.find(text);
    if (known != term_numbers_.end()) return known->second;
    const auto term = rules_.parse(label);
    std::int32_t number = -1;
    if (term) {
      const auto same = std::ranges::find(terms_, *term);
      number = static_cast<std::int32_t>(same - terms_.begin());
      if (same == terms_.end()) terms_.push_back(*term);
    }
    term_numbers_[text] = number;
    return number;
  }

  void read_rows(MappedSource& source, std::size_t file, std::size_t file_count, const ProgressSink& progress);
  /// Room for what is coming, judged by the share of the file read: growing by doubling would hold all rows twice.
  void reserve_rows(std::size_t before_file, std::size_t coming, double fraction) {
    const std::size_t needed = rows_.size() + coming;
    if (needed <= rows_.capacity()) return;
    const auto least = static_cast<double>(needed), of_file = static_cast<double>(needed - before_file);
    const double all = fraction > 0 ? static_cast<double>(before_file) + 1.02 * of_file / fraction : 0;
    const auto room = static_cast<std::size_t>(std::clamp(all, 1.5 * least, 256 * least));
    rows_.reserve(room);
    calendar_.reserve(room);
  }
  void note_attributes(const MappedSource& source, const RowBatch& batch, std::size_t r, std::uint32_t student,
                       std::int64_t when, const std::vector<std::size_t>& columns);

  Grades failing_, withdrawn_;
  std::map<std::string, Term> house_terms_;
  std::map<std::string, std::string> aliases_;
  TermRules rules_;
  StringInterner term_labels_;
  std::unordered_map<std::uint32_t, std::int32_t> term_numbers_;
  std::int64_t seen_ = 0;
  std::int64_t rejected_here_ = 0;
  std::int64_t withdrawn_kept_ = 0;
};

void Collection::read_rows(MappedSource& source, std::size_t file, std::size_t file_count,
                           const ProgressSink& progress) {
  std::vector<std::size_t> columns;  // of attributes_, for each attribute of this source
  for (const auto& attribute : source.attributes) {
    const auto known = std::ranges::find(attributes_, attribute.name, &AttributeColumn::name);
    columns.push_back(static_cast<std::size_t>(known - attributes_.begin()));
    if (known == attributes_.end()) attributes_.push_back({attribute.name, {}, {}});
  }
  const bool keep_units = options_.full_time_units > 0;
  const std::size_t rows_before = rows_.size();
  const auto cell = [](const RowBatch& batch, std::size_t r, const std::optional<std::size_t>& column) {
    if (!column) return std::string_view();
    const std::string_view text = batch.cell(r, *column);
    const bool is_trim = !text.empty() && text.front() > ' ' && text.back() > ' ';  // the usual case
    return is_trim ? text : trimmed(text);
  };
  RowBatch batch;
  std::string scratch;
  while (source.rows->next(batch)) {
    if (progress) {
      const double done = (static_cast<double>(file) + source.rows->fraction()) / static_cast<double>(file_count);
      progress({"read", done});
    }
    reserve_rows(rows_before, batch.row_count(), source.rows->fraction());
    for (std::size_t r = 0; r < batch.row_count(); ++r) {
      ++seen_;
      const std::int64_t record = batch.records[r];
      if (source.not_a_number && !batch.cell(r, *source.not_a_number).empty()) {
        const std::string column(batch.cell(r, *source.not_a_number));
        reject(file, record, column.c_str(), "not a number, and an expression needs one");
        continue;
      }
      if (source.keep && batch.cell(r, *source.keep) != "true") {
        ++dropped_by_where_;
        continue;
      }
      const std::string_view student_text = cell(batch, r, source.student);
      if (student_text.empty()) {
        reject(file, record, "student", "no student");
        continue;
      }
      Row row{0, no_course, 0};
      std::int32_t year = -1;
      std::int64_t when = 0;  // for the order of attribute values
      const std::string_view term_text = cell(batch, r, source.term);
      std::int32_t term = -1;
      if (!term_text.empty()) {
        term = term_number(term_text);
        if (term < 0 && counts_from_entry_) {
          reject(file, record, "term", "term not understood");
          continue;
        }
        if (term >= 0) {
          const Term& known = terms_[static_cast<std::size_t>(term)];
          year = known.academic_year;
          when = known.key();
          if (known.summer && options_.summer == RowRule::drop) row.fate = row.presence = Fate::summer;
        }
      }
      if (counts_from_entry_) {
        if (term < 0) {
          reject(file, record, "term", "no term");
          continue;
        }
        row.when = term;
      } else {
        const std::string_view period_text = cell(batch, r, source.period);
        const auto period = parse_period(period_text);
        if (!period) {
          reject(file, record, "period",
                 period_text.empty() ? "no period" : concat("period is not a whole number from 1 to ", most_periods));
          continue;
        }
        row.when = *period;
        if (term < 0) when = *period;
      }
      float units = 0;
      if (keep_units) {
        const std::string_view text = cell(batch, r, source.units);
        const auto number = text.empty() ? std::optional(0.0) : parse_number(text);
        if (!number) {
          reject(file, record, "units", "units is not a number");
          continue;
        }
        units = static_cast<float>(*number);
      }
      std::int64_t entry = std::numeric_limits<std::int64_t>::max();
      if (source.entry && counts_from_entry_) {
        const std::string_view text = cell(batch, r, source.entry);
        if (!text.empty()) {
          const std::int32_t number = term_number(text);
          if (number < 0) {
            reject(file, record, "entry", "entry term not understood");
            continue;
          }
          entry = terms_[static_cast<std::size_t>(number)].key();
        }
      }
      std::string_view course_text = cell(batch, r, source.course);
      if (!course_text.empty()) {
        if (!aliases_.empty()) {
          scratch.assign(course_text);
          const auto alias = aliases_.find(scratch);
          if (alias != aliases_.end()) course_text = alias->second;
        }
        row.course = courses_.number_of(course_text);
        subject_.add(row.course, cell(batch, r, source.subject));
        school_.add(row.course, cell(batch, r, source.school));
        if (source.grade && row.fate == Fate::kept) {
          const std::string_view grade = cell(batch, r, source.grade);
          if (!grade.empty()) {
            const std::string lower = lower_case(grade);
            if (withdrawn_.contains(lower)) {
              ++withdrawn_kept_;
              if (options_.withdrawn == RowRule::drop) row.fate = Fate::withdrawn;
            } else if (options_.passed_only && failing_.contains(lower)) {
              row.fate = Fate::not_passed;
            }
          }
        }
      }
      row.student = students_.number_of(student_text);
      if (row.student >= entry_.size() && source.entry) {
        entry_.resize(row.student + 1, std::numeric_limits<std::int64_t>::max());
      }
      if (source.entry) entry_[row.student] = std::min(entry_[row.student], entry);
      last_year_ = std::max<std::int64_t>(last_year_, year);
      note_attributes(source, batch, r, row.student, when, columns);
      rows_.push_back(row);
      calendar_.push_back(year);
      if (keep_units) units_.push_back(units);
    }
  }
}

void Collection::note_attributes(const MappedSource& source, const RowBatch& batch, std::size_t r,
                                 std::uint32_t student, std::int64_t when, const std::vector<std::size_t>& columns) {
  for (std::size_t a = 0; a < columns.size(); ++a) {
    AttributeColumn& attribute = attributes_[columns[a]];
    if (attribute.dropped) continue;
    const std::string_view text = trimmed(batch.cell(r, source.attributes[a].column));
    if (text.empty()) continue;
    const std::uint32_t value = attribute.values.number_of(text);
    if (student >= attribute.of_student.size()) attribute.of_student.resize(student + 1);
    AttributeValue& known = attribute.of_student[student];
    if (known.value == value) {
      known.when = std::max(known.when, when);
      continue;
    }
    if (known.value != no_course) {
      attribute.varies = true;
      if (attribute.values.size() > most_varying_values) {
        // A number of the row, not a property of the student.
        attribute.dropped = true;
        attribute.values = {};
        attribute.of_student = {};
        continue;
      }
    }
    const bool later = when > known.when;
    const bool tie = when == known.when && (known.value == no_course || text < attribute.values.text(known.value));
    if (later || tie) known = {when, value};
  }
}

bool is_whole_number(std::string_view text) {
  return !text.empty() && text.size() <= 18 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }) &&
         (text.size() == 1 || text[0] != '0');
}

/// Whole numbers by value, before all other texts, which go by their bytes.
bool natural_less(std::string_view a, std::string_view b) {
  const bool number_a = is_whole_number(a), number_b = is_whole_number(b);
  if (number_a != number_b) return number_a;
  if (number_a && a.size() != b.size()) return a.size() < b.size();
  return a < b;
}

std::vector<std::uint32_t> natural_order(const StringInterner& texts) {
  std::vector<std::uint32_t> order(texts.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order,
                    [&](std::uint32_t a, std::uint32_t b) { return natural_less(texts.text(a), texts.text(b)); });
  return order;
}

/// Applies the rules to the collected rows and builds the cohort.
class Assembly {
 public:
  Assembly(Collection& rows, const TableOptions& options, PrepareReport& report)
      : in_(rows), options_(options), report_(report) {}

  CohortParts build() {
    group_by_student();
    assign_periods();
    decide_fates();
    drop_rare_courses();
    count_fates();
    return make_cohort();
  }

 private:
  std::size_t begin(std::size_t s) const { return begin_[s]; }
  std::size_t end(std::size_t s) const { return begin_[s + 1]; }

  /// Rows of a student side by side, students in their final order.
  void group_by_student() {
    order_ = natural_order(in_.students_);
    std::vector<std::uint32_t> rank(order_.size());
    for (std::uint32_t i = 0; i < order_.size(); ++i)
      rank[order_[i]] = i;
    begin_.assign(order_.size() + 1, 0);
    for (const Row& row : in_.rows_)
      ++begin_[rank[row.student] + 1];
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
    std::vector<Row> grouped(in_.rows_.size());
    std::vector<std::int32_t> calendar(in_.rows_.size());
    std::vector<float> units(in_.units_.size());
    for (std::size_t i = 0; i < in_.rows_.size(); ++i) {
      const std::size_t at = next[rank[in_.rows_[i].student]]++;
      grouped[at] = in_.rows_[i];
      calendar[at] = in_.calendar_[i];
      if (!units.empty()) units[at] = in_.units_[i];
    }
    in_.rows_ = std::move(grouped);
    in_.calendar_ = std::move(calendar);
    in_.units_ = std::move(units);
    alive_.assign(order_.size(), Fate::where);
  }

  void assign_periods() {
    last_period_ = options_.keep_periods.value_or(!in_.counts_from_entry_ ? most_periods : in_.by_terms_ ? 8 : 4);
    if (in_.counts_from_entry_) {
      // Places of the terms among those that count (summer ones share the place of the term before them).
      std::vector<std::size_t> order(in_.terms_.size());
      std::iota(order.begin(), order.end(), 0);
      std::ranges::sort(order, {}, [&](std::size_t t) { return in_.terms_[t].key(); });
      std::vector<std::int32_t> place(in_.terms_.size());
      std::int32_t next = 0;
      for (const std::size_t t : order)
        place[t] = in_.terms_[t].summer ? std::max(0, next - 1) : next++;
      for (std::size_t s = 0; s < order_.size(); ++s)
        set_student_periods(s, place);
    }
    for (Row& row : in_.rows_) {
      if (row.when <= last_period_) continue;
      if (options_.later == LaterRule::last) {
        row.when = last_period_;
      } else {
        if (row.fate == Fate::kept) row.fate = Fate::later;
        if (row.presence == Fate::kept) row.presence = Fate::later;
      }
    }
  }

  void set_student_periods(std::size_t s, const std::vector<std::int32_t>& place) {
    std::size_t first = begin(s);
    const auto key = [&](std::size_t i) { return in_.terms_[static_cast<std::size_t>(in_.rows_[i].when)].key(); };
    for (std::size_t i = begin(s); i < end(s); ++i) {
      if (key(i) < key(first)) first = i;
    }
    const Term& earliest = in_.terms_[static_cast<std::size_t>(in_.rows_[first].when)];
    std::int32_t entry_year = earliest.academic_year;
    std::int32_t entry_place = place[static_cast<std::size_t>(in_.rows_[first].when)];
    const std::uint32_t student = order_[s];
    if (student < in_.entry_.size() && in_.entry_[student] != std::numeric_limits<std::int64_t>::max()) {
      for (std::size_t t = 0; t < in_.terms_.size(); ++t) {
        if (in_.terms_[t].key() == in_.entry_[student] && in_.entry_[student] <= earliest.key()) {
          entry_year = in_.terms_[t].academic_year;
          entry_place = place[t];
        }
      }
    }
    for (std::size_t i = begin(s); i < end(s); ++i) {
      const auto term = static_cast<std::size_t>(in_.rows_[i].when);
      in_.rows_[i].when =
          in_.by_terms_ ? place[term] - entry_place + 1 : in_.terms_[term].academic_year - entry_year + 1;
    }
  }

  /// Duplicates, repeats, part-time, few periods: each student alone.
  void decide_fates() {
    std::vector<std::size_t> order;
    for (std::size_t s = 0; s < order_.size(); ++s) {
      order.resize(end(s) - begin(s));
      std::iota(order.begin(), order.end(), begin(s));
      std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
        const Row &x = in_.rows_[a], &y = in_.rows_[b];
        if (x.when != y.when) return x.when < y.when;
        if (x.course != y.course) return x.course < y.course;
        return x.fate > y.fate;  // a row that counts stands for its duplicates
      });
      // Rows in (period, course) order from here on.
      sort_rows(s, order);
      mark_duplicates(s);
      if (options_.repeats != RepeatRule::keep) mark_repeats(s);
      if (options_.part_time != PartTimeRule::keep) mark_part_time(s);
      mark_few_periods(s);
    }
  }

  void sort_rows(std::size_t s, const std::vector<std::size_t>& order) {
    std::vector<Row> rows;
    std::vector<std::int32_t> calendar;
    std::vector<float> units;
    for (const std::size_t i : order) {
      rows.push_back(in_.rows_[i]);
      calendar.push_back(in_.calendar_[i]);
      if (!in_.units_.empty()) units.push_back(in_.units_[i]);
    }
    const auto at = static_cast<std::ptrdiff_t>(begin(s));
    std::ranges::copy(rows, in_.rows_.begin() + at);
    std::ranges::copy(calendar, in_.calendar_.begin() + at);
    std::ranges::copy(units, in_.units_.begin() + (in_.units_.empty() ? 0 : at));
  }

  void mark_duplicates(std::size_t s) {
    for (std::size_t i = begin(s) + 1; i < end(s); ++i) {
      const Row& before = in_.rows_[i - 1];
      Row& row = in_.rows_[i];
      const bool same = row.when == before.when && row.course == before.course && row.course != no_course;
      const bool counts = before.fate == Fate::kept || before.fate == Fate::duplicate;
      if (same && counts && row.fate == Fate::kept) row.fate = Fate::duplicate;
    }
  }

  void mark_repeats(std::size_t s) {
    std::unordered_map<std::uint32_t, std::int32_t> period;
    for (std::size_t i = begin(s); i < end(s); ++i) {
      const Row& row = in_.rows_[i];
      if (row.fate != Fate::kept || row.course == no_course) continue;
      const auto [known, added] = period.emplace(row.course, row.when);
      if (!added && options_.repeats == RepeatRule::last) known->second = row.when;
    }
    for (std::size_t i = begin(s); i < end(s); ++i) {
      Row& row = in_.rows_[i];
      if (row.fate == Fate::kept && row.course != no_course && period[row.course] != row.when) row.fate = Fate::repeat;
    }
  }

  void mark_part_time(std::size_t s) {
    std::set<std::int32_t> part_time;
    std::size_t i = begin(s);
    while (i < end(s)) {
      const std::int32_t period = in_.rows_[i].when;
      int courses = 0;
      double units = 0;
      bool present = false;
      for (; i < end(s) && in_.rows_[i].when == period; ++i) {
        const Row& row = in_.rows_[i];
        present = present || row.presence == Fate::kept;
        if (row.fate != Fate::kept || row.course == no_course) continue;
        ++courses;
        if (!in_.units_.empty()) units += in_.units_[i];
      }
      const bool below = (options_.full_time_courses > 0 && courses < options_.full_time_courses) ||
                         (options_.full_time_units > 0 && units < options_.full_time_units);
      if (present && below) part_time.insert(period);
    }
    if (part_time.empty()) return;
    const bool whole = options_.part_time == PartTimeRule::drop_students;
    end_presence(s, Fate::part_time, [&](const Row& row) { return whole || part_time.contains(row.when); });
  }

  void mark_few_periods(std::size_t s) {
    std::set<std::int32_t> periods;
    for (std::size_t i = begin(s); i < end(s); ++i) {
      if (in_.rows_[i].presence == Fate::kept) periods.insert(in_.rows_[i].when);
    }
    if (static_cast<int>(periods.size()) < options_.min_periods) {
      end_presence(s, Fate::few_periods, [](const Row&) { return true; });
    }
  }

  template <class Condition>
  void end_presence(std::size_t s, Fate fate, Condition concerns) {
    for (std::size_t i = begin(s); i < end(s); ++i) {
      Row& row = in_.rows_[i];
      if (!concerns(row)) continue;
      if (row.presence == Fate::kept) row.presence = fate;
      if (row.fate == Fate::kept) row.fate = fate;
    }
  }

  void drop_rare_courses() {
    std::vector<std::int64_t> takers(in_.courses_.size(), 0);
    std::vector<std::uint32_t> taken;
    for (std::size_t s = 0; s < order_.size(); ++s) {
      taken.clear();
      for (std::size_t i = begin(s); i < end(s); ++i) {
        const Row& row = in_.rows_[i];
        if (row.fate == Fate::kept && row.course != no_course) taken.push_back(row.course);
      }
      std::ranges::sort(taken);
      taken.erase(std::unique(taken.begin(), taken.end()), taken.end());
      for (const std::uint32_t course : taken)
        ++takers[course];
    }
    std::set<std::string, std::less<>> listed;
    for (const Course& course : in_.listed_)
      listed.insert(course.name);
    stays_.assign(in_.courses_.size(), false);
    for (std::uint32_t c = 0; c < stays_.size(); ++c) {
      stays_[c] = takers[c] >= std::max(1, options_.least_takers()) || listed.contains(in_.courses_.text(c));
    }
    for (Row& row : in_.rows_) {
      if (row.fate == Fate::kept && row.course != no_course && !stays_[row.course]) row.fate = Fate::rare_course;
    }
  }

  void count_fates() {
    std::array<std::int64_t, fate_count> rows{}, students_left{}, courses_left{};
    std::vector<Fate> course_alive(in_.courses_.size(), Fate::where);
    for (std::size_t s = 0; s < order_.size(); ++s) {
      Fate alive = Fate::where;
      for (std::size_t i = begin(s); i < end(s); ++i) {
        const Row& row = in_.rows_[i];
        ++rows[static_cast<std::size_t>(row.fate)];
        alive = std::max(alive, row.presence);
        if (row.course != no_course) course_alive[row.course] = std::max(course_alive[row.course], row.fate);
      }
      alive_[s] = alive;
      for (std::size_t f = 0; f < static_cast<std::size_t>(alive); ++f)
        ++students_left[f];
    }
    for (const Fate alive : course_alive) {
      for (std::size_t f = 0; f < static_cast<std::size_t>(alive); ++f)
        ++courses_left[f];
    }
    rows[static_cast<std::size_t>(Fate::where)] = in_.dropped_by_where_;
    std::int64_t left = report_.rows_in - report_.rejects.count();
    report_.stages.push_back({"rows read", left, static_cast<std::int64_t>(in_.students_.size()), in_.courses_.size()});
    for (std::size_t f = 0; f + 1 < fate_count; ++f) {
      if (rows[f] == 0) continue;
      const std::string name = fate_name(static_cast<Fate>(f), options_, last_period_);
      report_.filtered.push_back({name, rows[f]});
      left -= rows[f];
      report_.stages.push_back({name, left, students_left[f], courses_left[f]});
    }
    report_.rows_kept = rows[static_cast<std::size_t>(Fate::kept)];
  }

  CohortParts make_cohort() {
    int periods = 0;
    std::size_t kept_students = 0;
    for (std::size_t s = 0; s < order_.size(); ++s)
      kept_students += alive_[s] == Fate::kept ? 1 : 0;
    for (const Row& row : in_.rows_) {
      if (row.presence == Fate::kept) periods = std::max(periods, static_cast<int>(row.when));
    }
    if (kept_students == 0)
      throw InputError("no student is left after the filters; 'desirepath check' shows what each took out");

    CohortParts parts;
    std::vector<Id> number(in_.courses_.size(), -1);
    parts.schema = make_schema(periods, number);
    const auto width = static_cast<std::size_t>(periods);
    const bool calendar = std::ranges::any_of(in_.calendar_, [](std::int32_t year) { return year >= 0; });
    parts.students.reserve(kept_students);
    parts.presence.assign(kept_students * width, Presence::unknown);
    if (calendar) parts.calendar.assign(kept_students * width, -1);
    BinaryMatrixBuilder enrollments(parts.schema.bit_count());
    std::size_t n = 0;
    for (std::size_t s = 0; s < order_.size(); ++s) {
      if (alive_[s] != Fate::kept) continue;
      parts.students.emplace_back(in_.students_.text(order_[s]));
      Presence* status = parts.presence.data() + n * width;
      std::int32_t* years = calendar ? parts.calendar.data() + n * width : nullptr;
      std::size_t i = begin(s);
      for (int period = 1; period <= periods; ++period) {
        for (; i < end(s) && in_.rows_[i].when <= period; ++i) {
          const Row& row = in_.rows_[i];
          if (row.presence != Fate::kept) continue;
          const auto at = static_cast<std::size_t>(period - 1);
          status[at] = Presence::present;
          const std::int32_t year = in_.calendar_[i];
          if (years != nullptr && year >= 0 && (years[at] < 0 || year < years[at])) years[at] = year;
          if (row.fate == Fate::kept && row.course != no_course)
            enrollments.add(parts.schema.bit(period - 1, number[row.course]));
        }
        enrollments.finish_row();
      }
      if (options_.absent == AbsentRule::left) mark_left(status, years, width);
      ++n;
    }
    parts.enrollments = std::move(enrollments).build();
    parts.attributes = make_attributes(kept_students);
    return parts;
  }

  /// Periods behind the last one a student was seen in: left, unless the data end before them.
  void mark_left(Presence* status, const std::int32_t* years, std::size_t width) const {
    std::size_t last = 0;
    for (std::size_t t = 0; t < width; ++t) {
      if (status[t] == Presence::present) last = t;
    }
    for (std::size_t t = last + 1; t < width; ++t) {
      const bool known_year = years != nullptr && years[last] >= 0 && !in_.by_terms_;
      const bool beyond_data = known_year && years[last] + static_cast<std::int32_t>(t - last) > in_.last_year_;
      if (!beyond_data) status[t] = Presence::left;
    }
  }

  /// Listed courses in the list's order, then the others in natural order.
  Schema make_schema(int periods, std::vector<Id>& number) const {
    std::vector<Course> courses = in_.listed_;
    std::unordered_map<std::string, Id> place;
    for (std::size_t c = 0; c < courses.size(); ++c)
      place[courses[c].name] = static_cast<Id>(c);
    for (const std::uint32_t c : natural_order(in_.courses_)) {
      if (!stays_[c]) continue;
      std::string name(in_.courses_.text(c));
      const auto listed = place.find(name);
      if (listed == place.end()) {
        number[c] = static_cast<Id>(courses.size());
        courses.push_back({std::move(name), "", in_.subject_.of(c), in_.school_.of(c), "", {}, {}});
      } else {
        number[c] = listed->second;
        Course& course = courses[static_cast<std::size_t>(listed->second)];
        if (course.subject.empty()) course.subject = in_.subject_.of(c);
        if (course.school.empty()) course.school = in_.school_.of(c);
      }
    }
    std::vector<std::string> labels;
    for (int period = 1; period <= periods; ++period)
      labels.push_back(std::to_string(period));
    if (courses.empty()) {
      throw InputError(in_.courses_.size() == 0
                           ? "no row names a course; is the course column another (--map course=COLUMN)?"
                           : concat("no course has ", options_.least_takers(), " takers; lower --min-takers"));
    }
    return {std::move(courses), std::move(labels)};
  }

  std::vector<Attribute> make_attributes(std::size_t kept_students) {
    std::vector<Attribute> attributes;
    for (AttributeColumn& column : in_.attributes_) {
      if (column.dropped) {
        report_.notes.push_back(concat("column '", column.name, "' changes within students and has over ",
                                       with_separators(most_varying_values), " values: not kept as an attribute"));
        continue;
      }
      Attribute attribute{column.name, {}, {}};
      attribute.codes.reserve(kept_students);
      std::vector<std::uint32_t> used;
      std::vector<Id> code(column.values.size(), -1);
      for (std::size_t s = 0; s < order_.size(); ++s) {
        if (alive_[s] != Fate::kept || order_[s] >= column.of_student.size()) continue;
        const std::uint32_t value = column.of_student[order_[s]].value;
        if (value != no_course && code[value] < 0) {
          code[value] = 0;
          used.push_back(value);
        }
      }
      if (used.empty()) continue;
      std::ranges::sort(used, [&](std::uint32_t a, std::uint32_t b) {
        return natural_less(column.values.text(a), column.values.text(b));
      });
      for (const std::uint32_t value : used) {
        code[value] = static_cast<Id>(attribute.values.size());
        attribute.values.emplace_back(column.values.text(value));
      }
      for (std::size_t s = 0; s < order_.size(); ++s) {
        if (alive_[s] != Fate::kept) continue;
        const bool known = order_[s] < column.of_student.size() && column.of_student[order_[s]].value != no_course;
        attribute.codes.push_back(known ? code[column.of_student[order_[s]].value] : -1);
      }
      attributes.push_back(std::move(attribute));
    }
    std::ranges::sort(attributes, {}, &Attribute::name);
    return attributes;
  }

  Collection& in_;
  const TableOptions& options_;
  PrepareReport& report_;
  std::vector<std::uint32_t> order_;  // final place -> student number
  std::vector<std::size_t> begin_;    // rows of the student at each final place
  std::vector<Fate> alive_;
  std::vector<bool> stays_;  // course number -> in the cohort
  int last_period_ = 0;
};

}  // namespace

std::int64_t PrepareReport::rows_filtered() const {
  std::int64_t total = 0;
  for (const Counted& rule : filtered)
    total += rule.count;
  return total;
}

std::optional<std::string> PrepareReport::too_many_rejected(double max_bad) const {
  const double bad = static_cast<double>(rows_rejected()) / static_cast<double>(std::max<std::int64_t>(1, rows_in));
  if (bad <= max_bad) return std::nullopt;
  const Reject& first = *std::ranges::min_element(rejects.kept(), [](const Reject& a, const Reject& b) {
    return a.source != b.source ? a.source < b.source : a.record < b.record;
  });
  const bool names_column = first.column.empty() || first.reason.find(first.column) != std::string::npos;
  return concat(to_string(SourcePosition{sources[first.source].file, first.record, 0}), ": ",
                names_column ? "" : first.column + ": ", first.reason, "; ",
                counted(rows_rejected(), "bad row", "bad rows"), " of ", with_separators(rows_in), " (",
                fixed(100 * bad, 1), " %), over --max-bad ", shortest(100 * max_bad), " %");
}

nlohmann::ordered_json PrepareReport::to_json() const {
  nlohmann::ordered_json json;
  json["rows_in"] = rows_in;
  json["rows_kept"] = rows_kept;
  json["rows_filtered"] = rows_filtered();
  json["rows_rejected"] = rows_rejected();
  json["filtered"] = nlohmann::ordered_json::array();
  for (const Counted& rule : filtered)
    json["filtered"].push_back({{"rule", rule.what}, {"rows", rule.count}});
  json["rejected"] = nlohmann::ordered_json::array();
  for (const Counted& reason : rejected)
    json["rejected"].push_back({{"reason", reason.what}, {"rows", reason.count}});
  json["stages"] = nlohmann::ordered_json::array();
  for (const Stage& stage : stages) {
    json["stages"].push_back(
        {{"after", stage.filter}, {"rows", stage.rows}, {"students", stage.students}, {"courses", stage.courses}});
  }
  json["sources"] = nlohmann::ordered_json::array();
  for (const Source& source : sources) {
    json["sources"].push_back({{"file", std::filesystem::path(source.file).filename().string()},
                               {"rows", source.rows},
                               {"read_as", source.description},
                               {"format", source.format},
                               {"mapping", source.mapping}});
  }
  json["notes"] = notes;
  return json;
}

Prepared prepare_cohort(const std::vector<std::string>& sources, const TableOptions& options,
                        const ProgressSink& progress, PrepareReport* report_out) {
  options.validate();
  PrepareReport report;
  const auto publish = [&] {
    for (const auto& [reason, count] : report.rejects.by_reason())
      report.rejected.push_back({reason, count});
    std::ranges::stable_sort(report.rejected, std::ranges::greater(), &Counted::count);
    if (report_out != nullptr) *report_out = report;
  };
  Collection rows(options, report);
  rows.read(expand_sources(sources), progress);
  if (report.rows_in == 0) {
    publish();
    throw InputError(concat(report.sources.front().file, ": it names columns but has no row"));
  }
  if (const auto failure = report.too_many_rejected(options.max_bad)) {
    publish();
    throw InputError(*failure + "; 'desirepath check' lists the reasons");
  }
  try {
    CohortParts parts = Assembly(rows, options, report).build();
    publish();
    parts.provenance = report.to_json().dump();
    return {Cohort(std::move(parts)), std::move(report)};
  } catch (...) {
    publish();
    throw;
  }
}

}  // namespace desirepath::inline ingest
