// The name of a setting inside a message. The library marks it; a front end renders it its own way: `--ridge` on a
// command line, `ridge` elsewhere.
#pragma once

#include <string>
#include <string_view>

namespace desirepath::inline core {

/// "ridge", marked.
std::string setting_name(std::string_view name);
/// The marks replaced by `prefix` before each name: "" or "--".
std::string render_settings(std::string_view text, std::string_view prefix);

}  // namespace desirepath::inline core
