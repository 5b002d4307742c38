// From raw rows to a cohort: every row is kept, filtered by a stated rule, or rejected with a reason; all counted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "desirepath/core/progress.h"
#include "desirepath/core/table.h"
#include "desirepath/ingest/rejects.h"
#include "desirepath/ingest/table_options.h"
#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline ingest {

struct Counted {
  std::string what;
  std::int64_t count = 0;
};

/// What is left after a filter.
struct Stage {
  std::string filter;
  std::int64_t rows = 0;  // enrollments and presence rows
  std::int64_t students = 0;
  std::int64_t courses = 0;
};

struct PrepareReport {
  struct Source {
    std::string file;
    std::string description;  // dialect, encoding, columns
    std::string format;       // the preset it was read as
    std::vector<std::string> mapping;
    std::int64_t rows = 0;
  };
  std::vector<Source> sources;
  std::int64_t rows_in = 0;
  std::int64_t rows_kept = 0;
  std::vector<Counted> filtered;  // by rule, in the order the rules apply
  std::vector<Counted> rejected;  // by reason
  std::vector<Stage> stages;
  std::vector<std::string> notes;
  RejectLog rejects;

  std::int64_t rows_filtered() const;
  std::int64_t rows_rejected() const { return rejects.count(); }
  /// The first bad row and how many there are, where they are more than this share of all; else nothing.
  std::optional<std::string> too_many_rejected(double max_bad) const;
  nlohmann::ordered_json to_json() const;
};

struct Prepared {
  Cohort cohort;
  PrepareReport report;
};

/// Reads the sources (files or patterns) and makes the cohort. Throws InputError when more than max_bad of the rows are
/// rejected or nothing is left; `report`, where given, then still tells what was seen.
Prepared prepare_cohort(const std::vector<std::string>& sources, const TableOptions& options,
                        const ProgressSink& progress, PrepareReport* report = nullptr);

}  // namespace desirepath::inline ingest
