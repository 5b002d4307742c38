// A tree of hidden variables, one for each course and each trait of students: each course's timing and each trait's
// value depends on its own, each hidden variable on its parent's (a hidden Chow-Liu tree over timings).
// docs/models/hidden_tree.md.
#pragma once

#include <optional>
#include <string>

#include "desirepath/core/archive.h"
#include "desirepath/emissions/course_timings.h"
#include "desirepath/probability/dependency_tree.h"

namespace desirepath::inline emissions {

/// What the parameters are drawn towards; all above 0, so that nothing is impossible.
struct HiddenTreeCentres {
  Vector states;     // q(z)
  RowMatrix timing;  // nodes by v: the pooled share of each first period, or of each value
  Vector retake;     // by period: the mean probability of a retake
};

/// Plain values; checked by fault(). Nodes are the courses, then the traits.
struct HiddenTreeParameters {
  std::vector<Id> parents;  // by node, -1 = the root
  Vector initial;           // pi(z) of the root
  RowMatrix transition;     // (node, z of its parent) by z; rows of the root are not used
  RowMatrix timing;         // (node, z) by v = 0 (never), 1 .. T, or by the trait's values; 0 beyond them
  RowMatrix retake;         // nodes by periods; the first period and traits have none
  HiddenTreeCentres centres;
  std::vector<Id> trait_values = {};  // by trait: how many it has
  Id departure = -1;                  // the trait that says which period was a student's last

  Id nodes() const { return static_cast<Id>(parents.size()); }
  Id courses() const { return nodes() - static_cast<Id>(trait_values.size()); }
  Id states() const { return static_cast<Id>(initial.size()); }
  Id periods() const { return static_cast<Id>(retake.cols()); }
  StepShape shape() const { return {periods(), courses(), trait_values, departure}; }
  /// Columns of the timings that a node uses.
  Id values(Id node) const {
    return node < courses() ? periods() + 1 : trait_values[static_cast<std::size_t>(node - courses())];
  }
  /// Empty, or what is wrong: shapes, a circle, probabilities that are not above 0 or do not sum to one.
  std::optional<std::string> fault() const;
  void save(ArchiveWriter& archive, const std::string& prefix) const;
  /// Throws ArchiveError.
  static HiddenTreeParameters load(const ArchiveReader& archive, const std::string& prefix);
};

/// The parameters as the passes read them: padded to whole packs, both ways round. Immutable.
class HiddenTree {
 public:
  explicit HiddenTree(HiddenTreeParameters parameters);

  const HiddenTreeParameters& parameters() const { return parameters_; }
  const DependencyTree& shape() const { return shape_; }
  /// Courses, then traits.
  Id node_count() const { return parameters_.nodes(); }
  Id course_count() const { return parameters_.courses(); }
  Id state_count() const { return parameters_.states(); }
  Id period_count() const { return parameters_.periods(); }
  /// Columns of the timings, of every node.
  Id width() const { return static_cast<Id>(parameters_.timing.cols()); }
  Id root() const { return shape_.order().front(); }
  /// Doubles a row of states takes.
  Index stride() const { return stride_; }

  const double* initial() const { return initial_.data(); }
  /// 0 for states, 1 in the padding: what messages start from, so that their logs exist everywhere.
  const double* padding() const { return padding_.data(); }
  const double* ones() const { return ones_.data(); }
  /// A(z', .) of a node, a row for each z': what flows down.
  const double* down(Id node) const { return down_.row(node * Index{state_count()}).data(); }
  /// A(., z), a row for each z: what flows up.
  const double* up(Id node) const { return up_.row(node * Index{state_count()}).data(); }
  /// E(v | .), a row for each v.
  const double* timing(Id node) const { return timing_.row(node * Index{width()}).data(); }
  std::span<const double> retake(Id node) const {
    return {parameters_.retake.row(node).data(), static_cast<std::size_t>(period_count())};
  }
  /// e(v), width() of them.
  void weights(const CourseTiming& known, std::span<double> out) const {
    node_weights(known, course_count(), retake(known.course), out);
  }
  /// What is known of a node in a row of this pattern that does not mention it: of a trait nothing.
  CourseTiming unmentioned(Id node, TimingCode baseline) const {
    return {node, node < course_count() ? baseline : anything_possible(parameters_.values(node))};
  }
  /// l(z) = sum_v E(v | z) e(v) into a row of stride() doubles; padding is 0.
  void own(const CourseTiming& timing, double* out) const;
  /// P(z) and P(y = v) of every node with nothing known: nodes by z, nodes by v.
  RowMatrix state_shares() const;
  RowMatrix timing_shares() const;
  /// By node: nats that its timing and its parent's say of each other; 0 at the root.
  Vector link_information() const;

 private:
  HiddenTreeParameters parameters_;
  DependencyTree shape_;
  Index stride_;
  Vector initial_, padding_, ones_;
  RowMatrix down_, up_, timing_;
};

}  // namespace desirepath::inline emissions
