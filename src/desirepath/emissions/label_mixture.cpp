#include "desirepath/emissions/label_mixture.h"

#include <algorithm>
#include <cmath>

#include "desirepath/emissions/pack_kernels.h"

namespace desirepath::inline emissions {

namespace {

constexpr int mixture_steps = 40;
constexpr double label_concentration = 0.3;  // of the Dirichlet that first labels are drawn from
constexpr double bit_pseudocount = 0.1;      // students added to each of a bit's two cells
constexpr Index label_padding = 8;           // doubles: the widest pack

/// A gamma variable (Marsaglia and Tsang; below one by a power of a uniform).
double draw_gamma(double shape, RandomStream& stream) {
  const double boost = shape < 1 ? std::pow(stream.uniform_open(), 1 / shape) : 1;
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = stream.normal(), root = 1 + c * x, v = root * root * root;
    if (!(v > 0)) continue;
    const double u = stream.uniform_open(), x2 = x * x;
    // The first spares the logarithms of the second, which it implies.
    if (u < 1 - 0.0331 * x2 * x2 || std::log(u) < 0.5 * x2 + d - d * v + d * std::log(v)) return boost * d * v;
  }
}

/// Blocks of rows, each by the bits that its rows take: sums down a column stay in registers.
class RowBlocks {
 public:
  static constexpr std::size_t rows_in_block = 1024;

  RowBlocks(const StepRows& rows, const TimingRows& timings, const RowLanes& cut, const Executor& executor)
      : segments_(cut.segments().size()) {
    executor.for_each(std::ssize(segments_), [&](std::int64_t number) {
      const PlannedRows& planned = cut.segments()[static_cast<std::size_t>(number)];
      const auto own =
          std::span(timings.groups()[static_cast<std::size_t>(planned.group)].rows)
              .subspan(static_cast<std::size_t>(planned.rows.first), static_cast<std::size_t>(planned.rows.size()));
      std::vector<std::int32_t> count(static_cast<std::size_t>(rows.bit_count()));
      for (std::size_t first = 0; first < own.size(); first += rows_in_block)
        add_block(rows, own.subspan(first, std::min(rows_in_block, own.size() - first)), count,
                  segments_[static_cast<std::size_t>(number)]);
    });
  }

  /// Adds the rows of a block, `stride` wide, to those of the bits they take.
  void add_columns(std::size_t segment, std::size_t block, const RowMatrix& rows, double* sums) const {
    const Segment& of = segments_[segment];
    const Index stride = rows.cols();
    std::size_t entry = of.first_entry[block];
    for (std::size_t column = of.first_column[block]; column < of.first_column[block + 1]; ++column) {
      const std::size_t end = entry + of.columns[column].entries;
      double* target = sums + of.columns[column].bit * stride;
      for (Index z = 0; z < stride; z += 2 * pack_width) {
        if (z + pack_width < stride)
          add_rows<2>(rows, z, {of.entries.data() + entry, end - entry}, target + z);
        else
          add_rows<1>(rows, z, {of.entries.data() + entry, end - entry}, target + z);
      }
      entry = end;
    }
  }

 private:
  struct Column {
    Id bit;
    std::uint32_t entries;
  };
  struct Segment {
    std::vector<std::size_t> first_column, first_entry = {0};  // by block, and past the last
    std::vector<Column> columns;
    std::vector<std::uint16_t> entries;  // rows of the block
  };

  template <int packs>
  static void add_rows(const RowMatrix& rows, Index z, std::span<const std::uint16_t> entries, double* target) {
    Pack even[packs], odd[packs];
    for (int p = 0; p < packs; ++p) {
      even[p] = load(target + p * pack_width);
      odd[p] = broadcast(0);
    }
    std::size_t i = 0;
    for (; i + 2 <= entries.size(); i += 2) {
      const double *one = rows.data() + entries[i] * rows.cols() + z,
                   *two = rows.data() + entries[i + 1] * rows.cols() + z;
      for (int p = 0; p < packs; ++p) {
        even[p] += load(one + p * pack_width);
        odd[p] += load(two + p * pack_width);
      }
    }
    if (i < entries.size()) {
      const double* last = rows.data() + entries[i] * rows.cols() + z;
      for (int p = 0; p < packs; ++p)
        even[p] += load(last + p * pack_width);
    }
    for (int p = 0; p < packs; ++p)
      store(target + p * pack_width, even[p] + odd[p]);
  }

