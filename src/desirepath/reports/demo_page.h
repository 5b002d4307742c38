// The page the tour ends with: the data, and the kinds of students in it.
#pragma once

#include "desirepath/models/model.h"
#include "desirepath/reports/html_page.h"
#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline reports {

Page demo_page(const Cohort& cohort, const Model& model);

}  // namespace desirepath::inline reports
