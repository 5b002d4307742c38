// A hidden chain with emissions: every model of the paper but the VAE.
//
// One forward-backward, one sampler, one evidence engine; a mixture is a chain of one step. Where preparation marked
// students as having left, the chain has one state more, absorbing and without courses ("left"); a chain of one step
// has a distribution of the period of departure in each state instead.
#pragma once

#include "desirepath/models/chain_parameters.h"
#include "desirepath/models/model.h"

namespace desirepath::inline models {

struct ChainIdentity {
  std::string model;     // catalog name: nb, tan, gmm, hmm, cmm
  std::string emission;  // family
  bool plain = true;     // the emission is the model's own: the name need not say it
  TimeStructure structure = TimeStructure::one_step;
  Schema schema;
};

class HiddenChain;

/// Of models whose distribution is that of a chain.
class HasChain {
 public:
  virtual ~HasChain() = default;
  virtual const HiddenChain& chain() const = 0;
  /// The same model with other parameters of the chain.
  virtual std::unique_ptr<Model> with(ChainParameters parameters) const = 0;
};

class HiddenChain : public Model, public HiddenStates, public HasChain {
 public:
  /// The parameters must fit the identity.
  HiddenChain(ChainIdentity identity, ChainParameters parameters);
  /// `default_emission`: of the catalog's entry that reads the file.
  static std::unique_ptr<HiddenChain> load(const ArchiveReader& archive, std::span<const EmissionFamily> families,
                                           const std::string& default_emission);

  const HiddenChain& chain() const override { return *this; }
  std::unique_ptr<Model> with(ChainParameters parameters) const override {
    return std::make_unique<HiddenChain>(identity_, std::move(parameters));
  }
  const ChainIdentity& identity() const { return identity_; }
  const ChainParameters& parameters() const { return parameters_; }
  const StepLayout& layout() const { return layout_; }

  const Schema& schema() const override { return identity_.schema; }
  std::string name() const override;
  std::span<const LikelihoodKind> likelihood_kinds() const override {
    return parameters_.emissions.front()->likelihood_kinds();
  }
  Estimates log_likelihood(const EvidenceBatch& evidence, LikelihoodKind kind, const Executor& executor,
                           Precision precision = Precision::quick) const override;
  Estimates marginals(const EvidenceBatch& evidence, std::span<const Id> asked, const Executor& executor,
                      Conditioning conditioning = Conditioning::linear) const override;
  EvidenceBatch complete(const EvidenceBatch& evidence, const RandomStream& stream, const Executor& executor,
                         Conditioning conditioning = Conditioning::linear) const override;
  /// complete(), where student s draws from stream.child(numbers[s]).
  EvidenceBatch complete_numbered(const EvidenceBatch& evidence, std::span<const std::uint64_t> numbers,
                                  const RandomStream& stream, const Executor& executor,
                                  Conditioning conditioning) const;
  std::string likelihood_note(const EvidenceBatch& evidence, LikelihoodKind kind, const Executor& executor,
                              Precision precision) const override;
  const HiddenStates* hidden_states() const override { return this; }
  std::vector<CourseLink> links() const override;
  bool models_leaving() const override {
    return parameters_.has_left_state || parameters_.departures.size() > 0 || layout_.rows_know_departure();
  }
  std::int64_t parameter_count() const override;
  void save(ArchiveWriter& archive) const override;

  Id step_count() const override { return layout_.step_count(); }
  PeriodRange step_periods(Id step) const override { return layout_.steps[static_cast<std::size_t>(step)]; }
  Id state_count() const override { return static_cast<Id>(parameters_.prior.state_count()); }
  bool has_left_state() const override { return parameters_.has_left_state; }
  Vector share(Id step) const override;
  const Matrix& transition(Id step) const override {
    return answers_.prior.transitions[static_cast<std::size_t>(step)];
  }
  RowMatrix course_probabilities(Id period) const override;
  RowMatrix posterior(const EvidenceBatch& evidence, const Executor& executor) const override;
  std::vector<std::vector<Id>> paths(const EvidenceBatch& evidence, const Executor& executor) const override;

 private:
  void check_evidence(const EvidenceBatch& evidence) const;
  /// Scores by the likelihood that weighs states in answers: of the binary rows, whatever learning climbs.
  std::vector<RowScores> answer_scores(const ChainEvidence& data, const Executor& executor) const;
  /// p(state | evidence), students by (step, state).
  RowMatrix posterior_of(const ChainEvidence& data, const std::vector<RowScores>& scores,
                         const Executor& executor) const;
  /// Marginals of a chain that knows what was taken before.
  Estimates marginals_ahead(const EvidenceBatch& evidence, const ChainEvidence& data,
                            const std::vector<RowScores>& scores, std::span<const Id> asked,
                            const Executor& executor) const;
  std::unique_ptr<GivenPattern> given(std::size_t pool, const UnknownBits& unknown, Conditioning conditioning) const;

  ChainIdentity identity_;
  ChainParameters parameters_;
  ChainParameters answers_;  // parameters_.answering()
  StepLayout layout_;
};

}  // namespace desirepath::inline models
