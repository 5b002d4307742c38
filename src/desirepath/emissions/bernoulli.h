// Independent bits: in each state every course is taken with its own probability (the paper's naive Bayes, 2.1.1).
#pragma once

#include "desirepath/emissions/capabilities.h"
#include "desirepath/emissions/family.h"
#include "desirepath/emissions/log_score_table.h"

namespace desirepath::inline emissions {

class BernoulliEmission : public Emission, public Publishable {
 public:
  static constexpr std::string_view family_name = "bernoulli";
  /// probability: bits by states, each in 0 .. 1.
  explicit BernoulliEmission(RowMatrix probability);
  static std::unique_ptr<BernoulliEmission> load(const ArchiveReader& archive, const std::string& prefix);

  const RowMatrix& probability() const { return probability_; }
  std::string_view family() const override { return family_name; }
  Id state_count() const override { return static_cast<Id>(probability_.cols()); }
  Id bit_count() const override { return static_cast<Id>(probability_.rows()); }
  std::span<const LikelihoodKind> likelihood_kinds() const override;
  RowScores score(const StepRows& rows, LikelihoodKind kind, Precision precision,
                  const Executor& executor) const override;
  std::unique_ptr<GivenPattern> given(const UnknownBits& unknown) const override;
  RowMatrix bit_probabilities() const override { return probability_; }
  /// Cells (bit, state) of few takers, and of few who did not take the bit, take what such cells of their state have
  /// together, spread by what all students do.
  PublishedEmission published(const StepRows& rows, const StepWeights& weights, double least,
                              const Executor& executor) const override;
  std::int64_t parameter_count() const override { return probability_.size(); }
  std::unique_ptr<Emission> reordered(std::span<const Id> order) const override;
  void save(ArchiveWriter& archive, const std::string& prefix) const override;
  std::int64_t byte_count() const override { return probability_.size() * 8; }

 private:
  RowMatrix probability_;    // bits by states
  LogScoreTable taken_;      // log p - log(1-p)
  LogScoreTable base_;       // one entry: nothing taken, everything known
  LogScoreTable not_taken_;  // log(1-p)
};

struct BernoulliOptions {
  double pseudocount = 0.1;  // added to each of a bit's two cells
  bool carry_over = false;   // a course taken before has its own probability

  void declare(SettingVisitor& visit) {
    visit(Setting("carry-over", "a probability of its own once a course was taken before"), carry_over);
    visit(Setting("pseudocount",
                  "students added to each cell of a course's table: rare courses stay possible in every state")
              .at_least(0),
          pseudocount);
  }
};

class BernoulliLearner : public EmissionLearner, public LeavesRowsOut {
 public:
  explicit BernoulliLearner(const BernoulliOptions& options) : options_(options) {}
  std::string_view family() const override { return BernoulliEmission::family_name; }
  std::unique_ptr<EmissionStep> first_step(const RowSurvey& survey, Id states,
                                           const RandomStream& stream) const override;
  std::unique_ptr<EmissionStep> step(const RowSurvey& survey, const Emission& previous) const override;
  std::unique_ptr<LeftOut> leave_out(const StepRows& rows, Statistics sums, const RowSurvey& survey,
                                     const Emission& emission) const override;
  std::optional<std::string> incompatibility(const Emission& emission) const override;
  double log_prior(const RowSurvey& survey, const Emission& emission) const override;
  bool needs_previous(const RowSurvey&) const override { return false; }
  double memory_estimate(Id bits, Id states, int threads) const override;
  double work_estimate(const StepRows& rows, Id states) const override;

 private:
  BernoulliOptions options_;
};

EmissionFamily bernoulli_family();

/// Log-likelihood of each row and state: the base of the row's pattern and what every bit taken adds to it.
RowScores summed_scores(const StepRows& rows, const LogScoreTable& base, const LogScoreTable& taken,
                        const Executor& executor);

/// Expected weight of the rows of each pattern: patterns by states.
RowMatrix weights_by_pattern(const StepRows& rows, const RowMatrix& responsibilities, const Executor& executor);

/// Expected weight of each bit over the rows that know it: taken and known, bits by states.
struct BitCounts {
  RowMatrix taken;
  RowMatrix known;
};
BitCounts count_bits(const StepRows& rows, const RowMatrix& responsibilities, const Executor& executor);
/// Shares (taken + a) / (known + 2a); even odds where nothing is known: bits by states.
RowMatrix bernoulli_shares(BitCounts counts, double a);
/// The same as statistics and back.
Statistics to_statistics(BitCounts counts);
BitCounts to_bit_counts(Statistics sums);

}  // namespace desirepath::inline emissions
