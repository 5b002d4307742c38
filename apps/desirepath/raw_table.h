// The options of a raw table, the same on every command that takes one, and cohorts from either kind of file.
#pragma once

#include <memory>
#include <string>

#include <CLI/App.hpp>

#include "console.h"

#include "desirepath/ingest/table_options.h"
#include "desirepath/transcripts/align.h"

namespace desirepath::app {

struct RawTableArguments {
  std::string mapping;  // file; the command line wins over what it says
  SettingValues given;  // on the command line

  TableOptions options(const Console& console) const;
};

std::shared_ptr<RawTableArguments> add_raw_table_options(CLI::App& app);

/// A prepared cohort file, the students of it that --where selects, or a raw table prepared on the way; there a course
/// needs but one taker where the user does not say otherwise.
Cohort open_cohort(const std::string& path, const RawTableArguments& arguments, Console& console);
/// The same through another schema.
Cohort open_aligned_cohort(const std::string& path, const Schema& schema, UnseenCourses unseen,
                           const std::string& whose, const RawTableArguments& arguments, Console& console);

}  // namespace desirepath::app
