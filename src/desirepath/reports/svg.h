// Scalable pictures written by hand: the few shapes the figures need, accessible and without anything from elsewhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace desirepath::inline reports {

/// Escapes for text and attributes of XML and HTML.
std::string escaped(std::string_view text);
/// To a tenth of a pixel.
std::string coordinate(double value);

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
  /// With any attributes, as they are written.
  void box(double x, double y, double width, double height, std::string_view attributes, std::string_view tooltip = "");
  void line(Point from, Point to, std::string_view colour, double width = 1, std::string_view dashes = "");
  void polygon(const std::vector<Point>& points, std::string_view fill, std::string_view tooltip = "");
  void polyline(const std::vector<Point>& points, std::string_view colour, double width);
  void circle(Point center, double radius, std::string_view fill, std::string_view tooltip = "");
  /// `outline`: the commands of a path; `attributes`: any further ones, as they are written.
  void path(std::string_view outline, std::string_view attributes, std::string_view tooltip = "");
  void text(Point at, std::string_view words, const TextStyle& style = {});
  /// A name of any length in `room` pixels: cut where it is longer, whole as a tooltip.
  void label(Point at, std::string_view words, double room, const TextStyle& style = {});
  /// The same over several lines, from the first one's place down; returns how many.
  std::size_t wrapped_label(Point at, std::string_view words, double room, std::size_t lines, double line_height,
                            const TextStyle& style = {});
  void open_group(std::string_view attributes, std::string_view tooltip = "");
  void close_group() { body_ += "</g>\n"; }
  /// Any SVG element, already escaped.
  void raw(std::string_view element) { body_ += element; }
  std::string finish() const;

 private:
  std::string head_;
  std::string body_;
};

/// About as wide as the words are in a wide font: nothing here can measure one.
double text_width(std::string_view words, double size);
/// Cut to so many pixels, with an ellipsis.
std::string fitted(std::string_view words, double room, double size);
/// In at most `lines` lines, broken at spaces; what does not fit is cut.
std::vector<std::string> wrapped(std::string_view words, double room, double size, std::size_t lines);

/// 1500000 -> "1.5 M", 12000 -> "12 k".
std::string short_number(double value);

}  // namespace desirepath::inline reports
