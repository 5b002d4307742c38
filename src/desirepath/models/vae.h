// A variational autoencoder over enrollments: the paper's deep baseline. Without hidden states; its likelihood is an
// estimated lower bound, and questions are answered by weighted draws of the code. docs/models/vae.md.
#pragma once

#include "desirepath/models/training.h"
#include "desirepath/models/vae_network.h"

namespace desirepath::inline models {

/// Of models that are a network, which another training can go on from.
class HasNetwork {
 public:
  virtual ~HasNetwork() = default;
  virtual const VaeNetwork& network() const = 0;
};

class Vae : public Model, public HasNetwork {
 public:
  Vae(Schema schema, VaeNetwork network) : schema_(std::move(schema)), network_(std::move(network)) {}
  /// Throws ArchiveError.
  static std::unique_ptr<Vae> load(const ArchiveReader& archive);

  const Schema& schema() const override { return schema_; }
  std::string name() const override { return "vae"; }
  std::span<const LikelihoodKind> likelihood_kinds() const override;
  /// The mean over draws of p(evidence, code) / q(code): in expectation its log lies below log p(evidence), the less so
  /// the more draws.
  Estimates log_likelihood(const EvidenceBatch& evidence, LikelihoodKind kind, const Executor& executor,
                           Precision precision) const override;
  /// With `draws` codes a student; from a stream of each student's own where one is given, so that equal students err
  /// each in its own way.
  Estimates lower_bound(const EvidenceBatch& evidence, std::int64_t draws, const Executor& executor,
                        const RandomStream* stream = nullptr) const;
  std::string likelihood_note(const EvidenceBatch&, LikelihoodKind, const Executor&,
                              Precision precision) const override;
  Estimates marginals(const EvidenceBatch& evidence, std::span<const Id> asked, const Executor& executor,
                      Conditioning conditioning) const override;
  EvidenceBatch complete(const EvidenceBatch& evidence, const RandomStream& stream, const Executor& executor,
                         Conditioning conditioning) const override;
  std::int64_t parameter_count() const override { return network_.parameters().size(); }
  void save(ArchiveWriter& archive) const override;

  const VaeNetwork& network() const override { return network_; }

 private:
  void check_evidence(const EvidenceBatch& evidence) const;

  Schema schema_;
  VaeNetwork network_;
};

/// What a file or a checkpoint may hold for a number of the networks: beyond it sums would leave the numbers there are.
inline constexpr double most_vae_parameter = 1e6;

/// The catalog's entry.
ModelEntry vae_entry();

}  // namespace desirepath::inline models
