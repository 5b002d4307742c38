// What the conformance tests know of each family of emissions, written independently of the library's own scoring. A
// new family is one more entry.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "desirepath/core/random_stream.h"
#include "desirepath/emissions/family.h"

namespace desirepath::test {

struct EmissionTruth {
  std::string family;
  std::string variant;  // of the same family: "per-state"; may be empty
  /// An emission with drawn parameters.
  std::function<std::unique_ptr<Emission>(const StepShape&, Id states, RandomStream&)> draw;
  /// p(bits of a step | state) straight from the parameters.
  std::function<double(const Emission&, const std::vector<bool>& bits, Id state)> probability;
};

/// Of every family that is a mass over binary rows (the Gaussian is a density: conformance/gaussian_test.cpp).
std::span<const EmissionTruth> emission_truths();

}  // namespace desirepath::test
