#include "desirepath/emissions/plan_pass.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "desirepath/emissions/plan_kernels.h"

namespace desirepath::inline emissions {

namespace {

/// Beliefs that sum to this at most, or to one over it at least, are left as they are: dozens of them times each other
/// are still numbers.
constexpr double ordinary_sum = 1e6;
/// What children change by more than this may bring back what vanished in the baseline.
constexpr double largest_factor = 1e90;
constexpr double lost_row = std::numeric_limits<double>::quiet_NaN();

/// Grows a table that keeps nothing.
void make_room(RowMatrix& table, Index rows, Index columns) {
  if (table.rows() < rows || table.cols() != columns) table.resize(rows + rows / 8, columns);
}

}  // namespace

RowMatrix likelihoods_of_kinds(const HiddenTree& tree, const TimingRows& timings, const Executor& executor) {
  RowMatrix table(std::ssize(timings.kinds()), tree.stride());
  executor.for_blocks(table.rows(), 1024, [&](Range range) {
    for (std::int64_t k = range.first; k < range.last; ++k)
      tree.own(timings.kinds()[static_cast<std::size_t>(k)], table.row(k).data());
  });
  return table;
}

void PlanPass::begin(const HiddenTree& tree, const TimingRows& timings, const RowMatrix& own) {
  tree_ = &tree;
  timings_ = &timings;
  own_ = &own;
  stride_ = tree.stride();
  baseline_group_ = -1;
}

void PlanPass::begin_segment(const PlanSegment& segment) {
  if (segment.group != baseline_group_) {
    baseline_.emplace(*tree_, timings_->groups()[static_cast<std::size_t>(segment.group)].baseline);
    baseline_group_ = segment.group;
  }
  const Index kinds = std::ssize(segment.kinds);
  make_room(start_, kinds, stride_);
  for (Index k = 0; k < kinds; ++k) {
    const std::int32_t kind = segment.kinds[static_cast<std::size_t>(k)];
    const Id course = timings_->kinds()[static_cast<std::size_t>(kind)].course;
    start_.row(k) = own_->row(kind).cwiseProduct(baseline_->below.row(course));
  }
  for (RowMatrix* table : {&belief_, &ratio_})
    make_room(*table, segment.slot_count, stride_);
  if (log_scale_.size() < segment.slot_count) {
    log_scale_.resize(belief_.rows());
    root_log_.resize(belief_.rows());
  }
}

void PlanPass::score(const PlanSegment& segment, std::span<double> log_probability) {
  begin_segment(segment);
  for (std::size_t block = 0; block < segment.block_count(); ++block) {
    run_up(segment, block);
    if (block > 0) read_rows(segment, block, log_probability);
  }
}

void PlanPass::count(const PlanSegment& segment, std::span<const double> weights, std::span<double> log_probability,
                     TreeSums& sums) {
  begin_segment(segment);
  make_room(arriving_, segment.slot_count, stride_);
  make_room(kind_sum_, std::ssize(segment.kinds), stride_);
  kind_sum_.topRows(std::ssize(segment.kinds)).setZero();
  above_.setZero(tree_->node_count(), stride_);
  here_.setZero(tree_->node_count(), stride_);
  untouched_ = 0;
  for (std::size_t block = 0; block < segment.block_count(); ++block) {
    const std::int32_t first = segment.blocks[block].first_node, count = segment.blocks[block + 1].first_node - first;
    arriving_.middleRows(first + segment.slot_offset(block), count).setZero();
    run_up(segment, block);
    if (block == 0) continue;
    read_rows(segment, block, log_probability);
    weigh_rows(segment, block, weights, log_probability);
    run_down(segment, block, sums);
  }
  run_down(segment, 0, sums);
  add_unchanged(sums);
  for (std::size_t k = 0; k < segment.kinds.size(); ++k) {
    const std::int32_t kind = segment.kinds[k];
    sums.add(timings_->kinds()[static_cast<std::size_t>(kind)], row(kind_sum_, static_cast<std::int32_t>(k)),
             own_->row(kind).data());
  }
}

void PlanPass::read_rows(const PlanSegment& segment, std::size_t block, std::span<double> log_probability) const {
  for (std::int32_t i = segment.blocks[block].first_row; i < segment.blocks[block + 1].first_row; ++i) {
    const std::int32_t slot = segment.root[static_cast<std::size_t>(i)];
    log_probability[static_cast<std::size_t>(i)] =
        slot == PlanSegment::none ? baseline_->log_probability : root_log_[slot];
  }
}

void PlanPass::weigh_rows(const PlanSegment& segment, std::size_t block, std::span<const double> weights,
                          std::span<const double> log_probability) {
  for (std::int32_t i = segment.blocks[block].first_row; i < segment.blocks[block + 1].first_row; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (std::isnan(log_probability[at])) continue;
    if (segment.root[at] == PlanSegment::none)
      untouched_ += weights[at];
    else
      arriving_(segment.root[at], 0) += weights[at];
  }
}

void PlanPass::run_up(const PlanSegment& segment, std::size_t block) {
  switch (stride_ / pack_width) {
    case 1:
      return up<1>(segment, block);
    case 2:
      return up<2>(segment, block);
    case 4:
      return up<4>(segment, block);
    default:
      return up<0>(segment, block);
  }
}

void PlanPass::run_down(const PlanSegment& segment, std::size_t block, TreeSums& sums) {
  switch (stride_ / pack_width) {
    case 1:
      return down<1>(segment, block, sums);
    case 2:
      return down<2>(segment, block, sums);
    case 4:
      return down<4>(segment, block, sums);
    default:
      return down<0>(segment, block, sums);
  }
}

template <int packs>
void PlanPass::up(const PlanSegment& segment, std::size_t block) {
  constexpr int width = std::max(packs, 1);  // packs worked on together
  const auto order = tree_->shape().order();
  const std::int32_t offset = segment.slot_offset(block);
  const auto first_batch = static_cast<std::size_t>(segment.blocks[block].first_batch);
  for (auto b = static_cast<std::size_t>(segment.blocks[block + 1].first_batch); b-- > first_batch;) {
    const std::int32_t rank = segment.batches[b].rank, first = segment.batches[b].first_node,
                       last = segment.batches[b + 1].first_node;
    const Id course = order[static_cast<std::size_t>(rank)];
    const bool may_lose = baseline_->lost[static_cast<std::size_t>(course)];
    for (std::int32_t node = first; node < last; ++node) {
      const auto at = static_cast<std::size_t>(node);
      const std::span children(segment.children.data() + segment.child_begin[at],
                               segment.children.data() + segment.child_begin[at + 1]);
      const double* start = row(start_, segment.node_kind[at]);
      double* belief = row(belief_, node + offset);
      Pack total = broadcast(0);
      for (Index z = 0; z < stride_; z += width * pack_width) {
        Pack product[width];
        for (int p = 0; p < width; ++p)
          product[p] = load(start + z + p * pack_width);
        for (const std::int32_t child : children) {
          const double* changed = row(ratio_, child) + z;
          for (int p = 0; p < width; ++p)
            product[p] *= load(changed + p * pack_width);
        }
        for (int p = 0; p < width; ++p) {
          store(belief + z + p * pack_width, product[p]);
          total += product[p];
        }
      }
      double scale = 0;
      for (const std::int32_t child : children)
        scale += log_scale_[child];
      const double size = sum(total);
      if (!(size > 1 / ordinary_sum && size < ordinary_sum) || may_lose) rescale(course, children, belief, scale);
      log_scale_[node + offset] = scale;
    }
    double* beliefs = row(belief_, first + offset);
    if (rank > 0) {
      multiply_rows(tree_->up(course), tree_->state_count(), stride_, last - first, beliefs, tree_->padding(),
                    baseline_->inverse_message.row(course).data(), row(ratio_, first + offset));
      continue;
    }
    for (std::int32_t slot = first + offset; slot < last + offset; ++slot)
      root_log_[slot] = baseline_->log_scale + log_scale_[slot] + std::log(root_sum(*tree_, row(belief_, slot)));
  }
}

void PlanPass::rescale(Id course, std::span<const std::int32_t> children, double* belief, double& log_scale) {
  double factor = 1;
  if (baseline_->lost[static_cast<std::size_t>(course)]) {
    Vector changed = Vector::Ones(stride_);
    for (const std::int32_t child : children)
      changed.array() *= ratio_.row(child).transpose().array();
    factor = changed.head(tree_->state_count()).maxCoeff<Eigen::PropagateNaN>();
  }
  Eigen::Map<Vector> values(belief, tree_->state_count());
  const double peak = values.maxCoeff<Eigen::PropagateNaN>();
  if (peak > smallest_peak && peak < 1 / smallest_peak && factor < largest_factor) {
    if (peak > 1 / ordinary_sum && peak < ordinary_sum) return;
    const int power = std::ilogb(peak);
    log_scale += power * std::numbers::ln2;
    values *= std::ldexp(1.0, -power);
  } else {
    log_scale = lost_row;
    values.setOnes();  // anything: rows with this node are done by themselves
  }
}

template <int packs>
void PlanPass::down(const PlanSegment& segment, std::size_t block, TreeSums& sums) {
  constexpr int width = std::max(packs, 1);
  const auto order = tree_->shape().order();
  const std::int32_t offset = segment.slot_offset(block);
  const auto last_batch = static_cast<std::size_t>(segment.blocks[block + 1].first_batch);
  for (auto b = static_cast<std::size_t>(segment.blocks[block].first_batch); b < last_batch; ++b) {
    const std::int32_t rank = segment.batches[b].rank, first = segment.batches[b].first_node,
                       last = segment.batches[b + 1].first_node;
    const Id course = order[static_cast<std::size_t>(rank)];
    if (rank == 0) {
      for (std::int32_t slot = first + offset; slot < last + offset; ++slot) {
        double* belief = row(belief_, slot);
        const double weight = arriving_(slot, 0) / root_sum(*tree_, belief);
        for (Index z = 0; z < stride_; ++z)
          belief[z] *= weight * tree_->initial()[z];
      }
    } else {
      const double* usual = baseline_->inverse_message.row(course).data();
      for (Index z = 0; z < stride_; z += width * pack_width) {
        Pack above[width], inverse[width];
        for (int p = 0; p < width; ++p) {
          above[p] = load(row(above_, rank) + z + p * pack_width);
          inverse[p] = load(usual + z + p * pack_width);
        }
        for (std::int32_t slot = first + offset; slot < last + offset; ++slot) {
          double* ratio = row(ratio_, slot) + z;
          const double* arriving = row(arriving_, slot) + z;
          for (int p = 0; p < width; ++p) {
            const Pack parent = load(arriving + p * pack_width), own = load(ratio + p * pack_width);
            above[p] += parent;
            store(ratio + p * pack_width, own > 0 ? parent * inverse[p] / own : broadcast(0));
          }
        }
        for (int p = 0; p < width; ++p)
          store(row(above_, rank) + z + p * pack_width, above[p]);
      }
      lower(tree_->down(course), tree_->state_count(), stride_, last - first, row(ratio_, first + offset),
            row(belief_, first + offset), sums.pairs(course));
    }
    for (Index z = 0; z < stride_; z += width * pack_width) {
      Pack here[width];
      for (int p = 0; p < width; ++p)
        here[p] = load(row(here_, rank) + z + p * pack_width);
      for (std::int32_t node = first; node < last; ++node) {
        const auto at = static_cast<std::size_t>(node);
        const double* posterior = row(belief_, node + offset) + z;
        double* of_kind = row(kind_sum_, segment.node_kind[at]) + z;
        Pack own[width];
        for (int p = 0; p < width; ++p) {
          own[p] = load(posterior + p * pack_width);
          here[p] += own[p];
          store(of_kind + p * pack_width, load(of_kind + p * pack_width) + own[p]);
        }
        for (std::int32_t i = segment.child_begin[at]; i < segment.child_begin[at + 1]; ++i) {
          double* child = row(arriving_, segment.children[static_cast<std::size_t>(i)]) + z;
          for (int p = 0; p < width; ++p)
            store(child + p * pack_width, load(child + p * pack_width) + own[p]);
        }
      }
      for (int p = 0; p < width; ++p)
        store(row(here_, rank) + z + p * pack_width, here[p]);
    }
  }
}

void PlanPass::add_unchanged(TreeSums& sums) {
  const auto order = tree_->shape().order();
  const Index states = tree_->state_count();
  RowMatrix unchanged(tree_->node_count(), stride_);  // by course: posterior over the rows that do not change it
  Vector g(stride_);
  std::vector<std::int32_t> rank_of(order.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const Id course = order[rank], parent = tree_->shape().parent(course);
    rank_of[static_cast<std::size_t>(course)] = static_cast<std::int32_t>(rank);
    auto own = unchanged.row(course);
    if (parent < 0) {
      own = untouched_ * baseline_->root.transpose();
    } else {
      own = baseline_->belief.row(course);
      const std::int32_t above = rank_of[static_cast<std::size_t>(parent)];
      // Rounding of the difference for a course that all rows change.
      g = (unchanged.row(parent) + here_.row(above) - above_.row(static_cast<Index>(rank)))
              .cwiseMax(0)
              .cwiseQuotient(baseline_->message.row(course))
              .transpose();
      lower(tree_->down(course), states, stride_, 1, g.data(), own.data(), sums.pairs(course));
    }
    kind_sum_.row(static_cast<Index>(rank)) += own;
  }
}

}  // namespace desirepath::inline emissions
