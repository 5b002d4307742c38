// Some of the students, and groups of them: by an attribute, or by the academic year they came in.
#pragma once

#include <string>
#include <vector>

#include "desirepath/core/random_stream.h"
#include "desirepath/disclosure/disclosure.h"
#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline queries {

struct StudentGroups {
  std::vector<std::string> names;
  std::vector<Id> of_student;  // index into names, -1: not known
};

/// Whether groups of this name are the years students came in, not an attribute that is called the same.
bool is_entry_year(const Cohort& cohort, const std::string& name);
/// Throws OptionError that names the nearest attribute there is, or says that the cohort knows no years.
StudentGroups groups_of(const Cohort& cohort, const std::string& name);

/// The groups as they may be told: small ones, and the next larger ones until they are enough together, are one called
/// "other"; those of no known group are one called "not known", or among them. Throws PrivacyError where that leaves
/// one.
StudentGroups disclosed_groups(const StudentGroups& groups, const Disclosure& disclosure);
/// The smallest of two or more groups and the next larger one as one, "other".
StudentGroups merge_smallest(const StudentGroups& groups);

/// Of two groups, each against the other, one row says what both would: whether that of `group` can be left out, the
/// larger value being told.
bool is_mirrored(std::size_t groups, std::size_t group, double difference);

/// Where there are more students than `most`, that many drawn from them, in their order.
std::vector<std::int64_t> draw_students(std::vector<std::int64_t> students, std::int64_t most, RandomStream stream);

}  // namespace desirepath::inline queries
