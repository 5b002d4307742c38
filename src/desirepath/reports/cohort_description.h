// Who and what is in a cohort, as an answer: figures, tables, filters.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "desirepath/core/answer.h"
#include "desirepath/disclosure/disclosure.h"
#include "desirepath/reports/figure.h"
#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline reports {

/// Its tables.
inline constexpr std::array<std::string_view, 5> described_tables = {"enrollments", "courses-per-student", "periods",
                                                                     "courses", "filters"};

struct CohortDescription {
  Answer answer;
  std::vector<Figure> figures;
};
/// Throws PrivacyError for a cohort of few students.
CohortDescription describe_cohort(const Cohort& cohort, const Disclosure& disclosure);

}  // namespace desirepath::inline reports
