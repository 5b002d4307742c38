// Why a probability is what it is: how much each thing known moves it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "desirepath/models/model.h"

namespace desirepath::inline queries {

/// A student's probability of a bit.
struct AskedBit {
  std::int64_t student;
  Id bit;
};

struct Reason {
  std::size_t asked = 0;     // into those asked about
  std::optional<Id> period;  // none: it is the trait
  std::optional<Id> bit;     // a course taken; none: everything known not to be taken in the period
  std::optional<Id> trait;   // an attribute or outcome
  double probability = 0, without = 0;
  /// Of the logarithm of the odds: what is known of this is forgotten, everything else stays.
  double change() const;
};

/// Of each of those asked about the `most` that move it furthest, strongest first. asked: in order of students. Throws
/// OptionError where the model's answers are sampled.
std::vector<Reason> find_reasons(const Model& model, const EvidenceBatch& evidence, std::span<const AskedBit> asked,
                                 Id most, Conditioning conditioning, const Executor& executor);

}  // namespace desirepath::inline queries
