// What may be asked of the synthetic university, and every rate planted in it: the one place to read or change them.
//
// docs/synthetic_university.md tells the generator step by step; truth.json repeats these numbers beside what came out.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "desirepath/core/settings.h"

namespace desirepath::inline simulation {

/// Shares, rates and factors of student life. A share is of all students unless it says otherwise.
struct SyntheticRates {
  // Who comes.
  double intake_growth = 0.012;               // each entry cohort is larger than the one before it by this much
  double commuter_share = 0.26;               // residence = commuter; the others live on campus
  double first_generation_campus = 0.18;      // first_generation = yes, among students on campus
  double first_generation_commuter = 0.36;    // ... among commuters
  double part_time_campus = 0.03;             // status = part-time, for the whole career
  double part_time_commuter = 0.13;           //
  double late_entrant_share = 0.06;           // admission = transfer: joins a class in period 2 or 3
  double late_entrant_third_period = 0.35;    // of the late entrants; needs three periods
  double ambition_first_generation = -0.15;   // mean of ambition, in its standard deviations
  double first_generation_health_tilt = 1.6;  // weight of majors of the school of health
  double commuter_business_tilt = 1.5;        // weight of majors of the school of business

  // How much they take: courses a year. With few courses to choose from the mean shrinks (see catalog_share).
  double courses_a_year = 9.6;          // mean of a full-time student on campus
  double load_by_ambition = 0.85;       // more courses a year per standard deviation of ambition
  double load_noise = 1.1;              // standard deviation from year to year
  double commuter_load = -0.5;          // courses a year
  double part_time_load = 0.5;          // factor
  double reduced_year_share = 0.02;     // of the years of full-time students: half the load, status unchanged
  double catalog_share = 0.45;          // at most this share of the catalog in a whole career, on average
  double summer_campus = 0.08;          // chance of a summer term after a year
  double summer_commuter = 0.14;        //
  double summer_second_course = 0.35;   // one course in summer, with this chance two
  double required_share_of_term = 0.7;  // at most this share of a term is spent on requirements

  // Majors and what crosses them.
  double pace_early = 0.2;                 // a career-long habit: requirements half of the time a year early
  double pace_late = 0.2;                  // ... a year late
  double pace_shift = 0.5;                 // chance that a requirement moves, for the early and the late
  double early_first_concentration = 0.5;  // the early choose the major's first concentration with this extra chance
  double concentration_course = 0.75;      // chance that a course of the chosen concentration is wanted
  double concentration_course_ambitious = 0.95;
  double ambitious = 0.6;      // ambition above this: the ambitious (27 % of students)
  double second_major = 0.04;  // not ambitious
  double second_major_ambitious = 0.18;
  double switch_major = 0.16;        // to another major after period 1 or 2
  double switch_after_first = 0.6;   // of the switches
  double enthusiast_share = 0.03;    // the paper's 30-course students: interest = own major, more courses
  double enthusiast_load = 2.5;      // more courses a year
  double writing_share = 0.72;       // take the writing course in the first year
  double quantitative_share = 0.45;  // take one of the quantitative introductions
  double sequence_first = 0.85;      // begin a sequence (three courses of a subject outside the major)
  double sequence_second = 0.65;     // ... and another
  double sequence_goes_on = 0.85;    // chance of each next course of a sequence

  // Electives: from the own subject, one of lasting interest, the own school, or anywhere by popularity.
  double depth_elective = 0.45;    // of the electives of the last period: own subject; 0 in the first, rising evenly
  double interest_share = 0.75;    // have a subject of lasting interest (a minor in all but name)
  double interest_elective = 0.4;  // of the electives of those who have one
  double school_elective = 0.3;    // of the remaining electives
  double company_share = 0.5;      // in the planted concentrations: the interest is the unexpected companion

  // Detours.
  double premedical = 0.07;                 // majors outside natural sciences and health
  double premedical_sciences = 0.26;        // majors in natural sciences and health
  double prelaw = 0.05;                     // every major
  double detour_given_up = 0.5;             // of the detours: dropped after the first year
  double detour_last_concentration = 0.65;  // then the major's last concentration with this extra chance
  int detour_depth_delay = 1;               // courses of level 3 and 4 come this many periods later

  // Leaving.
  std::array<double, 3> drop_out = {0.06, 0.035, 0.015};  // after period 1, 2, 3 and later; never after the last
  double drop_out_commuter = 1.5;                         // factor
  double drop_out_first_generation = 1.4;                 // factor
  double drop_out_midyear = 0.3;                          // of the leavers: gone after autumn of their last year
  double leave_of_absence = 0.012;                        // one whole period away, not the first and not the last

  // Results of an enrollment.
  double withdrawal = 0.022;             // grade W
  double failure = 0.026;                // grade F
  double failure_low_ambition = 2.0;     // factor, ambition below -1
  double failure_ambitious = 0.4;        // factor
  double failure_without_tacit = 2.5;    // factor, when a tacit prerequisite is missing
  double repeat_required = 0.8;          // after W or F: tried again, where it is a requirement
  double repeat_elective = 0.3;          // ... where it is not
  double tacit_followed = 0.25;          // who wants a course takes its missing tacit prerequisite first
  double conflict_share_of_group = 0.9;  // of the commuters: hit by the scheduling conflict
  int conflict_delay = 1;                // periods

  // Edition 2 alone: courses that are taken again, as seminars, studios and projects are.
  int taken_again_every = 3;  // of a subject's courses, in the order of their numbers, every one of so many
  double taken_again = 0.8;   // chance that such a course of last year is taken this year too
};

/// Edition 3 alone: what the calendar does. A spread is a standard deviation, as a share of what varies.
struct CalendarRates {
  // Who comes, around intake_growth.
  double entrants_spread = 0.08;  // of the number of entrants of a year
  double entrants_memory = 0.3;   // of a year's deviation, what is left of it in the next

