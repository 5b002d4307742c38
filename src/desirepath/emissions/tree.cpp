#include "desirepath/emissions/tree.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::inline emissions {

namespace {

/// Patterns of every group, made once.
class TreeScorer : public RowScorer {
 public:
  TreeScorer(const TreeEmission& emission, const StepRows& rows, const Compute& compute) : emission_(emission), rows_(rows) {
    const auto patterns = static_cast<std::int64_t>(rows.pattern_count());
    patterns_.resize(emission.groups().size() * static_cast<std::size_t>(patterns));
    compute.for_each(static_cast<std::int64_t>(patterns_.size()), [&](std::int64_t i) {
      const TreeGroup& group = emission.groups()[static_cast<std::size_t>(i / patterns)];
      patterns_[static_cast<std::size_t>(i)] = std::make_unique<TreePattern>(group, rows.unknown(static_cast<Id>(i % patterns)));
    });
  }

  void score(Range range, Eigen::Ref<RowMatrix> out) const override {
    const auto patterns = static_cast<std::size_t>(rows_.pattern_count());
    for (std::size_t g = 0; g < emission_.groups().size(); ++g) {
      const Id first = emission_.groups()[g].first_state();
      for (std::int64_t row = range.first; row < range.last; ++row) {
        patterns_[g * patterns + static_cast<std::size_t>(rows_.pattern_of(row))]->score(rows_.taken(row), &out(row - range.first, first));
      }
    }
  }

 private:
  const TreeEmission& emission_;
  const StepRows& rows_;
  std::vector<std::unique_ptr<TreePattern>> patterns_;  // groups by patterns
};

}  // namespace

TreeEmission::TreeEmission(std::vector<TreeGroup> groups) : groups_(std::move(groups)) {
  Index states = 0;
  for (const TreeGroup& group : groups_)
    states += group.state_count();
  states_ = static_cast<Id>(states);
  const Id bits = bit_count();
  given_not_taken_.resize(bits, states);
  given_taken_.resize(bits, states);
  for (const TreeGroup& group : groups_) {
    parents_.insert(parents_.end(), group.tree().parents().begin(), group.tree().parents().end());
    given_not_taken_.middleCols(group.first_state(), group.state_count()) = group.given_not_taken();
    given_taken_.middleCols(group.first_state(), group.state_count()) = group.given_taken();
  }
}

std::unique_ptr<TreeEmission> TreeEmission::load(const ArchiveReader& archive, const std::string& prefix) {
  const std::vector<std::int32_t> parents = archive.read<std::int32_t>(prefix + ".parents");
  const std::vector<std::int64_t> tree_shape = archive.shape(prefix + ".parents");
  const std::vector<std::int64_t> shape = archive.shape(prefix + ".given_not_taken");
  if (tree_shape.size() != 2 || shape.size() != 2 || tree_shape[1] != shape[0] || tree_shape[0] < 1 ||
      (tree_shape[0] != 1 && tree_shape[0] != shape[1])) {
    archive.refuse("damaged: trees do not fit their probabilities");
  }
  const std::vector<double> no = archive.read<double>(prefix + ".given_not_taken");
  const std::vector<double> yes = archive.read<double>(prefix + ".given_taken", shape);
  const Eigen::Map<const RowMatrix> given_not_taken(no.data(), shape[0], shape[1]),
      given_taken(yes.data(), shape[0], shape[1]);
  std::vector<TreeGroup> groups;
  const Index each = tree_shape[0] == 1 ? shape[1] : 1;
  for (std::int64_t g = 0; g < tree_shape[0]; ++g) {
    const auto begin = parents.begin() + g * tree_shape[1];
    groups.emplace_back(DependencyTree(std::vector<Id>(begin, begin + tree_shape[1])), static_cast<Id>(g),
                        given_not_taken.middleCols(g, each), given_taken.middleCols(g, each));
  }
  return std::make_unique<TreeEmission>(std::move(groups));
}

std::span<const LikelihoodKind> TreeEmission::likelihood_kinds() const {
  static constexpr std::array kinds = {LikelihoodKind::mass};
  return kinds;
}

std::unique_ptr<RowScorer> TreeEmission::scorer(const StepRows& rows, LikelihoodKind, const Compute& compute) const {
  return std::make_unique<TreeScorer>(*this, rows, compute);
}

