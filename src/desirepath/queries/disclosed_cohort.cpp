#include "desirepath/queries/disclosed_cohort.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "desirepath/core/text.h"

namespace desirepath::inline queries {

DisclosedSeries merge_small_series(const CohortSummary& summary, const Disclosure& disclosure,
                                   std::size_t most_groups) {
  // The students of two merged cells may overlap; the larger of the two is a safe lower bound for their union.
  using Cells = std::vector<CellCount>;
  const auto merge = [](CellCount& into, const CellCount& from) {
    into.enrollments += from.enrollments;
    into.students = std::max(into.students, from.students);
  };
  const auto is_small = [&](const CellCount& cell) { return !disclosure.allows(static_cast<double>(cell.students)); };

  std::vector<std::string> times = summary.times;
  std::vector<Cells> cells = summary.by_group;
  Cells totals(times.size());
  for (const Cells& row : cells) {
    for (std::size_t t = 0; t < times.size(); ++t)
      merge(totals[t], row[t]);
  }
  std::int64_t merged_times = 0;
  for (std::size_t t = 0; t < times.size() && times.size() > 1;) {
    if (!is_small(totals[t])) {
      ++t;
      continue;
    }
    // Towards the middle of the series.
    const std::size_t into = t < times.size() / 2 ? t + 1 : t - 1;
    const std::size_t low = std::min(t, into), high = std::max(t, into);
    times[low] = split(times[low], '-').front() + "-" + split(times[high], '-').back();
    merge(totals[low], totals[high]);
    for (Cells& row : cells) {
      merge(row[low], row[high]);
      row.erase(row.begin() + static_cast<std::ptrdiff_t>(high));
    }
    totals.erase(totals.begin() + static_cast<std::ptrdiff_t>(high));
    times.erase(times.begin() + static_cast<std::ptrdiff_t>(high));
    ++merged_times;
    t = 0;
  }

  DisclosedSeries disclosed;
  disclosed.times = times;
  Cells other(times.size());
  std::int64_t merged_groups = 0;
  std::vector<std::size_t> named;
  for (std::size_t g = 0; g < cells.size(); ++g) {
    const bool disclosed_group = std::ranges::none_of(cells[g], is_small);
    if (disclosed_group && named.size() < most_groups) {
      named.push_back(g);
      continue;
    }
    for (std::size_t t = 0; t < times.size(); ++t)
      merge(other[t], cells[g][t]);
    ++merged_groups;
  }
  // "Other" itself must be safe, and one group alone in it would be that group.
  while (!named.empty() && (std::ranges::any_of(other, is_small) || merged_groups == 1)) {
    for (std::size_t t = 0; t < times.size(); ++t)
      merge(other[t], cells[named.back()][t]);
    named.pop_back();
    ++merged_groups;
  }
  const auto add = [&](const std::string& name, const Cells& row) {
    disclosed.groups.push_back(name);
    disclosed.enrollments.emplace_back();
    for (const CellCount& cell : row)
      disclosed.enrollments.back().push_back(cell.enrollments);
  };
  disclosed.group_of.assign(cells.size(), static_cast<Id>(named.size()));
  for (const std::size_t g : named) {
    disclosed.group_of[g] = static_cast<Id>(disclosed.groups.size());
    add(summary.groups[g], cells[g]);
  }
  if (merged_groups > 0) add("other", other);
  const std::string grouping = summary.grouping.empty() ? "group" : summary.grouping;
  if (merged_groups > 0)
    disclosed.note = concat(counted(merged_groups, grouping, grouping + "s"), " merged into 'other'");
  if (merged_times > 0) {
    disclosed.note += concat(disclosed.note.empty() ? "" : ", ",
                             counted(merged_times, summary.time, summary.time + "s"), " merged with a neighbour");
  }
  return disclosed;
}

namespace {

/// Which statuses are told one by one: those whose students, and those who get or lose it for good between two periods,
/// are none or enough in every period. All others are told together, and with them those that come and go, so that
/// nothing follows from how many may have a status before or after.
void choose_statuses(const CohortSummary& summary, const Disclosure& disclosure, DisclosedCohort& disclosed) {
  using enum EnrollmentStatus;
  const auto count = [&](EnrollmentStatus status, std::size_t t) {
    return static_cast<double>(summary.periods[t].students[status]);
  };
  const auto is_disclosed = [&](EnrollmentStatus status) {
    for (std::size_t t = 0; t < summary.periods.size(); ++t) {
      const double before = t == 0 ? 0 : count(status, t - 1);
      const bool comes_and_goes = status == away || status == unknown;
      const bool lasts = comes_and_goes || (t == 0 && status == before_entry);
      if (!disclosure.allows(count(status, t)) || (!lasts && !disclosure.allows(std::abs(count(status, t) - before))))
        return false;
    }
    return true;
  };
  std::vector<EnrollmentStatus> merged;
  for (const EnrollmentStatus status : {before_entry, away, left, finished, not_yet, unknown}) {
    const bool occurs = std::ranges::any_of(
        summary.periods, [&](const CohortSummary::Period& period) { return period.students[status] > 0; });
    if (occurs) (is_disclosed(status) ? disclosed.statuses : merged).push_back(status);
  }
  if (merged.empty()) return;
  const auto merge_if = [&](auto condition) {
    std::ranges::copy_if(disclosed.statuses, std::back_inserter(merged), condition);
    std::erase_if(disclosed.statuses, condition);
  };
  merge_if([](EnrollmentStatus status) { return status == away || status == unknown; });
  const auto is_enough = [&] {
    for (std::size_t t = 0; t < summary.periods.size(); ++t) {
      double sum = 0;
      for (const EnrollmentStatus status : merged)
        sum += count(status, t);
      if (!disclosure.allows(sum)) return false;
    }
    return merged.size() > 1;
  };
  while (!disclosed.statuses.empty() && !is_enough())
    merge_if([&](EnrollmentStatus status) { return status == disclosed.statuses.back(); });
  disclosed.statuses_merged = true;
}

void disclose_periods(const CohortSummary& summary, const Disclosure& disclosure, DisclosedCohort& disclosed) {
  choose_statuses(summary, disclosure, disclosed);
  for (const CohortSummary::Period& period : summary.periods) {
    DisclosedCohort::Period disclosed_period{period.label, {}, {}, {}};
    const std::int64_t enrolled = period.students.enrolled();
    if (disclosure.allows(static_cast<double>(enrolled), static_cast<double>(summary.students))) {
      disclosed_period.enrolled = enrolled;
      disclosed_period.mean_courses = period.mean_courses;
      std::int64_t rest = summary.students - enrolled;
      for (const EnrollmentStatus status : disclosed.statuses) {
        disclosed_period.others.push_back(period.students[status]);
        rest -= period.students[status];
      }
      if (disclosed.statuses_merged) disclosed_period.others.push_back(rest);
    }
    disclosed.periods_withheld |= !disclosed_period.enrolled;
    disclosed.periods.push_back(std::move(disclosed_period));
  }
}

/// The courses of a told group add up to it, so that a small one, or one that all but a few took, takes company with
/// it. False where the totals of the groups tell too much: of a course nobody else in its group can stand in for.
bool disclose_courses(const CohortSummary& summary, const Disclosure& disclosure, DisclosedCohort& disclosed) {
  std::vector<std::vector<std::size_t>> members(disclosed.series.groups.size() + 1);
  for (std::size_t i = 0; i < summary.popular.size(); ++i) {
    const auto group = static_cast<std::size_t>(summary.group_of[static_cast<std::size_t>(summary.popular[i].course)]);
    members[static_cast<std::size_t>(disclosed.series.group_of[group])].push_back(i);
  }
  Hidden hidden(summary.popular.size(), 0);
  const auto all = static_cast<double>(summary.students);
  for (const std::vector<std::size_t>& group : members) {
    std::vector<double> takers;
    for (const std::size_t i : group)
      takers.push_back(static_cast<double>(summary.popular[i].students));
    Hidden here = disclosure.hide(takers);
    const auto nearly_all = [&](std::size_t i) { return !disclosure.allows(all - takers[i]); };
    const auto is_needy = [&](std::size_t i) { return here[i] != 0 || nearly_all(i); };
    std::size_t needy = 0, nearly = 0;
    double rest = 0;  // enrollments that the numbers told do not account for
    const auto count = [&](std::size_t i) {
      ++needy;
      rest += static_cast<double>(summary.popular[group[i]].enrollments);
    };
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (is_needy(i)) count(i);
      nearly += nearly_all(i) ? 1 : 0;
    }
    // One alone would follow from the rest. Of a course that nearly all took it must be possible that all did, by the
    // enrollments: without retakes others must stand in for the few.
    const auto is_enough = [&] { return needy != 1 && rest >= static_cast<double>(nearly) * all; };
    for (std::size_t i = group.size(); i-- > 0 && !is_enough();) {  // the fewest takers last
      if (is_needy(i) || takers[i] <= 0) continue;
      here[i] = 1;
      count(i);
    }
    if (!is_enough()) return false;
    for (std::size_t i = 0; i < group.size(); ++i)
      hidden[group[i]] = here[i];
    const double each = all * static_cast<double>(summary.periods.size());
    if (needy > 0 && rest > static_cast<double>(needy - 1) * each) return false;
  }
  for (std::size_t i = 0; i < summary.popular.size(); ++i) {
    const CohortSummary::CourseCount& entry = summary.popular[i];
    if (entry.students == 0) continue;
    if (hidden[i] != 0) {
      ++disclosed.courses_withheld;
      continue;
    }
    const bool exact = disclosure.allows(static_cast<double>(entry.students), static_cast<double>(summary.students));
    disclosed.courses.push_back({entry.course, exact ? std::optional(entry.students) : std::nullopt});
  }
  return true;
}

void disclose_stages(const std::vector<DisclosedCohort::Stage>& stages, const Disclosure& disclosure,
                     DisclosedCohort& disclosed) {
  const auto apart = [&](std::int64_t a, std::int64_t b) {
    return disclosure.allows(std::abs(static_cast<double>(a - b)));
  };
  for (std::size_t i = stages.size(); i-- > 0;) {
    const DisclosedCohort::Stage& stage = stages[i];
    const bool last = disclosed.stages.empty();
    if (last ||
        (apart(stage.students, disclosed.stages.back().students) && apart(stage.rows, disclosed.stages.back().rows)))
      disclosed.stages.push_back(stage);
    else {
      disclosed.stages.back().after = concat(stage.after, ", ", disclosed.stages.back().after);
      ++disclosed.stages_merged;
    }
  }
  std::ranges::reverse(disclosed.stages);
}

}  // namespace

