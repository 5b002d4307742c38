// One self-contained page: no font, script or picture from elsewhere. Readable on paper, at 320 pixels, in light and
// dark, with a screen reader and with scripts off.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "desirepath/reports/figure.h"

namespace desirepath::inline reports {

struct PageFigure {
  Figure figure;
  std::string reading;  // how to read it
};

/// A table without a picture.
struct PageTable {
  std::string id;
  std::string caption;
  Table table;
  std::string reading = {};  // how to read it
  bool is_folded = false;    // long: unfolded by a click
  /// What is chosen in the first column, to see one row alone; empty: no such choice.
  std::string chooser = {};
};

struct PageSection {
  std::string id;  // anchor
  std::string title;
  std::string finding = {};              // one sentence
  std::vector<std::string> text = {};    // paragraphs
  std::vector<std::string> points = {};  // a list
  std::vector<PageFigure> figures = {};
  std::vector<PageTable> tables = {};
  std::vector<std::string> notes = {};  // what it rests on, what was left out
};

struct Page {
  std::string title;
  std::string subtitle;
  /// Large numbers at the top: "30,000", "students".
  std::vector<std::pair<std::string, std::string>> headline;
  std::vector<PageSection> sections;
  std::string footer;
};

std::string render_html(const Page& page);

}  // namespace desirepath::inline reports
