// Unexpected company: courses, and concentrations, of different subjects that the same students take more often than
// their popularity says (the paper's artificial intelligence and biology).
#pragma once

#include <string>
#include <vector>

#include "desirepath/disclosure/disclosure.h"
#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline queries {

struct Company {
  std::int64_t a = 0, b = 0;  // numbers of the things
  std::int64_t students = 0;  // who have both
  double expected = 0;        // were they chosen apart

  double lift() const { return static_cast<double>(students) / expected; }
  /// Lower end of the lift's 95 % interval.
  double certain_lift() const;
};

/// What students can have, and whom it belongs to: things of one owner keep no company with each other.
struct CompanyThings {
  std::vector<std::string> names, owners;
  std::vector<std::vector<std::int64_t>> of_student;  // ascending, each once

  /// Courses, owned by their subjects; without a subject each by itself.
  static CompanyThings courses(const Cohort& cohort);
  /// Concentrations (of courses), owned by their subjects: a student with half of its courses, and two at least, has
  /// one.
  static CompanyThings concentrations(const Schema& schema, const CompanyThings& courses);
};

/// Pairs of enough students and a certain lift above 1, the highest first.
std::vector<Company> find_company(const CompanyThings& things, const Disclosure& disclosure);

}  // namespace desirepath::inline queries
