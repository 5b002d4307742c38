// Where people lose a year: courses that groups take later than others, with 95 % intervals.
#pragma once

#include "desirepath/queries/delays.h"
#include "desirepath/reports/figure.h"

namespace desirepath::inline reports {

/// `by`: what the groups are of, empty where all students stand against the model. `students`: looked
/// at, nothing where that is withheld. The `most` surest are drawn, the latest first; all are in the table.
Figure delay_chart(const std::vector<GroupDelay>& delays, const Schema& schema, const std::string& by,
                   std::optional<std::int64_t> students, std::size_t most = 16);

}  // namespace desirepath::inline reports
