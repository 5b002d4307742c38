// Small cohorts for tests: made by hand or drawn at random.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "desirepath/core/random_stream.h"
#include "desirepath/transcripts/cohort.h"

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

/// CSV `student,period,course` and a column an attribute; a row with an empty course marks presence alone.
void write_long_table(const Cohort& cohort, std::ostream& out);

}  // namespace desirepath::test
