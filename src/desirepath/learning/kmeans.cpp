#include "desirepath/learning/kmeans.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace desirepath::inline learning {

namespace {

constexpr int most_rounds = 12;

/// Squared distances to some centres over the known bits: |b|^2 - 2 sum of c over taken + |c|^2 - unknown share of it.
class Distances {
 public:
  Distances(const StepRows& rows, const RowMatrix& centres) : rows_(rows), centres_(centres) {
    squares_ = centres.cwiseProduct(centres).colwise().sum();
    unknown_squares_.resize(rows.pattern_count(), centres.cols());
    for (Id p = 0; p < rows.pattern_count(); ++p) {
      unknown_squares_.row(p).setZero();
      for (const Id bit : rows.unknown(p).bits)
        unknown_squares_.row(p) += centres.row(bit).cwiseProduct(centres.row(bit));
    }
  }
  void of(std::int64_t row, Eigen::RowVectorXd& out) const {
    out = squares_ - unknown_squares_.row(rows_.pattern_of(row));
    for (const Id bit : rows_.taken(row))
      out -= 2 * centres_.row(bit);
    out.array() += static_cast<double>(rows_.taken(row).size());
  }

 private:
  const StepRows& rows_;
  const RowMatrix& centres_;  // bits by clusters
  Eigen::RowVectorXd squares_;
  RowMatrix unknown_squares_;
};

RowMatrix centre_of_row(const StepRows& rows, std::int64_t row) {
  RowMatrix centre = RowMatrix::Zero(rows.bit_count(), 1);
  for (const Id bit : rows.taken(row))
    centre(bit, 0) = 1;
  return centre;
}

}  // namespace

std::vector<Id> kmeans_labels(const StepRows& rows, std::span<const double> weights, Id clusters, RandomStream stream,
                              const Executor& executor, std::int64_t sample) {
  const std::int64_t count = rows.row_count();
  std::vector<std::int64_t> chosen(static_cast<std::size_t>(count));
  std::iota(chosen.begin(), chosen.end(), 0);
  if (count > sample) {
    RandomStream draw = stream.child("sample");
    shuffle(chosen, draw);
    chosen.resize(static_cast<std::size_t>(sample));
    std::ranges::sort(chosen);
  }
  const std::size_t used = chosen.size();

  // Seeds: each next one far from those before, by squared distance.
  RandomStream draw = stream.child("seeds");
  RowMatrix centres = RowMatrix::Zero(rows.bit_count(), clusters);
  std::vector<double> chance(used);
  std::vector<double> nearest(used, infinity);
  for (std::size_t i = 0; i < used; ++i)
    chance[i] = weights[static_cast<std::size_t>(chosen[i])];
  for (Id c = 0; c < clusters; ++c) {
    const bool possible = std::ranges::any_of(chance, [](double w) { return w > 0; });
    const std::size_t seed = possible ? draw.categorical(chance) : static_cast<std::size_t>(draw.below(used));
    const RowMatrix centre = centre_of_row(rows, chosen[seed]);
    centres.col(c) = centre.col(0);
    const Distances distance(rows, centre);
    executor.for_blocks(static_cast<std::int64_t>(used), 1024, [&](Range range) {
      Eigen::RowVectorXd found(1);
      for (auto i = static_cast<std::size_t>(range.first); i < static_cast<std::size_t>(range.last); ++i) {
        distance.of(chosen[i], found);
        nearest[i] = std::min(nearest[i], std::max(0.0, found[0]));
        chance[i] = weights[static_cast<std::size_t>(chosen[i])] * nearest[i];
      }
    });
  }

  std::vector<Id> labels(used, -1);
  const auto assign = [&](std::span<const std::int64_t> which, std::vector<Id>& out) {
    const Distances distance(rows, centres);
    executor.for_blocks(static_cast<std::int64_t>(which.size()), 1024, [&](Range range) {
      Eigen::RowVectorXd found(clusters);
      for (auto i = static_cast<std::size_t>(range.first); i < static_cast<std::size_t>(range.last); ++i) {
        distance.of(which[i], found);
        Index best = 0;
        found.minCoeff(&best);
        out[i] = static_cast<Id>(best);
      }
    });
  };
  for (int round = 0; round < most_rounds; ++round) {
    const std::vector<Id> before = labels;
    assign(chosen, labels);
    if (labels == before) break;
    RowMatrix taken = RowMatrix::Zero(rows.bit_count(), clusters), unknown = taken;
    Eigen::RowVectorXd total = Eigen::RowVectorXd::Zero(clusters);
    for (std::size_t i = 0; i < used; ++i) {
      const std::int64_t row = chosen[i];
      const double weight = weights[static_cast<std::size_t>(row)];
      total[labels[i]] += weight;
      for (const Id bit : rows.taken(row))
        taken(bit, labels[i]) += weight;
      for (const Id bit : rows.unknown(rows.pattern_of(row)).bits)
        unknown(bit, labels[i]) += weight;
    }
    for (Id c = 0; c < clusters; ++c) {
      if (!(total[c] > 0)) continue;  // an empty cluster keeps its seed
      for (Index j = 0; j < rows.bit_count(); ++j) {
        const double known = total[c] - unknown(j, c);
        centres(j, c) = known > 0 ? taken(j, c) / known : 0;
      }
    }
  }
  std::vector<std::int64_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  std::vector<Id> result(static_cast<std::size_t>(count), 0);
  assign(all, result);
  return result;
}

}  // namespace desirepath::inline learning
