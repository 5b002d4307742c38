// One self-contained page: no script, no font, no picture from elsewhere. Readable on paper and at 320 pixels.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "desirepath/reports/figure.h"

namespace desirepath::inline reports {

struct PageSection {
  std::string title;
  std::string text;  // a paragraph before the figures; may be empty
  std::vector<Figure> figures;
  /// Tables without a picture: caption and table.
  std::vector<std::pair<std::string, Table>> tables;
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
