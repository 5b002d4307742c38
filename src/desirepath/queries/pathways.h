// How students flow between states from period to period; what can be told of it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "desirepath/queries/states.h"
#include "desirepath/queries/student_groups.h"

namespace desirepath::inline queries {

/// A state of a step, as it may be shown: small ones of a step are one node.
struct PathNode {
  Id step = 0;
  std::vector<Id> states;  // that it stands for
  std::string name;
  double students = 0;
};

struct PathFlow {
  std::size_t from = 0, to = 0;  // nodes
  double students = 0;
  double probability = 0;  // of the second, for who is in the first
};

struct StatePath {
  std::vector<std::size_t> nodes;  // one a step
  double students = 0;
};

struct StateFlows {
  std::vector<PathNode> nodes;   // by step
  double students = 0;           // all of them
  bool exact_sizes = true;       // else a node's students are those of the flows that are told
  std::vector<PathFlow> flows;   // that may be told, the largest first
  double withheld = 0;           // students in the others
  std::vector<StatePath> paths;  // that may be told, the most frequent first
};

/// Students in every (path of states): from the most likely path of each student of a cohort, or by the model for as
/// many students as it was trained on.
using PathCounts = std::map<std::vector<Id>, double>;
PathCounts count_paths(const std::vector<std::vector<Id>>& paths);
PathCounts expected_paths(const HiddenStates& states, double students);

/// What may be told of nodes, flows and paths together. Where nearly all of a node go one way, its size and that flow
/// would tell of the few who do not: then either is withheld, whichever leaves more to tell, or always the flow.
enum class NodeSizes { exact, as_told };
///  names: of (step, state), in place of those made of courses.
StateFlows flows_of(const PathCounts& counts, const Model& model, const Disclosure& disclosure,
                    const std::map<std::pair<Id, Id>, std::string>& names = {}, NodeSizes sizes = NodeSizes::as_told);

/// A node's share within a group, beside that of the others.
struct GroupShare {
  std::size_t node = 0;
  std::string group;
  std::int64_t students = 0, others = 0;  // of the group and of the others, in that step
  double share = 0, others_share = 0;

  double difference() const { return share - others_share; }
  double error() const;
  /// Two-sided, of no difference.
  double p_value() const;
};

/// The surest difference first; small groups are merged, and cells of few students, or telling of such, are left out;
/// of two groups, which mirror each other, the larger share is told.
std::vector<GroupShare> compare_groups(const StateFlows& flows, const std::vector<std::vector<Id>>& paths,
                                       const StudentGroups& groups, const Disclosure& disclosure);

}  // namespace desirepath::inline queries
