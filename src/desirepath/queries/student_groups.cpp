#include "desirepath/queries/student_groups.h"

#include <algorithm>
#include <map>
#include <numeric>

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

namespace {

std::vector<double> sizes_of(const StudentGroups& groups) {
  std::vector<double> sizes(groups.names.size(), 0);
  for (const Id group : groups.of_student) {
    if (group >= 0) ++sizes[static_cast<std::size_t>(group)];
  }
  return sizes;
}

StudentGroups merged(const StudentGroups& groups, const Hidden& together) {
  StudentGroups result;
  std::vector<Id> number(groups.names.size(), -1);
  for (std::size_t g = 0; g < groups.names.size(); ++g) {
    if (together[g] != 0) continue;
    number[g] = static_cast<Id>(result.names.size());
    result.names.push_back(groups.names[g]);
  }
  for (std::size_t g = 0; g < groups.names.size(); ++g) {
    if (together[g] != 0) number[g] = static_cast<Id>(result.names.size());
  }
  if (std::ranges::find(together, 1) != together.end()) result.names.emplace_back("other");
  for (const Id group : groups.of_student)
    result.of_student.push_back(number[static_cast<std::size_t>(group)]);
  return result;
}

}  // namespace

StudentGroups disclosed_groups(const StudentGroups& groups, const Disclosure& disclosure) {
  StudentGroups all = groups;
  if (std::ranges::find(all.of_student, -1) != all.of_student.end()) {
    std::ranges::replace(all.of_student, Id{-1}, static_cast<Id>(all.names.size()));
    all.names.emplace_back("not known");
  }
  const Hidden hidden = disclosure.hide(sizes_of(all));
  StudentGroups disclosed = merged(all, hidden);
  if (disclosed.names.size() < 2 && all.names.size() > 1)
    throw PrivacyError(concat(setting_name("by"), ": the groups but one are of ", disclosure.few(),
                              " students, so none can be told apart"));
  return disclosed;
}

StudentGroups merge_smallest(const StudentGroups& groups) {
  const std::vector<double> sizes = sizes_of(groups);
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t g) { return sizes[g]; });
  Hidden together(sizes.size(), 0);
  const auto other = std::ranges::find(groups.names, "other");
  // "Other" takes the smallest of the rest.
  if (other != groups.names.end()) together[static_cast<std::size_t>(other - groups.names.begin())] = 1;
  for (std::size_t i = 0; i < order.size() && std::ranges::count(together, 1) < 2; ++i)
    together[order[i]] = 1;
  return merged(groups, together);
}

bool is_entry_year(const Cohort& cohort, const std::string& name) {
  return name == "entry" &&
         std::ranges::none_of(cohort.attributes(), [&](const Attribute& a) { return a.name == name; });
}

StudentGroups groups_of(const Cohort& cohort, const std::string& name) {
  if (!is_entry_year(cohort, name)) {
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
