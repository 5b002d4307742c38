// Enumeration of all worlds of a small chain, from its parameters alone: the independent truth of the conformance
// tests.
#pragma once

#include <functional>
#include <vector>

#include "desirepath/models/hidden_chain.h"

namespace desirepath::test {

/// One way everything could be: every bit of every period, and who has left when.
struct World {
  std::vector<bool> taken;  // by bit of the schema
  std::vector<bool> left;   // by period
  double probability = 0;
};

/// All worlds with their probabilities. Emissions are evaluated by `emission_probability` on complete rows, written
/// here independently of the library's own scoring.
std::vector<World> enumerate_worlds(const HiddenChain& model);

/// p(bits of a step | state) of a Bernoulli, tree or probit emission, straight from its parameters.
double emission_probability(const Emission& emission, const std::vector<bool>& bits, Id state);

/// Whether a world agrees with what is known of a student.
bool agrees(const World& world, const EvidenceBatch& evidence, std::int64_t student);

/// A chain of the catalog with drawn parameters.
HiddenChain random_chain(const std::string& model, const std::string& emission, Id courses, Id periods, Id states,
                         bool with_left, RandomStream stream);

/// Evidence of every kind: periods unknown, open, closed, left; bits named or not.
EvidenceBatch random_evidence(const Schema& schema, std::int64_t students, bool with_left, RandomStream stream);

}  // namespace desirepath::test
