#include "desirepath/emissions/tree_plan.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace desirepath::inline emissions {

namespace {

/// Nodes that occur so often in a segment are shared by all its blocks: fewer of them stay in the cache.
constexpr std::int32_t shared_from = 4;
/// Nodes of a block, unless a single row has more: their messages stay in the cache, and a course's nodes fill packs.
constexpr std::size_t block_nodes = 1024;

/// Distinct nodes of a segment, each numbered when first met, after its children.
class NodeClasses {
 public:
  struct Class {
    std::int32_t kind = 0;
    std::int32_t child_begin = 0, child_count = 0;
    std::int32_t occurrences = 0;
  };

  std::int32_t number(std::int32_t kind, std::span<const std::int32_t> children) {
    if (children.empty()) return leaf_number(kind);
    if (2 * classes_.size() >= places_.size()) grow();
    const std::uint32_t hash = hash_of(kind, children);
    const std::size_t mask = places_.size() - 1;
    for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
      Place& place = places_[at];
      if (place.number < 0) {
        place = {hash, add(kind, children)};
        return place.number;
      }
      if (place.hash != hash) continue;
      Class& found = classes_[static_cast<std::size_t>(place.number)];
      if (found.kind != kind || !std::ranges::equal(this->children(found), children)) continue;
      ++found.occurrences;
      return place.number;
    }
  }

  std::size_t size() const { return classes_.size(); }
  const Class& operator[](std::size_t number) const { return classes_[number]; }
  std::span<const std::int32_t> children(const Class& of) const {
    return {children_.data() + of.child_begin, static_cast<std::size_t>(of.child_count)};
  }

 private:
  struct Place {
    std::uint32_t hash = 0;
    std::int32_t number = -1;
  };

  /// A node without changes below it is its kind.
  std::int32_t leaf_number(std::int32_t kind) {
    const auto at = static_cast<std::size_t>(kind);
    if (at >= leaves_.size()) leaves_.resize(at + at / 2 + 64, -1);
    if (leaves_[at] < 0)
      leaves_[at] = add(kind, {});
    else
      ++classes_[static_cast<std::size_t>(leaves_[at])].occurrences;
    return leaves_[at];
  }

  std::int32_t add(std::int32_t kind, std::span<const std::int32_t> children) {
    classes_.push_back(
        {kind, static_cast<std::int32_t>(children_.size()), static_cast<std::int32_t>(children.size()), 1});
    children_.insert(children_.end(), children.begin(), children.end());
    return static_cast<std::int32_t>(classes_.size()) - 1;
  }

  static std::uint32_t hash_of(std::int32_t kind, std::span<const std::int32_t> children) {
    auto hash = static_cast<std::uint64_t>(kind) * 0x9e3779b97f4a7c15ULL;
    for (const std::int32_t child : children)
      hash = (std::rotl(hash, 29) ^ static_cast<std::uint64_t>(child)) * 0x9e3779b97f4a7c15ULL;
    return static_cast<std::uint32_t>(hash >> 32);
  }

  void grow() {
    std::vector<Place> before(std::max<std::size_t>(1 << 14, 2 * places_.size()));
    before.swap(places_);
    const std::size_t mask = places_.size() - 1;
    for (const Place& place : before) {
      if (place.number < 0) continue;
      std::size_t at = place.hash & mask;
      while (places_[at].number >= 0)
        at = (at + 1) & mask;
      places_[at] = place;
    }
  }

  std::vector<Place> places_;         // of nodes with children
  std::vector<std::int32_t> leaves_;  // by kind
  std::vector<Class> classes_;
  std::vector<std::int32_t> children_;
};

/// Turns the changes of a row into nodes, children before their parents.
class RowNodes {
 public:
  RowNodes(const DependencyTree& shape, const TimingRows& timings, std::size_t group)
      : timings_(timings),
        courses_(static_cast<std::size_t>(shape.bit_count())),
        rank_(courses_),
        parent_rank_(courses_),
        local_(timings.kinds().size()),
        waiting_((courses_ + 63) / 64),
        changed_(courses_) {
    const auto order = shape.order();
    for (std::size_t r = 0; r < courses_; ++r)
      rank_[static_cast<std::size_t>(order[r])] = static_cast<std::int32_t>(r);
    for (std::size_t r = 0; r < courses_; ++r) {
      const Id parent = shape.parent(order[r]);
      parent_rank_[r] = parent < 0 ? -1 : rank_[static_cast<std::size_t>(parent)];
      const std::int32_t kind = timings.baseline_kinds(group)[static_cast<std::size_t>(order[r])];
      local_[static_cast<std::size_t>(kind)] = {static_cast<std::int32_t>(r), static_cast<std::int32_t>(r)};
      kinds_.push_back(kind);
      kind_rank_.push_back(static_cast<std::int32_t>(r));
    }
  }

