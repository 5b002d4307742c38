// Independent bits that remember: in each state every course has one probability for those who had not taken it before,
// and another for those who had. For chains, whose steps are single periods.
//
// A row has three bits a course (course_marks): taken for the first time, had before, taken again. All three are
// known, so that scores and counts are sums over what students took.
#pragma once

#include "desirepath/emissions/bernoulli.h"
#include "desirepath/emissions/course_marks.h"

namespace desirepath::inline emissions {

class CarriedBernoulliEmission : public Emission, public CarriesOver {
 public:
  /// first, again: courses by states, each in 0 .. 1. again is empty where nothing comes before.
  CarriedBernoulliEmission(RowMatrix first, RowMatrix again);
  static std::unique_ptr<CarriedBernoulliEmission> load(const ArchiveReader& archive, const std::string& prefix);

  const RowMatrix& first() const override { return first_; }
  /// What holds for those who had the course.
  const RowMatrix& again() const override { return again_.size() > 0 ? again_ : first_; }
  std::string_view family() const override { return BernoulliEmission::family_name; }
  Id state_count() const override { return static_cast<Id>(first_.cols()); }
  Id bit_count() const override { return marks().count(); }
  bool fits(const StepShape& shape) const override { return shape.periods == 1 && shape.courses == first_.rows(); }
  std::span<const LikelihoodKind> likelihood_kinds() const override;
  RowScores score(const StepRows& rows, LikelihoodKind kind, Precision precision,
                  const Executor& executor) const override;
  /// Rows with history know everything: there is nothing to be given.
  std::unique_ptr<GivenPattern> given(const UnknownBits& unknown) const override;
  /// Both probabilities, one set above the other.
  RowMatrix bit_probabilities() const override;
  std::int64_t parameter_count() const override { return first_.size() + again_.size(); }
  std::unique_ptr<Emission> reordered(std::span<const Id> order) const override;
  void save(ArchiveWriter& archive, const std::string& prefix) const override;
  std::int64_t byte_count() const override { return (first_.size() + again_.size()) * 8; }

 private:
  CourseMarks marks() const { return {static_cast<Id>(first_.rows())}; }

  RowMatrix first_, again_;
  LogScoreTable base_;   // one entry: nothing had, nothing taken
  LogScoreTable marks_;  // what each mark adds
};

class CarriedBernoulliLearner : public EmissionLearner, public ReadsHistory {
 public:
  explicit CarriedBernoulliLearner(double pseudocount) : pseudocount_(pseudocount) {}
  std::string_view family() const override { return BernoulliEmission::family_name; }
  /// How often a course was had before, and then taken again, by all students together.
  RowSurvey survey(const StepRows& rows) const override;
  std::unique_ptr<EmissionStep> first_step(const RowSurvey& survey, Id states,
                                           const RandomStream& stream) const override;
  std::unique_ptr<EmissionStep> step(const RowSurvey& survey, const Emission& previous) const override;
  std::optional<std::string> incompatibility(const Emission& emission) const override;
  double log_prior(const RowSurvey& survey, const Emission& emission) const override;
  bool needs_previous(const RowSurvey&) const override { return false; }
  double memory_estimate(Id bits, Id states, int threads) const override;
  double work_estimate(const StepRows& rows, Id states) const override;

 private:
  double pseudocount_;
};

}  // namespace desirepath::inline emissions
