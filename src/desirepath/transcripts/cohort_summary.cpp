#include "desirepath/transcripts/cohort_summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace desirepath::inline transcripts {

namespace {

/// The letters a course's name begins with, where a number follows: MATH of "MATH 101".
std::string prefix_of(const std::string& name) {
  const std::size_t digit = name.find_first_of("0123456789");
  if (digit == std::string::npos) return "";
  std::string prefix = name.substr(0, digit);
  while (!prefix.empty() && std::string_view(" -_.:/").find(prefix.back()) != std::string_view::npos)
    prefix.pop_back();
  return prefix;
}

/// Whether the names of courses begin as subjects do: nearly all with letters, and several courses to a subject.
bool has_prefixes(const Schema& schema) {
  std::map<std::string, int> courses;
  int named = 0;
  for (const Course& course : schema.courses()) {
    const std::string prefix = prefix_of(course.name);
    if (prefix.empty()) continue;
    ++named;
    ++courses[prefix];
  }
  return courses.size() > 1 && 10 * named >= 9 * schema.course_count() &&
         2 * courses.size() <= static_cast<std::size_t>(named);
}

/// Group of each course, and the groups' names.
std::vector<Id> group_courses(const Schema& schema, CohortSummary& summary) {
  const bool schools = std::ranges::any_of(schema.courses(), [](const Course& c) { return !c.school.empty(); });
  const bool subjects = std::ranges::any_of(schema.courses(), [](const Course& c) { return !c.subject.empty(); });
  const bool prefixes = !schools && !subjects && has_prefixes(schema);
  summary.grouping = schools ? "school" : subjects ? "subject" : prefixes ? "subject code" : "course";
  std::map<std::string, Id> numbers;
  std::vector<Id> group;
  for (const Course& course : schema.courses()) {
    std::string name = schools                ? course.school
                       : subjects             ? course.subject
                       : prefixes             ? prefix_of(course.name)
                       : course.label.empty() ? course.name
                                              : course.label;
    if (name.empty()) name = "no " + summary.grouping;
    group.push_back(numbers.emplace(name, static_cast<Id>(numbers.size())).first->second);
  }
  summary.groups.resize(numbers.size());
  for (const auto& [name, number] : numbers)
    summary.groups[static_cast<std::size_t>(number)] = name;
  return group;
}

}  // namespace

CohortSummary summarise(const Cohort& cohort) {
  const Schema& schema = cohort.schema();
  CohortSummary summary;
  summary.students = cohort.student_count();
  summary.enrollments = cohort.enrollments().one_count();
  const std::vector<Id> group = group_courses(schema, summary);

  std::map<std::int32_t, std::size_t> years;
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    for (Id t = 0; t < schema.period_count(); ++t) {
      if (cohort.academic_year(s, t) >= 0) years[cohort.academic_year(s, t)] = 0;
    }
  }
  summary.time = years.empty() ? "period" : "year";
  std::size_t next = 0;
  for (auto& [year, place] : years) {
    place = next++;
    summary.times.push_back(std::to_string(year));
  }
  if (years.empty()) summary.times = schema.periods();
  summary.by_group.assign(summary.groups.size(), std::vector<CellCount>(summary.times.size()));

  for (const std::string& label : schema.periods())
    summary.periods.push_back({label, {}, 0});
  std::vector<std::int64_t> takers(static_cast<std::size_t>(schema.course_count()), 0);
  std::vector<std::int64_t> taken = takers, last_taker(takers.size(), -1);
  std::vector<std::int64_t> last_in_cell(summary.groups.size() * summary.times.size(), -1);
  double sum = 0, squares = 0;
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    for (Id t = 0; t < schema.period_count(); ++t) {
      auto& period = summary.periods[static_cast<std::size_t>(t)];
      ++period.students[cohort.status(s, t)];
      const auto bits = cohort.bits(s, t);
      period.mean_courses += static_cast<double>(bits.size());
      const std::int32_t year = cohort.academic_year(s, t);
      const bool placed = years.empty() || year >= 0;
      for (const Id bit : bits) {
        const auto course = static_cast<std::size_t>(schema.course_of(bit));
        ++taken[course];
        if (last_taker[course] != s) {
          last_taker[course] = s;
          ++takers[course];
        }
        if (!placed) continue;
        const std::size_t time = years.empty() ? static_cast<std::size_t>(t) : years[year];
        const auto g = static_cast<std::size_t>(group[course]);
        CellCount& cell = summary.by_group[g][time];
        ++cell.enrollments;
        std::int64_t& last = last_in_cell[g * summary.times.size() + time];
        if (last != s) {
          last = s;
          ++cell.students;
        }
      }
    }
    const std::size_t count = cohort.bits(s).size();
    if (count >= summary.course_counts.size()) summary.course_counts.resize(count + 1, 0);
    ++summary.course_counts[count];
    sum += static_cast<double>(count);
    squares += static_cast<double>(count) * static_cast<double>(count);
  }
  for (auto& period : summary.periods) {
    if (period.students.enrolled() > 0) period.mean_courses /= static_cast<double>(period.students.enrolled());
  }
  const auto n = static_cast<double>(std::max<std::int64_t>(1, summary.students));
  summary.mean_courses = sum / n;
  summary.sd_courses = std::sqrt(std::max(0.0, squares / n - summary.mean_courses * summary.mean_courses));

  // Largest group first; equal ones by name.
  std::vector<std::size_t> order(summary.groups.size());
  std::iota(order.begin(), order.end(), 0);
  const auto total = [&](std::size_t g) {
    std::int64_t count = 0;
    for (const CellCount& cell : summary.by_group[g])
      count += cell.enrollments;
    return count;
  };
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return total(a) != total(b) ? total(a) > total(b) : summary.groups[a] < summary.groups[b];
  });
  std::vector<std::string> groups;
  std::vector<std::vector<CellCount>> cells;
  std::vector<Id> place(order.size());
  for (const std::size_t g : order) {
    place[g] = static_cast<Id>(groups.size());
    groups.push_back(summary.groups[g]);
    cells.push_back(summary.by_group[g]);
  }
  for (const Id g : group)
    summary.group_of.push_back(place[static_cast<std::size_t>(g)]);
  summary.groups = std::move(groups);
  summary.by_group = std::move(cells);

  for (Id c = 0; c < schema.course_count(); ++c)
    summary.popular.push_back({c, takers[static_cast<std::size_t>(c)], taken[static_cast<std::size_t>(c)]});
  std::ranges::stable_sort(summary.popular, std::ranges::greater(), &CohortSummary::CourseCount::students);
  return summary;
}

}  // namespace desirepath::inline transcripts
