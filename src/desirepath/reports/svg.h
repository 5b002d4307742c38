// Scalable pictures written by hand: the few shapes the figures need, accessible and without anything from elsewhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace desirepath::inline reports {

/// Escapes for text and attributes of XML and HTML.
std::string escaped(std::string_view text);

struct Point {
  double x = 0;
  double y = 0;
};

struct TextStyle {
  double size = 13;
  std::string anchor = "start";  // start, middle, end
  std::string colour = "#222222";
  bool bold = false;
  double rotate = 0;  // degrees
};

class Svg {
 public:
  /// title and description are what a screen reader says.
  Svg(double width, double height, std::string_view title, std::string_view description);

  void rectangle(double x, double y, double width, double height, std::string_view fill, std::string_view tooltip = "");
  void line(Point from, Point to, std::string_view colour, double width = 1, std::string_view dashes = "");
  void polygon(const std::vector<Point>& points, std::string_view fill, std::string_view tooltip = "");
  void polyline(const std::vector<Point>& points, std::string_view colour, double width);
  void text(Point at, std::string_view words, const TextStyle& style = {});
  /// Any SVG element, already escaped.
  void raw(std::string_view element) { body_ += element; }
  std::string finish() const;

 private:
  std::string head_;
  std::string body_;
};

/// Round values that cover 0 .. largest in about `count` steps.
std::vector<double> axis_ticks(double largest, int count);
/// 1500000 -> "1.5 M", 12000 -> "12 k".
std::string short_number(double value);

}  // namespace desirepath::inline reports
