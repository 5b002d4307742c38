// The name of a setting inside a message. The library marks it; a front end renders it its own way: `--ridge` on a
// command line, `ridge` elsewhere.
#pragma once

#include <string>
#include <string_view>

namespace desirepath::inline core {

/// "ridge", marked.
std::string setting_name(std::string_view name);
/// The marks replaced by what stands before and behind each name: "", "--", quotes.
std::string render_settings(std::string_view text, std::string_view before, std::string_view behind = "");

}  // namespace desirepath::inline core
