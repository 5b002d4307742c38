#include "desirepath/core/setting_name.h"

namespace desirepath::inline core {

namespace {
// From Unicode's private use: no file and no person writes them.
constexpr std::string_view begin_mark = "\xEE\x80\x80", end_mark = "\xEE\x80\x81";
}  // namespace

std::string setting_name(std::string_view name) {
  std::string marked(begin_mark);
  marked += name;
  marked += end_mark;
  return marked;
}

std::string render_settings(std::string_view text, std::string_view before, std::string_view behind) {
  std::string rendered;
  while (true) {
    const std::size_t begin = text.find(begin_mark);
    const std::size_t end = begin == std::string_view::npos ? begin : text.find(end_mark, begin);
    if (end == std::string_view::npos) break;
    const std::size_t name = begin + begin_mark.size();
    rendered += text.substr(0, begin);
    rendered += before;
    rendered += text.substr(name, end - name);
    rendered += behind;
    text.remove_prefix(end + end_mark.size());
  }
  rendered += text;
  return rendered;
}

}  // namespace desirepath::inline core
