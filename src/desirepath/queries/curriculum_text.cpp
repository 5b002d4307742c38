#include "desirepath/queries/curriculum_text.h"

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

Curriculum curriculum_of(const Schema& schema, const std::vector<std::pair<Id, Id>>& links, const std::string& name) {
  Curriculum made;
  std::vector<std::vector<Id>> required(static_cast<std::size_t>(schema.course_count()));
  for (const auto& [before, course] : links) {
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
    const Course& course = schema.course(c);
    const std::size_t gap = course.name.rfind(' ');
    const bool has_prefix = gap != std::string::npos;
    const auto units = course.attributes.find("units");
    std::vector<std::string> before;
    for (const Id p : required[static_cast<std::size_t>(c)])
      before.push_back(std::to_string(p + 1));
    made.text += concat(c + 1, ",", csv_field(course.label.empty() ? course.name : course.label), ",",
                        csv_field(has_prefix ? course.name.substr(0, gap) : ""), ",",
                        csv_field(has_prefix ? course.name.substr(gap + 1) : course.name), ",", join(before, ";"),
                        ",,,", csv_field(units == course.attributes.end() ? "0" : units->second), ",,\n");
  }
  return made;
}

}  // namespace desirepath::inline queries
