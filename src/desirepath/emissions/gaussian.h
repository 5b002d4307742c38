// Gaussian on -1/+1: in each state the vector x = 2b - 1 of a step is multivariate normal (the paper's "biased"
// learning, 3.1.1 and 3.2), exactly and at the cost of the enrollments alone (taken_pairs.h).
//
// Two means: EM's own, for states and density; and one whose share of each course above zero is the state's true share
// (calibration of marginals), for marginals, samples and mass. docs/models/gaussian.md.
#pragma once

#include <mutex>
#include <string>

#include "desirepath/emissions/capabilities.h"
#include "desirepath/emissions/family.h"
#include "desirepath/emissions/gaussian_choices.h"

namespace desirepath::inline emissions {

/// A diagonal covariance is one without factors.
struct GaussianParameters {
  RowMatrix mean;                  // bits by states: EM's
  RowMatrix standard_mean;         // bits by states: the calibrated mean over the standard deviation
  std::vector<Matrix> cholesky;    // lower factors: one a state, or one for all (tied); else empty
  std::vector<RowMatrix> loading;  // bits by factors, one a state; empty where dense
  RowMatrix noise;                 // bits by states: variances beside the factors; empty where dense

  bool is_dense() const { return !cholesky.empty(); }
  bool is_tied() const { return cholesky.size() == 1 && mean.cols() > 1; }
  const Matrix& factor_of(Index state) const { return cholesky[is_tied() ? 0 : static_cast<std::size_t>(state)]; }
  /// Variance of every bit: bits by states.
  RowMatrix variances() const;
  /// Nothing, or what is wrong.
  std::optional<std::string> fault() const;
};

class DenseForm;
struct ThresholdedStates;
struct GaussianStepTask;

class GaussianEmission : public Emission,
                         public AnswersExactly,
                         public ScoresByFit,
                         public LatentlyGaussian,
                         public Continues {
 public:
  static constexpr std::string_view family_name = "gaussian";
  explicit GaussianEmission(GaussianParameters parameters);
  ~GaussianEmission() override;
  static std::unique_ptr<GaussianEmission> load(const ArchiveReader& archive, const std::string& prefix);

  const GaussianParameters& parameters() const { return parameters_; }
  Matrix covariance(Id state) const;
  /// The precisions of a dense covariance as scores; made once, when first asked for.
  const DenseForm& dense_form(const Executor& executor) const;

  /// The states thresholded at zero, with few factors (of a whole covariance: fitted); made once, when first asked for.
  const ThresholdedStates& thresholded(const Executor& executor) const;

  std::string_view family() const override { return family_name; }
  Id state_count() const override { return static_cast<Id>(parameters_.mean.cols()); }
  Id bit_count() const override { return static_cast<Id>(parameters_.mean.rows()); }
  std::span<const LikelihoodKind> likelihood_kinds() const override;
  LikelihoodKind training_kind() const override { return LikelihoodKind::density; }
  RowScores score(const StepRows& rows, LikelihoodKind kind, Precision precision,
                  const Executor& executor) const override;
  std::unique_ptr<GivenPattern> given(const UnknownBits& unknown) const override;
  std::unique_ptr<GivenPattern> given_exactly(const UnknownBits& unknown) const override;
  ScoreError score_error(const StepRows& rows, LikelihoodKind kind, Precision precision,
                         const Executor& executor) const override;
  RowMatrix bit_probabilities() const override;
  /// With a whole covariance alone.
  std::vector<std::vector<Index>> latent_groups() const override;
  LatentParameters latent_parameters(const std::vector<Index>& group) const override;
  /// The variances stay: only the density of -1/+1 uses them.
  std::unique_ptr<Emission> with_latent(const std::vector<LatentParameters>& groups) const override;
  /// As thresholded factors on nodes: what probit learning can start from. Factors of the states are turned to each
  /// other, for they mean the same only up to rotation.
  std::unique_ptr<Emission> continued(const SettingValues& settings, const Executor& executor) const override;
  std::int64_t parameter_count() const override;
  std::unique_ptr<Emission> reordered(std::span<const Id> order) const override;
  void save(ArchiveWriter& archive, const std::string& prefix) const override;
  std::int64_t byte_count() const override;

 private:
  /// Whether a mass is that of few factors fitted to whole covariances.
  bool is_fitted(LikelihoodKind kind, Precision precision) const;

  GaussianParameters parameters_;
  mutable std::once_flag form_made_, thresholded_made_;
  mutable std::unique_ptr<DenseForm> form_;
  mutable std::unique_ptr<ThresholdedStates> thresholded_;
};

struct GaussianOptions {
  /// None: full, or 8 factors where a step is too wide for that.
  std::optional<CovarianceChoice> covariance;
  /// Students of the pooled variance added to every state's covariance; none: by shape and size (see prior_students).
  std::optional<double> covariance_prior;
  double ridge = 0;  // added to the diagonal; above 0 the prior is 0
  Calibration calibrate = Calibration::marginals;
  double pseudocount = 0.1;  // of the calibrated shares

