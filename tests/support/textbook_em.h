// EM as a textbook writes it: dense, every path of states enumerated, nothing clever. The independent truth of
// training.
#pragma once

#include <vector>

#include "desirepath/models/chain_evidence.h"
#include "desirepath/transcripts/cohort.h"

namespace desirepath::test {

struct TextbookOptions {
  TimeStructure structure = TimeStructure::one_step;
  bool tree = false;  // else independent bits
  bool shared_tree = true;
  Id states = 2;
  double pseudocount = 0.1;
  double state_pseudocount = 0.1;
  int iterations = 20;
};

/// labels: (student, step) by states, given even where nothing is known: they count for the chain. Gives the
/// log-likelihood after each M step, the one from the labels first.
std::vector<double> textbook_trace(const Cohort& cohort, const RowMatrix& labels, const TextbookOptions& options);

}  // namespace desirepath::test
