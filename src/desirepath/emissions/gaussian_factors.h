// Gaussian steps with few factors, S = Lambda Lambda' + D (or none: diagonal): everything is linear in enrollments.
#pragma once

#include "desirepath/emissions/gaussian.h"

namespace desirepath::inline emissions {

/// The factors z of one state given what a pattern knows, z | x ~ N(root v, root root') with v = origin + the steps of
/// the bits taken; and the log-density of a row: log_base + the singles of the bits taken + v'v / 2.
struct FactorsGivenRow {
  Matrix root;     // factors by factors
  Vector origin;   // v when nothing is taken
  RowMatrix step;  // bits by factors: what a taken bit adds to v
  Vector single;   // by bit
  double log_base = 0;
  FactorsGivenRow(const GaussianParameters& parameters, Index state, const UnknownBits& unknown);
};

RowMatrix factor_scores(const GaussianEmission& emission, const StepRows& rows, const Executor& executor);
std::unique_ptr<GivenPattern> factor_given(const GaussianEmission& emission, const UnknownBits& unknown);

}  // namespace desirepath::inline emissions
