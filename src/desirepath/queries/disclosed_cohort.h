// What may be told of a cohort, all of it decided together: a table, a figure and a headline that are each harmless can
// tell a small number between them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "desirepath/disclosure/disclosed_bins.h"
#include "desirepath/transcripts/cohort_summary.h"

namespace desirepath::inline queries {

/// Groups by times with every cell empty or resting on enough students.
struct DisclosedSeries {
  std::vector<std::string> groups;
  std::vector<std::string> times;
  std::vector<std::vector<std::int64_t>> enrollments;  // groups by times
  std::vector<Id> group_of;                            // told group of each group of the summary
  std::string note;                                    // what was merged, or empty
};
/// Small groups go into "other"; times that stay small go to their neighbours. At most `most_groups` are named.
DisclosedSeries merge_small_series(const CohortSummary& summary, const Disclosure& disclosure, std::size_t most_groups);

struct DisclosedCohort {
  std::int64_t students = 0, enrollments = 0, min_cell = 0;

  struct Period {
    std::string label;
    std::optional<std::int64_t> enrolled;
    std::vector<std::int64_t> others;  // of each status that is named, then of all others together; empty: withheld
    std::optional<double> mean_courses;
  };
  std::vector<Period> periods;
  std::vector<EnrollmentStatus> statuses;  // named, beside enrolled
  bool statuses_merged = false;            // the others are told together
  bool periods_withheld = false;           // some of their numbers

  std::string grouping, time;
  DisclosedSeries series;

  std::vector<DisclosedBin> bins;  // students by number of courses
  std::int64_t bin_width = 1;      // of those that are no wider than the rest
  double mean_courses = 0;
  std::optional<double> sd_courses;

  struct CourseCount {
    Id course = 0;
    std::optional<std::int64_t> students;  // none: all but a few
  };
  std::vector<CourseCount> courses;  // that may be named, most takers first
  Id courses_withheld = 0;           // that somebody took
  /// Of the students, who take the course; nothing where it is withheld.
  std::optional<double> share(const CourseCount& course) const {
    if (!course.students) return std::nullopt;
    return static_cast<double>(*course.students) / static_cast<double>(students);
  }
  std::int64_t courses_taken() const { return std::ssize(courses) + courses_withheld; }

  /// What was left after each filter; steps that took few students or rows are told together with the next.
  struct Stage {
    std::string after;
    std::int64_t rows = 0, students = 0, courses = 0;
  };
  std::vector<Stage> stages;
  std::size_t stages_merged = 0;

  Table period_table() const;
  Table course_table(const Schema& schema) const;
  /// What was left after each filter; empty where the cohort does not say.
  Table filter_table() const;
};

/// Throws PrivacyError for a cohort of few students. stages: all there were, in order.
DisclosedCohort disclose_cohort(const CohortSummary& summary, const Disclosure& disclosure,
                                const std::vector<DisclosedCohort::Stage>& stages = {});
/// With the stages that the cohort's record of how it was made has.
DisclosedCohort disclose_cohort(const Cohort& cohort, const Disclosure& disclosure);

}  // namespace desirepath::inline queries
