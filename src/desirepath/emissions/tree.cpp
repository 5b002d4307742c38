#include "desirepath/emissions/tree.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::inline emissions {

std::span<const std::string_view> value_names(TreeShape) {
  static constexpr std::array<std::string_view, 2> names = {"shared", "per-state"};
  return names;
}

TreeEmission::TreeEmission(std::vector<TreeGroup> groups) : groups_(std::move(groups)) {
  Index states = 0;
  for (const TreeGroup& group : groups_)
    states += group.state_count();
  states_ = static_cast<Id>(states);
}

std::unique_ptr<TreeEmission> TreeEmission::load(const ArchiveReader& archive, const std::string& prefix) {
  const std::vector<std::int32_t> parents = archive.read<std::int32_t>(prefix + ".parents");
  const std::vector<std::int64_t> tree_shape = archive.shape(prefix + ".parents");
  const RowMatrix given_not_taken = archive.read_matrix(prefix + ".given_not_taken");
  const Index bits = given_not_taken.rows(), states = given_not_taken.cols();
  if (tree_shape.size() != 2 || tree_shape[1] != bits || tree_shape[0] < 1 ||
      (tree_shape[0] != 1 && tree_shape[0] != states)) {
    archive.refuse("damaged: trees do not fit their probabilities");
  }
  const RowMatrix given_taken = archive.read_matrix(prefix + ".given_taken", bits, states);
  std::vector<TreeGroup> groups;
  const Index each = tree_shape[0] == 1 ? states : 1;
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

RowScores TreeEmission::score(const StepRows& rows, LikelihoodKind, Precision, const Executor& executor) const {
  const auto patterns = static_cast<std::int64_t>(rows.pattern_count());
  std::vector<std::unique_ptr<TreePattern>> made(groups_.size() *
                                                 static_cast<std::size_t>(patterns));  // groups by patterns
  executor.for_each(static_cast<std::int64_t>(made.size()), [&](std::int64_t i) {
    const TreeGroup& group = groups_[static_cast<std::size_t>(i / patterns)];
    made[static_cast<std::size_t>(i)] =
        std::make_unique<TreePattern>(group, rows.unknown(static_cast<Id>(i % patterns)));
  });
  RowScores scores;
  scores.log_likelihood.resize(rows.row_count(), state_count());
  executor.for_blocks(rows.row_count(), 256, [&](Range range) {
    TreePattern::Changed scratch;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (std::int64_t row = range.first; row < range.last; ++row) {
        const std::size_t pattern =
            g * static_cast<std::size_t>(patterns) + static_cast<std::size_t>(rows.pattern_of(row));
        made[pattern]->score(rows.taken(row), &scores.log_likelihood(row, groups_[g].first_state()), scratch);
      }
    }
  });
  return scores;
}

namespace {

class TreeGiven : public GivenPattern {
 public:
  TreeGiven(const TreeEmission& emission, const UnknownBits& unknown) : emission_(emission) {
    for (const TreeGroup& group : emission.groups())
      patterns_.push_back(std::make_unique<TreePattern>(group, unknown));
  }

  void marginals(std::span<const Id> taken, std::span<const Id> asked, Eigen::Ref<RowMatrix> out) const override {
    for (std::size_t g = 0; g < patterns_.size(); ++g) {
      const TreeGroup& group = emission_.groups()[g];
      RowMatrix all = RowMatrix::Zero(emission_.bit_count(), group.state_count());
      for (const Id bit : taken)
        all.row(bit).setOnes();
      for (std::size_t p = 0; p < patterns_[g]->piece_count(); ++p) {
        const PieceBeliefs beliefs = patterns_[g]->beliefs(p, taken);
        const auto members = patterns_[g]->piece(p);
        for (std::size_t i = 0; i < members.size(); ++i)
          all.row(members[i]) = beliefs.taken.row(static_cast<Index>(i));
      }
      for (std::size_t i = 0; i < asked.size(); ++i) {
        out.col(static_cast<Index>(i)).segment(group.first_state(), group.state_count()) =
            all.row(asked[i]).transpose();
      }
    }
  }
  void complete(std::span<const Id> taken, Id state, RandomStream& stream, std::vector<Id>& result) const override {
    const std::size_t g = emission_.is_shared() ? 0 : static_cast<std::size_t>(state);
    result.assign(taken.begin(), taken.end());
    for (std::size_t p = 0; p < patterns_[g]->piece_count(); ++p) {
      patterns_[g]->sample(p, taken, state - emission_.groups()[g].first_state(), stream, result);
    }
    std::ranges::sort(result);
  }

 private:
  const TreeEmission& emission_;
  std::vector<std::unique_ptr<TreePattern>> patterns_;  // one a group
};

}  // namespace

std::unique_ptr<GivenPattern> TreeEmission::given(const UnknownBits& unknown) const {
  return std::make_unique<TreeGiven>(*this, unknown);
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
    const std::vector<Id> columns(order.begin(), order.end());
    const TreeGroup& old = groups_.front();
    groups.emplace_back(old.tree(), 0, old.given_not_taken()(Eigen::all, columns),
                        old.given_taken()(Eigen::all, columns));
  } else {
    for (std::size_t k = 0; k < order.size(); ++k) {
      const TreeGroup& old = groups_[static_cast<std::size_t>(order[k])];
      groups.emplace_back(old.tree(), static_cast<Id>(k), old.given_not_taken(), old.given_taken());
    }
  }
  return std::make_unique<TreeEmission>(std::move(groups));
}

void TreeEmission::save(ArchiveWriter& archive, const std::string& prefix) const {
  std::vector<std::int32_t> parents;  // groups by bits
  RowMatrix given_not_taken(bit_count(), state_count()), given_taken(bit_count(), state_count());
  for (const TreeGroup& group : groups_) {
    parents.insert(parents.end(), group.tree().parents().begin(), group.tree().parents().end());
    given_not_taken.middleCols(group.first_state(), group.state_count()) = group.given_not_taken();
    given_taken.middleCols(group.first_state(), group.state_count()) = group.given_taken();
  }
  archive.add(prefix + ".parents", std::move(parents), {static_cast<std::int64_t>(groups_.size()), bit_count()});
  archive.add(prefix + ".given_not_taken", std::move(given_not_taken));
  archive.add(prefix + ".given_taken", std::move(given_taken));
}

std::int64_t TreeEmission::byte_count() const {
  const auto trees = static_cast<std::int64_t>(groups_.size());
  return std::int64_t{bit_count()} * (std::int64_t{16} * state_count() + 4 * trees);
}

EmissionFamily tree_family() {
  return {std::string(TreeEmission::family_name),
          "courses depend on each other along a tree",
          declaration_of<TreeOptions>(),
          [](const SettingValues& values, const StepShape&) {
            return std::make_unique<TreeLearner>(settings_from<TreeOptions>(values));
          },
          TreeEmission::load,
          /*can_be_published=*/true};
}

}  // namespace desirepath::inline emissions
