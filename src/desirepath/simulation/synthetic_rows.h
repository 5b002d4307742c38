// The tables of the synthetic university as text: a row per enrollment, a row per course.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "desirepath/compute/executor.h"
#include "desirepath/simulation/synthetic_university.h"

namespace desirepath::inline simulation {

/// Makes the rows of enrollments.csv. The university must outlive it.
class EnrollmentRows {
 public:
  explicit EnrollmentRows(const SyntheticUniversity& university);

  const SyntheticUniversity& university() const { return university_; }
  /// "student,period,..."
  std::string columns() const;
  void append(std::string& text, const SyntheticStudent& student) const;

 private:
  const SyntheticUniversity& university_;
  std::vector<std::string> fields_of_course_;  // what every row of it holds behind the grade
};

/// courses.csv.
std::string course_table(const SyntheticUniversity& university);

/// Numbers of the next students that are made as one piece of work, about 2 MB of rows; next: the first of them, 1 in
/// the beginning. Nothing when there are no more.
std::optional<Range> next_students(const SyntheticOptions& options, std::int64_t& next);

void append_texts(std::string& text, std::initializer_list<std::string_view> parts);
/// "yes" or "no".
std::string word_for(bool value);
std::string subject_name(const SyntheticCatalog& catalog, Id subject);

}  // namespace desirepath::inline simulation
