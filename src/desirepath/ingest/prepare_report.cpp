#include "desirepath/ingest/prepare_report.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/ingest/row_rules.h"

namespace desirepath::inline ingest {

namespace {

constexpr auto rule_count = static_cast<std::size_t>(Fate::kept);

/// Of each fate but the last, what its rule is called.
std::array<std::string, rule_count> names_of_rules(const TableOptions& options, int last_period) {
  return {concat("not selected by ", setting_name("where")),
          "summer term",
          "withdrawn",
          "not passed",
          concat("later than period ", last_period),
          "the same course again in the same period",
          concat("repeat (the ", name_of_value(options.repeats), " period counts)"),
          options.part_time == PartTimeRule::drop_periods ? "part-time period" : "part-time student",
          concat("student present in under ", options.min_periods, " periods"),
          concat("course with under ", options.least_takers(), " takers")};
}

std::int64_t outlasting(const std::vector<Fate>& last_fates, Fate fate) {
  return std::ranges::count_if(last_fates, [&](Fate last) { return last > fate; });
}

std::string size_of(const Cohort& cohort) {
  return concat(counted(cohort.student_count(), "student", "students"), ", ",
                counted(cohort.schema().course_count(), "course", "courses"), ", ",
                counted(cohort.schema().period_count(), "period", "periods"));
}

std::string first_place_of(const std::string& reason, const PrepareReport& report) {
  const auto first = std::ranges::find(report.rejects.kept(), reason, &Reject::reason);
  if (first == report.rejects.kept().end()) return "";
  return concat(report.sources.size() > 1 ? report.sources[first->source].file + ", " : "", "record ",
                with_separators(first->record), first->column.empty() ? "" : ", column ", first->column);
}

struct RejectReason {
  std::string reason;
  std::int64_t rows = 0;
  std::string first;  // where
};

void note_missing(const RowCollection& collection, const TableOptions& options, std::vector<std::string>& notes) {
  std::vector<std::string> columns;
  for (const auto& [column, cells] : collection.missing)
    columns.push_back(concat(with_separators(cells), " in ", column));
  if (columns.empty()) return;
  notes.push_back(concat("missing values written as ", join(options.missing, ", "), ": ", join(columns, ", "), " (",
                         setting_name("missing"), ")"));
}

void note_grades(const GradeTally& grades, const TableOptions& options, std::vector<std::string>& notes) {
  const std::int64_t withdrawn = grades.rows_of(GradeMeaning::withdrawn), failed = grades.rows_of(GradeMeaning::failed);
  if (withdrawn > 0 && options.withdrawn == RowRule::keep) {
    notes.push_back(concat(counted(withdrawn, "row has", "rows have"), " a withdrawal grade: taken all the same (",
                           setting_name("withdrawn"), " drop leaves such rows out)"));
  }
  if (options.withdrawn == RowRule::drop && withdrawn == 0) {
    notes.push_back(concat(setting_name("withdrawn"),
                           " drop drops nothing: no grade that was seen counts as withdrawn (",
                           setting_name("withdrawn-grades"), " names them)"));
  }
  if (options.passed_only && failed == 0) {
    notes.push_back(concat(setting_name("passed-only"), " drops nothing: no grade that was seen counts as failed (",
                           setting_name("failing-grades"), " names them, ", setting_name("pass-mark"),
                           " says which numbers pass)"));
  }
  if (options.passed_only && grades.unmarked_numbers() > 0) {
    notes.push_back(concat(counted(grades.unmarked_numbers(), "row has a number as grade and counts",
                                   "rows have numbers as grades and count"),
                           " as passed: ", setting_name("pass-mark"), " says which numbers pass"));
  }
}

}  // namespace

PrepareReport PrepareReport::of_reading(RowCollection& collection, const TableOptions& options) {
  PrepareReport report;
  report.sources = std::move(collection.sources);
  report.rejects = std::move(collection.rejects);
  for (const SourceSummary& source : report.sources)
    report.rows_in += source.rows;
  const auto source_of = [&](std::string_view role) -> std::string {
    for (const SourceSummary& source : report.sources) {
      for (const std::string& mapping : source.mapping) {
        if (mapping.starts_with(concat(role, " = "))) return mapping.substr(role.size() + 3);
      }
    }
    return {};
  };
  const std::string period = source_of("period"), term = source_of("term");
  if (options.periods == PeriodRule::automatic && collection.periods != PeriodRule::as_given && period.empty()) {
    report.notes.push_back(concat("no period column: periods are years since entry, counted from the terms (",
                                  setting_name("periods"), ")"));
  }
  const bool has_terms = !collection.terms.empty();  // the column may be empty
  if (!period.empty() && !term.empty() && has_terms && options.periods == PeriodRule::automatic) {
    report.notes.push_back(concat("two columns could say the period: '", period, "' and the term '", term, "'; ",
                                  collection.periods == PeriodRule::as_given ? "the period is taken as it stands"
                                                                             : "periods are counted from the term",
                                  " (", setting_name("periods"), " says otherwise)"));
  }
  report.notes.insert(report.notes.end(), collection.notes.begin(), collection.notes.end());
  note_missing(collection, options, report.notes);
  if (collection.courses_not_computed > 0) {
    report.notes.push_back(concat("the expression for the course gives none in ",
                                  counted(collection.courses_not_computed, "row", "rows"),
                                  " (a part of it is missing): the student was there, no more is known"));
  }
  if (collection.grades) {
    report.grades = collection.grades->table();
    note_grades(*collection.grades, options, report.notes);
  }
  for (const AttributeColumn& column : collection.attributes) {
    if (column.varies && !column.dropped) report.changing_columns.push_back(column.name);
    if (!column.dropped) continue;
    report.notes.push_back(concat("column '", column.name, "' changes within students and has over ",
                                  with_separators(AttributeColumn::most_varying_values),
                                  " values: not kept as an attribute"));
  }
  return report;
}

void PrepareReport::count_fates(const RowCollection& collection, const SiftedRows& sifted,
                                const TableOptions& options) {
  std::array<std::int64_t, rule_count + 1> rows{};
  std::vector<Fate> courses(collection.courses.size(), Fate::where);  // the best fate of its rows
  for (const Row& row : sifted.rows) {
    ++rows[static_cast<std::size_t>(row.fate)];
    rows[static_cast<std::size_t>(row.fate_of_copies())] += row.copies;
    if (row.course != StringInterner::none) courses[row.course] = std::max(courses[row.course], row.fate);
  }
  rows[static_cast<std::size_t>(Fate::where)] = collection.not_selected;
  rows_kept = rows.back();
  const auto names = names_of_rules(options, sifted.last_period);
  std::int64_t left = rows_in - rows_rejected();
  stages.push_back({"rows read", 0, left, collection.students_read, collection.courses_read});
  if (options.summer == RowRule::drop && rows[static_cast<std::size_t>(Fate::summer)] == 0) {
    notes.push_back(concat(setting_name("summer"), " drop drops nothing: no term is known as a summer term (",
                           setting_name("summer-terms"), " names their codes)"));
  }
  for (std::size_t f = 0; f < rule_count; ++f) {
    if (rows[f] == 0) continue;
    const auto fate = static_cast<Fate>(f);
    left -= rows[f];
    stages.push_back({names[f], rows[f], left, outlasting(sifted.presence, fate), outlasting(courses, fate)});
  }
}

void PrepareReport::note_statuses(const CohortParts& parts, const std::string& calendar_note) {
  const Calendar& calendar = parts.calendar;
  if (parts.status_basis == StatusBasis::calendar) {
    data_end = calendar.terms[static_cast<std::size_t>(calendar.data_end)].label;
    notes.push_back(calendar_note);
    return;
  }
  const auto unknown = std::ranges::count(parts.status, EnrollmentStatus::unknown);
  if (parts.status_basis != StatusBasis::no_calendar || unknown == 0) return;
  no_calendar = concat(
      calendar.terms.empty() ? "no row has a term" : "the periods do not follow the terms beside them",
      ", so nothing says whether a student without rows in a period left, was away or is still to come: such periods "
      "are unknown, and counts are of the students enrolled in each period (",
      setting_name(calendar.terms.empty() ? "map" : "periods"),
      calendar.terms.empty() ? " term=COLUMN names one, " : " counts from the terms, ", setting_name("absent"),
      " left takes them for leavers)");
}

namespace {

/// The further labels of terms that were not understood, where the first reason is one.
std::string other_labels(const std::string& reason, const RejectLog& rejects) {
  static constexpr std::string_view begins = "term '";
  std::vector<std::string> labels;
  for (const auto& [other, count] : rejects.by_reason()) {
    if (reason.starts_with(begins) && other.starts_with(begins) && other != reason)
      labels.push_back(other.substr(begins.size() - 1, other.rfind('\'') + 2 - begins.size()));
  }
  return labels.empty() ? "" : concat(" (nor ", join(labels, ", "), ")");
}

}  // namespace

std::optional<std::string> PrepareReport::too_many_rejected(double max_bad) const {
  const double bad = static_cast<double>(rows_rejected()) / static_cast<double>(std::max<std::int64_t>(1, rows_in));
  if (bad <= max_bad) return std::nullopt;
  const Reject& first = *std::ranges::min_element(rejects.kept(), {}, &Reject::place);
  const bool names_column = first.column.empty() || first.reason.find(first.column) != std::string::npos;
  return concat(to_string(SourcePosition{sources[first.source].file, first.record, 0}), ": ",
                names_column ? "" : first.column + ": ", first.reason, other_labels(first.reason, rejects), "; ",
                counted(rows_rejected(), "bad row", "bad rows"), " of ", with_separators(rows_in), " (",
                fixed(100 * bad, 1), " %), over ", setting_name("max-bad"), " ", shortest(100 * max_bad), " %");
}

void PrepareReport::write_rejects(const std::filesystem::path& path, Overwrite overwrite) const {
  std::vector<std::string> files;
  for (const SourceSummary& source : sources)
    files.push_back(source.file);
  rejects.write(path, files, overwrite);
}

void PrepareReport::tell(Answer& answer) const {
  answer.set({{"rows_in", rows_in},
              {"rows_kept", rows_kept},
              {"rows_filtered", rows_filtered()},
              {"rows_rejected", rows_rejected()}});
  std::vector<Stage> filters = stages;
  std::erase_if(filters, [](const Stage& stage) { return stage.taken == 0; });
  answer.add("filtered", {std::move(filters), {{"rule", &Stage::rule}, {"rows", &Stage::taken}}});
  std::vector<RejectReason> reasons;
  for (const auto& [reason, count] : rejects.by_reason())
    reasons.push_back({reason, count, first_place_of(reason, *this)});
  const Table rejected(std::move(reasons),
                       {{"reason", &RejectReason::reason, {.title = "rejected because"}},
                        {"rows", &RejectReason::rows},
                        {"first_at", &RejectReason::first, {.title = "first at", .shown = Shown::to_people}}});
  answer.add("rejected", rejected);
  const Table left(
      stages,
      {{"after", &Stage::rule}, {"rows", &Stage::rows}, {"students", &Stage::students}, {"courses", &Stage::courses}});
  answer.add("stages", left);
  using Source = SourceSummary;
  answer.add("sources",
             {sources,
              {{"file", [](const Source& source) { return std::filesystem::path(source.file).filename().string(); }},
               {"rows", &Source::rows},
               {"read_as", &Source::description},
               {"format", &Source::format},
               {"mapping", [](const Source& source) { return nlohmann::ordered_json(source.mapping); }}}});
  std::vector<std::string> all_notes = notes;
  if (!no_calendar.empty()) all_notes.push_back(no_calendar);
  answer.set("notes", all_notes);
  if (!changing_columns.empty()) answer.set("changing_columns", changing_columns);
  if (!data_end.empty()) answer.set("data_end", data_end);
  if (grades) answer.add("grades", *grades);

  for (const Source& source : sources) {
    answer.say(source.file, ": ", source.description, ", ", counted(source.rows, "row", "rows"));
    answer.say("  read as: ", source.format.empty() ? "mapped by hand" : source.format, " (",
               join(source.mapping, ", "), ")");
  }
  for (const std::string& note : all_notes)
    answer.say("note: " + note);
  const auto show_below = [&](const Table& table) {
    answer.say("");
    answer.show(table);
  };
  if (grades) show_below(*grades);
  answer.say("\nrows in ", with_separators(rows_in), " = kept ", with_separators(rows_kept), " + filtered ",
             with_separators(rows_filtered()), " + rejected ", with_separators(rows_rejected()));
  if (!stages.empty()) show_below(left);
  if (rows_rejected() > 0) show_below(rejected);
}

Answer Preparation::answer() const {
  Answer answer;
  if (cohort) {
    answer.set({{"students", cohort->student_count()}, {"courses", cohort->schema().course_count()}});
    answer.set("periods", cohort->schema().period_count());
    answer.set({{"enrollments", cohort->enrollments().one_count()}, {"fingerprint", cohort->fingerprint()}});
  }
  report.tell(answer);
  if (is_check) answer.set("usable", failure.empty());
  if (is_check && !failure.empty()) answer.set("reason", failure);
  if (is_check && failure.empty()) answer.say("\nready to prepare: " + size_of(*cohort));
  if (!file.empty())
    answer.say("\nwrote ", file, ": ", size_of(*cohort), ", ",
               counted(cohort->enrollments().one_count(), "enrollment", "enrollments"));
  return answer;
}

}  // namespace desirepath::inline ingest
