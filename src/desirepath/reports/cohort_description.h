// Who and what is in a cohort, as an answer: figures, tables, filters.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
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
  /// Names of the tables there are: the first is the one that print_csv gives unless another is chosen.
  static std::span<const std::string_view> table_names();
  void choose_table(std::string_view name);
  Table table() const override;
  void print(std::ostream& out) const override;

 private:
  Table period_table() const;
  Table course_table(std::size_t count) const;

  Cohort cohort_;
  std::int64_t min_cell_;
  CohortSummary summary_;
  std::vector<Figure> figures_;
  std::string_view chosen_ = table_names().front();
};

/// What was left after each filter, from a cohort's record of how it was made; empty where that does not say.
Table filter_table(const Cohort& cohort);

}  // namespace desirepath::inline reports
