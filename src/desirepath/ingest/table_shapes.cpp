#include "desirepath/ingest/table_shapes.h"

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "desirepath/core/error.h"
#include "desirepath/core/nearest_name.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/ingest/decimal.h"
#include "desirepath/ingest/presets.h"
#include "desirepath/ingest/term_labels.h"
#include "desirepath/ingest/yes_or_no.h"

namespace desirepath::inline ingest {

namespace {

std::size_t require_column(const std::vector<std::string>& columns, const std::string& name, const std::string& file) {
  const auto exact = std::ranges::find(columns, name);
  const auto found = exact != columns.end() ? exact : std::ranges::find(columns, normalised(name), normalised);
  if (found != columns.end()) return static_cast<std::size_t>(found - columns.begin());
  throw OptionError(concat(setting_name("on"), ": ", file, " has no column '", name, "'", did_you_mean(name, columns)));
}

class JoinedRows : public RowSource {
 public:
  JoinedRows(std::unique_ptr<RowSource> rows, std::vector<std::string> columns, SmallTable table, const std::string& on)
      : rows_(std::move(rows)), columns_(std::move(columns)), own_(columns_.size()), table_(std::move(table)) {
    for (const std::string& part : split(on, '+')) {
      const std::vector<std::string> sides = split(part, '=');
      const std::string here(trimmed(sides.front())), there(trimmed(sides.back()));
      if (sides.size() > 2 || here.empty() || there.empty())
        throw OptionError(
            concat(setting_name("on"), " takes a column, or NAME=OTHER where the tables differ; A+B for two"));
      here_.push_back(require_column(columns_, here, "the table"));
      there_.push_back(require_column(table_.columns, there, table_.file));
    }
    const std::string stem = std::filesystem::path(table_.file).stem().string();
    for (std::size_t c = 0; c < table_.columns.size(); ++c) {
      if (std::ranges::find(there_, c) != there_.end()) continue;
      const bool taken = std::ranges::find(columns_, normalised(table_.columns[c]), normalised) != columns_.end();
      columns_.push_back(taken ? concat(stem, "_", table_.columns[c]) : table_.columns[c]);
      added_.push_back(c);
    }
    std::string key;
    for (std::size_t r = 0; r < table_.rows.size(); ++r) {
      key.clear();
      for (const std::size_t c : there_)
        key.append(table_.rows[r][c]).push_back('\x1f');
      if (!places_.emplace(key, r).second) {
        throw InputError({table_.file, table_.records[r], 0},
                         concat("this ", on,
                                " is listed twice: which of the two lines is meant cannot be told; keep one of "
                                "them, or join by more columns (",
                                setting_name("on"), " A+B)"));
      }
    }
  }

  const std::vector<std::string>& columns() const override { return columns_; }
  double fraction() const override { return rows_->fraction(); }
  std::string description() const override {
    const std::string name = std::filesystem::path(table_.file).filename().string();
    return concat(rows_->description(), ", joined with ", name, " (", counted(unmatched_, "row", "rows"),
                  " without a line there)");
  }

  bool next(RowBatch& batch) override {
    batch.clear();
    batch.column_count = columns_.size();
    if (!rows_->next(inner_)) return false;
    std::string key;
    for (std::size_t r = 0; r < inner_.row_count(); ++r) {
      for (std::size_t c = 0; c < own_; ++c)
        batch.cells.push_back(inner_.cell(r, c));
      key.clear();
      for (const std::size_t c : here_)
        key.append(trimmed(inner_.cell(r, c))).push_back('\x1f');
      const auto place = places_.find(key);
      unmatched_ += place == places_.end() ? 1 : 0;
      for (const std::size_t c : added_)
        batch.cells.push_back(place == places_.end() ? std::string_view() : table_.rows[place->second][c]);
    }
    batch.records = inner_.records;
    return true;
  }

