// The paper's grid: courses by concentration, in the colour of the state whose students take them most, as strong as
// the model is sure.
#pragma once

#include "desirepath/queries/state_grid.h"
#include "desirepath/reports/figure.h"

namespace desirepath::inline reports {

struct StateGrid {
  std::vector<GridCourse> courses;  // that may be told
  std::vector<std::string> states;  // names, by number
  std::string period;               // whose states they are; "all": of all periods
  std::int64_t students = 0;
  std::int64_t withheld = 0;  // courses left out
};

Figure state_grid_figure(const StateGrid& grid, const Schema& schema);

}  // namespace desirepath::inline reports
