// Text as people read it: counts with separators, numbers with the digits they deserve, lists.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace desirepath::inline core {

/// All arguments written one after the other.
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

/// 1234567 -> "1,234,567".
std::string with_separators(std::int64_t count);
/// "1 student", "2,000 students".
std::string counted(std::int64_t count, std::string_view one, std::string_view many);
/// Fixed number of decimals; "-0.00" never.
std::string fixed(double value, int decimals);
/// Shortest text that reads back as the same double.
std::string shortest(double value);
/// "3.2 GiB".
std::string as_bytes_text(double bytes);
/// "1 min 20 s", "0.4 s".
std::string as_duration(double seconds);

/// The number a text is, from its first character to its last; else nothing.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}
/// Whole numbers by value, before all other texts, which go by their bytes.
bool natural_less(std::string_view a, std::string_view b);

std::string lower_case(std::string_view text);
std::string_view trimmed(std::string_view text);
std::vector<std::string> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
bool is_ascii(std::string_view text);
bool is_valid_utf8(std::string_view text);
/// Whether JSON text nests deeper than this program ever writes it: what reads and copies JSON recurses.
bool is_nested_too_deep(std::string_view json);

}  // namespace desirepath::inline core
