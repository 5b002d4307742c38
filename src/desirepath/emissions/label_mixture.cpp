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

/// The weight of a pattern's rows with each label.
struct PatternWeight {
  Id pattern;
  Vector weight;
};

/// What a lane adds up from its rows' labels.
struct LabelSums {
  Vector taken;  // bits by labels
  std::vector<PatternWeight> patterns;
};

std::vector<Vector*> taken_of(std::vector<LabelSums>& lanes) {
  std::vector<Vector*> sums;
  for (LabelSums& lane : lanes)
    sums.push_back(&lane.taken);
  return sums;
}

}  // namespace

/// Labels of rows after the steps so far.
class LabelMixture::Labels {
 public:
  Labels(const LabelMixture& mixture, const StepRows& rows, std::span<const double> weights)
      : mixture_(mixture), rows_(rows), weights_(weights), stride_(mixture.stride_), drawn_(mixture.step_ == 0) {
    if (drawn_) return;
    // Nothing taken, by pattern: what it knows.
    Eigen::RowVectorXd all_known = Eigen::RowVectorXd::Constant(stride_, nowhere);
    all_known.head(mixture.labels_) =
        mixture.log_size_.transpose() + mixture.not_taken_.leftCols(mixture.labels_).colwise().sum();
    base_ = all_known.replicate(rows.pattern_count(), 1);
    for (Id p = 1; p < rows.pattern_count(); ++p) {
      for (const Id bit : rows.unknown(p).bits)
        base_.row(p).head(mixture.labels_) -= mixture.not_taken_.row(bit).head(mixture.labels_);
    }
  }

  /// Posterior of a row's label, or what is drawn for it, times its weight: stride wide.
  void find(std::int64_t row, double* label) const {
    if (drawn_) return draw(row, label);
    switch (stride_ / pack_width) {
      case 1:
        return expect<1>(row, label);
      case 2:
        return expect<2>(row, label);
      case 4:
        return expect<4>(row, label);
      default:
        return expect<0>(row, label);
    }
  }

 private:
  void draw(std::int64_t row, double* label) const {
    RandomStream draws = mixture_.stream_.child(static_cast<std::uint64_t>(row));
    double sum = 0;
    for (Index z = 0; z < mixture_.labels_; ++z) {
      label[z] = draw_gamma(label_concentration, draws) + 1e-300;
      sum += label[z];
    }
    const double scale = weights_[static_cast<std::size_t>(row)] / sum;
    for (Index z = 0; z < mixture_.labels_; ++z)
      label[z] *= scale;
    std::fill(label + mixture_.labels_, label + stride_, 0.0);
  }

