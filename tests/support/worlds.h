// Enumeration of all worlds of a small chain, from its parameters alone: the independent truth of the conformance
// tests.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "support/emission_truths.h"

#include "desirepath/models/hidden_chain.h"

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

/// The same with their probabilities along one path of states, one a step: p(path, world).
std::vector<World> worlds_of_path(const HiddenChain& model, const EmissionTruth& truth, const std::vector<Id>& path);

/// What tests over the catalog run through: every model named with every family, with and without leaving.
struct ChainCase {
  std::string model;
  const EmissionTruth* truth;
  bool left;
};
std::vector<ChainCase> chain_cases(const std::vector<std::string>& models);

/// A chain of the catalog with drawn parameters.
HiddenChain random_chain(const std::string& model, const EmissionTruth& truth, Id courses, Id periods, Id states,
                         bool with_left, RandomStream stream);

/// Evidence of every kind: periods unknown, open, closed, left; bits named or not.
EvidenceBatch random_evidence(const Schema& schema, std::int64_t students, bool with_left, RandomStream stream);

/// The same presence and courses of all students, in every period.
bool same_students(const EvidenceBatch& one, const EvidenceBatch& other);

}  // namespace desirepath::test
