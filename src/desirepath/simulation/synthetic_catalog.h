// The catalog of the synthetic university: schools > subjects > courses, majors, prerequisites, and the facts planted
// in courses rather than in students (a renamed course, a scheduling conflict, detours, unexpected company).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "desirepath/core/types.h"
#include "desirepath/simulation/synthetic_calendar.h"
#include "desirepath/simulation/synthetic_options.h"

namespace desirepath::inline simulation {

struct SyntheticCourse {
  std::string name;   // "CS 101"; today's, where it was renamed
  std::string label;  // "Introduction to Programming"
  Id subject = 0;
  int level = 1;         // 1 .. 4, the hundreds of its number
  int usual_period = 1;  // when a student of the subject takes it
  int units = 4;
  bool core = false;              // required by the subject's own major
  Id concentration = -1;          // of the subject's; -1: none
  std::vector<Id> prerequisites;  // listed and enforced: every one passed in an earlier term
  Id tacit_prerequisite = -1;     // listed nowhere; -1: none
  double tacit_strength = 1;      // without it the course is chosen this many times less often
  double popularity = 0;          // weight among electives, Zipf
};

struct SyntheticConcentration {
  std::string name;
  double weight = 0;  // share of the major's students, before early starts and detours
  std::vector<Id> courses;
};

/// A subject and the major of the same name.
struct SyntheticSubject {
  std::string code;
  std::string name;
  Id school = 0;
  double appeal = 0;  // relative weight as a major, in the first entry cohort
  double growth = 1;  // factor on it, and on its electives, in the last entry cohort
  Id first_course = 0;
  Id end_course = 0;             // one past its last
  std::vector<Id> introduction;  // core courses of level 1
  std::vector<Id> core;          // all own courses the major requires, in order of level
  std::vector<Id> support;       // core courses of other subjects the major requires
  std::vector<SyntheticConcentration> concentrations;
};

struct RenamedCourse {
  Id course = 0;
  std::string old_name;
  int first_year = 0;  // academic year from which the course has its new name
};

/// Commuters cannot take the course before usual_period + delay.
struct SchedulingConflict {
  Id course = 0;
  int usual_period = 0;
  int delay = 0;
};

struct DetourStep {
  Id course = 0;
  int period = 1;
};

/// Courses a student takes on the way to something else, such as medical school.
struct SyntheticDetour {
  std::string name;
  std::vector<DetourStep> steps;
};

/// Students of one concentration seek the courses of another, in a subject far from their own.
struct UnexpectedCompany {
  Id subject = 0;
  Id concentration = 0;
  Id companion_subject = 0;
  Id companion_concentration = 0;
};

struct SyntheticCatalog {
  std::vector<std::string> schools;
  std::vector<SyntheticSubject> subjects;  // by school
  std::vector<SyntheticCourse> courses;    // by subject, then number
  Id writing_course = 0;
  std::vector<Id> quantitative_courses;
  std::optional<RenamedCourse> renamed;
  std::optional<SchedulingConflict> conflict;  // none with one period
  std::vector<SyntheticDetour> detours;        // pre-medical, pre-law
  std::vector<UnexpectedCompany> companies;
  std::optional<SyntheticCalendar> calendar;  // edition 3

  const SyntheticCourse& course(Id id) const { return courses[static_cast<std::size_t>(id)]; }
  const SyntheticSubject& subject(Id id) const { return subjects[static_cast<std::size_t>(id)]; }
  const std::string& school_of_subject(Id id) const { return schools[static_cast<std::size_t>(subject(id).school)]; }
  /// Whether who passed it may take it again the next year: from edition 2 on some courses of every subject.
  bool is_taken_again(Id course_id, const SyntheticOptions& options) const {
    const Id number = course_id - subject(course(course_id).subject).first_course + 1;
    return options.edition >= 2 && number % options.rates.taken_again_every == 0;
  }
  /// What the course was called in an academic year.
  const std::string& name_in(Id course_id, int year) const;
};

/// Period in which a course of a level (1 .. 4) is usually taken when there are so many.
int usual_period(int level, int periods);

/// Depends on the seed and on the number of courses, periods and years; never on the number of students.
SyntheticCatalog make_synthetic_catalog(const SyntheticOptions& options);

}  // namespace desirepath::inline simulation
