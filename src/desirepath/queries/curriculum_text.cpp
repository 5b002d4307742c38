#include "desirepath/queries/curriculum_text.h"

#include <functional>
#include <numeric>

#include "desirepath/core/table.h"
#include "desirepath/core/text.h"

namespace desirepath::inline queries {

namespace {

bool leads_to(const std::vector<std::vector<Id>>& required, Id course, Id wanted, std::vector<char>& seen) {
  if (course == wanted) return true;
  if (std::exchange(seen[static_cast<std::size_t>(course)], 1) != 0) return false;
  for (const Id before : required[static_cast<std::size_t>(course)]) {
    if (leads_to(required, before, wanted, seen)) return true;
  }
  return false;
}

}  // namespace

Curriculum curriculum_of(const Schema& schema, const std::vector<std::uint8_t>& is_listed,
                         const std::vector<std::pair<Id, Id>>& links, const std::string& name) {
  Curriculum made;
  // Numbers without gaps: a gap would tell of a course.
  std::vector<int> number(is_listed.size(), 0);
  std::inclusive_scan(is_listed.begin(), is_listed.end(), number.begin(), std::plus(), 0);
  std::vector<std::vector<Id>> required(static_cast<std::size_t>(schema.course_count()));
  for (const auto& [before, course] : links) {
    if (is_listed[static_cast<std::size_t>(before)] == 0 || is_listed[static_cast<std::size_t>(course)] == 0) continue;
    std::vector<char> seen(required.size(), 0);
    if (leads_to(required, before, course, seen))
      ++made.left_out;
    else
      required[static_cast<std::size_t>(course)].push_back(before);
  }
  made.text =
      concat("Curriculum,", csv_field(name),
             ",,,,,,,,\nInstitution,,,,,,,,,\nDegree Type,BS,,,,,,,,\nSystem Type,semester,,,,,,,,\nCIP,,,,,,,,,\n"
             "Courses,,,,,,,,,\nCourse ID,Course Name,Prefix,Number,Prerequisites,Corequisites,"
             "Strict-Corequisites,Credit Hours,Institution,Canonical Name\n");
  for (Id c = 0; c < schema.course_count(); ++c) {
    if (is_listed[static_cast<std::size_t>(c)] == 0) continue;
    const Course& course = schema.course(c);
    const std::size_t gap = course.name.rfind(' ');
    const bool has_prefix = gap != std::string::npos;
    const auto units = course.attributes.find("units");
    std::vector<std::string> before;
    for (const Id p : required[static_cast<std::size_t>(c)])
      before.push_back(std::to_string(number[static_cast<std::size_t>(p)]));
    made.text +=
        concat(number[static_cast<std::size_t>(c)], ",", csv_field(course.label.empty() ? course.name : course.label),
               ",", csv_field(has_prefix ? course.name.substr(0, gap) : ""), ",",
               csv_field(has_prefix ? course.name.substr(gap + 1) : course.name), ",", join(before, ";"), ",,,",
               csv_field(units == course.attributes.end() ? "0" : units->second), ",,\n");
  }
  return made;
}

}  // namespace desirepath::inline queries