  /// The class of the row's root; none where the row changes nothing.
  std::int32_t add(std::int64_t row, NodeClasses& classes) {
    for (const std::int32_t kind : timings_.changes(row)) {
      const Local& known = local(kind);
      wait(static_cast<std::size_t>(known.rank));
      changed_[static_cast<std::size_t>(known.rank)] = {known.number, 0, 0};
    }
    std::int32_t root = PlanSegment::none;
    sequence_.clear();
    // In descending order of ranks: siblings follow each other, and parents come after all their children.
    for (std::size_t word = waiting_.size(); word-- > 0;) {
      while (waiting_[word] != 0) {
        const auto bit = static_cast<std::size_t>(std::bit_width(waiting_[word]) - 1);
        waiting_[word] ^= std::uint64_t{1} << bit;
        const std::size_t rank = 64 * word + bit;
        const Changed& changed = changed_[rank];
        const std::int32_t number = classes.number(
            changed.kind, {sequence_.data() + changed.first_child, static_cast<std::size_t>(changed.child_count)});
        if (parent_rank_[rank] < 0) {
          root = number;
          continue;
        }
        const auto parent = static_cast<std::size_t>(parent_rank_[rank]);
        if (wait(parent)) changed_[parent] = {static_cast<std::int32_t>(parent), 0, 0};
        Changed& above = changed_[parent];
        if (above.child_count == 0) above.first_child = sequence_.size();
        ++above.child_count;
        sequence_.push_back(number);
      }
    }
    return root;
  }

  std::vector<std::int32_t> take_kinds() { return std::move(kinds_); }
  /// By kind of the segment: the rank of its course.
  const std::vector<std::int32_t>& kind_ranks() const { return kind_rank_; }

 private:
  /// A kind as the segment numbers it.
  struct Local {
    std::int32_t number = -1;
    std::int32_t rank = 0;
  };
  struct Changed {
    std::int32_t kind = 0;
    std::int32_t child_count = 0;
    std::size_t first_child = 0;  // into the sequence
  };

  /// True where the course was not waiting yet.
  bool wait(std::size_t rank) {
    const std::uint64_t bit = std::uint64_t{1} << (rank % 64);
    std::uint64_t& word = waiting_[rank / 64];
    const bool is_new = (word & bit) == 0;
    word |= bit;
    return is_new;
  }

  const Local& local(std::int32_t kind) {
    Local& known = local_[static_cast<std::size_t>(kind)];
    if (known.number < 0) {
      const Id course = timings_.kinds()[static_cast<std::size_t>(kind)].course;
      known = {static_cast<std::int32_t>(kinds_.size()), rank_[static_cast<std::size_t>(course)]};
      kinds_.push_back(kind);
      kind_rank_.push_back(known.rank);
    }
    return known;
  }

  const TimingRows& timings_;
  std::size_t courses_;
  std::vector<std::int32_t> rank_, parent_rank_;  // by course; by rank
  std::vector<Local> local_;                      // by kind of TimingRows
  std::vector<std::int32_t> kinds_, kind_rank_;
  std::vector<std::uint64_t> waiting_;  // ranks that are still to become nodes, a bit each
  std::vector<Changed> changed_;        // by rank, of the row at hand
  std::vector<std::int32_t> sequence_;  // classes of the row's nodes
};

