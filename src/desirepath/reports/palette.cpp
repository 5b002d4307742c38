#include "desirepath/reports/palette.h"

#include <array>
#include <cmath>

namespace desirepath::inline reports {

namespace {

constexpr std::array colours = {0x0072B2, 0xE69F00, 0x009E73, 0xCC79A7, 0x56B4E9, 0xD55E00, 0xF0E442, 0x5D5D5D};

std::string hex(int colour) {
  static constexpr const char* digits = "0123456789ABCDEF";
  std::string text = "#";
  for (int shift = 20; shift >= 0; shift -= 4)
    text += digits[(colour >> shift) & 15];
  return text;
}

double luminance(const std::string& colour) {
  const auto channel = [&](std::size_t at) {
    const double value = std::stoi(colour.substr(at, 2), nullptr, 16) / 255.0;
    return value <= 0.03928 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}

}  // namespace

std::string series_colour(int number) {
  const int count = static_cast<int>(colours.size());
  const double lighter = std::min(0.75, 0.35 * std::floor(static_cast<double>(number) / count));
  return translucent(hex(colours[static_cast<std::size_t>(number % count)]), 1 - lighter);
}

std::string translucent(const std::string& colour, double strength) {
  const int base = std::stoi(colour.substr(1), nullptr, 16);
  int mixed = 0;
  for (int shift = 16; shift >= 0; shift -= 8) {
    const int channel = (base >> shift) & 255;
    mixed |= static_cast<int>(std::lround(channel + (255 - channel) * (1 - strength))) << shift;
  }
  return hex(mixed);
}

std::string neutral_colour() {
  return "#BBBBBB";
}

std::string text_colour_on(const std::string& colour) {
  const double light = luminance(colour);
  const double on_white = 1.05 / (light + 0.05), on_black = (light + 0.05) / 0.05;
  return on_white > on_black ? "#FFFFFF" : "#000000";
}

}  // namespace desirepath::inline reports
