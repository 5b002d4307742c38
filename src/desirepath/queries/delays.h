// Where people lose a year: courses taken later or earlier than the model expects of the very student, for whom, and
// pairs of courses that hardly anybody has in one period.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "desirepath/disclosure/disclosure.h"
#include "desirepath/queries/expected_timings.h"
#include "desirepath/queries/label_permutation.h"
#include "desirepath/queries/query.h"
#include "desirepath/queries/student_groups.h"

namespace desirepath::inline queries {

/// Mean of some students' lateness, in periods.
struct Lateness {
  std::int64_t students = 0;
  double mean = 0;
  double variance = 0;  // of the students' values; against the model no less than the model expects it to be

  double error_squared() const { return students > 0 ? variance / static_cast<double>(students) : 0; }
};

/// A course and a group: how much later its students take it than the others do, both against what is expected of them.
struct GroupDelay {
  Id course = 0;
  std::string group;  // empty: all students, against the model
  Lateness own, others;
  double q = 1;  // of so large a difference by chance: between groups, or from the model
  /// Whether the numbers of students may be shown beside what other answers say of the cohort (disclose_students).
  bool students_disclosed = false;
  Named name = {};  // of the course

  double effect() const { return own.mean - others.mean; }
  double error() const;
  /// 95 %, of the effect.
  double low() const { return effect() - 1.96 * error(); }
  double high() const { return effect() + 1.96 * error(); }
  /// What is certain of it, later or earlier.
  double certain() const { return std::max({0.0, low(), -high()}); }
  std::optional<std::int64_t> disclosed_students() const { return value_if(students_disclosed, own.students); }
  std::optional<std::int64_t> disclosed_others() const {
    return value_if(students_disclosed && !group.empty(), others.students);
  }
};

/// group_of: of each student of the cohort, or -1; empty: all are one. Cells of few students are left
/// out, and those that would tell of them; of two groups the later one is told. The surest first.
std::vector<GroupDelay> find_delays(const std::vector<JudgedStudent>& students, const std::vector<Id>& group_of,
                                    const std::vector<std::string>& groups, Id courses, const Disclosure& disclosure);

/// Only some students are judged: all others, by course and by group, must be nobody or enough, and so must those
/// judged who did not take the course; else the numbers of a row, beside those of all students, would tell of few.
void disclose_students(std::vector<GroupDelay>& delays, const std::vector<JudgedStudent>& judged, const Cohort& cohort,
                       const StudentGroups& groups, const Disclosure& disclosure);
/// How many were judged; nothing where that would tell how few were not.
std::optional<std::int64_t> disclosed_judged(std::int64_t judged, const Cohort& cohort, const Disclosure& disclosure);

/// Keeps the differences between groups with a q of at most `most_q` against permuted labels.
FindingCount keep_certain_delays(std::vector<GroupDelay>& delays, const std::vector<JudgedStudent>& students,
                                 const StudentGroups& groups, Id courses, const LabelNull& null, double most_q);

/// The same of all students against the model: by normal tails, with variances enlarged where the model misfits most
/// courses.
FindingCount keep_certain_delays(std::vector<GroupDelay>& delays, double most_q);

/// Two courses that their takers are expected to have in one period now and then.
struct ApartPair {
  Id a = 0, b = 0;
  std::int64_t both = 0;        // students who took both
  std::int64_t together = 0;    // of them in one period, be it a retake of one
  std::int64_t a_first = 0;     // of the others, a before b
  double expected = 0;          // of them in one period at first, were the two chosen apart
  Named name = {}, other = {};  // of a and b

  /// Of so few or fewer together by chance: a Poisson tail, which is no less than the true one.
  double chance(std::int64_t at_most) const;
};

/// Pairs that are together less often than half of what is expected, the least likely by chance first. Where nearly all
/// take one before the other it is the order that keeps them apart, not the schedule: those are left out. Students of
/// one period belong among them (one_period_students): they took together whatever they took.
std::vector<ApartPair> find_apart(const std::vector<JudgedStudent>& students, Id courses, const Disclosure& disclosure);

/// How many had both in one period at most, from what may be told: a small number is not.
std::int64_t most_together(const ApartPair& pair, const Disclosure& disclosure);
/// Those of which fewer than so many are expected by chance among all pairs, by what may be told of them.
std::vector<ApartPair> surely_apart(const std::vector<JudgedStudent>& students, Id courses, double most_by_chance,
                                    const Disclosure& disclosure);

/// A course on the way to a goal: enrollments before it.
struct Detour {
  Id course = 0;
  std::int64_t taken = 0;
  std::int64_t students = 0;        // who did
  bool students_disclosed = false;  // else all but a few did, and their number would tell how few
  double expected = 0, variance = 0;
  Named name = {};

  double surplus() const { return static_cast<double>(taken) - expected; }
  double certain() const;
};

/// Of the students who took the goal; needs the judges' probabilities. The surest surplus first.
std::vector<Detour> find_detours(const std::vector<JudgedStudent>& students, const Cohort& cohort, Id goal,
                                 const Disclosure& disclosure);

struct DelaySettings {
  std::string by, goal;
  std::int64_t students = 1000;
  double most_by_chance = 0.05;
  ChanceSettings chance;
  Disclosure disclosure;
  std::vector<std::string> given = {};

  void declare(SettingVisitor& visit);
};

/// Where people lose time, as it may be shown.
struct Delays {
  std::string model, by;
  std::string given;  // what holds for all students beside, in words
  std::int64_t judged = 0;
  std::optional<std::int64_t> students;  // these; nothing: withheld
  Disclosure disclosure;
  std::vector<GroupDelay> delays;
  FindingCount found;
  std::vector<ApartPair> apart;
  std::optional<Named> goal;
  std::vector<Detour> detours;

  Table delay_table() const;
  Table apart_table() const;
  Table detour_table() const;
};
/// Where the students of the input do.
Delays ask_delays(const QueryInput& input, const DelaySettings& settings);

}  // namespace desirepath::inline queries