 private:
  std::unique_ptr<RowSource> rows_;
  std::vector<std::string> columns_;
  std::size_t own_;  // columns of the rows themselves
  SmallTable table_;
  std::vector<std::size_t> here_, there_, added_;
  std::unordered_map<std::string, std::size_t> places_;
  std::int64_t unmatched_ = 0;
  RowBatch inner_;
};

/// A course, and a period where the column names one.
struct WideColumn {
  std::string course;
  std::string period;
};

/// MATH 101@2, MATH 101 (2), MATH 101 year 2, MATH 101_p2; bare: also MATH 101_2, which a course's own number may be.
std::optional<WideColumn> read_wide_name(std::string_view name, bool bare) {
  name = trimmed(name);
  if (name.ends_with(')') && name.find('(') != std::string_view::npos) {
    const std::size_t open = name.rfind('(');
    const auto inside = read_wide_name(concat("x@", name.substr(open + 1, name.size() - open - 2)), false);
    if (inside) return WideColumn{std::string(trimmed(name.substr(0, open))), inside->period};
    return std::nullopt;
  }
  std::size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
    --digits;
  const auto number = number_in<int>(name.substr(digits));
  if (!number || *number < 1 || *number > 64) return std::nullopt;
  std::string_view front = trimmed(name.substr(0, digits));
  static constexpr std::array<std::string_view, 12> words = {
      "semester", "period", "trimester", "quarter", "year", "term", "sem", "yr", "p", "y", "t", "s"};
  bool named = false;
  for (const std::string_view word : words) {
    const std::string lower = lower_case(front);
    if (!lower.ends_with(word) || lower.size() < word.size() + 2) continue;
    const char before = lower[lower.size() - word.size() - 1];
    if (before != ' ' && before != '_' && before != '.' && before != '@' && before != '-') continue;
    front = front.substr(0, front.size() - word.size());
    named = true;
    break;
  }
  const bool parted = !front.empty() && (front.back() == '@' || front.back() == '_' || front.back() == '.' ||
                                         front.back() == '-' || front.back() == ':' || front.back() == ' ');
  if (!named && !(parted && (front.back() == '@' || bare))) return std::nullopt;
  while (!front.empty() && std::string_view("@_.-: ").find(front.back()) != std::string_view::npos)
    front.remove_suffix(1);
  if (front.empty()) return std::nullopt;
  return WideColumn{std::string(front), std::to_string(*number)};
}

CellMark mark_in(std::string_view cell, const MissingValues& missing) {
  cell = trimmed(cell);
  return missing.contains(cell) ? CellMark::missing : mark_of(cell);
}

class UnfoldedRows : public RowSource {
 public:
  UnfoldedRows(std::unique_ptr<RowSource> rows, std::vector<std::string> columns, const std::vector<std::string>& kept,
               MissingValues missing, WideCells cells, const std::string& file)
      : rows_(std::move(rows)), missing_(std::move(missing)), cells_(cells) {
    has_first_ = rows_->next(inner_);
    const auto is_kept = [&](const std::string& column) {
      const std::string name = normalised(column);
      return std::ranges::find(canonical_columns, name) != canonical_columns.end() ||
             std::ranges::find(kept, column) != kept.end();
    };
    std::vector<std::size_t> free;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (!is_kept(columns[c])) free.push_back(c);
    }
    if (cells == WideCells::period)
      choose_dated_courses(columns, free);
    else
      choose_courses(columns, free);
    note_others(columns, free, file);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (courses_.contains(c)) continue;
      kept_.push_back(c);
      columns_.push_back(columns[c]);
    }
    if (courses_.empty()) {
      throw InputError(
          concat(file, ": ", setting_name("wide"),
                 ": no column looks like a course: its name ends in a period (MATH 101@2), or its cells are "
                 "yes and no (1, 0, x), or, with ",
                 setting_name("wide-cells"), " period, the period in which it was taken"));
    }
    for (const auto& [column, course] : courses_)
      by_period_[course.period].push_back(column);
    const auto has = [&](std::string_view name) {
      return std::ranges::find(columns_, name, normalised) != columns_.end() ||
             std::ranges::find(kept, name) != kept.end();
    };
    const bool named = by_period_.size() > 1 || !by_period_.contains("");
    adds_period_ = named || cells == WideCells::period || (!has("period") && !has("term"));
    if (adds_period_) columns_.emplace_back("period");
    columns_.emplace_back("course");
    columns_.emplace_back("grade");
  }

  const std::vector<std::string>& columns() const override { return columns_; }
  double fraction() const override { return rows_->fraction(); }
  std::vector<std::string> notes() const override { return notes_; }
  std::string description() const override {
    std::set<std::string> names;
    for (const auto& [column, course] : courses_)
      names.insert(course.course);
    const std::size_t periods = by_period_.size();
    return concat(rows_->description(), ", a row a student: ", counted(std::ssize(courses_), "column", "columns"),
                  " of ", counted(std::ssize(names), "course", "courses"),
                  periods > 1 ? concat(" in ", periods, " periods") : std::string());
  }

  bool next(RowBatch& batch) override {
    batch.clear();
    batch.column_count = columns_.size();
    while (batch.row_count() == 0) {
      if (!std::exchange(has_first_, false) && !rows_->next(inner_)) return false;
      for (std::size_t r = 0; r < inner_.row_count(); ++r)
        unfold(batch, r);
    }
    return true;
  }

 private:
  void choose_courses(const std::vector<std::string>& columns, const std::vector<std::size_t>& free) {
    std::map<std::string, int> periods_of;
    std::map<std::size_t, WideColumn> bare;
    for (const std::size_t c : free) {
      if (auto named = read_wide_name(columns[c], /*bare=*/false)) courses_.emplace(c, std::move(*named));
      if (auto named = read_wide_name(columns[c], /*bare=*/true); named && all_marks(c)) {
        ++periods_of[named->course];
        bare.emplace(c, std::move(*named));
      }
    }
    if (!courses_.empty()) return;
    std::vector<std::size_t> marked;
    std::ranges::copy_if(free, std::back_inserter(marked), [&](std::size_t c) { return all_marks(c); });
    // CHEM_10 is a course, unless every column ends so and some course has several.
    const bool all_numbered = bare.size() == marked.size() &&
                              std::ranges::any_of(periods_of, [](const auto& entry) { return entry.second > 1; });
    for (const std::size_t c : marked)
      courses_.emplace(c, all_numbered ? bare[c] : WideColumn{columns[c], ""});
  }

