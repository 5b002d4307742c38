// The thresholded Gaussian with few factors, Sigma = Lambda Lambda' + I: a course is taken where a normal variable
// exceeds zero, and the factors z make courses depend on each other (the paper's 2.1.2), learned on the probability of
// the enrollments itself.
//
// P(bit j = 1 | z, state) = Phi(a_j + lambda_j . z), z ~ N(0, I) on nodes that all students and states share
// (docs/models/probit.md): a finite mixture, so probabilities sum to one and every answer is exact on the nodes.
#pragma once

#include "desirepath/emissions/capabilities.h"
#include "desirepath/emissions/family.h"
#include "desirepath/emissions/gaussian_choices.h"
#include "desirepath/emissions/probit_nodes.h"
#include "desirepath/emissions/probit_parameters.h"

namespace desirepath::inline emissions {

/// The factors' distribution: quasi-random points with weights, mean 0 and covariance I exactly.
NodeSet factor_nodes(Index factors, Index nodes);

struct BitCounts;

class ProbitEmission : public ProbitParameters {
 public:
  static constexpr std::string_view family_name = "probit";
  /// intercepts: bits by states; slopes: (state, bit) by factors. Throws ArchiveError where they do not fit.
  ProbitEmission(const RowMatrix& intercepts, const RowMatrix& slopes, const NodeSet& nodes);
  explicit ProbitEmission(std::vector<NodeTable> states);
  /// A ProbitGaussianEmission where the file holds no nodes.
  static std::unique_ptr<Emission> load(const ArchiveReader& archive, const std::string& prefix);

  const std::vector<NodeTable>& states() const { return states_; }
  const NodeSet& nodes() const { return states_.front().nodes(); }

  RowScores score(const StepRows& rows, LikelihoodKind kind, Precision precision,
                  const Executor& executor) const override;
  std::unique_ptr<GivenPattern> given(const UnknownBits& unknown) const override;
  RowMatrix bit_probabilities() const override;
  std::unique_ptr<Emission> reordered(std::span<const Id> order) const override;
  void save(ArchiveWriter& archive, const std::string& prefix) const override;

 private:
  std::vector<NodeTable> states_;
};

struct ProbitOptions {
  CovarianceChoice covariance = {CovarianceShape::factor, 4};
  Id nodes = 0;                     // a multiple of 32; 0: default_nodes
  double pseudocount = 0.1;         // students who take a course, and as many who do not, spread over the nodes
  double slope_variance = 0.3;      // of the normal prior of each slope
  double slope_correlation = 0.95;  // in that prior, of a course's slopes in two states
  Calibration calibrate = Calibration::marginals;

  static constexpr Id most_factors = 16;
  /// With more the finished emission integrates around each row (ProbitGaussianEmission).
  static constexpr Id most_node_factors = 6;
  /// As many as the factors need: measured, docs/models/probit.md.
  static Id default_nodes(Id factors);
  Id factors() const { return covariance.factors; }
  /// Throws OptionError.
  void validate() const;
  void declare(SettingVisitor& visit) {
    visit(Setting("covariance", "factor:Q, 1 to 16 factors").taking("SHAPE"), covariance);
    visit(Setting("nodes", "nodes that stand for the factors, a multiple of 32 (0: by factors)")
              .at_least(0)
              .at_most(65536),
          nodes);
    visit(
        Setting("pseudocount", "students who take a course, and as many who do not, spread over the nodes").at_least(0),
        pseudocount);
    visit(Setting("slope-variance", "prior variance of a course's slopes").above(0), slope_variance);
    visit(Setting("slope-correlation", "prior correlation of a course's slopes between states, under 1")
              .at_least(0)
              .at_most(1),
          slope_correlation);
    visit(Setting("calibrate", "set each state's shares of courses to the true ones after training"), calibrate);
  }
};

class ProbitLearner : public EmissionLearner, public FinishesAfterClimb, public ReopensEmissions {
 public:
  explicit ProbitLearner(const ProbitOptions& options);
  std::string_view family() const override { return ProbitEmission::family_name; }
  /// From tetrachoric correlations.
  std::unique_ptr<EmissionStep> first_step(const RowSurvey& survey, Id states,
                                           const RandomStream& stream) const override;
  std::unique_ptr<EmissionStep> step(const RowSurvey& survey, const Emission& previous) const override;
  /// The intercepts with which every state's marginals are its smoothed shares; beyond most_node_factors also the
  /// step from the nodes to the normal distribution.
  std::unique_ptr<EmissionStep> finishing_step(const RowSurvey& survey, const Emission& emission) const override;
  std::unique_ptr<Emission> reopened(const Emission& emission) const override;
  std::optional<std::string> incompatibility(const Emission& emission) const override;
  double log_prior(const RowSurvey& survey, const Emission& emission) const override;
  /// The posterior of the nodes is the previous emission's.
  bool needs_previous(const RowSurvey&) const override { return true; }
  double memory_estimate(Id bits, Id states, int threads) const override;
  double work_estimate(const StepRows& rows, Id states) const override;

 private:
  Id factors_of(Id bits) const { return std::min(options_.factors(), bits); }
  std::unique_ptr<Emission> finished(const ProbitEmission& probit, const BitCounts& counts,
                                     const Executor& executor) const;

  ProbitOptions options_;
};

EmissionFamily probit_family();

/// Expected students at each node: of those who take a bit, and of those who do not.
struct NodeBitCounts {
  RowMatrix taken;      // bits by nodes
  RowMatrix not_taken;  // bits by nodes
};
/// Of rows with these weights (summed over equal rows, in this state).
NodeBitCounts count_at_nodes(const StepRows& rows, const Vector& weights, const NodeTable& table,
                             const Executor& executor);

}  // namespace desirepath::inline emissions
