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

  TableOptions options() const;
};

std::shared_ptr<RawTableArguments> add_raw_table_options(CLI::App& app);

/// What a raw table is for decides, where the user does not, how many takers a course needs: a model of courses that
/// few took learns these few, so ten where one is trained; one where a table is only asked about.
enum class TableUse { ask, train };

/// A prepared cohort file, the students of it that --where selects, or a raw table prepared on the way.
Cohort open_cohort(const std::string& path, const RawTableArguments& arguments, Console& console,
                   TableUse use = TableUse::ask);
/// A cohort through another schema; what that does not know is refused, or left out and told.
Cohort align_cohort(const Cohort& cohort, const Schema& schema, UnseenCourses unseen, const std::string& whose,
                    const Console& console);
/// Both.
Cohort open_aligned_cohort(const std::string& path, const Schema& schema, UnseenCourses unseen,
                           const std::string& whose, const RawTableArguments& arguments, Console& console);

}  // namespace desirepath::app
