// From raw rows to a cohort: read (row_collection.h), sift (row_rules.h), assemble (cohort_assembly.h), and tell what
// became of every row (prepare_report.h).
#pragma once

#include <string>
#include <vector>

#include "desirepath/compute/executor.h"
#include "desirepath/core/progress.h"
#include "desirepath/ingest/prepare_report.h"
#include "desirepath/ingest/row_source.h"
#include "desirepath/ingest/table_options.h"
#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline ingest {

/// Reads the sources (files or patterns) and makes the cohort, unless more than max_bad of the rows are rejected or
/// nothing is left. Throws OptionError, FileError and InputError for what cannot be read as a table at all.
Preparation prepare_tables(const std::vector<std::string>& sources, const TableOptions& options,
                           const Executor& executor, const ProgressSink& progress = {});

/// Looks at everything, however many rows are bad, and says whether max_bad would allow it.
Preparation check_tables(const std::vector<std::string>& sources, TableOptions options, const Executor& executor,
                         const ProgressSink& progress = {});

struct Prepared {
  Cohort cohort;
  PrepareReport report;
};
/// For whoever can do nothing without the cohort: throws InputError where there is none.
Prepared prepare_cohort(const std::vector<std::string>& sources, const TableOptions& options, const Executor& executor,
                        const ProgressSink& progress = {});
/// The same of a table in memory.
Prepared prepare_rows(TableInMemory table, const TableOptions& options, const Executor& executor,
                      const ProgressSink& progress = {});

}  // namespace desirepath::inline ingest
