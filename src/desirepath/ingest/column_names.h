// The line of column names of a table.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::inline ingest {

/// Names trimmed, nameless columns numbered. Throws InputError where two are the same; not quoted: a first line that is
/// data may hold a student's id.
template <class Cells>
std::vector<std::string> column_names(const Cells& cells, const std::string& file, std::int64_t record) {
  std::vector<std::string> columns;
  std::map<std::string, std::size_t> seen;  // name -> column
  for (const auto& cell : cells) {
    std::string name(trimmed(cell));
    const SourcePosition position{file, record, static_cast<std::int64_t>(columns.size()) + 1};
    if (name.empty()) name = concat("column", columns.size() + 1);
    const auto [same, is_new] = seen.emplace(lower_case(name), columns.size());
    if (!is_new) {
      throw InputError(position, concat("columns ", same->second + 1, " and ", position.column,
                                        " have the same name; rename one of them"));
    }
    columns.push_back(std::move(name));
  }
  return columns;
}

}  // namespace desirepath::inline ingest
