#include "desirepath/core/printable.h"

#include <cstdint>

#include "desirepath/core/text.h"

namespace desirepath::inline core {

namespace {

constexpr std::string_view digits = "0123456789abcdef";

std::string byte_escape(unsigned char byte) {
  return {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
}

/// Characters of several bytes that a terminal obeys: C1 controls, marks and overrides of direction, line separators.
bool is_command(char32_t c) {
  return (c >= 0x80 && c < 0xA0) || c == 0x61C || (c >= 0x200E && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069) || c == 0xFEFF;
}

}  // namespace

bool is_turn(std::string_view text, std::size_t at) {
  if (text.size() < at + 3 || text[at] != '\xE2') return false;
  const auto last = static_cast<unsigned char>(text[at + 2]);
  return (text[at + 1] == '\x80' && last >= 0xA8 && last <= 0xAE) ||
         (text[at + 1] == '\x81' && last >= 0xA6 && last <= 0xA9);
}

std::string turn_digits(std::string_view text, std::size_t at) {
  const auto middle = static_cast<unsigned char>(text[at + 1]), last = static_cast<unsigned char>(text[at + 2]);
  const unsigned code = 0x2000U | (middle & 0x3FU) << 6 | (last & 0x3FU);
  return {'2', '0', digits[code >> 4 & 15], digits[code & 15]};
}

std::string without_turns(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_turn(text, i)) {
      result += concat("\\u{", turn_digits(text, i), "}");
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    const std::string_view character = text.substr(i, length);
    if (length == 1) {
      const bool control = (first < 0x20 && first != '\n' && first != '\t') || first == 0x7F;
      result += control ? byte_escape(first) : std::string(1, text[i]);
    } else if (character.size() < length || !is_valid_utf8(character)) {
      result += byte_escape(first);
      ++i;
      continue;
    } else {
      char32_t code = first & (0x7F >> length);
      for (const char c : character.substr(1))
        code = code << 6 | (static_cast<unsigned char>(c) & 0x3F);
      if (is_command(code)) {
        result += "\\u{";
        for (int shift = 12; shift >= 0; shift -= 4)
          result += digits[code >> shift & 15];
        result += '}';
      } else {
        result += character;
      }
    }
    i += length;
  }
  return result;
}

}  // namespace desirepath::inline core
