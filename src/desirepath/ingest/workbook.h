// A sheet of an Excel workbook (.xlsx), by libzip and pugixml.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "desirepath/ingest/rejects.h"
#include "desirepath/ingest/row_source.h"

namespace desirepath::inline ingest {

/// sheet: empty for the first; source: number of the file in the reject log, which must outlive the rows. The first row
/// that is not blank names the columns; a record is a row of the sheet. Dates come as 2018-09-03. Throws InputError for
/// a zip file that is no workbook or is damaged, OptionError for a sheet that is not there.
std::unique_ptr<RowSource> open_workbook(const std::filesystem::path& path, const std::string& sheet,
                                         std::size_t source, RejectLog& rejects);

}  // namespace desirepath::inline ingest
