// Enumeration of all worlds of a small chain, from its parameters alone: the independent truth of the conformance
// tests.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "support/emission_truths.h"

#include "desirepath/models/hidden_chain.h"
#include "desirepath/models/vae_network.h"

namespace desirepath::test {

/// One way everything could be: every bit of every period, and who has left when.
struct World {
  std::vector<bool> taken;  // by bit of the schema
  std::vector<bool> left;   // by period
  double probability = 0;
};

/// All worlds with their probabilities; emissions are evaluated on complete rows by the family's truth.
std::vector<World> enumerate_worlds(const HiddenChain& model, const EmissionTruth& truth);

/// Whether a world agrees with what is known of a student.
bool agrees(const World& world, const EvidenceBatch& evidence, std::int64_t student);

/// How often each world came of completions of one student.
using WorldCounts = std::map<std::pair<std::vector<bool>, std::vector<bool>>, int>;  // taken, left
WorldCounts count_worlds(const Model& model, const EvidenceBatch& evidence, std::int64_t student, int draws,
                         const RandomStream& stream, const Executor& executor);
/// Pearson's chi-squared over all worlds that agree with the evidence: 4 standard deviations above its mean fails by
/// chance about once in ten thousand. Fails where a world contradicts the evidence; gives the degrees of freedom.
int expect_chi_squared(const WorldCounts& counts, const std::vector<World>& worlds, const EvidenceBatch& evidence,
                       std::int64_t student);

/// The same with their probabilities along one path of states, one a step: p(path, world).
std::vector<World> worlds_of_path(const HiddenChain& model, const EmissionTruth& truth, const std::vector<Id>& path);

/// What tests over the catalog run through: every model named with every family (committees with their own), with and
/// without leaving.
struct ChainCase {
  std::string model;
  const EmissionTruth* truth;
  bool left;
};
std::vector<ChainCase> chain_cases(const std::vector<std::string>& models);

/// A chain or a committee of the catalog with drawn parameters.
HiddenChain random_chain(const std::string& model, const EmissionTruth& truth, Id courses, Id periods, Id states,
                         bool with_left, RandomStream stream);

/// The networks of an autoencoder with drawn parameters.
VaeNetwork random_vae_network(Index bits, Index hidden, Index latent, RandomStream stream);

/// Evidence of every kind: periods unknown, open, closed, left; bits named or not.
EvidenceBatch random_evidence(const Schema& schema, std::int64_t students, bool with_left, RandomStream stream);

/// Students of whom nothing is known.
EvidenceBatch nothing_known(const Schema& schema, std::int64_t students);
/// Students whose every bit is drawn from a model.
Cohort drawn_cohort(const Model& model, std::int64_t students, RandomStream stream);

/// The same presence and courses of all students, in every period.
bool same_students(const EvidenceBatch& one, const EvidenceBatch& other);

}  // namespace desirepath::test
