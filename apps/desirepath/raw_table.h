// The options of a raw table, the same on every command that takes one, and cohorts from either kind of file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "console.h"

#include "desirepath/ingest/prepare.h"
#include "desirepath/ingest/table_options.h"
#include "desirepath/transcripts/cohort.h"

namespace desirepath::app {

/// What the user gave; empty = not given.
struct RawTableArguments {
  const CLI::App* app = nullptr;  // the command they belong to
  std::string mapping_file;
  std::vector<std::string> map;
  std::string where, format, encoding, delimiter, table;
  std::string periods, terms, later, absent, summer, withdrawn, repeats, aliases, part_time, courses;
  std::vector<std::string> summer_terms, failing_grades, withdrawn_grades;
  std::optional<int> keep_periods, full_time_courses, min_periods, min_takers;
  std::optional<double> full_time_units, max_bad;
  bool passed_only = false;

  /// default_min_takers: 10 in `prepare`, 1 where a raw table is given to another command.
  TableOptions to_options(int default_min_takers, const Console& console) const;
};

std::shared_ptr<RawTableArguments> add_raw_table_options(CLI::App& app);

/// A prepared cohort file, the students of it that --where selects, or a raw table prepared on the way.
Cohort open_cohort(const std::string& path, const RawTableArguments& arguments, Console& console);

}  // namespace desirepath::app
