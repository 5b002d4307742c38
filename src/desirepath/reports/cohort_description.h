// Who and what is in a cohort, as an answer: figures, tables, filters.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "desirepath/core/answer.h"
#include "desirepath/queries/disclosed_cohort.h"
#include "desirepath/reports/figure.h"

namespace desirepath::inline reports {

class CohortDescription : public Answer {
 public:
  /// Throws PrivacyError for a cohort of few students.
  CohortDescription(const Cohort& cohort, const Disclosure& disclosure);
  /// Of what is told of it already.
  CohortDescription(const Cohort& cohort, DisclosedCohort disclosed);

  const std::vector<Figure>& figures() const { return figures_; }
  nlohmann::ordered_json to_json() const override;
  /// Names of the tables there are: the first is the one that print_csv gives unless another is chosen.
  static std::span<const std::string_view> table_names();
  void choose_table(std::string_view name);
  Table table() const override;
  void print(std::ostream& out) const override;
  std::vector<std::string> notes() const override;

 private:
  Table period_table() const;
  Table course_table(std::size_t count) const;

  Cohort cohort_;
  DisclosedCohort disclosed_;
  std::vector<Figure> figures_;
  std::string_view chosen_ = table_names().front();
};

/// What was left after each filter; empty where the cohort does not say.
Table filter_table(const DisclosedCohort& disclosed);

}  // namespace desirepath::inline reports