  static void add_block(const StepRows& rows, std::span<const std::int64_t> block, std::vector<std::int32_t>& place,
                        Segment& segment) {
    const std::size_t first = segment.columns.size(), first_entry = segment.entries.size();
    if (segment.first_column.empty()) segment.first_column.push_back(0);
    std::vector<Id> bits;
    for (const std::int64_t row : block) {
      for (const Id bit : rows.taken(row)) {
        if (place[static_cast<std::size_t>(bit)]++ == 0) bits.push_back(bit);
      }
    }
    std::ranges::sort(bits);
    std::int32_t next = 0;
    for (const Id bit : bits) {
      std::int32_t& at = place[static_cast<std::size_t>(bit)];
      segment.columns.push_back({bit, static_cast<std::uint32_t>(at)});
      next += std::exchange(at, next);
    }
    segment.entries.resize(first_entry + static_cast<std::size_t>(next));
    for (std::size_t r = 0; r < block.size(); ++r) {
      for (const Id bit : rows.taken(block[r]))
        segment.entries[first_entry + static_cast<std::size_t>(place[static_cast<std::size_t>(bit)]++)] =
            static_cast<std::uint16_t>(r);
    }
    for (std::size_t column = first; column < segment.columns.size(); ++column)
      place[static_cast<std::size_t>(segment.columns[column].bit)] = 0;
    segment.first_column.push_back(segment.columns.size());
    segment.first_entry.push_back(segment.entries.size());
  }

  std::vector<Segment> segments_;
};

/// The weight of a pattern's rows with each label.
struct PatternWeight {
  Id pattern;
  Vector weight;
};

/// What a lane adds up in one step, from its rows' labels.
struct StepSums {
  Vector taken;  // bits by labels
  std::vector<PatternWeight> patterns;
};

/// The mixture between two steps: rows of labels are stride wide.
struct Mixture {
  RowMatrix base;   // patterns by labels: nothing taken, and the size of the label; padding far below anything
  RowMatrix taken;  // bits by labels: what a taken bit adds
};

class LabelMixture {
 public:
  LabelMixture(const StepRows& rows, const TimingRows& timings, std::span<const double> weights, Id labels,
               const RandomStream& stream, const Executor& executor)
      : rows_(rows),
        timings_(timings),
        weights_(weights),
        labels_(labels),
        stride_((labels + label_padding - 1) / label_padding * label_padding),
        stream_(stream),
        executor_(executor),
        cut_(timings),
        blocks_(rows, timings, cut_, executor) {}

  LabelShares run() {
    sum_up([&](std::int64_t row, double* label) { draw(row, label); });
    for (int step = 0; step < mixture_steps; ++step) {
      maximise();
      const auto best = [&](std::int64_t row, double* label) { expect(row, label); };
      if (step + 1 == mixture_steps) return shares(best);
      sum_up(best);
    }
    return {};
  }

 private:
  void draw(std::int64_t row, double* label) const {
    RandomStream draws = stream_.child(static_cast<std::uint64_t>(row));
    double sum = 0;
    for (Index z = 0; z < labels_; ++z) {
      label[z] = draw_gamma(label_concentration, draws) + 1e-300;
      sum += label[z];
    }
    const double scale = weights_[static_cast<std::size_t>(row)] / sum;
    for (Index z = 0; z < labels_; ++z)
      label[z] *= scale;
    std::fill(label + labels_, label + stride_, 0.0);
  }

  /// The posterior of a row's label, times its weight.
  void expect(std::int64_t row, double* label) const {
    switch (stride_ / pack_width) {
      case 1:
        return expect_with<1>(row, label);
      case 2:
        return expect_with<2>(row, label);
      case 4:
        return expect_with<4>(row, label);
      default:
        return expect_with<0>(row, label);
    }
  }