  /// Cells are periods: courses are the columns of numbers that are more than yes and no.
  void choose_dated_courses(const std::vector<std::string>& columns, const std::vector<std::size_t>& free) {
    for (const std::size_t c : free) {
      if (all_numbers(c) && !all_marks(c)) courses_.emplace(c, WideColumn{columns[c], ""});
    }
  }

  /// Columns that are taken for no course are named; where they are most of the numbers, courses may well be among
  /// them.
  void note_others(const std::vector<std::string>& columns, const std::vector<std::size_t>& free,
                   const std::string& file) {
    constexpr std::size_t few = 3;  // numbers that say something of students: age, points, a year
    std::vector<std::string> courses, others, numbers;
    for (const std::size_t c : free) {
      (courses_.contains(c) ? courses : others).push_back(columns[c]);
      if (!courses_.contains(c) && !all_marks(c) && all_numbers(c)) numbers.push_back(columns[c]);
    }
    if (cells_ == WideCells::taken && numbers.size() >= few && numbers.size() > courses.size()) {
      throw InputError(concat(
          file, ": ", setting_name("wide"), ": ", numbers.size(), " columns hold numbers other than 0 and 1 (",
          quoted_list(numbers), "), and ", courses.empty() ? "none" : concat("only ", quoted_list(courses)),
          " would be read as ", courses.size() == 1 ? "a course" : "courses",
          "; if the numbers are the periods in which courses were taken, ", setting_name("wide-cells"),
          " period reads them so; if they describe students, name them by ", setting_name("map"), " NAME=COLUMN"));
    }
    if (!others.empty())
      notes_.push_back(concat(setting_name("wide"), ": ", counted(std::ssize(others), "column is", "columns are"),
                              " taken to describe students, not for courses: ", quoted_list(others)));
  }

  bool all_numbers(std::size_t column) const {
    bool some = false;
    for (std::size_t r = 0; r < inner_.row_count(); ++r) {
      const std::string_view cell = trimmed(inner_.cell(r, column));
      if (cell.empty() || missing_.contains(cell)) continue;
      if (!decimal_in(cell)) return false;
      some = true;
    }
    return some;
  }

  bool all_marks(std::size_t column) const {
    bool some = false;
    for (std::size_t r = 0; r < inner_.row_count(); ++r) {
      const CellMark mark = mark_in(inner_.cell(r, column), missing_);
      if (mark == CellMark::other) return false;
      some = some || mark != CellMark::missing;
    }
    return some;
  }

  void unfold(RowBatch& batch, std::size_t row) {
    if (cells_ == WideCells::period) {
      for (const auto& [column, course] : courses_) {
        const std::string_view cell = trimmed(inner_.cell(row, column));
        const auto mark = mark_in(cell, missing_);
        if (mark == CellMark::yes || mark == CellMark::other) add(batch, row, cell, course.course, {});
      }
      return;
    }
    for (const auto& [period, columns] : by_period_) {
      bool known = false, taken = false;
      for (const std::size_t column : columns) {
        const CellMark mark = mark_in(inner_.cell(row, column), missing_);
        known = known || mark != CellMark::missing;
        if (mark != CellMark::yes && mark != CellMark::other) continue;
        taken = true;
        add(batch, row, period, courses_.at(column).course,
            mark == CellMark::other ? trimmed(inner_.cell(row, column)) : std::string_view());
      }
      if (known && !taken) add(batch, row, period, {}, {});
    }
  }

  void add(RowBatch& batch, std::size_t row, std::string_view period, std::string_view course,
           std::string_view grade) const {
    for (const std::size_t column : kept_)
      batch.cells.push_back(inner_.cell(row, column));
    if (adds_period_) batch.cells.push_back(period.empty() ? std::string_view("1") : period);
    batch.cells.push_back(course);
    batch.cells.push_back(grade);
    batch.records.push_back(inner_.records[row]);
  }

  std::unique_ptr<RowSource> rows_;
  MissingValues missing_;
  WideCells cells_;
  std::vector<std::string> notes_;
  std::vector<std::string> columns_;
  std::vector<std::size_t> kept_;
  std::map<std::size_t, WideColumn> courses_;
  std::map<std::string, std::vector<std::size_t>> by_period_;
  bool adds_period_ = false;
  bool has_first_ = false;  // the first batch is read and not yet given
  RowBatch inner_;
};

}  // namespace

std::unique_ptr<RowSource> join_rows(std::unique_ptr<RowSource> rows, std::vector<std::string> columns,
                                     SmallTable table, const std::string& on) {
  return std::make_unique<JoinedRows>(std::move(rows), std::move(columns), std::move(table), on);
}

std::unique_ptr<RowSource> unfold_rows(std::unique_ptr<RowSource> rows, std::vector<std::string> columns,
                                       const std::vector<std::string>& kept, MissingValues missing, WideCells cells,
                                       const std::string& file) {
  return std::make_unique<UnfoldedRows>(std::move(rows), std::move(columns), kept, std::move(missing), cells, file);
}

}  // namespace desirepath::inline ingest
