// Small cohorts for tests: made by hand or drawn at random. The only place where tests put one together.
#pragma once

#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "desirepath/core/random_stream.h"
#include "desirepath/transcripts/cohort.h"
#include "desirepath/transcripts/evidence.h"

namespace desirepath::test {

/// Courses c1..cM, periods 1..T.
Schema small_schema(Id courses, Id periods);

struct RandomCohortOptions {
  std::int64_t students = 20;
  Id courses = 5;
  Id periods = 3;
  double taken = 0.3;    // probability of each bit
  double unknown = 0.2;  // probability that a period is unknown
  double left = 0;       // probability that a student leaves after each period
};
Cohort random_cohort(const RandomCohortOptions& options, RandomStream stream);

/// A cohort made by hand, student by student. A student is enrolled in every period and takes nothing until told
/// otherwise.
class CohortMaker {
 public:
  explicit CohortMaker(Schema schema) : schema_(std::move(schema)) {}
  CohortMaker(Id courses, Id periods) : CohortMaker(small_schema(courses, periods)) {}

  /// The next student, whom everything below is about; named s0, s1, ... where no name is given.
  void add_student(std::string name = "");
  void take(Id bit) { taken_.back().insert(bit); }
  void take(Id period, Id course) { take(schema_.bit(period, course)); }
  /// Courses taken in a period in which the student is not enrolled are forgotten.
  void set(Id period, EnrollmentStatus status) { status_.back()[static_cast<std::size_t>(period)] = status; }
  /// The status that tells a model the same.
  void set(Id period, Presence presence) { set(period, status_for(presence)); }
  Cohort build() const;

 private:
  Schema schema_;
  std::vector<std::string> names_;
  std::vector<std::vector<EnrollmentStatus>> status_;
  std::vector<std::set<Id>> taken_;
};

/// One text per student and period: a digit per course ("101"), "-" where the period is unknown, "left" after leaving.
Cohort cohort_of(const Schema& schema, const std::vector<std::vector<std::string>>& students);
/// One list of taken bits per student, present in every period.
Cohort cohort_of_bits(const Schema& schema, const std::vector<std::vector<Id>>& students);

/// The cohort with its parts changed: attributes, calendar, names of courses.
template <class Change>
Cohort changed(const Cohort& cohort, Change change) {
  CohortParts parts = cohort.parts();
  change(parts);
  return Cohort(std::move(parts));
}

/// CSV `student,period,course` and a column an attribute; a row with an empty course marks presence alone.
void write_long_table(const Cohort& cohort, std::ostream& out);

}  // namespace desirepath::test