  /// packs: of a row of labels; 0: however many.
  template <int packs>
  void expect_with(std::int64_t row, double* label) const {
    constexpr Index width = (packs > 0 ? packs : 1) * pack_width;
    const std::span<const Id> taken = rows_.taken(row);
    for (Index z = 0; z < stride_; z += width) {
      Pack logs[packs > 0 ? packs : 1], others[packs > 0 ? packs : 1];
      for (int p = 0; p * pack_width < width; ++p) {
        logs[p] = load(mixture_.base.row(rows_.pattern_of(row)).data() + z + p * pack_width);
        others[p] = broadcast(0);
      }
      // Two sums, so that additions do not wait for each other.
      const double* table = mixture_.taken.data() + z;
      std::size_t i = 0;
      for (; i + 2 <= taken.size(); i += 2) {
        const double *one = table + taken[i] * stride_, *two = table + taken[i + 1] * stride_;
        for (int p = 0; p * pack_width < width; ++p) {
          logs[p] += load(one + p * pack_width);
          others[p] += load(two + p * pack_width);
        }
      }
      if (i < taken.size()) {
        for (int p = 0; p * pack_width < width; ++p)
          logs[p] += load(table + taken[i] * stride_ + p * pack_width);
      }
      for (int p = 0; p * pack_width < width; ++p)
        store(label + z + p * pack_width, logs[p] + others[p]);
    }
    exponentiate(label, labels_, stride_);
    Pack total = broadcast(0);
    for (Index z = 0; z < stride_; z += pack_width)
      total += load(label + z);
    const double scale = weights_[static_cast<std::size_t>(row)] / sum(total);
    for (Index z = 0; z < stride_; z += pack_width)
      store(label + z, scale * load(label + z));
  }

  std::span<const std::int64_t> rows_of(const PlannedRows& planned) const {
    return std::span(timings_.groups()[static_cast<std::size_t>(planned.group)].rows)
        .subspan(static_cast<std::size_t>(planned.rows.first), static_cast<std::size_t>(planned.rows.size()));
  }

  /// Labels of all rows into the sums that maximise() reads.
  template <class Label>
  void sum_up(const Label& label_of) {
    const Index numbers = rows_.bit_count() * stride_;
    const std::vector<std::size_t> begin = cut_.lanes(cut_.lane_count(numbers));
    sums_.resize(begin.size() - 1);
    executor_.for_each(std::ssize(sums_), [&](std::int64_t number) {
      const auto lane = static_cast<std::size_t>(number);
      StepSums& sums = sums_[lane];
      sums.taken.setZero(numbers);
      sums.patterns.clear();
      RowMatrix labels(RowBlocks::rows_in_block, stride_);
      for (std::size_t i = begin[lane]; i < begin[lane + 1]; ++i) {
        const auto rows = rows_of(cut_.segments()[i]);
        for (std::size_t first = 0; first < rows.size(); first += RowBlocks::rows_in_block) {
          const auto block = rows.subspan(first, std::min(RowBlocks::rows_in_block, rows.size() - first));
          for (std::size_t r = 0; r < block.size(); ++r) {
            double* label = labels.row(static_cast<Index>(r)).data();
            label_of(block[r], label);
            add_to_pattern(rows_.pattern_of(block[r]), label, sums);
          }
          blocks_.add_columns(i, first / RowBlocks::rows_in_block, labels, sums.taken.data());
        }
      }
    });
    std::vector<Vector*> side_by_side;
    for (StepSums& lane : sums_)
      side_by_side.push_back(&lane.taken);
    add_up(std::move(side_by_side), executor_);
  }

  void add_to_pattern(Id pattern, const double* label, StepSums& sums) const {
    if (sums.patterns.empty() || sums.patterns.back().pattern != pattern)
      sums.patterns.push_back({pattern, Vector::Zero(stride_)});
    sums.patterns.back().weight += Eigen::Map<const Vector>(label, stride_);
  }