void TreeEmission::marginals(const StepRows& rows, std::int64_t row, std::span<const Id> asked,
                             Eigen::Ref<RowMatrix> out) const {
  const UnknownBits& unknown = rows.unknown(rows.pattern_of(row));
  const auto taken = rows.taken(row);
  for (const TreeGroup& group : groups_) {
    const TreePattern pattern(group, unknown);
    RowMatrix all = RowMatrix::Zero(bit_count(), group.state_count());
    for (const Id bit : taken)
      all.row(bit).setOnes();
    for (std::size_t p = 0; p < pattern.piece_count(); ++p) {
      const PieceBeliefs beliefs = pattern.beliefs(p, taken);
      const auto members = pattern.piece(p);
      for (std::size_t i = 0; i < members.size(); ++i)
        all.row(members[i]) = beliefs.taken.row(static_cast<Index>(i));
    }
    for (std::size_t i = 0; i < asked.size(); ++i) {
      out.col(static_cast<Index>(i)).segment(group.first_state(), group.state_count()) = all.row(asked[i]).transpose();
    }
  }
}

void TreeEmission::complete(const StepRows& rows, std::int64_t row, Id state, RandomStream& stream,
                            std::vector<Id>& taken) const {
  const TreeGroup& group = groups_[is_shared() ? 0 : static_cast<std::size_t>(state)];
  const auto known = rows.taken(row);
  taken.assign(known.begin(), known.end());
  const TreePattern pattern(group, rows.unknown(rows.pattern_of(row)));
  for (std::size_t p = 0; p < pattern.piece_count(); ++p) {
    pattern.sample(p, known, state - group.first_state(), stream, taken);
  }
  std::ranges::sort(taken);
}

RowMatrix TreeEmission::bit_probabilities() const {
  RowMatrix probability(bit_count(), state_count());
  for (const TreeGroup& group : groups_) {
    for (const Id bit : group.tree().order()) {
      const Id parent = group.tree().parent(bit);
      for (Index k = 0; k < group.state_count(); ++k) {
        const double above = parent < 0 ? 0 : probability(parent, group.first_state() + k);
        probability(bit, group.first_state() + k) =
            (1 - above) * group.given_not_taken()(bit, k) + above * group.given_taken()(bit, k);
      }
    }
  }
  return probability;
}

std::int64_t TreeEmission::parameter_count() const {
  std::int64_t count = 0;
  for (const TreeGroup& group : groups_) {
    count += static_cast<std::int64_t>(group.state_count()) * (bit_count() + group.tree().edge_count());
  }
  return count;
}

std::unique_ptr<Emission> TreeEmission::reordered(std::span<const Id> order) const {
  std::vector<TreeGroup> groups;
  if (is_shared()) {
    RowMatrix no(bit_count(), state_count()), yes(bit_count(), state_count());
    for (std::size_t k = 0; k < order.size(); ++k) {
      no.col(static_cast<Index>(k)) = given_not_taken_.col(order[k]);
      yes.col(static_cast<Index>(k)) = given_taken_.col(order[k]);
    }
    groups.emplace_back(groups_.front().tree(), 0, std::move(no), std::move(yes));
  } else {
    for (std::size_t k = 0; k < order.size(); ++k) {
      const TreeGroup& old = groups_[static_cast<std::size_t>(order[k])];
      groups.emplace_back(old.tree(), static_cast<Id>(k), old.given_not_taken(), old.given_taken());
    }
  }
  return std::make_unique<TreeEmission>(std::move(groups));
}

void TreeEmission::save(ArchiveWriter& archive, const std::string& prefix) const {
  const auto all = [](const RowMatrix& m) {
    return std::span<const double>(m.data(), static_cast<std::size_t>(m.size()));
  };
  archive.add(prefix + ".parents", std::span<const std::int32_t>(parents_),
              {static_cast<std::int64_t>(groups_.size()), bit_count()});
  archive.add(prefix + ".given_not_taken", all(given_not_taken_), {given_not_taken_.rows(), given_not_taken_.cols()});
  archive.add(prefix + ".given_taken", all(given_taken_), {given_taken_.rows(), given_taken_.cols()});
}

std::int64_t TreeEmission::byte_count() const {
  return (given_not_taken_.size() + given_taken_.size()) * 8 + static_cast<std::int64_t>(parents_.size()) * 4;
}

}  // namespace desirepath::inline emissions
