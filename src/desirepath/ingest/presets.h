// Forms of enrollment files that exist in the field, and the canonical columns.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "desirepath/ingest/term.h"

namespace desirepath::inline ingest {

struct Preset {
  std::string_view name;
  std::string_view what;  // for --help and `check`
  /// Columns (lower case, spaces as underscores) a file of this form has; all must be there.
  std::vector<std::string_view> signature;
  /// Canonical column -> SQL over the file's columns; a bare name is just that column.
  std::vector<std::pair<std::string_view, std::string_view>> columns;
  std::vector<std::string_view> summer_codes;
  TermCoding term_coding = TermCoding::labels;
};

/// In the order they are tried.
std::span<const Preset> presets();
const Preset& require_preset(std::string_view name);
/// The first whose columns are all there.
const Preset* recognise_preset(const std::vector<std::string>& columns);

/// Names the program gives a meaning; every other column is an attribute of the student.
inline constexpr std::array<std::string_view, 12> canonical_columns = {"student", "period", "term",  "course",
                                                                       "grade",   "units",  "label", "subject",
                                                                       "school",  "major",  "entry", "finished"};
/// "Student ID" and "student_id" are one name.
std::string normalised(std::string_view column);

}  // namespace desirepath::inline ingest
