#include "desirepath/queries/student_groups.h"

#include <algorithm>
#include <map>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline queries {

bool is_mirrored(std::size_t groups, std::size_t group, double difference) {
  return groups == 2 && (difference < 0 || (difference == 0 && group == 1));
}

std::vector<std::int64_t> draw_students(std::vector<std::int64_t> students, std::int64_t most, RandomStream stream) {
  if (std::ssize(students) <= most) return students;
  shuffle(students, stream);
  students.resize(static_cast<std::size_t>(most));
  std::ranges::sort(students);
  return students;
}

StudentGroups groups_of(const Cohort& cohort, const std::string& name) {
  const bool is_attribute =
      std::ranges::any_of(cohort.attributes(), [&](const Attribute& a) { return a.name == name; });
  if (is_attribute || name != "entry") {
    const Attribute& attribute = cohort.attribute(name);
    return {attribute.values, attribute.codes};
  }
  if (!cohort.has_calendar())
    throw OptionError(concat(setting_name("by"), " entry: the cohort does not know in which years its students came"));
  std::map<std::int32_t, Id> years;
  for (std::int64_t s = 0; s < cohort.student_count(); ++s)
    years[cohort.entry_year(s)] = -1;
  StudentGroups groups;
  for (auto& [year, number] : years) {
    if (year < 0) continue;
    number = static_cast<Id>(groups.names.size());
    groups.names.push_back(std::to_string(year));
  }
  for (std::int64_t s = 0; s < cohort.student_count(); ++s)
    groups.of_student.push_back(years[cohort.entry_year(s)]);
  return groups;
}

}  // namespace desirepath::inline queries