  /// packs: of a row of labels; 0: however many.
  template <int packs>
  void expect(std::int64_t row, double* label) const {
    constexpr int parts = std::max(packs, 1);
    constexpr Index width = Index{parts} * pack_width;
    const std::span<const Id> taken = rows_.taken(row);
    for (Index z = 0; z < stride_; z += width) {
      Pack logs[parts], others[parts];
      for (int p = 0; p * pack_width < width; ++p) {
        logs[p] = load(base_.row(rows_.pattern_of(row)).data() + z + p * pack_width);
        others[p] = broadcast(0);
      }
      // Two sums, so that additions do not wait for each other.
      const double* table = mixture_.taken_.data() + z;
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
    exponentiate(label, mixture_.labels_, stride_);
    Pack total = broadcast(0);
    for (Index z = 0; z < stride_; z += pack_width)
      total += load(label + z);
    const double scale = weights_[static_cast<std::size_t>(row)] / sum(total);
    for (Index z = 0; z < stride_; z += pack_width)
      store(label + z, scale * load(label + z));
  }

  const LabelMixture& mixture_;
  const StepRows& rows_;
  std::span<const double> weights_;
  Index stride_;
  bool drawn_;
  RowMatrix base_;  // patterns by labels
};

LabelMixture::LabelMixture(Id labels, const RandomStream& stream)
    : labels_(labels), stride_((labels + label_padding - 1) / label_padding * label_padding), stream_(stream) {}

Statistics LabelMixture::count(const StartRows& start, const Executor& executor) const {
  const StepRows& rows = start.rows();
  const RowLanes& cut = start.cut();
  const RowBlocks& blocks = start.blocks(executor);
  const Labels labels(*this, rows, start.weights());
  const Index bits = rows.bit_count();
  const std::vector<std::size_t> begin = cut.lanes(cut.lane_count(bits * stride_));
  std::vector<LabelSums> lanes(begin.size() - 1);
  executor.for_each(std::ssize(lanes), [&](std::int64_t number) {
    const auto lane = static_cast<std::size_t>(number);
    LabelSums& sums = lanes[lane];
    sums.taken.setZero(bits * stride_);
    RowMatrix found(RowBlocks::rows_in_block, stride_);
    for (std::size_t i = begin[lane]; i < begin[lane + 1]; ++i) {
      const auto own = rows_of(start.timings(), cut.segments()[i]);
      for (std::size_t first = 0; first < own.size(); first += RowBlocks::rows_in_block) {
        const auto block = own.subspan(first, std::min(RowBlocks::rows_in_block, own.size() - first));
        for (std::size_t r = 0; r < block.size(); ++r) {
          const auto at = static_cast<Index>(r);
          labels.find(block[r], found.row(at).data());
          const Id pattern = rows.pattern_of(block[r]);
          if (sums.patterns.empty() || sums.patterns.back().pattern != pattern)
            sums.patterns.push_back({pattern, Vector::Zero(stride_)});
          sums.patterns.back().weight += found.row(at).transpose();
        }
        blocks.add_columns(i, first / RowBlocks::rows_in_block, found, sums.taken.data());
      }
    }
  });
  add_up(taken_of(lanes), executor);
  RowMatrix by_pattern = RowMatrix::Zero(rows.pattern_count(), stride_);
  for (const LabelSums& lane : lanes) {
    for (const PatternWeight& part : lane.patterns)
      by_pattern.row(part.pattern) += part.weight.transpose();
  }
  const Eigen::RowVectorXd total = by_pattern.colwise().sum();
  // What a pattern knows, it knows of all bits it does not list.
  RowMatrix known = total.replicate(bits, 1);
  for (Id p = 1; p < rows.pattern_count(); ++p) {
    for (const Id bit : rows.unknown(p).bits)
      known.row(bit) -= by_pattern.row(p);
  }
  Statistics sums;
  sums.add(Eigen::Map<const RowMatrix>(lanes.front().taken.data(), bits, stride_));
  sums.add(std::move(known));
  sums.add(total);
  return sums;
}

bool LabelMixture::take(const Statistics& sums) {
  const RowMatrix &taken = sums.table(0), &known = sums.table(1);
  taken_.resize(taken.rows(), stride_);
  not_taken_.resize(taken.rows(), stride_);
  for (Index i = 0; i < taken.size(); i += pack_width) {
    // Rounding of a subtraction may leave less known than was taken.
    const Pack yes = load(taken.data() + i) + bit_pseudocount,
               no = larger(load(known.data() + i) - load(taken.data() + i), broadcast(0)) + bit_pseudocount,
               log_both = logarithm(yes + no), log_no = logarithm(no) - log_both;
    store(not_taken_.data() + i, log_no);
    store(taken_.data() + i, logarithm(yes) - log_both - log_no);
  }
  taken_.rightCols(stride_ - labels_).setZero();
  const Vector size = sums.table(2).row(0).head(labels_).transpose().array() + 1;
  log_size_ = (size / size.sum()).array().log();
  return ++step_ == mixture_steps;
}

RowMatrix LabelMixture::weights_of_kinds(const StartRows& start, const Executor& executor) const {
  const TimingRows& timings = start.timings();
  const RowLanes& cut = start.cut();
  const Labels labels(*this, start.rows(), start.weights());
  const Index kinds = std::ssize(timings.kinds()), nodes = timings.shape().courses + timings.shape().trait_count();
  const std::vector<std::size_t> begin = cut.lanes(cut.lane_count((kinds + 1) * stride_));
  std::vector<LabelSums> lanes(begin.size() - 1);
  executor.for_each(std::ssize(lanes), [&](std::int64_t number) {
    const auto lane = static_cast<std::size_t>(number);
    lanes[lane].taken.setZero((kinds + 1) * stride_);
    Eigen::Map<RowMatrix> by_kind(lanes[lane].taken.data(), kinds + 1, stride_);
    Eigen::RowVectorXd label(stride_);
    RowMatrix changed(nodes, stride_);
    for (std::size_t i = begin[lane]; i < begin[lane + 1]; ++i) {
      const PlannedRows& planned = cut.segments()[i];
      changed.setZero();
      Eigen::RowVectorXd all = Eigen::RowVectorXd::Zero(stride_);
      for (const std::int64_t row : rows_of(timings, planned)) {
        labels.find(row, label.data());
        all += label;
        for (const std::int32_t kind : timings.changes(row)) {
          by_kind.row(kind) += label;
          changed.row(timings.kinds()[static_cast<std::size_t>(kind)].course) += label;
        }
      }
      by_kind.row(kinds) += all;
      // Those of the baseline are what is left; less than nothing only by rounding.
      const auto baseline = timings.baseline_kinds(static_cast<std::size_t>(planned.group));
      for (Index c = 0; c < nodes; ++c)
        by_kind.row(baseline[static_cast<std::size_t>(c)]) += (all - changed.row(c)).cwiseMax(0);
    }
  });
  add_up(taken_of(lanes), executor);
  return Eigen::Map<const RowMatrix>(lanes.front().taken.data(), kinds + 1, stride_).leftCols(labels_);
}

}  // namespace desirepath::inline emissions