/// Writes classes into a segment as the nodes of its blocks.
class BlockWriter {
 public:
  BlockWriter(const NodeClasses& classes, const std::vector<std::int32_t>& kind_ranks, std::size_t ranks,
              PlanSegment& segment)
      : classes_(classes),
        kind_ranks_(kind_ranks),
        segment_(segment),
        first_of_rank_(ranks),
        slot_(classes.size(), -1) {
    segment_.child_begin.push_back(0);
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      if (classes_[c].occurrences >= shared_from) members_.push_back(static_cast<std::int32_t>(c));
    }
    write(0, 0);
    shared_ = members_.size();
    members_.clear();
  }

  /// The nodes of rows until a block is full.
  void write_rows(std::span<const std::int32_t> root_class) {
    std::int32_t first = 0;
    for (std::size_t row = 0; row < root_class.size(); ++row) {
      if (root_class[row] != PlanSegment::none) gather(root_class[row]);
      if (members_.size() < block_nodes && row + 1 < root_class.size()) continue;
      const auto end = static_cast<std::int32_t>(row) + 1;
      write(first, static_cast<std::int32_t>(shared_));
      for (; first < end; ++first) {
        const std::int32_t root = root_class[static_cast<std::size_t>(first)];
        segment_.root.push_back(root == PlanSegment::none ? root : slot_[static_cast<std::size_t>(root)]);
      }
      for (const std::int32_t member : members_)
        slot_[static_cast<std::size_t>(member)] = -1;
      segment_.slot_count = std::max(segment_.slot_count, static_cast<std::int32_t>(shared_ + members_.size()));
      members_.clear();
    }
    segment_.slot_count = std::max(segment_.slot_count, static_cast<std::int32_t>(shared_));
    begin_block(first);
    segment_.batches.push_back({0, static_cast<std::int32_t>(segment_.node_kind.size())});
  }

 private:
  static constexpr std::int32_t gathered = -2;  // a slot that is not known yet

  /// A class and all below it that are not at hand.
  void gather(std::int32_t number) {
    waiting_.push_back(number);
    while (!waiting_.empty()) {
      const std::int32_t next = waiting_.back();
      waiting_.pop_back();
      std::int32_t& slot = slot_[static_cast<std::size_t>(next)];
      if (slot != -1) continue;
      slot = gathered;
      members_.push_back(next);
      const auto below = classes_.children(classes_[static_cast<std::size_t>(next)]);
      waiting_.insert(waiting_.end(), below.begin(), below.end());
    }
  }

  std::size_t rank_of(std::int32_t number) const {
    const auto kind = static_cast<std::size_t>(classes_[static_cast<std::size_t>(number)].kind);
    return static_cast<std::size_t>(kind_ranks_[kind]);
  }

  void begin_block(std::int32_t first_row) {
    segment_.blocks.push_back({first_row, static_cast<std::int32_t>(segment_.batches.size()),
                               static_cast<std::int32_t>(segment_.node_kind.size())});
  }

  /// The members as a block, by rank and then in the order they were met; their slots begin at first_slot.
  void write(std::int32_t first_row, std::int32_t first_slot) {
    begin_block(first_row);
    std::ranges::fill(first_of_rank_, 0);
    for (const std::int32_t member : members_)
      ++first_of_rank_[rank_of(member)];
    const auto first_node = static_cast<std::int32_t>(segment_.node_kind.size());
    std::int32_t next = 0;
    for (std::size_t rank = 0; rank < first_of_rank_.size(); ++rank) {
      const std::int32_t count = std::exchange(first_of_rank_[rank], next);
      if (count > 0) segment_.batches.push_back({static_cast<std::int32_t>(rank), first_node + next});
      next += count;
    }
    arranged_.resize(members_.size());
    for (const std::int32_t member : members_) {
      const std::int32_t place = first_of_rank_[rank_of(member)]++;
      arranged_[static_cast<std::size_t>(place)] = member;
      slot_[static_cast<std::size_t>(member)] = first_slot + place;
    }
    for (const std::int32_t member : arranged_) {
      const NodeClasses::Class& of = classes_[static_cast<std::size_t>(member)];
      segment_.node_kind.push_back(of.kind);
      for (const std::int32_t child : classes_.children(of))
        segment_.children.push_back(slot_[static_cast<std::size_t>(child)]);
      segment_.child_begin.push_back(static_cast<std::int32_t>(segment_.children.size()));
    }
  }

  const NodeClasses& classes_;
  const std::vector<std::int32_t>& kind_ranks_;
  PlanSegment& segment_;
  std::vector<std::int32_t> first_of_rank_;
  std::vector<std::int32_t> slot_;  // by class; -1: not in this block
  std::vector<std::int32_t> members_, arranged_, waiting_;
  std::size_t shared_ = 0;
};

template <class Value>
std::int64_t bytes_of(const std::vector<Value>& values) {
  return static_cast<std::int64_t>(values.capacity() * sizeof(Value));
}

}  // namespace

std::int64_t PlanSegment::byte_count() const {
  return bytes_of(root) + bytes_of(kinds) + bytes_of(blocks) + bytes_of(batches) + bytes_of(node_kind) +
         bytes_of(child_begin) + bytes_of(children);
}

PlanSegment plan_segment(const DependencyTree& shape, const TimingRows& timings, const PlannedRows& rows) {
  PlanSegment segment;
  segment.group = rows.group;
  segment.first_row = static_cast<std::int32_t>(rows.rows.first);
  const TimingRows::Group& group = timings.groups()[static_cast<std::size_t>(rows.group)];
  RowNodes nodes(shape, timings, static_cast<std::size_t>(rows.group));
  NodeClasses classes;
  std::vector<std::int32_t> root_class;
  root_class.reserve(static_cast<std::size_t>(rows.rows.size()));
  for (std::int64_t i = rows.rows.first; i < rows.rows.last; ++i)
    root_class.push_back(nodes.add(group.rows[static_cast<std::size_t>(i)], classes));
  segment.root.reserve(root_class.size());
  BlockWriter(classes, nodes.kind_ranks(), static_cast<std::size_t>(shape.bit_count()), segment).write_rows(root_class);
  segment.kinds = nodes.take_kinds();
  for (auto* numbers : {&segment.node_kind, &segment.child_begin, &segment.children})
    numbers->shrink_to_fit();
  return segment;
}

TreePlan::TreePlan(const DependencyTree& shape, const TimingRows& timings, const RowLanes& rows,
                   const Executor& executor) {
  segments.resize(rows.segments().size());
  executor.for_each(std::ssize(segments), [&](std::int64_t number) {
    const auto i = static_cast<std::size_t>(number);
    segments[i] = plan_segment(shape, timings, rows.segments()[i]);
  });
}

std::int64_t TreePlan::byte_count() const {
  std::int64_t total = 0;
  for (const PlanSegment& segment : segments)
    total += segment.byte_count();
  return total;
}

}  // namespace desirepath::inline emissions
