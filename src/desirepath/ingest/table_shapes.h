// Rows of other shapes made into a row an enrollment: a further table joined to them, or a row a student taken apart.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "desirepath/ingest/missing_values.h"
#include "desirepath/ingest/row_source.h"
#include "desirepath/ingest/source.h"

namespace desirepath::inline ingest {

/// The columns of `table` behind those of the rows, where `on` ("student", "EMPLID=id", "student+term") is the same in
/// both; empty where nothing is. A name that is taken gets the table's before it. Throws OptionError for a column that
/// is not there, InputError for a key that the table has twice. columns: of the rows, which may hold more.
std::unique_ptr<RowSource> join_rows(std::unique_ptr<RowSource> rows, std::vector<std::string> columns,
                                     SmallTable table, const std::string& on);

/// A row for each course that a row's cells say was taken: `course`, and `period` where the columns are called MATH
/// 101@2, `grade` where the cells hold more than yes or no. Attributes stay; which columns are courses is told by their
/// names, else by their cells in the first rows. `kept`: columns that are none, whatever they look like. A period in
/// which nothing was taken but something is known gives a row without a course. Where the cells are periods, a number
/// other than 0 says that the course was taken then.
std::unique_ptr<RowSource> unfold_rows(std::unique_ptr<RowSource> rows, std::vector<std::string> columns,
                                       const std::vector<std::string>& kept, MissingValues missing, WideCells cells,
                                       const std::string& file);

}  // namespace desirepath::inline ingest
