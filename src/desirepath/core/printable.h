// Text of files on its way to a terminal.
#pragma once

#include <string>
#include <string_view>

namespace desirepath::inline core {

/// What would move the cursor, colour the screen, turn the direction of writing or is no UTF-8, written as \xNN or
/// \u{NNNN}; lines and tabs stay.
std::string printable(std::string_view text);

/// Whether a control that turns the direction of writing (U+202A to U+202E, U+2066 to U+2069) or a line separator
/// (U+2028, U+2029) starts at a place of UTF-8 text: three bytes that let a page or a program show what is not there.
bool is_turn(std::string_view text, std::size_t at);
/// The four hexadecimal digits of the one that does.
std::string turn_digits(std::string_view text, std::size_t at);
/// Every such control written as \u{NNNN}.
std::string without_turns(std::string_view text);

}  // namespace desirepath::inline core
