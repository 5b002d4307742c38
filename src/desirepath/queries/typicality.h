// How typical a student is among others: percentiles, within groups that can be compared; typical students beside
// untypical ones (the paper's 4.3), by what they take, how much of it, how widely, how much in their own major; and of
// one student, what makes the pathway unusual.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "desirepath/disclosure/disclosure.h"
#include "desirepath/models/model.h"

namespace desirepath::inline queries {

/// Share of the students of each one's group at or under its value, in percent; of group 0: of all students.
struct Percentiles {
  std::vector<double> value;
  std::vector<std::int64_t> of;  // size of the group
};
Percentiles percentiles(const std::vector<double>& values, const std::vector<std::int64_t>& group);

/// Students by their percentiles.
std::vector<std::int64_t> least_typical_first(const Percentiles& percentiles);

/// Students present in the same periods have one number; where they are few, those present in as many periods; 0 where
/// these are few too.
std::vector<std::int64_t> groups_by_presence(const Cohort& cohort, std::int64_t fewest);

/// Averages over the students of a group.
struct GroupPortrait {
  std::int64_t students = 0;
  double courses = 0;              // a student
  double subjects = 0;             // different ones, a student; 0 where courses have none
  bool has_subjects = true;        // courses have them
  std::optional<double> in_major;  // courses in the own major, a student; where majors are known
  std::vector<std::pair<std::string, double>> by_subject;  // courses a student, most first; disclosed by name
  double others = 0;                                       // courses a student in subjects that are withheld
  std::vector<std::string> withheld;                       // these
  std::vector<std::pair<Named, double>> most_taken;        // course, share of the group; each by enough students

  /// Courses a student in a subject. Nothing where it is withheld: beside withheld subjects one that nobody took looks
  /// the same, so that neither can be told from the other.
  std::optional<double> courses_in(const std::string& subject) const;
  /// Withheld numbers are null.
  nlohmann::ordered_json to_json() const;
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

/// The most and the least typical students, as many of each.
struct TypicalityContrast {
  GroupPortrait most, least;
};
/// Nothing where those would be few, or what they took that of few of them.
std::optional<TypicalityContrast> contrast_typical(const Cohort& cohort, const Percentiles& percentiles,
                                                   std::int64_t size, const std::string& major,
                                                   const Disclosure& disclosure);

/// Students whose score lies in [from, to).
struct ScoreBin {
  double from = 0, to = 0;
  std::int64_t students = 0;
};
/// Bins side by side and without gaps.
struct ScoreHistogram {
  std::vector<ScoreBin> bins;
  bool is_merged = false;  // some are wider than the others for being small

  std::int64_t students() const;
  Table table() const;
  /// The score that a share of the students lies under, within a bin as if evenly.
  double quantile(double share) const;
};
/// Of the scores that are finite, in bins of a round width, wider where they would hold few; none where all are few.
/// The axis ends where enough students lie beyond: all of them stand in the bin at its end, for the lowest and the
/// highest score are one student's each.
ScoreHistogram score_histogram(std::vector<double> scores, const Disclosure& disclosure);

}  // namespace desirepath::inline queries
