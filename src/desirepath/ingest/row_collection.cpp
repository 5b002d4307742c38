#include "desirepath/ingest/row_collection.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "desirepath/core/available_memory.h"
#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/ingest/byte_source.h"
#include "desirepath/ingest/course_list.h"
#include "desirepath/ingest/missing_values.h"
#include "desirepath/ingest/row_part.h"
#include "desirepath/ingest/source.h"
#include "desirepath/ingest/term_labels.h"

namespace desirepath::inline ingest {

namespace {

auto order_of(const Row& row) {
  return std::tuple(row.student, row.course, row.period, row.units, row.term, row.fate, row.presence);
}

}  // namespace

bool Row::takes_in(const Row& other) {
  const std::uint64_t all = std::uint64_t{copies} + other.copies + 1;
  if (order_of(*this) != order_of(other) || all > std::numeric_limits<std::uint32_t>::max()) return false;
  copies = static_cast<std::uint32_t>(all);
  return true;
}

namespace {

/// Of equal rows one is kept, with the number of its copies; the rows come out sorted.
void fold_equal_rows(std::vector<Row>& rows) {
  std::ranges::sort(rows, {}, order_of);
  std::size_t kept = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (!rows[kept].takes_in(rows[i])) rows[++kept] = rows[i];
  }
  if (!rows.empty()) rows.resize(kept + 1);
}

class Collector {
 public:
  Collector(const TableOptions& options, const Executor& executor)
      : options_(options),
        executor_(executor),
        missing_(options.missing),
        grades_(GradeRules(options.failing_grades, options.withdrawn_grades, options.pass_mark)) {
    if (!options.terms_file.empty()) house_terms_ = terms_from_table(read_small_table(options.terms_file.string()));
    if (!options.aliases_file.empty()) aliases_ = aliases_from_table(read_small_table(options.aliases_file.string()));
    if (!options.courses_file.empty()) out_.listed = read_course_file(options.courses_file, options.map, missing_);
    if (!options.labels_file.empty()) out_.labelled = read_course_file(options.labels_file, options.map, missing_);
  }

  void read(const std::vector<std::string>& files, const ProgressSink& progress) {
    for (std::size_t f = 0; f < files.size(); ++f) {
      const std::int64_t rejected_before = out_.rejects.count();
      const MappedSource source = open_source(files[f], f, options_, executor_.threads(), out_.rejects);
      read_source(source, files[f], rejected_before, [&](double done) {
        if (progress) progress({"read", (static_cast<double>(f) + done) / static_cast<double>(files.size())});
      });
    }
  }

  void read(TableInMemory table, const ProgressSink& progress) {
    if (!table.course_list.empty()) {
      const SmallTable list = read_small_table(bytes_of_text(std::move(table.course_list)), "course list");
      out_.listed = courses_from_table(list, options_.map, missing_);
    }
    read_source(map_source(std::move(table.rows), table.name, options_), table.name, 0, [&](double done) {
      if (progress) progress({"read", done});
    });
  }

