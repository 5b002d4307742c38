// Trees of dependence between bits (Chow and Liu; the tree of the paper's tree-augmented naive Bayes).
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "desirepath/core/types.h"

namespace desirepath::inline probability {

/// A rooted forest over bits: every bit has one parent or none.
class DependencyTree {
 public:
  DependencyTree() = default;
  /// parent[j] = -1 for a root. Throws InputError for a cycle or a parent out of range.
  explicit DependencyTree(std::vector<Id> parent);
  /// All bits independent.
  static DependencyTree independent(Id bits) {
    return DependencyTree(std::vector<Id>(static_cast<std::size_t>(bits), -1));
  }

  Id bit_count() const { return static_cast<Id>(parent_.size()); }
  Id parent(Id bit) const { return parent_[static_cast<std::size_t>(bit)]; }
  const std::vector<Id>& parents() const { return parent_; }
  /// Parents before their children.
  std::span<const Id> order() const { return order_; }
  std::span<const Id> children(Id bit) const {
    const auto begin = static_cast<std::size_t>(child_begin_[static_cast<std::size_t>(bit)]);
    const auto end = static_cast<std::size_t>(child_begin_[static_cast<std::size_t>(bit) + 1]);
    return {children_.data() + begin, end - begin};
  }
  Id edge_count() const;
  bool operator==(const DependencyTree& other) const { return parent_ == other.parent_; }

 private:
  std::vector<Id> parent_;
  std::vector<Id> order_;
  std::vector<Id> child_begin_;
  std::vector<Id> children_;
};

/// The spanning tree of largest total weight over `bits`, rooted at the smallest of them; others stay independent.
/// weight(i, j), i < j, symmetric by that; ties go to the edge met first, so the same weights give the same tree.
DependencyTree maximum_spanning_tree(Id bit_count, std::span<const Id> bits,
                                     const std::function<double(Id, Id)>& weight);

/// The same tree, rooted where its greatest depth is least; ties go to the lowest number. The tree must be in one
/// piece.
DependencyTree rooted_at_centre(const DependencyTree& tree);

}  // namespace desirepath::inline probability
