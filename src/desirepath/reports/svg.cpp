#include "desirepath/reports/svg.h"

#include <algorithm>
#include <cmath>

#include "desirepath/core/printable.h"
#include "desirepath/core/text.h"

namespace desirepath::inline reports {

namespace {

std::string points_of(const std::vector<Point>& points) {
  std::string path;
  for (const Point& point : points)
    path += concat(path.empty() ? "" : " ", coordinate(point.x), ",", coordinate(point.y));
  return path;
}

std::string with_tooltip(std::string_view element, std::string_view attributes, std::string_view tooltip) {
  if (tooltip.empty()) return concat("<", element, " ", attributes, "/>\n");
  return concat("<", element, " ", attributes, "><title>", escaped(tooltip), "</title></", element, ">\n");
}

/// Of a letter, in the unit of its size, as in DejaVu Sans, which is wider than most.
double letter_width(char32_t letter) {
  if (letter < 0x80) {
    const char c = static_cast<char>(letter);
    if (std::string_view("ijlI.,:;'|!()[]/ -ftr").find(c) != std::string_view::npos) return 0.38;
    if (std::string_view("mwMW@%").find(c) != std::string_view::npos) return 0.97;
    return c >= 'A' && c <= 'Z' ? 0.70 : 0.62;
  }
  const bool is_combining = (letter >= 0x300 && letter < 0x370) || (letter >= 0x591 && letter < 0x5C8) ||
                            (letter >= 0x200B && letter < 0x2010) || (letter >= 0x2066 && letter < 0x206A);
  if (is_combining) return 0;
  return letter < 0x1100 ? 0.68 : letter < 0x2E80 ? 0.8 : 1.0;
}

/// The character that starts at a place of valid UTF-8, and where the next one starts.
std::pair<char32_t, std::size_t> character_at(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const std::size_t bytes = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  char32_t letter = bytes == 1 ? lead : lead & (0xFFU >> (bytes + 1));
  const std::size_t end = std::min(at + bytes, text.size());
  for (std::size_t i = at + 1; i < end; ++i)
    letter = (letter << 6) | (static_cast<unsigned char>(text[i]) & 0x3FU);
  return {letter, end};
}

double weight_of(const TextStyle& style) {
  return style.bold ? 1.1 : 1;
}

}  // namespace

std::string coordinate(double value) {
  std::string text = fixed(value, 1);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

namespace {
constexpr std::string_view isolate_begins = "\u2068", isolate_ends = "\u2069";

/// Bytes of the isolate that begins here, 0 where it is not closed before any other control of direction. A sentence
/// puts names in isolates; what one encloses cannot turn anything outside.
std::size_t isolate_length(std::string_view text, std::size_t begin) {
  if (!text.substr(begin).starts_with(isolate_begins)) return 0;
  for (std::size_t i = begin + isolate_begins.size(); i < text.size(); ++i) {
    if (is_turn(text, i)) return text.substr(i).starts_with(isolate_ends) ? i + isolate_ends.size() - begin : 0;
  }
  return 0;
}
}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      case '\xE2':
        if (const std::size_t length = isolate_length(text, i); length > 0) {
          const std::size_t inside = i + isolate_begins.size();
          result +=
              concat(isolate_begins, escaped(text.substr(inside, length - 2 * isolate_begins.size())), isolate_ends);
          i += length - 1;
        } else if (is_turn(text, i)) {  // written out, as on a terminal
          result += concat("\\u{", turn_digits(text, i), "}");
          i += 2;
        } else {
          result += c;
        }
        break;
      case '\xEF':
        // U+FFFE and U+FFFF have no place in XML.
        if (text.substr(i, 3) == "\xEF\xBF\xBE" || text.substr(i, 3) == "\xEF\xBF\xBF") {
          result += "\xEF\xBF\xBD";
          i += 2;
          break;
        }
        [[fallthrough]];
      default:
        result += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return result;
}

Svg::Svg(double width, double height, std::string_view title, std::string_view description) {
  head_ = concat("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", coordinate(width), " ", coordinate(height),
                 "\" width=\"", coordinate(width), "\" height=\"", coordinate(height),
                 "\" role=\"img\" font-family=\"system-ui, sans-serif\">\n<title>", escaped(title), "</title>\n<desc>",
                 escaped(description), "</desc>\n<rect class=\"paper\" width=\"", coordinate(width), "\" height=\"",
                 coordinate(height), "\" fill=\"#FFFFFF\"/>\n");
}

void Svg::rectangle(double x, double y, double width, double height, std::string_view fill, std::string_view tooltip) {
  box(x, y, width, height, concat("fill=\"", fill, "\""), tooltip);
}

void Svg::box(double x, double y, double width, double height, std::string_view attributes, std::string_view tooltip) {
  body_ += with_tooltip(
      "rect",
      concat("x=\"", coordinate(x), "\" y=\"", coordinate(y), "\" width=\"", coordinate(std::max(0.0, width)),
             "\" height=\"", coordinate(std::max(0.0, height)), "\" ", attributes),
      tooltip);
}

void Svg::line(Point from, Point to, std::string_view colour, double width, std::string_view dashes) {
  body_ += concat("<line x1=\"", coordinate(from.x), "\" y1=\"", coordinate(from.y), "\" x2=\"", coordinate(to.x),
                  "\" y2=\"", coordinate(to.y), "\" stroke=\"", colour, "\" stroke-width=\"", coordinate(width), "\"",
                  dashes.empty() ? "" : concat(" stroke-dasharray=\"", dashes, "\""), "/>\n");
}

void Svg::polygon(const std::vector<Point>& points, std::string_view fill, std::string_view tooltip) {
  body_ += with_tooltip(
      "polygon",
      concat("points=\"", points_of(points), "\" fill=\"", fill, "\" stroke=\"#FFFFFF\" stroke-width=\"1.2\""),
      tooltip);
}

void Svg::polyline(const std::vector<Point>& points, std::string_view colour, double width) {
  body_ += concat("<polyline points=\"", points_of(points), "\" fill=\"none\" stroke=\"", colour, "\" stroke-width=\"",
                  coordinate(width), "\" stroke-linejoin=\"round\"/>\n");
}

void Svg::circle(Point center, double radius, std::string_view fill, std::string_view tooltip) {
  body_ += with_tooltip("circle",
                        concat("cx=\"", coordinate(center.x), "\" cy=\"", coordinate(center.y), "\" r=\"",
                               coordinate(radius), "\" fill=\"", fill, "\""),
                        tooltip);
}

void Svg::path(std::string_view outline, std::string_view attributes, std::string_view tooltip) {
  body_ += with_tooltip("path", concat("d=\"", outline, "\" ", attributes), tooltip);
}

void Svg::open_group(std::string_view attributes, std::string_view tooltip) {
  body_ += concat("<g ", attributes, ">\n");
  if (!tooltip.empty()) body_ += concat("<title>", escaped(tooltip), "</title>\n");
}

void Svg::label(Point at, std::string_view words, double room, const TextStyle& style) {
  const std::string disclosed = fitted(words, room / weight_of(style), style.size);
  if (disclosed == words) return text(at, words, style);
  open_group("class=\"cut\"", words);
  text(at, disclosed, style);
  close_group();
}

std::size_t Svg::wrapped_label(Point at, std::string_view words, double room, std::size_t lines, double line_height,
                               const TextStyle& style) {
  const std::vector<std::string> disclosed = wrapped(words, room / weight_of(style), style.size, lines);
  const bool is_cut = !trimmed(words).ends_with(disclosed.back());
  if (is_cut) open_group("class=\"cut\"", words);
  for (std::size_t i = 0; i < disclosed.size(); ++i)
    text({at.x, at.y + line_height * static_cast<double>(i)}, disclosed[i], style);
  if (is_cut) close_group();
  return disclosed.size();
}

void Svg::text(Point at, std::string_view words, const TextStyle& style) {
  body_ += concat("<text x=\"", coordinate(at.x), "\" y=\"", coordinate(at.y), "\" font-size=\"",
                  coordinate(style.size), "\" fill=\"", style.colour, "\"",
                  style.anchor == "start" ? "" : concat(" text-anchor=\"", style.anchor, "\""),
                  style.bold ? " font-weight=\"600\"" : "",
                  style.rotate == 0 ? ""
                                    : concat(" transform=\"rotate(", coordinate(style.rotate), " ", coordinate(at.x),
                                             " ", coordinate(at.y), ")\""),
                  ">", escaped(words), "</text>\n");
}

std::string Svg::finish() const {
  return head_ + body_ + "</svg>\n";
}

double text_width(std::string_view words, double size) {
  double width = 0;
  for (std::size_t at = 0; at < words.size();) {
    const auto [letter, next] = character_at(words, at);
    width += letter_width(letter);
    at = next;
  }
  return size * width;
}

std::string fitted(std::string_view words, double room, double size) {
  if (text_width(words, size) <= room) return std::string(words);
  const double ellipsis = 0.8 * size;
  double width = 0;
  std::size_t at = 0;
  bool is_to_the_left = false;  // the script that the cut falls into: the ellipsis stands at its end
  while (at < words.size()) {
    const auto [letter, next] = character_at(words, at);
    width += size * letter_width(letter);
    if (width + ellipsis > room) break;
    if (letter > ' ') is_to_the_left = letter >= 0x590 && letter < 0x900;
    at = next;
  }
  return concat(trimmed(words.substr(0, at)), "…", is_to_the_left ? "\u200F" : "");
}

std::vector<std::string> wrapped(std::string_view words, double room, double size, std::size_t lines) {
  std::vector<std::string> result;
  std::string_view rest = trimmed(words);
  while (!rest.empty() && result.size() + 1 < lines && text_width(rest, size) > room) {
    // The last space up to which the line fits.
    std::size_t end = 0;
    for (std::size_t at = rest.find(' '); at != std::string_view::npos; at = rest.find(' ', at + 1)) {
      if (text_width(rest.substr(0, at), size) > room) break;
      end = at;
    }
    if (end == 0) break;
    result.emplace_back(rest.substr(0, end));
    rest = trimmed(rest.substr(end));
  }
  result.push_back(fitted(rest, room, size));
  return result;
}

std::string short_number(double value) {
  const auto with_unit = [](double scaled, const char* unit) {
    std::string text = fixed(scaled, scaled < 10 && scaled != std::floor(scaled) ? 1 : 0);
    return text + unit;
  };
  if (std::abs(value) >= 1e6) return with_unit(value / 1e6, " M");
  if (std::abs(value) >= 1e4) return with_unit(value / 1e3, " k");
  if (value == std::floor(value)) return with_separators(static_cast<std::int64_t>(value));
  return shortest(std::round(value * 1000) / 1000);
}

}  // namespace desirepath::inline reports