DisclosedCohort disclose_cohort(const CohortSummary& summary, const Disclosure& disclosure,
                                const std::vector<DisclosedCohort::Stage>& stages) {
  constexpr std::size_t named_groups = 7;
  disclosure.require(summary.students);
  const std::int64_t without = summary.course_counts.empty() ? 0 : summary.course_counts.front();
  if (without < summary.students) disclosure.require(summary.students - without);  // all enrollments are theirs
  DisclosedCohort disclosed;
  disclosed.students = summary.students;
  disclosed.enrollments = summary.enrollments;
  disclosed.min_cell = disclosure.least();
  disclosed.grouping = summary.grouping;
  disclosed.time = summary.time;
  disclose_periods(summary, disclosure, disclosed);
  for (const std::size_t named : {named_groups, std::size_t{0}}) {
    disclosed.series = merge_small_series(summary, disclosure, named);
    if (disclose_courses(summary, disclosure, disclosed)) break;
  }
  const auto values = static_cast<std::int64_t>(summary.course_counts.size());
  DisclosedHistogram histogram =
      histogram_beside_sum(summary.course_counts, std::max<std::int64_t>(1, (values + 59) / 60), disclosure);
  disclosed.bins = std::move(histogram.bins);
  disclosed.bin_width = values;
  for (const DisclosedBin& bin : disclosed.bins)
    disclosed.bin_width = std::min(disclosed.bin_width, bin.last - bin.first + 1);
  disclosed.mean_courses = summary.mean_courses;  // it follows from the totals
  disclosed.sd_courses = histogram.deviation;
  disclose_stages(stages, disclosure, disclosed);
  return disclosed;
}