  /// Shares of the labels, and probabilities of the bits known with each.
  void maximise() {
    const Index bits = rows_.bit_count(), patterns = rows_.pattern_count();
    RowMatrix by_pattern = RowMatrix::Zero(patterns, stride_);
    for (const StepSums& lane : sums_) {
      for (const PatternWeight& part : lane.patterns)
        by_pattern.row(part.pattern) += part.weight.transpose();
    }
    const Eigen::RowVectorXd total = by_pattern.colwise().sum();
    // What a pattern knows, it knows of all bits it does not list.
    RowMatrix known = total.replicate(bits, 1);
    for (Id p = 1; p < patterns; ++p) {
      for (const Id bit : rows_.unknown(p).bits)
        known.row(bit) -= by_pattern.row(p);
    }
    const double* taken = sums_.front().taken.data();
    mixture_.taken.resize(bits, stride_);
    RowMatrix& not_taken = known;
    executor_.for_blocks(bits, 64, [&](Range range) {
      for (Index i = range.first * stride_; i < range.last * stride_; i += pack_width) {
        // Rounding of the subtraction may leave less than was taken.
        const Pack yes = load(taken + i) + bit_pseudocount,
                   no = larger(load(known.data() + i) - load(taken + i), broadcast(0)) + bit_pseudocount;
        const Pack log_both = logarithm(yes + no), log_no = logarithm(no) - log_both;
        store(not_taken.data() + i, log_no);
        store(mixture_.taken.data() + i, logarithm(yes) - log_both - log_no);
      }
    });
    const Eigen::RowVectorXd size = total.head(labels_).array() + 1;
    Eigen::RowVectorXd all_known = Eigen::RowVectorXd::Constant(stride_, nowhere);
    all_known.head(labels_) = (size / size.sum()).array().log();
    all_known.head(labels_) += not_taken.leftCols(labels_).colwise().sum();
    mixture_.taken.rightCols(stride_ - labels_).setZero();
    mixture_.base = all_known.replicate(patterns, 1);
    // The base of a pattern lacks its unknown bits.
    for (Id p = 1; p < patterns; ++p) {
      for (const Id bit : rows_.unknown(p).bits)
        mixture_.base.row(p).head(labels_) -= not_taken.row(bit).head(labels_);
    }
  }

  /// Sums of the labels by kind; those of the baseline by subtraction.
  template <class Label>
  LabelShares shares(const Label& label_of) {
    const Index kinds = std::ssize(timings_.kinds()), courses = timings_.shape().courses;
    const std::vector<std::size_t> begin = cut_.lanes(cut_.lane_count((kinds + 1) * stride_));
    std::vector<Vector> sums(begin.size() - 1);  // kinds by labels, then all rows
    executor_.for_each(std::ssize(sums), [&](std::int64_t number) {
      const auto lane = static_cast<std::size_t>(number);
      sums[lane] = Vector::Zero((kinds + 1) * stride_);
      Eigen::Map<RowMatrix> by_kind(sums[lane].data(), kinds + 1, stride_);
      Vector label(stride_);
      RowMatrix changed(courses, stride_);
      for (std::size_t i = begin[lane]; i < begin[lane + 1]; ++i) {
        const PlannedRows& planned = cut_.segments()[i];
        changed.setZero();
        Eigen::RowVectorXd all = Eigen::RowVectorXd::Zero(stride_);
        for (const std::int64_t row : rows_of(planned)) {
          label_of(row, label.data());
          all += label.transpose();
          for (const std::int32_t kind : timings_.changes(row)) {
            by_kind.row(kind) += label.transpose();
            changed.row(timings_.kinds()[static_cast<std::size_t>(kind)].course) += label.transpose();
          }
        }
        by_kind.row(kinds) += all;
        const auto baseline = timings_.baseline_kinds(static_cast<std::size_t>(planned.group));
        for (Index c = 0; c < courses; ++c)
          by_kind.row(baseline[static_cast<std::size_t>(c)]) += (all - changed.row(c)).cwiseMax(0);  // rounding
      }
    });
    std::vector<Vector*> side_by_side;
    for (Vector& lane : sums)
      side_by_side.push_back(&lane);
    add_up(std::move(side_by_side), executor_);
    const Eigen::Map<const RowMatrix> by_kind(sums.front().data(), kinds + 1, stride_);
    return {by_kind.row(kinds).head(labels_).transpose(), by_kind.topLeftCorner(kinds, labels_)};
  }

  const StepRows& rows_;
  const TimingRows& timings_;
  std::span<const double> weights_;
  Index labels_, stride_;
  RandomStream stream_;
  const Executor& executor_;
  RowLanes cut_;
  RowBlocks blocks_;
  std::vector<StepSums> sums_;
  Mixture mixture_;
};

}  // namespace

LabelShares mix_labels(const StepRows& rows, const TimingRows& timings, std::span<const double> weights, Id labels,
                       const RandomStream& stream, const Executor& executor) {
  return LabelMixture(rows, timings, weights, labels, stream, executor).run();
}

}  // namespace desirepath::inline emissions
