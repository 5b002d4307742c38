// A synthetic university: a registrar's file with known truth, for demonstrations, tests and evaluations.
//
// Same options, same bytes, on any machine and with any number of threads. docs/synthetic_university.md describes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "desirepath/compute/executor.h"
#include "desirepath/core/answer.h"
#include "desirepath/core/atomic_file.h"
#include "desirepath/core/progress.h"
#include "desirepath/simulation/synthetic_catalog.h"
#include "desirepath/simulation/synthetic_options.h"
#include "desirepath/simulation/synthetic_students.h"

namespace desirepath::inline simulation {

/// Edition 3: students enrolled in a complete year, and what followed it.
struct ReturnCount {
  std::int64_t enrolled = 0;
  std::int64_t returned = 0;
  std::int64_t paused = 0;
  std::int64_t finished = 0;
  std::int64_t left = 0;
  double expected_returns = 0;  // sums of each student's own chances
  double expected_leavers = 0;

  void add(const ReturnCount& other);
};

/// Counts of what came out, beside the rates that were asked for; in truth.json under "realised".
struct SyntheticSummary {
  std::int64_t students = 0;
  std::int64_t enrollments = 0;  // rows of enrollments.csv
  std::int64_t commuters = 0;
  std::int64_t first_generation = 0;
  std::int64_t part_time = 0;
  std::int64_t late_entrants = 0;
  std::int64_t enthusiasts = 0;
  /// By last major and concentration, at major * 4 + concentration: students of each archetype.
  std::vector<std::int64_t> archetypes;
  std::int64_t switches = 0;
  std::int64_t second_majors = 0;
  std::int64_t companies = 0;
  std::vector<std::int64_t> detours;    // pre-medical, pre-law
  std::vector<std::int64_t> at_risk;    // by period: students who could drop out after it
  std::vector<std::int64_t> drop_outs;  // by period: students who did
  std::int64_t leaves_of_absence = 0;
  std::int64_t reduced_years = 0;
  std::int64_t summer_rows = 0;
  std::int64_t withdrawals = 0;
  std::int64_t failures = 0;
  std::int64_t repeats = 0;  // rows of a course the student had enrolled in before
  std::int64_t commuters_in_conflict = 0;
  // Edition 3.
  std::vector<std::int64_t> entrants;  // by academic year
  /// By year, period and background (commuter + 2 x first generation): see return_count.
  std::vector<ReturnCount> returns;
  std::int64_t degrees = 0;
  std::int64_t rows_of_unfinished_year = 0;

  /// Year from 0, period from 1.
  static std::size_t return_count(const SyntheticOptions& options, int year, int period, int background) {
    const auto row = static_cast<std::size_t>(year) * static_cast<std::size_t>(options.last_period()) +
                     static_cast<std::size_t>(period - 1);
    return row * 4 + static_cast<std::size_t>(background);
  }
  void add(const SyntheticStudent& student, const SyntheticOptions& options);
  void add(const SyntheticSummary& other);

 private:
  void add_years(const SyntheticStudent& student, const SyntheticOptions& options);
};

/// What was written where.
struct SyntheticFiles {
  std::string folder;
  std::string last_complete_term;  // edition 3
  SyntheticSummary summary;

  Answer answer() const;
};

/// In memory: the catalog, and any student on demand.
class SyntheticUniversity {
 public:
  explicit SyntheticUniversity(const SyntheticOptions& options);
  const SyntheticOptions& options() const { return options_; }
  const SyntheticCatalog& catalog() const { return catalog_; }
  /// Number 1 .. options.students (more exist and are the same whatever that count is).
  SyntheticStudent student(std::int64_t number) const;

  /// "S00000042".
  static std::string student_id(std::int64_t number);
  /// "2004-05 Fall", "2004-05 Spring", "2004-05 Summer": academic year and season; sorts as text.
  static std::string term_label(int year, SyntheticTerm term);
  /// Edition 3: the term in which the data end; one more, of which only a part is there, follows.
  std::string last_complete_term() const;

 private:
  SyntheticOptions options_;
  SyntheticCatalog catalog_;
  ChoiceTables tables_;
};

/// Writes enrollments.csv, courses.csv and truth.json into the folder (and what student_truth adds), which is made
/// where it is missing; each appears whole or not at all. Needs memory for a few blocks of students, whatever their
/// number.
SyntheticFiles write_synthetic_university(const SyntheticOptions& options, const std::filesystem::path& folder,
                                          Overwrite overwrite, const Executor& executor,
                                          const ProgressSink& progress = {});

}  // namespace desirepath::inline simulation
