// What became of the rows: every one is kept, filtered by a stated rule, or rejected with a reason; all counted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "desirepath/core/answer.h"
#include "desirepath/ingest/rejects.h"
#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline ingest {

struct RowCollection;
struct SiftedRows;
struct TableOptions;

/// A file as it was understood.
struct SourceSummary {
  std::string file;
  std::string description;  // dialect, encoding, columns
  std::string format;       // the preset it was read as
  std::vector<std::string> mapping;
  std::int64_t rows = 0;
};

/// What a rule took and what is left after it; the first stage is all that was read.
struct Stage {
  std::string rule;
  std::int64_t taken = 0;
  std::int64_t rows = 0;  // enrollments and presence rows
  std::int64_t students = 0;
  std::int64_t courses = 0;
};

struct PrepareReport {
  std::vector<SourceSummary> sources;
  std::int64_t rows_in = 0;
  std::int64_t rows_kept = 0;
  std::vector<Stage> stages;  // in the order the rules apply
  std::vector<std::string> notes;
  std::vector<std::string> changing_columns;  // student attributes of which a student has several values
  std::string data_end;                       // the term with which the data end, where that is known
  std::string no_calendar;      // what it means for counts that there is none; empty where it means nothing
  std::optional<Table> grades;  // that were seen: rows, and what each counts as
  RejectLog rejects;

  /// Takes the sources and the rejects out of the collection.
  static PrepareReport of_reading(RowCollection& collection, const TableOptions& options);
  /// Of files that were read, once the rules have been applied.
  void count_fates(const RowCollection& collection, const SiftedRows& sifted, const TableOptions& options);

  /// How the status of periods without rows was decided, and what that means for counts.
  void note_statuses(const CohortParts& parts, const std::string& calendar_note);

  std::int64_t rows_filtered() const { return stages.empty() ? 0 : stages.front().rows - stages.back().rows; }
  std::int64_t rows_rejected() const { return rejects.count(); }
  /// The first bad row and how many there are, where they are more than this share of all; else nothing.
  std::optional<std::string> too_many_rejected(double max_bad) const;
  /// CSV `file,record,column,reason`.
  void write_rejects(const std::filesystem::path& path, Overwrite overwrite) const;
  /// Its fields, tables and words.
  void tell(Answer& answer) const;
};

/// What came of raw tables: the report, and a cohort or why there is none.
struct Preparation {
  PrepareReport report;
  std::optional<Cohort> cohort;
  std::string failure;
  std::string file;       // the cohort was written to, if it was
  bool is_check = false;  // it was only asked whether a cohort can be made

  Answer answer() const;
};

}  // namespace desirepath::inline ingest
