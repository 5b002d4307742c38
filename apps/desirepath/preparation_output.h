// What `check` and `prepare` print of a preparation.
#pragma once

#include "console.h"

#include "desirepath/ingest/prepare.h"

namespace desirepath::app {

/// Sources, filters, rejects as text on the given stream.
void print_preparation(const PrepareReport& report, std::ostream& out);
/// students, courses, periods, enrollments and the report.
nlohmann::ordered_json preparation_json(const PrepareReport& report, const Cohort* cohort);

}  // namespace desirepath::app
