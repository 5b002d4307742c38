// Hidden course trees: a committee of trees, each learned from all students from its own shape and start, with equal
// weights. Its distribution is that of a chain of one step whose states are the trees, so given evidence the members
// weigh by how well each explains it; but a tree is no kind of student. docs/models/hidden_tree.md.
#pragma once

#include "desirepath/models/committee_loads.h"
#include "desirepath/models/training.h"

namespace desirepath::inline models {

class Committee : public Model, public HasChain, public TiltsLoads {
 public:
  /// A chain of one step; the loads of its draws may be tilted.
  explicit Committee(HiddenChain chain, std::optional<LoadTilt> tilt = {})
      : chain_(std::move(chain)), tilt_(std::move(tilt)) {}
  /// One with these members, each a chain of one state; null: they do not fit each other.
  static std::unique_ptr<Committee> of(ChainIdentity identity, std::span<const ChainParameters> members);

  const HiddenChain& chain() const override { return chain_; }
  /// Untilted: what loads other parameters give is not known.
  std::unique_ptr<Model> with(ChainParameters parameters) const override {
    return std::make_unique<Committee>(HiddenChain(chain_.identity(), std::move(parameters)));
  }
  bool is_tilted() const override { return tilt_.has_value(); }
  const Model& untilted() const override { return chain_; }
  std::unique_ptr<Model> tilted(const LoadStudents& students, const RandomStream& stream,
                                const Executor& executor) const override;
  /// Log-likelihoods of the trees as those of the committee.
  Estimates with_loads(const EvidenceBatch& evidence, LikelihoodKind kind, Estimates of_trees,
                       const Executor& executor) const;

  const Schema& schema() const override { return chain_.schema(); }
  std::string name() const override { return chain_.name(); }
  std::span<const LikelihoodKind> likelihood_kinds() const override { return chain_.likelihood_kinds(); }
  Estimates log_likelihood(const EvidenceBatch& evidence, LikelihoodKind kind, const Executor& executor,
                           Precision precision = Precision::quick) const override {
    return with_loads(evidence, kind, chain_.log_likelihood(evidence, kind, executor, precision), executor);
  }
  Estimates marginals(const EvidenceBatch& evidence, std::span<const Id> asked, const Executor& executor,
                      Conditioning conditioning = Conditioning::linear) const override {
    Estimates of_trees = chain_.marginals(evidence, asked, executor, conditioning);
    return tilt_ ? tilted_marginals(chain_, *tilt_, evidence, asked, std::move(of_trees), executor)
                 : std::move(of_trees);
  }
  EvidenceBatch complete(const EvidenceBatch& evidence, const RandomStream& stream, const Executor& executor,
                         Conditioning conditioning = Conditioning::linear) const override;
  std::string likelihood_note(const EvidenceBatch& evidence, LikelihoodKind kind, const Executor& executor,
                              Precision precision) const override {
    return chain_.likelihood_note(evidence, kind, executor, precision);
  }
  std::vector<CourseLink> links() const override { return chain_.links(); }
  bool models_leaving() const override { return chain_.models_leaving(); }
  std::int64_t parameter_count() const override;
  void save(ArchiveWriter& archive) const override;

 private:
  HiddenChain chain_;
  std::optional<LoadTilt> tilt_;
};

/// One member as a chain of its own.
ChainParameters member_of(const ChainParameters& committee, Id number);

/// The catalog's entry.
ModelEntry committee_entry(const std::string& emission);

}  // namespace desirepath::inline models
