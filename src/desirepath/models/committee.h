// Hidden course trees: a committee of trees, each learned from all students from its own shape and start, with equal
// weights. Its distribution is that of a chain of one step whose states are the trees, so given evidence the members
// weigh by how well each explains it; but a tree is no kind of student. docs/models/hidden_tree.md.
#pragma once

#include "desirepath/models/hidden_chain.h"
#include "desirepath/models/training.h"

namespace desirepath::inline models {

class Committee : public Model, public HasChain {
 public:
  /// A chain of one step.
  explicit Committee(HiddenChain chain) : chain_(std::move(chain)) {}
  /// One with these members, each a chain of one state; null: they do not fit each other.
  static std::unique_ptr<Committee> of(ChainIdentity identity, std::span<const ChainParameters> members);

  const HiddenChain& chain() const override { return chain_; }
  std::unique_ptr<Model> with(ChainParameters parameters) const override {
    return std::make_unique<Committee>(HiddenChain(chain_.identity(), std::move(parameters)));
  }

  const Schema& schema() const override { return chain_.schema(); }
  std::string name() const override { return chain_.name(); }
  std::span<const LikelihoodKind> likelihood_kinds() const override { return chain_.likelihood_kinds(); }
  Estimates log_likelihood(const EvidenceBatch& evidence, LikelihoodKind kind, const Executor& executor,
                           Precision precision = Precision::quick) const override {
    return chain_.log_likelihood(evidence, kind, executor, precision);
  }
  Estimates marginals(const EvidenceBatch& evidence, std::span<const Id> asked, const Executor& executor,
                      Conditioning conditioning = Conditioning::linear) const override {
    return chain_.marginals(evidence, asked, executor, conditioning);
  }
  EvidenceBatch complete(const EvidenceBatch& evidence, const RandomStream& stream, const Executor& executor,
                         Conditioning conditioning = Conditioning::linear) const override {
    return chain_.complete(evidence, stream, executor, conditioning);
  }
  std::string likelihood_note(const EvidenceBatch& evidence, LikelihoodKind kind, const Executor& executor,
                              Precision precision) const override {
    return chain_.likelihood_note(evidence, kind, executor, precision);
  }
  std::vector<CourseLink> links() const override { return chain_.links(); }
  bool models_leaving() const override { return chain_.models_leaving(); }
  std::int64_t parameter_count() const override { return chain_.parameter_count(); }
  void save(ArchiveWriter& archive) const override { chain_.save(archive); }

 private:
  HiddenChain chain_;
};

/// One member as a chain of its own.
ChainParameters member_of(const ChainParameters& committee, Id number);

/// The catalog's entry.
ModelEntry committee_entry(const std::string& emission);

}  // namespace desirepath::inline models