  // Courses.
  double turnover = 0.02;            // of all courses: as many begin in each year, and as many end, if enough may
  double short_lived = 0.2;          // of the courses that begin: they end two to four years later
  double every_second_year = 0.15;   // of the courses of level 3 and 4 that may change
  double first_offering = 0.6;       // factor on popularity, in the first year of a course
  double last_offering = 0.7;        // ... in its last
  double popularity_trend = 0.03;    // spread, between courses, of the yearly trend
  double popularity_walk = 0.14;     // spread of the yearly change that stays
  double popularity_passing = 0.17;  // spread of what holds for one year alone
  double appeal_walk = 0.06;         // the same two of a subject, as a major and in electives, beside its slow drift
  double appeal_passing = 0.06;      //

  // Leaving after an academic year: a product of these, at most most_leaving.
  std::array<double, 3> leaving = {0.09, 0.055, 0.03};  // after period 1, 2, 3 and later
  double leaving_commuter = 1.35;                       // factor
  double leaving_first_generation = 1.25;               // factor
  double leaving_part_time = 1.4;                       // factor
  double leaving_ambitious = 0.6;                       // factor, ambition above `ambitious`
  double leaving_low_ambition = 1.5;                    // factor, ambition below -`ambitious`
  double leaving_disengaged = 3;                        // factor, in a disengaged year
  double leaving_failed = 1.6;                          // factor, two or more F or W in the autumn
  double leaving_spread = 0.15;                         // of the year's factor
  double leaving_memory = 0.4;                          // of a year's deviation, what is left of it in the next
  double leaving_spread_commuter = 0.12;                // of a further factor of the year, for commuters
  double most_leaving = 0.75;
  double disengaged = 0.08;       // of the years of students
  double disengaged_load = 0.75;  // factor
  double disengaged_failure = 3;  // factor

  // Pausing, once at most, and coming back.
  double pausing = 0.025;           // after a year
  double pausing_commuter = 1.3;    // factor
  double pausing_part_time = 1.5;   // factor
  double pausing_two_years = 0.15;  // of the pauses; the others are one year long
  double spring_away = 0.015;       // of the years of those who return: nothing in spring

  // Finishing with a degree, of those who do not leave.
  double finishing_early = 0.01;      // a year before the usual number of years; full-time only
  double finishing_early_able = 0.1;  // ... of the ambitious and the early
  double finishing = 0.88;            // after the usual number of years, full-time
  double finishing_part_time = 0.35;  // ... part-time
  double finishing_last = 0.8;        // after the last year there is
  double finishing_midyear = 0.4;     // of those who finish in a year beyond the usual number: after autumn
  double extra_year_load = 0.7;       // factor, in such a year

  // The unfinished last year: autumn alone, and this much of it.
  double registered = 0.33;    // of the students: some of their rows are there
  double recorded_rows = 0.7;  // of the rows of these
};

/// A rate by the name of its member, and what it may be.
template <class Rates>
struct RateOf {
  std::string_view name;
  double Rates::*value;
  double least, most;
};
using NamedRate = RateOf<SyntheticRates>;
/// Every single number above but those counted in periods and those of editions 2 and 3, in order.
std::span<const NamedRate> all_rates();
std::span<const RateOf<CalendarRates>> all_calendar_rates();

struct SyntheticOptions {
  std::int64_t students = 30000;
  int courses = 400;
  /// Years a student stays when nothing comes between.
  int periods = 4;
  std::uint64_t seed = 1;
  /// Entry cohorts; the first enters in the autumn of first_year.
  int cohorts = 18;
  int first_year = 2001;
  /// Also writes students.csv: what is planted in each student. Off, nothing but the enrollments tells of one student.
  bool student_truth = false;
  /// 1: a course that was passed is not taken again. 2: some are, at the rate of real students. 3: as 2, and the
  /// calendar matters: years differ, and the file ends in the middle of one.
  int edition = 1;
  /// Edition 3 alone: academic years in the file, the last unfinished. Students enter in each of them.
  std::optional<int> years;
  SyntheticRates rates;
  CalendarRates calendar;

  bool has_calendar() const { return edition >= 3; }
  int calendar_years() const { return has_calendar() ? years.value_or(12) : cohorts + periods - 1; }
  /// The last a student can be enrolled in: in edition 3 some need a year more.
  int last_period() const { return has_calendar() ? periods + 1 : periods; }

  void declare(SettingVisitor& visit) {
    visit(Setting("students", "1 to 10,000,000").at_least(1).at_most(10'000'000), students);
    visit(Setting("courses", "20 to 5,000").at_least(20).at_most(5000), courses);
    visit(Setting("periods", "years a student stays, 1 to 8").at_least(1).at_most(8), periods);
    visit(Setting("edition",
                  "1; 2: students also take some courses again, as real ones do; 3: the years differ too, and the last "
                  "is unfinished")
              .at_least(1)
              .at_most(3),
          edition);
    visit(
        Setting("years", "academic years in the file, edition 3 alone, 2 to 100; default: 12").at_least(2).at_most(100),
        years);
    visit(Setting("student-truth", "also students.csv: what was planted in each student; edition 3 adds status.csv"),
          student_truth);
  }
  /// Throws OptionError for a setting out of bounds, or one that this edition does not have.
  void validate() const;
  /// Whether what no setting guards is within its bounds: only code can have set it.
  bool is_possible() const;
};

}  // namespace desirepath::inline simulation