  static constexpr Id most_dense_bits = 2000;
  CovarianceChoice covariance_for(Id bits) const;
  /// Throws OptionError.
  void validate() const;
  void declare(SettingVisitor& visit) {
    visit(Setting("covariance", "full, tied, diagonal or factor:Q (full; factor:8 over 2,000 course-periods a step)")
              .taking("SHAPE"),
          covariance);
    visit(Setting("covariance-prior",
                  "students of the pooled variances added to every state's covariance (a full one: as many as bits)")
              .at_least(0),
          covariance_prior);
    visit(Setting("ridge", "added to the diagonal of every covariance instead of the prior").at_least(0), ridge);
    visit(Setting("calibrate", "set each state's shares of courses to the true ones after training"), calibrate);
    visit(Setting("pseudocount", "students added to each answer of the calibrated shares").at_least(0), pseudocount);
  }
};

class GaussianLearner : public EmissionLearner,
                        public FinishesAfterClimb,
                        public BalancesShares,
                        public LearnsLatents,
                        public HasLargeTerms {
 public:
  /// For steps of so many bits.
  GaussianLearner(const GaussianOptions& options, Id bits)
      : options_(options), covariance_(options.covariance_for(bits)) {
    options_.validate();
  }
  std::string_view family() const override { return GaussianEmission::family_name; }
  /// Students who know every bit and who take it.
  RowSurvey survey(const StepRows& rows) const override;
  std::unique_ptr<EmissionStep> first_step(const RowSurvey& survey, Id states,
                                           const RandomStream& stream) const override;
  std::unique_ptr<EmissionStep> step(const RowSurvey& survey, const Emission& previous) const override;
  std::unique_ptr<EmissionStep> finishing_step(const RowSurvey& survey, const Emission& emission) const override;
  std::unique_ptr<EmissionStep> balancing_step(const RowMatrix& state_shares, const Emission& emission) const override;
  std::optional<std::string> incompatibility(const Emission& emission) const override;
  bool learns_latents() const override { return covariance_.is_dense(); }
  double term_size(const Emission& emission) const override;
  double log_prior(const RowSurvey& survey, const Emission& emission) const override;
  bool exact_m_step() const override { return options_.ridge == 0; }
  bool needs_previous(const RowSurvey& survey) const override {
    return !survey.all_known() || covariance_.shape == CovarianceShape::factor;
  }
  double memory_estimate(Id bits, Id states, int threads) const override;
  double work_estimate(const StepRows& rows, Id states) const override;
  std::vector<EmissionNote> notes(const RowSurvey& survey, const Vector& state_weights) const override;

  /// The weight of the covariance prior, in students.
  double prior_students(Id bits) const;

 private:
  GaussianStepTask task_for(const RowSurvey& survey) const;
  /// Of calibrated shares: one of 0 or 1 has no finite mean.
  double least_pseudocount() const { return std::max(options_.pseudocount, 1e-6); }

  GaussianOptions options_;
  CovarianceChoice covariance_;
};

EmissionFamily gaussian_family();

/// Variance of every bit (as -1/+1) over all rows that know it, half a student added to each answer, so that it is
/// never zero: what the covariance prior draws towards.
Vector pooled_variance(const RowSurvey& survey);

}  // namespace desirepath::inline emissions
