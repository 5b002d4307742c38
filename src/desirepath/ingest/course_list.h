// The course file (`course,label,subject,school,concentration,prerequisites,...`), aliases and house term codes.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "desirepath/ingest/missing_values.h"
#include "desirepath/ingest/source.h"
#include "desirepath/ingest/term.h"
#include "desirepath/transcripts/schema.h"

namespace desirepath::inline ingest {

/// What a column of a course list is called where it is not by its own name: role -> column.
using ColumnNames = std::map<std::string, std::string>;
/// Of a course table, or a file of Curricular Analytics. missing: what stands for no value.
std::vector<Course> read_course_file(const std::filesystem::path& path, const ColumnNames& names,
                                     const MissingValues& missing);
/// Courses in the file's order; prerequisites are parted by semicolons or bars.
std::vector<Course> courses_from_table(const SmallTable& table, const ColumnNames& names = {},
                                       const MissingValues& missing = {});
/// `alias,course` (or `from,to`): renamed and cross-listed courses -> the name to count them under. Chains are
/// followed; a circle is an error.
std::map<std::string, std::string> aliases_from_table(const SmallTable& table);
/// `code,year[,order][,summer]`: house codes; year is the academic year's first calendar year, or `term` holds a label.
std::map<std::string, Term> terms_from_table(const SmallTable& table);

}  // namespace desirepath::inline ingest
