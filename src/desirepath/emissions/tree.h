// Bits that depend on each other along a tree: one tree shared by all states (the paper's tree-augmented naive Bayes),
// or a Chow-Liu tree for every state (a mixture of trees).
#pragma once

#include "desirepath/emissions/capabilities.h"
#include "desirepath/emissions/family.h"
#include "desirepath/emissions/tree_group.h"

namespace desirepath::inline emissions {

class TreeEmission : public Emission, public Publishable {
 public:
  static constexpr std::string_view family_name = "tree";
  /// One group: the tree is shared. As many groups as states: each has its own.
  explicit TreeEmission(std::vector<TreeGroup> groups);
  static std::unique_ptr<TreeEmission> load(const ArchiveReader& archive, const std::string& prefix);

  const std::vector<TreeGroup>& groups() const { return groups_; }
  bool is_shared() const { return groups_.size() == 1; }
  const DependencyTree& tree(Id state) const {
    return groups_[is_shared() ? 0 : static_cast<std::size_t>(state)].tree();
  }

  std::string_view family() const override { return family_name; }
  Id state_count() const override { return states_; }
  Id bit_count() const override { return groups_.front().tree().bit_count(); }
  std::span<const LikelihoodKind> likelihood_kinds() const override;
  RowScores score(const StepRows& rows, LikelihoodKind kind, Precision precision,
                  const Executor& executor) const override;
  std::unique_ptr<GivenPattern> given(const UnknownBits& unknown) const override;
  RowMatrix bit_probabilities() const override;
  /// Of those whose parent is taken, and of those whose is not; spread by what the state does.
  PublishedEmission published(const StepRows& rows, const StepWeights& weights, double least,
                              const Executor& executor) const override;
  std::int64_t parameter_count() const override;
  std::unique_ptr<Emission> reordered(std::span<const Id> order) const override;
  void save(ArchiveWriter& archive, const std::string& prefix) const override;
  std::int64_t byte_count() const override;

 private:
  std::vector<TreeGroup> groups_;
  Id states_;
};

enum class TreeShape { shared, per_state };
std::span<const std::string_view> value_names(TreeShape);

struct TreeOptions {
  TreeShape shape = TreeShape::shared;
  /// Added to each of a pair's four cells: 4a uniform pseudo-students a state.
  double pseudocount = 0.05;
  /// Bits in the tree; with more, those with the most takers, the rest independent.
  Id most_bits = 8000;

  void declare(SettingVisitor& visit) {
    visit(Setting("tree", "one dependency tree for all states (the paper's), or one a state"), shape);
    visit(Setting("pseudocount", "students added to each of the four cells of two courses' table").at_least(0),
          pseudocount);
  }
};

class TreeLearner : public EmissionLearner, public ProposesEmissions {
 public:
  explicit TreeLearner(const TreeOptions& options) : options_(options) {}
  std::string_view family() const override { return TreeEmission::family_name; }
  RowSurvey survey(const StepRows& rows) const override;
  std::unique_ptr<EmissionStep> first_step(const RowSurvey& survey, Id states,
                                           const RandomStream& stream) const override;
  std::unique_ptr<EmissionStep> step(const RowSurvey& survey, const Emission& previous) const override;
  std::unique_ptr<EmissionStep> proposal(const RowSurvey& survey, const Emission& current) const override;
  std::optional<std::string> incompatibility(const Emission& emission) const override;
  double log_prior(const RowSurvey& survey, const Emission& emission) const override;
  double memory_estimate(Id bits, Id states, int threads) const override;
  double work_estimate(const StepRows& rows, Id states) const override;
  std::vector<EmissionNote> notes(const RowSurvey& survey, const Vector& state_weights) const override;

 private:
  TreeOptions options_;
};

EmissionFamily tree_family();

}  // namespace desirepath::inline emissions