  RowCollection take() {
    settle_terms();
    if (out_.periods == PeriodRule::as_given) check_periods();
    const FinishedCells& cells = out_.finished_cells;
    if (out_.question.empty() && cells.no == 0 && cells.other > 0) {
      out_.question =
          concat("the column that says who graduated has a value in every row; say which of them mean it, as in ",
                 setting_name("finished"), " \"status = 'graduated'\"");
    }
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
  /// By what is free once a first file is open: a database's library takes its part of it.
  void limit_rows() {
    free_ = available_memory() > 0 ? available_memory() : 1e12;
    most_rows_ = static_cast<std::size_t>(free_ / 4 / sizeof(Row));  // sorting holds them twice
    fold_at_ = most_rows_ / 4;
  }

  /// A file, and what has been read of it.
  struct FileRows {
    const RowReading& reading;
    const std::string& name;
    std::size_t number;
    std::vector<std::size_t> attributes;  // where in the collection each attribute of the file goes
    std::size_t rows_before;
    std::int64_t seen;
    std::int64_t rejected;                    // not by its reader
    std::vector<std::int64_t> missing_cells;  // by column, where a word stands for a missing value
  };
  using Tell = std::function<void(double done)>;

  void read_source(const MappedSource& source, const std::string& name, std::int64_t rejected_before,
                   const Tell& tell) {
    const std::size_t number = out_.sources.size();
    if (number == 0) limit_rows();
    out_.notes.insert(out_.notes.end(), source.notes.begin(), source.notes.end());
    const RowReading reading = settle_rules(source, name);
    FileRows file{reading, name, number, attribute_columns(source), out_.rows.size(), 0, 0, {}};
    if (source.rows->begin_pieces())
      read_pieces(*source.rows, file, tell);
    else
      read_batches(*source.rows, file, tell);
    // Rows the reader itself rejected were never seen here.
    const std::int64_t unseen = out_.rejects.count() - rejected_before - file.rejected;
    out_.sources.push_back({name, source.rows->description(), source.preset, source.mapping, file.seen + unseen});
    note_missing(file);
  }

  /// What comes one after the other and nowhere else.
  void read_batches(RowSource& source, FileRows& file, const Tell& tell) {
    constexpr std::int64_t enough = 50'000;
    RowBatch batch;
    std::optional<RowPart> part;
    bool is_more = true;
    while (is_more) {
      executor_.check_interrupt();
      is_more = source.next(batch);
      if (is_more) {
        if (!part) part.emplace(file.reading);
        part->add(batch);
      }
      if (!part || (is_more && part->seen < enough)) continue;
      const double done = source.fraction();
      tell(done);
      take_in(*part, file, 0, done);
      part.reset();
    }
  }

  struct PieceRows {
    std::unique_ptr<RowPiece> piece;
    double done;  // share of the file
  };
  struct UnderstoodPiece {
    std::unique_ptr<RowPiece> piece;
    double done;
    RowPart part;
  };
  static RowPart understand(RowPiece& piece, const RowReading& reading) {
    RowPart part(reading);
    RowBatch batch;
    while (piece.next(batch))
      part.add(batch);
    return part;
  }

  void read_pieces(RowSource& source, FileRows& file, const Tell& tell) {
    std::int64_t records = source.records_before_pieces();
    std::unique_ptr<RowPiece> before;
    const auto give = [&]() -> std::optional<PieceRows> {
      auto piece = source.next_piece();
      if (!piece) return std::nullopt;
      return PieceRows{std::move(piece), source.fraction()};
    };
    const auto read = [&](PieceRows rows) {
      RowPart part = understand(*rows.piece, file.reading);
      return UnderstoodPiece{std::move(rows.piece), rows.done, std::move(part)};
    };
    const auto take = [&](UnderstoodPiece rows) {
      if (before && rows.piece->is_changed_by(*before)) rows.part = understand(*rows.piece, file.reading);
      for (const Reject& reject : rows.piece->take_rejects())
        out_.rejects.add(file.number, records + reject.record, reject.column, reject.reason);
      tell(rows.done);
      take_in(rows.part, file, records, rows.done);
      records += rows.piece->record_count();
      before = std::move(rows.piece);
    };
    executor_.ordered(give, read, take);
  }

  /// The next part of a file; records: before it.
  void take_in(RowPart& part, FileRows& file, std::int64_t records, double done) {
    make_room(part.rows.size(), file, done);
    for (RowPart::Rejected& reject : part.rejected) {
      const std::string reason = reject.label.empty() ? std::move(reject.reason) : not_understood(reject.label);
      out_.rejects.add(file.number, records + reject.record, std::move(reject.column), reason);
    }
    file.seen += part.seen;
    file.rejected += std::ssize(part.rejected);
    file.missing_cells.resize(std::max(file.missing_cells.size(), part.missing_cells.size()), 0);
    for (std::size_t c = 0; c < part.missing_cells.size(); ++c)
      file.missing_cells[c] += part.missing_cells[c];
    out_.not_selected += part.not_selected;
    out_.courses_not_computed += part.courses_not_computed;
    numbers_in(other_students_, part.other_students);
    numbers_in(other_courses_, part.other_courses);
    const std::vector<std::uint32_t> students = numbers_in(out_.students, part.students);
    const std::vector<std::uint32_t> courses = numbers_in(out_.courses, part.courses);
    const std::vector<std::int32_t> terms = terms_.take_in(part.terms);
    for (std::size_t s = 0; s < part.entry.size(); ++s) {
      if (part.entry[s] < 0) continue;
      if (students[s] >= out_.entry.size()) out_.entry.resize(students[s] + 1, -1);
      terms_.keep_earlier(out_.entry[students[s]], terms[static_cast<std::size_t>(part.entry[s])]);
    }
    for (std::size_t s = 0; s < part.finished.size(); ++s) {
      if (!part.finished[s]) continue;
      if (students[s] >= out_.finished.size()) out_.finished.resize(students[s] + 1, false);
      out_.finished[students[s]] = true;
    }
    out_.finished_cells.take_in(part.finished_cells);
    for (std::size_t a = 0; a < part.attributes.size(); ++a)
      out_.attributes[file.attributes[a]].take_in(part.attributes[a], students);
    std::vector<std::size_t> time_columns = {0};  // the term, then the attributes
    for (const std::size_t attribute : file.attributes)
      time_columns.push_back(1 + attribute);
    period_check_.take_in(part.period_check, students, time_columns);
    out_.label.take_in(part.label, courses);
    out_.subject.take_in(part.subject, courses);
    out_.school.take_in(part.school, courses);
    grades_.take_in(part.grades, students);
    const bool from_entry = file.reading.from_entry();
    for (Row& row : part.rows) {
      row.student = students[row.student];
      if (row.course != StringInterner::none) row.course = courses[row.course];
      if (row.term >= 0) row.term = terms[static_cast<std::size_t>(row.term)];
      if (!from_entry && row.term > most_labels)
        refuse_labels(concat("over ", with_separators(most_labels), " different terms"));
      if (out_.rows.empty() || !out_.rows.back().takes_in(row)) out_.rows.push_back(row);
    }
  }

  static constexpr std::int64_t most_labels = std::numeric_limits<std::int16_t>::max();

  [[noreturn]] static void refuse_labels(const std::string& how_many) {
    throw InputError(
        concat("the table has ", how_many, "; is the term column another (", setting_name("map"), " term=COLUMN)?"));
  }

  /// The number that each text of a part has in the whole.
  static std::vector<std::uint32_t> numbers_in(StringInterner& whole, const StringInterner& part) {
    std::vector<std::uint32_t> numbers(part.size());
    for (std::uint32_t number = 0; number < part.size(); ++number)
      numbers[number] = whole.number_of(part.text(number));
    return numbers;
  }

  void make_room(std::size_t coming, const FileRows& file, double done) {
    if (out_.rows.size() + coming > fold_at_) {  // rows enough to look for copies of older ones than the last
      fold_equal_rows(out_.rows);
      fold_at_ = std::min(most_rows_, std::max(fold_at_, 2 * (out_.rows.size() + coming)));
    }
    if (out_.rows.size() + coming > most_rows_) {
      throw InputError(concat(file.name, ": more than ", with_separators(static_cast<std::int64_t>(out_.rows.size())),
                              " different rows: they would take more than half of the ", as_bytes_text(free_),
                              " of memory that are free"));
    }
    reserve_rows(file.rows_before, coming, done);
  }

  RowReading settle_rules(const MappedSource& source, const std::string& file) {
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
    TermRules terms(house_terms_, options_.summer_codes.empty() ? source.summer_codes : options_.summer_codes,
                    source.term_coding, options_.year_starts);
    terms_.begin_file(terms);
    return {options_, missing_, aliases_, source, std::move(terms), grades_.rules(), rule};
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

  /// The first few labels are named.
  std::string not_understood(const std::string& label) {
    constexpr std::size_t most_named = 5;
    const bool is_named = std::ranges::find(bad_labels_, label) != bad_labels_.end();
    if (!is_named && bad_labels_.size() >= most_named) return "term not understood";
    if (!is_named) bad_labels_.push_back(label);
    return concat("term '", label, "' not understood");
  }

  /// Now that all labels are known: what each row's term is, and the rules that go by it.
  void settle_terms() {
    const bool from_entry = out_.periods != PeriodRule::as_given;
    const std::int32_t last = options_.data_end.empty() ? -1 : terms_.number_of(options_.data_end, {.entry = true});
    TermLabels::Understood understood = terms_.understand();
    if (std::ssize(understood.terms) > most_labels)
      refuse_labels(counted(std::ssize(understood.terms), "different term", "different terms"));
    if (!options_.data_end.empty()) {
      if (understood.others.empty())
        throw OptionError(
            concat(setting_name("data-end"), " needs a term column (", setting_name("map"), " term=COLUMN)"));
      out_.data_end = last < 0 ? -1 : understood.of_label[static_cast<std::size_t>(last)];
      std::erase(understood.misfits, options_.data_end);
      if (out_.data_end < 0) {
        throw OptionError(concat(setting_name("data-end"), ": '", options_.data_end,
                                 "' is not a term written as those of the table (",
                                 understood.may_be_named ? quoted_list(understood.others) : "", ")"));
      }
    }
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
    out_.term_rows.assign(understood.terms.size(), 0);
    for (Row& row : out_.rows) {
      if (row.term >= 0) row.term = understood.of_label[static_cast<std::size_t>(row.term)];
      if (row.term < 0) continue;
      const auto number = static_cast<std::size_t>(row.term);
      out_.term_rows[number] += 1 + std::int64_t{row.copies};
      if (row.fate == Fate::where) continue;
      const Term& term = understood.terms[number];
      if (term.summer && options_.summer == RowRule::drop) row.fate = row.presence = Fate::summer;
    }
    for (std::int32_t& entry : out_.entry)
      entry = entry < 0 ? -1 : understood.of_label[static_cast<std::size_t>(entry)];
    // A row that is not selected and whose term is unlike the others says nothing.
    if (from_entry) std::erase_if(out_.rows, [](const Row& row) { return row.term < 0; });
    out_.terms = std::move(understood.terms);
    out_.term_names = std::move(understood.names);
  }

  /// A wrong cohort must not come of a column that only sounds like a period of study.
  void check_periods() {
    const auto found = period_check_.finding();
    if (!found) return;
    const std::string period = column_of("period");
    const bool is_term = found->column == 0;
    const std::string years = column_of(is_term ? "term" : out_.attributes[found->column - 1].name);
    const std::string what =
        concat("the column '", period, "' does not count periods of study: for ", with_separators(found->back), " of ",
               counted(found->students, "student", "students"), " with rows in several years of '", years,
               "' it goes back in a later year");
    const std::string remedy =
        is_term
            ? concat(setting_name("periods"), " years-since-entry counts the years from '", years, "'")
            : concat(setting_name("map"), " \"term=", years, "\" ", setting_name("periods"),
                     " years-since-entry counts the years, ", setting_name("map"), " \"term=", years, " || ' T' || ",
                     period, "\" ", setting_name("periods"), " terms-since-entry the parts of them");
    out_.notes.push_back(concat(what, "; ", remedy));
    // Where the term is known by its name, which of the two counts is said already.
    const bool is_meant = options_.periods == PeriodRule::as_given || is_term;
    if (!is_meant && out_.question.empty())
      out_.question = concat(what, "; ", remedy, ", ", setting_name("periods"), " as-given takes it as it stands");
  }

  /// The file's own name of it.
  std::string column_of(std::string_view role) const {
    for (const SourceSummary& source : out_.sources) {
      for (const std::string& mapping : source.mapping) {
        if (mapping.starts_with(concat(role, " = "))) return mapping.substr(role.size() + 3);
      }
    }
    return std::string(role);
  }

  void note_missing(const FileRows& rows) {
    for (const auto& [role, column] : rows.reading.source.roles) {
      if (column >= rows.missing_cells.size() || rows.missing_cells[column] == 0) continue;
      const auto known = std::ranges::find(out_.missing, role, &std::pair<std::string, std::int64_t>::first);
      if (known == out_.missing.end())
        out_.missing.emplace_back(role, rows.missing_cells[column]);
      else
        known->second += rows.missing_cells[column];
    }
  }

  const TableOptions& options_;
  const Executor& executor_;
  MissingValues missing_;
  GradeTally grades_;
  std::map<std::string, Term> house_terms_;
  std::map<std::string, std::string> aliases_;
  TermLabels terms_;
  PeriodCheck period_check_;
  std::vector<std::string> bad_labels_;            // that were named
  StringInterner other_students_, other_courses_;  // of rows that are not selected
  double free_ = 0;                                // bytes of memory
  std::size_t most_rows_ = 0;                      // that the memory holds
  std::size_t fold_at_ = 0;                        // rows
  RowCollection out_;
};

}  // namespace

RowCollection collect_rows(const std::vector<std::string>& files, const TableOptions& options, const Executor& executor,
                           const ProgressSink& progress) {
  Collector collector(options, executor);
  collector.read(files, progress);
  return collector.take();
}

RowCollection collect_rows(TableInMemory table, const TableOptions& options, const Executor& executor,
                           const ProgressSink& progress) {
  Collector collector(options, executor);
  collector.read(std::move(table), progress);
  return collector.take();
}

}  // namespace desirepath::inline ingest
