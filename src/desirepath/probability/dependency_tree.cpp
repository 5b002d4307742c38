#include "desirepath/probability/dependency_tree.h"

#include <algorithm>

#include "desirepath/core/error.h"

namespace desirepath::inline probability {

DependencyTree::DependencyTree(std::vector<Id> parent) : parent_(std::move(parent)) {
  const Id bits = bit_count();
  child_begin_.assign(static_cast<std::size_t>(bits) + 1, 0);
  for (const Id p : parent_) {
    if (p < -1 || p >= bits) throw InputError("tree: a parent out of range");
    if (p >= 0) ++child_begin_[static_cast<std::size_t>(p) + 1];
  }
  for (std::size_t i = 1; i < child_begin_.size(); ++i)
    child_begin_[i] += child_begin_[i - 1];
  children_.resize(static_cast<std::size_t>(child_begin_.back()));
  std::vector<Id> next(child_begin_.begin(), child_begin_.end() - 1);
  for (Id j = 0; j < bits; ++j) {
    if (this->parent(j) >= 0)
      children_[static_cast<std::size_t>(next[static_cast<std::size_t>(this->parent(j))]++)] = j;
    else
      order_.push_back(j);
  }
  for (std::size_t i = 0; i < order_.size(); ++i) {
    for (const Id child : children(order_[i]))
      order_.push_back(child);
  }
  if (static_cast<Id>(order_.size()) != bits) throw InputError("tree: parents go round in a circle");
}

Id DependencyTree::edge_count() const {
  return static_cast<Id>(std::ranges::count_if(parent_, [](Id p) { return p >= 0; }));
}

DependencyTree maximum_spanning_tree(Id bit_count, std::span<const Id> bits,
                                     const std::function<double(Id, Id)>& weight) {
  std::vector<Id> parent(static_cast<std::size_t>(bit_count), -1);
  if (bits.size() < 2) return DependencyTree(std::move(parent));
  // Prim: the tree grows by the heaviest edge that leaves it.
  std::vector<Id> sorted(bits.begin(), bits.end());
  std::ranges::sort(sorted);
  std::vector<Id> outside(sorted.begin() + 1, sorted.end());
  std::vector<double> heaviest(static_cast<std::size_t>(bit_count), -infinity);
  std::vector<Id> through(static_cast<std::size_t>(bit_count), -1);
  Id added = sorted.front();
  while (!outside.empty()) {
    std::size_t best = 0;
    for (std::size_t i = 0; i < outside.size(); ++i) {
      const auto j = static_cast<std::size_t>(outside[i]);
      const double w = weight(std::min(added, outside[i]), std::max(added, outside[i]));
      if (w > heaviest[j]) {
        heaviest[j] = w;
        through[j] = added;
      }
      if (heaviest[j] > heaviest[static_cast<std::size_t>(outside[best])]) best = i;
    }
    added = outside[best];
    parent[static_cast<std::size_t>(added)] = through[static_cast<std::size_t>(added)];
    outside.erase(outside.begin() + static_cast<std::ptrdiff_t>(best));
  }
  return DependencyTree(std::move(parent));
}

DependencyTree rooted_at_centre(const DependencyTree& tree) {
  const auto count = static_cast<std::size_t>(tree.bit_count());
  std::vector<std::vector<Id>> neighbours(count);
  for (Id bit = 0; bit < tree.bit_count(); ++bit) {
    if (tree.parent(bit) < 0) continue;
    neighbours[static_cast<std::size_t>(bit)].push_back(tree.parent(bit));
    neighbours[static_cast<std::size_t>(tree.parent(bit))].push_back(bit);
  }
  // Leaves are taken off, round after round; the last one or two left are the centre.
  std::vector<std::size_t> degree(count);
  std::vector<Id> taken_off;
  for (std::size_t bit = 0; bit < count; ++bit) {
    degree[bit] = neighbours[bit].size();
    if (degree[bit] <= 1) taken_off.push_back(static_cast<Id>(bit));
  }
  std::size_t round = 0;  // where the present round begins in taken_off
  while (count - round > 2) {
    const std::size_t end = taken_off.size();
    for (; round < end; ++round) {
      for (const Id other : neighbours[static_cast<std::size_t>(taken_off[round])]) {
        if (--degree[static_cast<std::size_t>(other)] == 1) taken_off.push_back(other);
      }
    }
  }
  const Id root = *std::min_element(taken_off.begin() + static_cast<std::ptrdiff_t>(round), taken_off.end());
  std::vector<Id> parent(count, -1), order = {root};
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const Id other : neighbours[static_cast<std::size_t>(order[i])]) {
      if (other == parent[static_cast<std::size_t>(order[i])]) continue;
      parent[static_cast<std::size_t>(other)] = order[i];
      order.push_back(other);
    }
  }
  return DependencyTree(std::move(parent));
}

}  // namespace desirepath::inline probability
