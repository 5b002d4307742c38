// Who and what is in a cohort, as an answer: figures, tables, filters.
#pragma once

#include <cstdint>
#include <vector>

#include "desirepath/core/answer.h"
#include "desirepath/reports/figure.h"
#include "desirepath/transcripts/cohort_summary.h"

namespace desirepath::inline reports {

class CohortDescription : public Answer {
 public:
  /// Throws OptionError for a min_cell under 5.
  CohortDescription(const Cohort& cohort, std::int64_t min_cell);

  const std::vector<Figure>& figures() const { return figures_; }
  nlohmann::ordered_json to_json() const override;
  /// Enrollments by time.
  Table table() const override { return figures_.front().table; }
  void print(std::ostream& out) const override;

 private:
  Table period_table() const;
  Table course_table(std::size_t count) const;

  Cohort cohort_;
  std::int64_t min_cell_;
  CohortSummary summary_;
  std::vector<Figure> figures_;
};

/// What was left after each filter, from a cohort's record of how it was made; empty where that does not say.
Table filter_table(const Cohort& cohort);

}  // namespace desirepath::inline reports