DisclosedCohort disclose_cohort(const Cohort& cohort, const Disclosure& disclosure) {
  std::vector<DisclosedCohort::Stage> stages;
  const auto provenance = nlohmann::ordered_json::parse(cohort.provenance(), nullptr, false);
  if (provenance.is_object()) {
    for (const auto& stage : provenance.value("stages", nlohmann::ordered_json::array())) {
      stages.push_back({stage.value("after", ""), stage.value("rows", std::int64_t{0}),
                        stage.value("students", std::int64_t{0}), stage.value("courses", std::int64_t{0})});
    }
  }
  return disclose_cohort(summarise(cohort), disclosure, stages);
}

Table DisclosedCohort::period_table() const {
  using Row = Period;
  const Look students_of{.unit = "students"};
  std::vector<std::string> names;
  for (const EnrollmentStatus status : statuses)
    names.emplace_back(words_for(status));
  if (statuses_merged) names.emplace_back(statuses.empty() ? "not enrolled" : "otherwise not enrolled");
  std::vector<ColumnOf<Row>> columns = {{"period", &Row::label}, {"enrolled", &Row::enrolled, students_of}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto count = [i](const Row& row) { return row.others.empty() ? std::nullopt : std::optional(row.others[i]); };
    columns.push_back({names[i], count, students_of});
  }
  columns.push_back({"courses per student", &Row::mean_courses, {.unit = "courses", .decimals = 2}});
  return {periods, std::move(columns)};
}

Table DisclosedCohort::course_table(const Schema& schema) const {
  struct Row {
    std::string name, label;
    std::optional<std::int64_t> students;
    std::optional<double> share;
  };
  std::vector<Row> rows;
  for (const CourseCount& entry : courses) {
    const Course& course = schema.course(entry.course);
    rows.push_back({course.name, course.label, entry.students, share(entry)});
  }
  return {std::move(rows),
          {{"course", &Row::name},
           {"label", &Row::label},
           {"students", &Row::students, {.unit = "students"}},
           {"share", &Row::share, core::share(3)}}};
}

Table DisclosedCohort::filter_table() const {
  return {
      stages,
      {{"after", &Stage::after}, {"rows", &Stage::rows}, {"students", &Stage::students}, {"courses", &Stage::courses}}};
}

}  // namespace desirepath::inline queries
