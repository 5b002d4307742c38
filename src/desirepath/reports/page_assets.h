// How pages look and what little moves on them: one style sheet, one script, both inside the page.
#pragma once

#include <string_view>

namespace desirepath::inline reports {

std::string_view page_style();
/// Sorts tables, shows one row of a table with a chooser, follows a path in a flow diagram. Everything is there without
/// it.
std::string_view page_script();

}  // namespace desirepath::inline reports
