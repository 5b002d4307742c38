// Unexpected company: courses, and concentrations, of different subjects that the same students take more often than
// their popularity says (the paper's artificial intelligence and biology).
#pragma once

#include <string>
#include <vector>

#include "desirepath/compute/executor.h"
#include "desirepath/core/random_stream.h"
#include "desirepath/disclosure/disclosure.h"
#include "desirepath/queries/chance.h"
#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline queries {

struct Company {
  Id a = 0, b = 0;            // numbers of the things
  std::int64_t students = 0;  // who have both
  double expected = 0;        // were they chosen apart
  double q = 1;               // of so many by chance

  double lift() const { return static_cast<double>(students) / expected; }
  /// Lower end of the lift's 95 % interval.
  double certain_lift() const;
  /// How far the students are above what is expected, in standard deviations of a Poisson (Freeman and Tukey).
  double surprise() const;
};

/// What students can have, and whom it belongs to: things of one owner keep no company with each other.
struct CompanyThings {
  std::vector<std::string> names, owners;
  std::vector<std::vector<std::int64_t>> of_student;  // ascending, each once

  /// Courses, owned by their subjects; without a subject each by itself.
  static CompanyThings courses(const Schema& schema, std::vector<std::vector<std::int64_t>> of_student);
  /// Concentrations (of courses), owned by their subjects: a student with half of its courses, and two at least, has
  /// one.
  static CompanyThings concentrations(const Schema& schema, const CompanyThings& courses);
};

/// Every pair of different owners. Expected: of the students with something of both owners, were each thing as popular
/// as among all of its owner, and chosen apart; a thing that is all its owner has is held against all students.
std::vector<Company> count_company(const CompanyThings& things);

struct FoundCompany {
  CompanyThings courses, concentrations;
  std::vector<Company> course_pairs, concentration_pairs;  // the highest certain lift first
  FindingCount found;                                      // of both
};

/// Pairs of enough students and a q of at most `most_q` against shuffled enrollments (enrollment_shuffle.h), which keep
/// loads and popularity. What is expected is corrected by what shuffled enrollments have: students with many courses
/// have more pairs.
FoundCompany find_company(const Cohort& cohort, const Disclosure& disclosure, double most_q, RandomStream stream,
                          const Executor& executor);

}  // namespace desirepath::inline queries
