// A figure as it is published: picture, the sentence that says what it shows, what it rests on, and its table twin.
#pragma once

#include <string>

#include "desirepath/core/table.h"
#include "desirepath/reports/sentence.h"

namespace desirepath::inline reports {

struct Figure {
  std::string name;  // file name without ending, and anchor on the page
  std::string title;
  Paragraph finding;
  Paragraph basis;  // n, and what was merged or left out
  std::string svg;
  Table table;
};

/// The picture for a file of its own, where no page says what it is: with its title inside.
std::string standalone_svg(const Figure& figure);

}  // namespace desirepath::inline reports
