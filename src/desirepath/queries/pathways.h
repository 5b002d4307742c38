// How students flow between states from period to period; what can be told of it.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "desirepath/queries/label_permutation.h"
#include "desirepath/queries/states.h"
#include "desirepath/queries/student_groups.h"

namespace desirepath::inline queries {

/// Where a student is in a step: a state, or, where the student was not enrolled, a number beyond the states that
/// stands for the reason. A student who was not enrolled has no state.
constexpr Id place_of(EnrollmentStatus status, Id states) {
  return states + static_cast<Id>(status);
}
constexpr Id place_count(Id states) {
  return states + static_cast<Id>(all_statuses.size());
}
/// Of a place that is no state.
constexpr EnrollmentStatus status_of(Id place, Id states) {
  return static_cast<EnrollmentStatus>(place - states);
}

/// Whether students of a node were enrolled. `either` where too few were, or were not, to be shown apart.
enum class NodeKind : std::uint8_t { states, not_enrolled, either };

/// A state of a step, or why students have none in it, as it may be shown: small ones of a step are one node.
struct PathNode {
  Id step = 0;
  std::vector<Id> states;  // that it stands for, and places that are no states
  std::string name;
  double students = 0;
  NodeKind kind = NodeKind::states;
  bool is_exact = true;     // else `students` are those of the flows that are told
  bool all_but_few = true;  // of those in the step were enrolled, where that cannot be shown
  std::string period = {};

  /// Without the places that are no states.
  std::vector<Id> own_states(Id state_count) const;
  /// The reasons it stands for.
  std::vector<EnrollmentStatus> own_statuses(Id state_count) const;
};

struct PathFlow {
  std::size_t from = 0, to = 0;  // nodes
  double students = 0;
  double probability = 0;  // of the second, for who is in the first
  bool of_all = true;      // of all who are in the first; else of those whose flows may be told
  std::string period = {}, state = {}, next_period = {}, next_state = {};  // of the nodes
};

struct StatePath {
  std::vector<std::size_t> nodes;  // one a step
  double students = 0;
  double share = 0;        // of all
  std::string words = {};  // "Engineers → Doctors"
};

/// Students enrolled in a step.
struct StepStudents {
  double enrolled = 0;
  bool is_exact = true;  // else there are at least so many
  std::string period = {};
};

struct StateFlows {
  std::vector<std::string> periods;  // what each step is called
  std::vector<PathNode> nodes;       // by step; the nodes of each step hold all students
  double students = 0;               // all of them
  std::vector<StepStudents> steps;
  bool exact_sizes = true;       // of all nodes
  std::vector<PathFlow> flows;   // that may be told, the largest first
  double withheld = 0;           // students in the others
  std::vector<StatePath> paths;  // that may be told, the most frequent first
  // Of all paths, told or not: a sentence about what exists must not be made from what may be told.
  double largest_path = 0;  // students of the most frequent path through states alone, told or not: not to be shown
};

/// The most likely path of each student of a cohort: a state for each step in which the student was enrolled, else the
/// place of the reason.
std::vector<std::vector<Id>> enrolled_paths(const HiddenStates& states, const Cohort& cohort, const Executor& executor);

/// Students in every (path of places): from the most likely path of each student of a cohort, or by the model for as
/// many students as it was trained on.
using PathCounts = std::map<std::vector<Id>, double>;
PathCounts count_paths(const std::vector<std::vector<Id>>& paths);
PathCounts expected_paths(const HiddenStates& states, double students);

/// What may be told of nodes, flows and paths together: the one decision about the states of a cohort, which every
/// answer refines and none makes anew. Where nearly all of a node go one way, its size and that flow would tell of the
/// few who do not: then either is withheld, whichever leaves more to tell.
///  names: of (step, state), in place of those made of courses.
StateFlows flows_of(const PathCounts& counts, const Model& model, const Disclosure& disclosure,
                    const std::map<std::pair<Id, Id>, std::string>& names = {});

/// Whether a path leads through states alone: its students were enrolled in every step.
bool is_through_states(const StateFlows& flows, const StatePath& path);
/// The names of the nodes.
std::string path_words(const StateFlows& flows, const std::vector<std::size_t>& nodes, std::string_view arrow);

/// What a flow is as wide as: its students, or the probability for who is in the state that it comes from.
enum class FlowWidth { flow, probability };
inline std::span<const std::string_view> value_names(FlowWidth) {
  static constexpr std::array<std::string_view, 2> names = {"flow", "probability"};
  return names;
}
Table flow_table(std::vector<PathFlow> flows, FlowWidth width = FlowWidth::flow);
Table path_table(std::vector<StatePath> paths);

/// Of each step: how many were enrolled, and whether that is exact or the least there are.
Table step_table(const StateFlows& flows);
/// "1,329", or "at least 1,320".
std::string enrolled_count(const StepStudents& step);
/// "enrolled: 1,329 students in period 1, 1,068 in period 2".
std::string enrolled_words(const StateFlows& flows);

/// A state's share within a group, beside that of the others: of students enrolled in that step.
struct GroupShare {
  std::size_t node = 0;
  std::string group;
  std::int64_t students = 0, others = 0;  // of the group and of the others
  double share = 0, others_share = 0;
  double q = 1;                     // of so large a difference by chance
  bool has_disclosed_sizes = true;  // else it may only be said which share is larger: shares would tell sizes of nodes
  std::string period = {}, state = {};  // of the node

  double difference() const { return share - others_share; }
  double error() const;
  /// 95 %, of the difference.
  double low() const { return difference() - 1.96 * error(); }
  double high() const { return difference() + 1.96 * error(); }
};

/// Of a group beside the others: "more" or "less".
constexpr std::string_view compared_word(double difference) {
  return difference > 0 ? "more" : "less";
}

struct ComparedGroups {
  std::vector<GroupShare> shares;  // the surest difference first
  FindingCount found;
};

Table share_table(std::vector<GroupShare> shares);

/// Differences with a q of at most `most_q` against permuted labels. Small groups are merged, and cells of few
/// students, or telling of such, are left out; of two groups, which mirror each other, the larger share is told. Where
/// the flows withhold the sizes of nodes, only which share is larger may be told.
ComparedGroups compare_groups(const StateFlows& flows, const std::vector<std::vector<Id>>& paths,
                              const StudentGroups& groups, const Disclosure& disclosure, const LabelNull& null,
                              double most_q);

}  // namespace desirepath::inline queries
