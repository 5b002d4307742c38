#include "desirepath/ingest/row_collection.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "desirepath/core/available_memory.h"
#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/ingest/course_list.h"
#include "desirepath/ingest/decimal.h"
#include "desirepath/ingest/missing_values.h"
#include "desirepath/ingest/source.h"
#include "desirepath/ingest/term_labels.h"

namespace desirepath::inline ingest {

void CourseText::add(std::uint32_t course, std::string_view text) {
  if (text.empty()) return;
  if (course >= counts_.size()) counts_.resize(course + 1);
  auto& list = counts_[course];
  const std::uint32_t number = texts_.number_of(text);
  const auto known = std::ranges::find(list, number, &std::pair<std::uint32_t, std::int64_t>::first);
  if (known == list.end())
    list.emplace_back(number, 1);
  else
    ++known->second;
}

std::string CourseText::of(std::uint32_t course) const {
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

namespace {

/// A whole period number; "2.0" and "2,0" are 2, as spreadsheets write them.
std::optional<int> period_in(std::string_view text) {
  const auto whole = number_in<int>(text);
  const std::optional<double> number = whole ? std::optional<double>(*whole) : decimal_in(text);
  if (!number || *number != std::floor(*number) || *number < 1 || *number > most_periods) return std::nullopt;
  return static_cast<int>(*number);
}

auto order_of(const Row& row) {
  return std::tuple(row.student, row.course, row.when, row.units, row.year, row.fate, row.presence);
}

/// Whether a row says nothing that the other does not say.
bool is_copy(const Row& a, const Row& b) {
  return order_of(a) == order_of(b);
}

/// Counts b with a; false where the count would not hold it.
bool take_in(Row& a, const Row& b) {
  const std::uint64_t all = std::uint64_t{a.copies} + b.copies + 1;
  if (all > std::numeric_limits<std::uint32_t>::max()) return false;
  a.copies = static_cast<std::uint32_t>(all);
  return true;
}

/// Of equal rows one is kept, with the number of its copies; the rows come out sorted.
void fold_equal_rows(std::vector<Row>& rows) {
  std::ranges::sort(rows, {}, order_of);
  std::size_t kept = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (!is_copy(rows[kept], rows[i]) || !take_in(rows[kept], rows[i])) rows[++kept] = rows[i];
  }
  if (!rows.empty()) rows.resize(kept + 1);
}

class Collector {
 public:
  explicit Collector(const TableOptions& options)
      : options_(options),
        missing_(options.missing),
        grades_(GradeRules(options.failing_grades, options.withdrawn_grades, options.pass_mark)) {
    if (!options.terms_file.empty()) house_terms_ = terms_from_table(read_small_table(options.terms_file.string()));
    if (!options.aliases_file.empty()) aliases_ = aliases_from_table(read_small_table(options.aliases_file.string()));
    if (!options.courses_file.empty()) out_.listed = read_course_file(options.courses_file, options.map, missing_);
    if (!options.labels_file.empty()) out_.labelled = read_course_file(options.labels_file, options.map, missing_);
  }

  void read(const std::vector<std::string>& files, const ProgressSink& progress) {
    // Sorting holds them twice.
    const double free = available_memory() > 0 ? available_memory() : 1e12;
    most_rows_ = static_cast<std::size_t>(free / 4 / sizeof(Row));
    std::size_t fold_at = most_rows_ / 4;  // rows enough to look for copies of older ones than the last
    for (std::size_t f = 0; f < files.size(); ++f) {
      const std::int64_t rejected_before = out_.rejects.count();
      MappedSource source = open_source(files[f], f, options_, out_.rejects);
      settle_rules(source, files[f]);
      FileRows rows{source, missing_, f, attribute_columns(source), {}, 0, 0, {}};
      const std::size_t rows_before = out_.rows.size();
      while (source.rows->next(rows.batch)) {
        const double done = source.rows->fraction();
        if (progress) progress({"read", (static_cast<double>(f) + done) / static_cast<double>(files.size())});
        if (out_.rows.size() + rows.batch.row_count() > fold_at) {
          fold_equal_rows(out_.rows);
          fold_at = std::min(most_rows_, std::max(fold_at, 2 * (out_.rows.size() + rows.batch.row_count())));
        }
        if (out_.rows.size() + rows.batch.row_count() > most_rows_) {
          throw InputError(concat(files[f], ": more than ",
                                  with_separators(static_cast<std::int64_t>(out_.rows.size())),
                                  " different rows: they would take more than half of the ", as_bytes_text(free),
                                  " of memory that are free"));
        }
        reserve_rows(rows_before, rows.batch.row_count(), done);
        rows.missing_cells.resize(rows.batch.column_count, 0);
        for (rows.at = 0; rows.at < rows.batch.row_count(); ++rows.at)
          add(rows);
        rows.seen += static_cast<std::int64_t>(rows.batch.row_count());
      }
      // Rows the reader itself rejected were never seen here.
      const std::int64_t unseen = out_.rejects.count() - rejected_before - std::exchange(rejected_here_, 0);
      out_.sources.push_back({files[f], source.rows->description(), source.preset, source.mapping, rows.seen + unseen});
      note_missing(rows);
    }
  }

  RowCollection take() {
    settle_terms();
    const auto with_others = [&](const StringInterner& selected, StringInterner& others) {
      if (out_.not_selected == 0) return std::int64_t{selected.size()};
      for (std::uint32_t number = 0; number < selected.size(); ++number)
        others.number_of(selected.text(number));
      return std::int64_t{others.size()};
    };
    out_.students_read = with_others(out_.students, other_students_);
    out_.courses_read = with_others(out_.courses, other_courses_);
    if (grades_.rows() > 0) out_.grades = std::move(grades_);
    return std::move(out_);
  }

 private:
  /// A file, and the row being read.
  struct FileRows {
    const MappedSource& source;
    const MissingValues& missing;
    std::size_t number;                   // of the file
    std::vector<std::size_t> attributes;  // where in the collection each attribute of the file goes
    RowBatch batch;
    std::size_t at;
    std::int64_t seen;
    std::vector<std::int64_t> missing_cells;  // by column, where a word stands for a missing value

    /// As it stands, whatever it means.
    std::string_view text(const std::optional<std::size_t>& column) const {
      if (!column) return {};
      const std::string_view text = batch.cell(at, *column);
      const bool is_trim = !text.empty() && text.front() > ' ' && text.back() > ' ';  // the usual case
      return is_trim ? text : trimmed(text);
    }
    /// Empty: missing.
    std::string_view cell(const std::optional<std::size_t>& column) {
      const std::string_view found = text(column);
      if (!missing.contains(found)) return found;
      ++missing_cells[*column];
      return {};
    }
  };

  void settle_rules(const MappedSource& source, const std::string& file) {
    PeriodRule rule = options_.periods;
    // Who maps the term and not the period means the term, whatever another column happens to be called.
    const bool term_is_meant = options_.map.contains("term") && !options_.map.contains("period");
    if (rule == PeriodRule::automatic)
      rule = source.period && !term_is_meant ? PeriodRule::as_given : PeriodRule::years_since_entry;
    const auto require = [&](bool is_there, const std::string& what, const char* column) {
      if (is_there) return;
      throw OptionError(
          concat(file, ": ", what, " needs a ", column, " column (", setting_name("map"), " ", column, "=COLUMN)"));
    };
    const std::string periods = concat(setting_name("periods"), " ", name_of_value(rule));
    if (rule == PeriodRule::as_given)
      require(source.period.has_value(), periods, "period");
    else
      require(source.term.has_value(), periods, "term");
    if (!out_.sources.empty() && rule != out_.periods) {
      throw InputError(
          concat(file, ": some files have a period column and some do not; say which by ", setting_name("periods")));
    }
    out_.periods = rule;
    if (options_.summer == RowRule::drop) require(source.term.has_value(), setting_name("summer") + " drop", "term");
    if (options_.full_time_units > 0) require(source.units.has_value(), setting_name("full-time-units"), "units");
    if (options_.passed_only) require(source.grade.has_value(), setting_name("passed-only"), "grade");
    terms_.begin_file({house_terms_, options_.summer_codes.empty() ? source.summer_codes : options_.summer_codes,
                       source.term_coding, options_.year_starts});
  }

  std::vector<std::size_t> attribute_columns(const MappedSource& source) {
    std::vector<std::size_t> columns;
    for (const auto& attribute : source.attributes) {
      const auto known = std::ranges::find(out_.attributes, attribute.name, &AttributeColumn::name);
      columns.push_back(static_cast<std::size_t>(known - out_.attributes.begin()));
      if (known == out_.attributes.end()) out_.attributes.push_back({attribute.name, {}, {}});
    }
    return columns;
  }

  /// Room for what is coming, judged by the share of the file read: growing by doubling would hold all rows twice.
  void reserve_rows(std::size_t before_file, std::size_t coming, double fraction) {
    const std::size_t needed = out_.rows.size() + coming;
    if (needed <= out_.rows.capacity()) return;
    const auto least = static_cast<double>(needed), of_file = static_cast<double>(needed - before_file);
    const double all = fraction > 0 ? static_cast<double>(before_file) + 1.02 * of_file / fraction : 0;
    const double wanted = std::clamp(all, 1.5 * least, 256 * least);
    out_.rows.reserve(std::max(needed, std::min(static_cast<std::size_t>(wanted), most_rows_)));
  }

  /// False, for a row that is not to be read further.
  bool reject(const FileRows& rows, std::string column, const std::string& reason) {
    ++rejected_here_;
    out_.rejects.add(rows.number, rows.batch.records[rows.at], std::move(column), reason);
    return false;
  }

  void add(FileRows& rows) {
    const MappedSource& source = rows.source;
    if (const std::string_view column = rows.text(source.not_a_number); !column.empty()) {
      reject(rows, std::string(column), "not a number, and an expression needs one");
      return;
    }
    const std::string_view student = rows.text(source.student), course = rows.text(source.course);
    const bool has_student = !student.empty() && !missing_.contains(student);
    const bool has_course = !course.empty() && !missing_.contains(course);
    if (source.keep && rows.text(source.keep) != "true") {
      ++out_.not_selected;
      if (has_student) other_students_.number_of(student);
      if (has_course) other_courses_.number_of(course);
      return;
    }
    if (!has_student) {
      reject(rows, "student", student.empty() ? "no student" : "no student: a word for missing values stands there");
      return;
    }
    if (!course.empty() && !has_course) {
      reject(rows, "course", "no course: a word for missing values stands there");
      return;
    }
    Row row;
    std::int64_t when = 0;  // for the order of attribute values
    std::int32_t entry = -1;
    if (!read_time(rows, row, when) || !read_units(rows, row) || !read_entry(rows, entry)) return;
    row.student = out_.students.number_of(student);
    if (has_course)
      read_course(rows, course, row);
    else if (source.computes_course)
      ++out_.courses_not_computed;
    if (entry >= 0) note_entry(row.student, entry);
    note_attributes(rows, row.student, when);
    const bool is_known = !out_.rows.empty() && is_copy(out_.rows.back(), row) && take_in(out_.rows.back(), row);
    if (!is_known) out_.rows.push_back(row);
  }

  /// Terms stay labels here: what they mean is known when all have been seen.
  bool read_time(FileRows& rows, Row& row, std::int64_t& when) {
    const bool from_entry = out_.periods != PeriodRule::as_given;
    const std::string_view label = rows.cell(rows.source.term);
    const std::int32_t number = label.empty() ? -1 : terms_.number_of(label);
    if (from_entry && number < 0) return reject(rows, "term", label.empty() ? "no term" : not_understood(rows, label));
    if (number >= 0) when = terms_.rough_key(number);
    row.when = number;
    if (from_entry) return true;
    if (number <= std::numeric_limits<std::int16_t>::max()) row.year = static_cast<std::int16_t>(number);
    const std::string_view period_text = rows.cell(rows.source.period);
    const auto period = period_in(period_text);
    if (!period) {
      return reject(
          rows, "period",
          period_text.empty() ? "no period" : concat("period is not a whole number from 1 to ", most_periods));
    }
    row.when = *period;
    if (number < 0) when = *period;
    return true;
  }

  /// The first few labels are named: they are no student's, unless the wrong column is taken for the term.
  std::string not_understood(const FileRows& rows, std::string_view label) {
    constexpr std::size_t most_named = 5, longest = 40;
    const auto digits = std::ranges::count_if(label, [](char c) { return c >= '0' && c <= '9'; });
    const bool may_be_an_id = label == rows.text(rows.source.student) || digits > 6 || label.size() > longest;
    const bool is_named = std::ranges::find(bad_labels_, label) != bad_labels_.end();
    if (may_be_an_id || (!is_named && bad_labels_.size() >= most_named)) return "term not understood";
    if (!is_named) bad_labels_.emplace_back(label);
    return concat("term '", label, "' not understood");
  }

  bool read_units(FileRows& rows, Row& row) {
    if (options_.full_time_units <= 0) return true;
    const std::string_view text = rows.cell(rows.source.units);
    const auto units = text.empty() ? 0.0 : decimal_in(text);
    if (!units) return reject(rows, "units", "units is not a number");
    row.units = static_cast<float>(*units);
    return true;
  }

  bool read_entry(FileRows& rows, std::int32_t& entry) {
    const std::string_view text = rows.cell(rows.source.entry);
    if (text.empty() || out_.periods == PeriodRule::as_given) return true;
    entry = terms_.number_of(text);
    return entry >= 0 || reject(rows, "entry", "entry term not understood");
  }

  void read_course(FileRows& rows, std::string_view text, Row& row) {
    if (!aliases_.empty()) {
      const auto alias = aliases_.find(std::string(text));
      if (alias != aliases_.end()) text = alias->second;
    }
    row.course = out_.courses.number_of(text);
    if (rows.source.label) out_.label.add(row.course, rows.cell(rows.source.label));
    if (rows.source.subject) out_.subject.add(row.course, rows.cell(rows.source.subject));
    if (rows.source.school) out_.school.add(row.course, rows.cell(rows.source.school));
    const std::string_view grade = rows.cell(rows.source.grade);
    if (grade.empty()) return;
    const GradeMeaning meaning = grades_.count(grade, row.student);
    if (meaning == GradeMeaning::withdrawn && options_.withdrawn == RowRule::drop) row.fate = Fate::withdrawn;
    if (meaning == GradeMeaning::failed && options_.passed_only) row.fate = Fate::not_passed;
  }

  /// Now that all labels are known: what each row's term is, and the rules that go by it.
  void settle_terms() {
    const bool from_entry = out_.periods != PeriodRule::as_given;
    TermLabels::Understood understood = terms_.understand();
    if (!understood.misfits.empty()) {
      const std::string what =
          understood.may_be_named
              ? concat(understood.misfits.size() == 1 ? "term label " : "term labels ", quoted_list(understood.misfits),
                       understood.misfits.size() == 1 ? " does" : " do", " not fit the others (",
                       quoted_list(understood.others), ", ...)")
              : concat(counted(std::ssize(understood.misfits), "term label does", "term labels do"),
                       " not fit the others (so many different ones: is it another column?)");
      if (from_entry)
        out_.question = concat(what, "; say which term each is in a file of code,term: ", setting_name("terms"));
      else
        out_.notes.push_back(concat(what, ": the year of these rows is not known (", setting_name("terms"), ")"));
    }
    if (from_entry && !understood.note.empty()) out_.notes.push_back(understood.note);
    if (from_entry && understood.may_be_named && !understood.not_in_file.empty()) {
      out_.notes.push_back(concat(options_.terms_file.filename().string(), " does not list ",
                                  quoted_list(understood.not_in_file), ": read as they stand"));
    }
    for (Row& row : out_.rows) {
      const std::int32_t label = from_entry ? row.when : row.year;
      const std::int32_t number = label < 0 ? -1 : understood.of_label[static_cast<std::size_t>(label)];
      if (from_entry) row.when = std::max(number, 0);
      row.year = -1;
      if (number < 0) continue;
      const Term& term = understood.terms[static_cast<std::size_t>(number)];
      row.year = static_cast<std::int16_t>(term.academic_year);
      if (term.summer && options_.summer == RowRule::drop) row.fate = row.presence = Fate::summer;
    }
    for (std::int32_t& entry : out_.entry)
      entry = entry < 0 ? -1 : understood.of_label[static_cast<std::size_t>(entry)];
    out_.terms = std::move(understood.terms);
  }

  void note_missing(const FileRows& rows) {
    for (const auto& [role, column] : rows.source.roles) {
      if (column >= rows.missing_cells.size() || rows.missing_cells[column] == 0) continue;
      const auto known = std::ranges::find(out_.missing, role, &std::pair<std::string, std::int64_t>::first);
      if (known == out_.missing.end())
        out_.missing.emplace_back(role, rows.missing_cells[column]);
      else
        known->second += rows.missing_cells[column];
    }
  }

  /// The earliest of those that a student's rows name.
  void note_entry(std::uint32_t student, std::int32_t term) {
    if (student >= out_.entry.size()) out_.entry.resize(student + 1, -1);
    std::int32_t& known = out_.entry[student];
    if (known < 0 || terms_.rough_key(term) < terms_.rough_key(known)) known = term;
  }

  void note_attributes(FileRows& rows, std::uint32_t student, std::int64_t when) {
    for (std::size_t a = 0; a < rows.attributes.size(); ++a) {
      AttributeColumn& column = out_.attributes[rows.attributes[a]];
      if (column.dropped) continue;
      const std::string_view text = rows.cell(rows.source.attributes[a].column);
      if (text.empty()) continue;
      const std::uint32_t value = column.values.number_of(text);
      if (student >= column.of_student.size()) column.of_student.resize(student + 1);
      AttributeColumn::Value& known = column.of_student[student];
      if (known.value == value) {
        known.when = std::max(known.when, when);
        continue;
      }
      const bool is_first = known.value == StringInterner::none;
      if (!is_first && column.values.size() > AttributeColumn::most_varying_values) {
        column = {column.name, {}, {}, /*dropped=*/true};
        continue;
      }
      const bool tie = when == known.when && (is_first || text < column.values.text(known.value));
      if (when > known.when || tie) known = {when, value};
    }
  }

  const TableOptions& options_;
  MissingValues missing_;
  GradeTally grades_;
  std::map<std::string, Term> house_terms_;
  std::map<std::string, std::string> aliases_;
  TermLabels terms_;
  std::vector<std::string> bad_labels_;            // that were named
  StringInterner other_students_, other_courses_;  // of rows that are not selected
  std::size_t most_rows_ = 0;                      // that the memory holds
  std::int64_t rejected_here_ = 0;                 // of the file being read, not by its reader
  RowCollection out_;
};

}  // namespace

RowCollection collect_rows(const std::vector<std::string>& files, const TableOptions& options,
                           const ProgressSink& progress) {
  Collector collector(options);
  collector.read(files, progress);
  return collector.take();
}

}  // namespace desirepath::inline ingest
