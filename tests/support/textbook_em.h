// EM as a textbook writes it: dense, every path of states enumerated, nothing clever. The independent truth of
// training.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "desirepath/core/random_stream.h"
#include "desirepath/models/chain_evidence.h"
#include "desirepath/transcripts/cohort.h"

namespace desirepath::test {

/// Dense rows of a step: 0/1, and 1 where known.
struct DenseRows {
  Matrix value, known;  // students by bits
};

/// An emission family by the book, for one pool of steps.
class TextbookFamily {
 public:
  virtual ~TextbookFamily() = default;
  /// M step: all rows of the pool, weights rows by states.
  virtual void maximise(const DenseRows& rows, const Matrix& weight) = 0;
  virtual double log_emission(const Eigen::RowVectorXd& value, const Eigen::RowVectorXd& known, Id state) const = 0;
};

struct TextbookOptions {
  TimeStructure structure = TimeStructure::one_step;
  std::string family = "bernoulli";  // bernoulli, tree, gaussian
  bool shared_tree = true;
  std::string covariance = "full";  // full, tied, diagonal, factor:2
  double covariance_prior = 0;
  double ridge = 0;
  Id states = 2;
  double pseudocount = 0.1;
  double state_pseudocount = 0.1;
  int iterations = 20;
};

std::unique_ptr<TextbookFamily> discrete_family(const TextbookOptions& options);
/// stream: what the first loadings are drawn from.
std::unique_ptr<TextbookFamily> gaussian_family(const TextbookOptions& options, const RandomStream& stream);

/// labels: (student, step) by states, given even where nothing is known: they count for the chain. Gives the
/// log-likelihood after each M step, the one from the labels first.
std::vector<double> textbook_trace(const Cohort& cohort, const RowMatrix& labels, const TextbookOptions& options);

}  // namespace desirepath::test
