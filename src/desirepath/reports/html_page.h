// One self-contained page: no font, script or picture from elsewhere. Readable on paper, at 320 pixels, in light and
// dark, with a screen reader and with scripts off.
#pragma once

#include <string>
#include <vector>

#include "desirepath/reports/figure.h"

namespace desirepath::inline reports {

struct PageFigure {
  Figure figure;
  Paragraph reading;  // how to read it
};

/// A table without a picture.
struct PageTable {
  std::string id;
  std::string caption;
  Table table;
  Paragraph reading = {};  // how to read it
  bool is_folded = false;  // long: unfolded by a click
  /// What is chosen in the first column, to see one row alone; empty: no such choice.
  std::string chooser = {};
};

struct PageSection {
  std::string id;  // anchor
  std::string title;
  Paragraph finding = {};
  std::vector<Paragraph> text = {};
  std::vector<Paragraph> points = {};  // a list
  std::vector<PageFigure> figures = {};
  std::vector<PageTable> tables = {};
  std::vector<Paragraph> notes = {};  // what it rests on, what was left out
};

/// A large number at the top: "30,000", "students".
struct PageHeadline {
  std::string id;
  std::string number, what;
};

struct Page {
  std::string title;
  Paragraph subtitle;
  std::vector<PageHeadline> headline;
  std::vector<PageSection> sections;
  Paragraph footer;
};

std::string render_html(const Page& page);

}  // namespace desirepath::inline reports
