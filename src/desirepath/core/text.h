// Text as people read it: counts with separators, numbers with the digits they deserve, lists.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace desirepath::inline core {

/// What can be written into a text: text, whole numbers, and real ones with six digits at most.
class TextPart {
 public:
  TextPart(std::string_view text) : text_(text) {}
  TextPart(const std::string& text) : text_(text) {}
  TextPart(const char* text) : text_(text) {}
  TextPart(char letter) : size_(1) { digits_[0] = letter; }
  TextPart(double value);
  template <std::integral Whole>
  requires(!std::same_as<Whole, bool>) TextPart(Whole value)
      : size_(static_cast<std::uint8_t>(std::to_chars(digits_, digits_ + sizeof digits_, value).ptr - digits_)) {}

  std::string_view text() const { return size_ > 0 ? std::string_view(digits_, size_) : text_; }

 private:
  std::string_view text_;
  char digits_[23];
  std::uint8_t size_ = 0;
};

std::string concat_parts(std::initializer_list<TextPart> parts);

/// All arguments written one after the other. Hundreds of places call it, so that hardly anything is compiled there.
template <class... Parts>
std::string concat(const Parts&... parts) {
  return concat_parts({TextPart(parts)...});
}

/// 1234567 -> "1,234,567".
std::string with_separators(std::int64_t count);
/// "1 student", "2,000 students".
std::string counted(std::int64_t count, std::string_view one, std::string_view many);
/// Fixed number of decimals; "-0.00" never.
std::string fixed(double value, int decimals);
/// 0.0312 -> "3.1 %", 0.31 -> "31 %".
std::string percent(double share);
/// Shortest text that reads back as the same double.
std::string shortest(double value);
/// "3.2 GiB".
std::string as_bytes_text(double bytes);
/// "1 min 20 s", "0.4 s".
std::string as_duration(double seconds);

/// The number a text is, from its first character to its last; else nothing. NaN and infinity are no numbers.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  if constexpr (std::is_floating_point_v<Number>) {
    if (!std::isfinite(value)) return std::nullopt;
  }
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
