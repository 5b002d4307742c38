// Typical students beside untypical ones (the paper's 4.3): what they take, how much of it, how widely, how much in
// their own major; and of one student, what makes the pathway unusual.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "desirepath/disclosure/disclosure.h"
#include "desirepath/models/model.h"

namespace desirepath::inline queries {

/// Averages over the students of a group.
struct GroupPortrait {
  std::int64_t students = 0;
  double courses = 0;              // a student
  double subjects = 0;             // different ones, a student; 0 where courses have none
  std::optional<double> in_major;  // courses in the own major, a student; where majors are known
  std::vector<std::pair<std::string, double>> by_subject;  // courses a student, most first; disclosed by name
  double others = 0;                                       // courses a student in subjects that are withheld
  std::vector<std::pair<Id, double>> most_taken;           // course, share of the group; each by enough students

  /// Courses a student in a subject. Nothing where it is withheld: beside withheld subjects one that nobody took looks
  /// the same, so that neither can be told from the other.
  std::optional<double> courses_in(const std::string& subject) const;
  /// Withheld numbers are null.
  nlohmann::ordered_json to_json(const Schema& schema) const;
};
/// Nothing where what they took is that of few of them.
std::optional<GroupPortrait> portray(const Cohort& cohort, const std::vector<std::int64_t>& students,
                                     const std::string& major, const Disclosure& disclosure);

/// The attribute called major; empty where there is none.
std::string usual_major(const Cohort& cohort);

/// What courses are grouped by: subject, else school, else nothing (empty).
std::string subject_of(const Course& course);
/// Whether any course has one.
bool has_subjects(const Schema& schema);

/// One bit of a pathway, and how likely it is given all the rest of it.
struct Surprise {
  Id bit = 0;
  bool taken = false;
  double probability = 0;  // of what the student did
};
/// Least likely first: the courses a student took, and those that most others (by `usual`, of each bit) would have.
std::vector<Surprise> find_surprises(const Model& model, const EvidenceBatch& evidence, std::int64_t student,
                                     const Vector& usual, const Executor& executor);

}  // namespace desirepath::inline queries
