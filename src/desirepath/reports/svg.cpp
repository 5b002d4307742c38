#include "desirepath/reports/svg.h"

#include <algorithm>
#include <cmath>

#include "desirepath/core/text.h"

namespace desirepath::inline reports {

namespace {

/// Coordinates to a tenth of a pixel.
std::string number(double value) {
  std::string text = fixed(value, 1);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::string path_of(const std::vector<Point>& points) {
  std::string path;
  for (const Point& point : points)
    path += concat(path.empty() ? "" : " ", number(point.x), ",", number(point.y));
  return path;
}

std::string with_tooltip(std::string_view element, std::string_view attributes, std::string_view tooltip) {
  if (tooltip.empty()) return concat("<", element, " ", attributes, "/>\n");
  return concat("<", element, " ", attributes, "><title>", escaped(tooltip), "</title></", element, ">\n");
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
  head_ = concat("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", number(width), " ", number(height),
                 "\" width=\"", number(width), "\" height=\"", number(height),
                 "\" role=\"img\" font-family=\"system-ui, sans-serif\">\n<title>", escaped(title), "</title>\n<desc>",
                 escaped(description), "</desc>\n");
}

void Svg::rectangle(double x, double y, double width, double height, std::string_view fill, std::string_view tooltip) {
  body_ += with_tooltip("rect",
                        concat("x=\"", number(x), "\" y=\"", number(y), "\" width=\"", number(std::max(0.0, width)),
                               "\" height=\"", number(std::max(0.0, height)), "\" fill=\"", fill, "\""),
                        tooltip);
}

void Svg::line(Point from, Point to, std::string_view colour, double width, std::string_view dashes) {
  body_ += concat("<line x1=\"", number(from.x), "\" y1=\"", number(from.y), "\" x2=\"", number(to.x), "\" y2=\"",
                  number(to.y), "\" stroke=\"", colour, "\" stroke-width=\"", number(width), "\"",
                  dashes.empty() ? "" : concat(" stroke-dasharray=\"", dashes, "\""), "/>\n");
}

void Svg::polygon(const std::vector<Point>& points, std::string_view fill, std::string_view tooltip) {
  body_ += with_tooltip(
      "polygon", concat("points=\"", path_of(points), "\" fill=\"", fill, "\" stroke=\"#FFFFFF\" stroke-width=\"1.2\""),
      tooltip);
}

void Svg::polyline(const std::vector<Point>& points, std::string_view colour, double width) {
  body_ += concat("<polyline points=\"", path_of(points), "\" fill=\"none\" stroke=\"", colour, "\" stroke-width=\"",
                  number(width), "\" stroke-linejoin=\"round\"/>\n");
}

void Svg::text(Point at, std::string_view words, const TextStyle& style) {
  body_ +=
      concat("<text x=\"", number(at.x), "\" y=\"", number(at.y), "\" font-size=\"", number(style.size), "\" fill=\"",
             style.colour, "\"", style.anchor == "start" ? "" : concat(" text-anchor=\"", style.anchor, "\""),
             style.bold ? " font-weight=\"600\"" : "",
             style.rotate == 0
                 ? ""
                 : concat(" transform=\"rotate(", number(style.rotate), " ", number(at.x), " ", number(at.y), ")\""),
             ">", escaped(words), "</text>\n");
}

std::string Svg::finish() const {
  return head_ + body_ + "</svg>\n";
}

std::vector<double> axis_ticks(double largest, int count) {
  if (!(largest > 0)) return {0, 1};
  const double rough = largest / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = power;
  for (const double factor : {1.0, 2.0, 2.5, 5.0, 10.0}) {
    step = factor * power;
    if (step >= rough * 0.999) break;
  }
  std::vector<double> ticks;
  for (int i = 0; ticks.empty() || ticks.back() < largest * 0.999; ++i)
    ticks.push_back(i * step);
  return ticks;
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
