// Text of files on its way to a terminal.
#pragma once

#include <string>
#include <string_view>

namespace desirepath::inline core {

/// What would move the cursor, colour the screen, turn the direction of writing or is no UTF-8, written as \xNN or
/// \u{NNNN}; lines and tabs stay.
std::string printable(std::string_view text);

}  // namespace desirepath::inline core
