// A tree of hidden variables, one a course: each course's timing depends on its own, each hidden variable on its
// parent's (a hidden Chow-Liu tree over timings). docs/models/hidden_tree.md.
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
  RowMatrix timing;  // courses by v: the pooled share of each first period
  Vector retake;     // by period: the mean probability of a retake
};

/// Plain values; checked by fault().
struct HiddenTreeParameters {
  std::vector<Id> parents;  // by course, -1 = the root
  Vector initial;           // pi(z) of the root
  RowMatrix transition;     // (course, z of its parent) by z; rows of the root are not used
  RowMatrix timing;         // (course, z) by v = 0 (never), 1 .. T
  RowMatrix retake;         // courses by periods; the first period has none
  HiddenTreeCentres centres;

  Id courses() const { return static_cast<Id>(parents.size()); }
  Id states() const { return static_cast<Id>(initial.size()); }
  Id periods() const { return static_cast<Id>(retake.cols()); }
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
  Id course_count() const { return parameters_.courses(); }
  Id state_count() const { return parameters_.states(); }
  Id period_count() const { return parameters_.periods(); }
  Id root() const { return shape_.order().front(); }
  /// Doubles a row of states takes.
  Index stride() const { return stride_; }

  const double* initial() const { return initial_.data(); }
  /// 0 for states, 1 in the padding: what messages start from, so that their logs exist everywhere.
  const double* padding() const { return padding_.data(); }
  const double* ones() const { return ones_.data(); }
  /// A(z', .) of a course, one row a z': what flows down.
  const double* down(Id course) const { return down_.row(course * Index{state_count()}).data(); }
  /// A(., z), one row a z: what flows up.
  const double* up(Id course) const { return up_.row(course * Index{state_count()}).data(); }
  /// E(v | .), one row a v.
  const double* timing(Id course) const { return timing_.row(course * Index{period_count() + 1}).data(); }
  std::span<const double> retake(Id course) const {
    return {parameters_.retake.row(course).data(), static_cast<std::size_t>(period_count())};
  }
  /// l(z) = sum_v E(v | z) e(v) into a row of stride() doubles; padding is 0.
  void own(const CourseTiming& timing, double* out) const;
  /// P(z) and P(y = v) of every course with nothing known: courses by z, courses by v.
  RowMatrix state_shares() const;
  RowMatrix timing_shares() const;
  /// By course: nats that its timing and its parent's say of each other; 0 at the root.
  Vector link_information() const;

 private:
  HiddenTreeParameters parameters_;
  DependencyTree shape_;
  Index stride_;
  Vector initial_, padding_, ones_;
  RowMatrix down_, up_, timing_;
};

}  // namespace desirepath::inline emissions
