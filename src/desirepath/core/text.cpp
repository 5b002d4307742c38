#include "desirepath/core/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

namespace desirepath::inline core {

TextPart::TextPart(double value)
    : size_(static_cast<std::uint8_t>(
          std::to_chars(digits_, digits_ + sizeof digits_, value, std::chars_format::general, 6).ptr - digits_)) {}

std::string concat_parts(std::initializer_list<TextPart> parts) {
  std::size_t size = 0;
  for (const TextPart& part : parts)
    size += part.text().size();
  std::string text;
  text.reserve(size);
  for (const TextPart& part : parts)
    text += part.text();
  return text;
}

std::string with_separators(std::int64_t count) {
  std::string digits = std::to_string(count);
  const std::ptrdiff_t first = count < 0 ? 1 : 0;
  for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > first; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

std::string counted(std::int64_t count, std::string_view one, std::string_view many) {
  return with_separators(count) + " " + std::string(count == 1 ? one : many);
}

std::string fixed(double value, int decimals) {
  std::array<char, 512> buffer;
  const auto result =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, decimals);
  std::string text(buffer.data(), result.ptr);
  const bool is_zero = text.find_first_of("123456789") == std::string::npos && std::isfinite(value);
  if (is_zero && text.starts_with('-')) text.erase(0, 1);
  return text;
}

std::string percent(double share) {
  return fixed(100 * share, share < 0.0995 ? 1 : 0) + " %";
}

std::string shortest(double value) {
  std::array<char, 64> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), result.ptr};
}

std::string as_bytes_text(double bytes) {
  static constexpr std::array<std::string_view, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fixed(bytes, unit == 0 || bytes >= 100 ? 0 : 1) + " " + std::string(units[unit]);
}

std::string as_duration(double seconds) {
  if (seconds < 60) return fixed(seconds, seconds < 10 ? 1 : 0) + " s";
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) return concat(whole / 60, " min ", whole % 60, " s");
  return concat(whole / 3600, " h ", whole % 3600 / 60, " min");
}

namespace {
bool is_whole_number(std::string_view text) {
  return !text.empty() && text.size() <= 18 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }) &&
         (text.size() == 1 || text[0] != '0');
}
}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  const bool number_a = is_whole_number(a), number_b = is_whole_number(b);
  if (number_a != number_b) return number_a;
  if (number_a && a.size() != b.size()) return a.size() < b.size();
  return a < b;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  // ASCII only, whatever the locale.
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lower;
}

std::string_view trimmed(std::string_view text) {
  static constexpr std::string_view white = " \t\r\n";
  const std::size_t first = text.find_first_not_of(white);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(white) - first + 1);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end == std::string_view::npos ? end : end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

bool is_ascii(std::string_view text) {
  std::size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i, 8);
    if ((word & 0x8080808080808080U) != 0) return false;
  }
  for (; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0x80) != 0) return false;
  }
  return true;
}

bool is_valid_utf8(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i]);
    std::size_t length = 1;
    std::uint32_t code = lead;
    if (lead >= 0x80) {
      length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
      if (lead < 0xC2 || lead > 0xF4) return false;
      code = lead & (0x7FU >> length);
    }
    if (i + length > text.size()) return false;
    for (std::size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xC0) != 0x80) return false;
      code = (code << 6) | (next & 0x3F);
    }
    const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    if (overlong || surrogate || code > 0x10FFFF) return false;
    i += length;
  }
  return true;
}

bool is_nested_too_deep(std::string_view json) {
  constexpr int deepest = 64;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '{' || c == '[')) {
      if (++depth > deepest) return true;
    } else if (!quoted && (c == '}' || c == ']')) {
      --depth;
    }
  }
  return false;
}

}  // namespace desirepath::inline core
