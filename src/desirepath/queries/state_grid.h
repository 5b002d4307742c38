// Which state the takers of each course are in: the paper's grid of courses, coloured by state, as strong as the model
// is sure.
#pragma once

#include <vector>

#include "desirepath/disclosure/disclosure.h"
#include "desirepath/queries/states.h"

namespace desirepath::inline queries {

struct GridCourse {
  Id course = 0;
  Id state = 0;            // whose students take the course most
  double confidence = 0;   // that a taker, of whom nothing else is known, is in it, were all states as large
  double takings = 0;      // expected enrollments in the course, a student
  Vector probability;      // the same of every state
  double enrollments = 0;  // expected of the students the model was trained on, in the periods they were enrolled in
  // Of those that are shown.
  Course listed = {};
  std::string group = {};  // its concentration, else its subject
  std::string state_name = {};
};

/// One a course, states of one step; a course that is taken in several periods weighs each by how often. The largest
/// state would be the most likely one of nearly every course, so that sizes do not count. Courses that the model
/// expects of nobody are left out. `among`: which states may be told, one flag a state.
std::vector<GridCourse> state_grid(const Model& model, Id step, const std::vector<std::uint8_t>& among,
                                   const Executor& executor);

/// The courses that may be told, by concentration, with the states of one step.
struct DisclosedGrid {
  std::vector<GridCourse> courses;
  std::vector<std::string> names;  // of the states
  std::string period;              // whose states they are; "all": of all periods
  std::int64_t students = 0;       // enrolled in it
  std::int64_t withheld = 0;       // courses resting on few

  Table table() const;
};
/// period: empty: the one whose states tell courses apart best.
DisclosedGrid disclosed_grid(const StoredModel& stored, const std::string& period, const StateNames& names,
                             const Disclosure& disclosure, const Executor& executor);

/// With the states of a period (empty: the one whose states tell courses apart best). Courses resting on few students
/// are left out.
Answer answer_grid(const QueryInput& input, const std::string& period, const StateNameSettings& names,
                   const Disclosure& disclosure);

}  // namespace desirepath::inline queries
