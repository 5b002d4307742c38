// Hidden course trees as emissions: in each state a tree of hidden variables, one for each course and trait of
// students, over the timings of courses and the values of traits.
//
// Exact for any evidence, and nothing is Markov between the periods of a step: a course taken stays taken.
// docs/models/hidden_tree.md.
#pragma once

#include <map>
#include <mutex>
#include <optional>

#include "desirepath/emissions/baseline_messages.h"
#include "desirepath/emissions/capabilities.h"
#include "desirepath/emissions/family.h"

namespace desirepath::inline emissions {

class HiddenTreeEmission : public Emission,
                           public TiesCourses,
                           public KnowsRetakes,
                           public Publishable,
                           public FormsCommittees {
 public:
  static constexpr std::string_view family_name = "hidden-tree";
  /// One tree a state, all of the step's shape.
  HiddenTreeEmission(std::vector<std::shared_ptr<const HiddenTree>> trees, Retakes retakes);
  static std::unique_ptr<HiddenTreeEmission> load(const ArchiveReader& archive, const std::string& prefix);

  const std::vector<std::shared_ptr<const HiddenTree>>& trees() const { return trees_; }
  Retakes retakes() const { return retakes_; }
  const StepShape& shape() const { return shape_; }
  /// Messages with nothing taken, of a state; made once for each pattern of periods.
  const BaselineMessages& baseline(std::size_t state, TimingCode code) const;

  std::string_view family() const override { return family_name; }
  Id state_count() const override { return static_cast<Id>(trees_.size()); }
  Id bit_count() const override { return shape_.bits(); }
  bool fits(const StepShape& shape) const override { return shape == shape_; }
  std::span<const LikelihoodKind> likelihood_kinds() const override;
  RowScores score(const StepRows& rows, LikelihoodKind kind, Precision precision,
                  const Executor& executor) const override;
  std::unique_ptr<GivenPattern> given(const UnknownBits& unknown) const override;
  RowMatrix bit_probabilities() const override;
  PublishedEmission published(const StepRows& rows, const StepWeights& weights, double least,
                              const Executor& executor) const override;
  /// The edges of the trees: information and share over all of them.
  std::vector<CourseLink> links() const override;
  const RowMatrix& retakes(Id state) const override {
    return trees_[static_cast<std::size_t>(state)]->parameters().retake;
  }
  Id hidden_values() const override { return trees_.front()->state_count(); }
  std::unique_ptr<Emission> joined(std::span<const std::shared_ptr<const Emission>> all) const override;
  std::int64_t parameter_count() const override;
  std::unique_ptr<Emission> reordered(std::span<const Id> order) const override;
  void save(ArchiveWriter& archive, const std::string& prefix) const override;
  std::int64_t byte_count() const override;

 private:
  std::vector<std::shared_ptr<const HiddenTree>> trees_;
  StepShape shape_;
  Retakes retakes_;
  mutable std::mutex baseline_mutex_;
  mutable std::map<std::pair<std::size_t, TimingCode>, std::unique_ptr<BaselineMessages>> baseline_;
};

struct HiddenTreeOptions {
  std::optional<Id> tree_states;  // none: by the number of students
  Retakes retakes = Retakes::learned;
  std::optional<double> link_prior;    // a: a H students at the mean states in every row of a transition
  std::optional<double> timing_prior;  // c: students at the pooled timings in every state of a course
  double retake_prior = 5;             // s: students at the period's mean for every course
  double tree_noise = 0;               // of the information the shape is made of: times exp(noise * normal)

  /// Chosen by measurement, docs/models/hidden_tree.md.
  Id states_for(double students) const { return tree_states.value_or(students < 600 ? 8 : students < 3000 ? 16 : 32); }
  double link_prior_for(double students) const { return link_prior.value_or(students < 600 ? 0.4 : 0.05); }
  double timing_prior_for(double students) const { return timing_prior.value_or(students < 600 ? 3.5 : 1); }

  void declare(SettingVisitor& visit) {
    visit(Setting("tree-states",
                  "values of the hidden variable behind every course (8; 16 from 600 students, 32 from 3,000)")
              .at_least(1)
              .at_most(512),
          tree_states);
    visit(Setting("retakes", "whether a course can be taken again, or later enrollments in it are not read"), retakes);
    visit(Setting("link-prior", "students added to each hidden link, for each of its values (0.4; 0.05 from 600)")
              .above(0),
          link_prior);
    visit(Setting("timing-prior",
                  "students at the pooled timings added to each value of a course's hidden variable (3.5; 1 from 600)")
              .above(0),
          timing_prior);
    visit(Setting("retake-prior", "students at the mean retakes of a period added to each course").above(0),
          retake_prior);
    visit(Setting("tree-noise", "how far the tree is drawn away from the most informative one").at_least(0),
          tree_noise);
  }
};

class HiddenTreeLearner : public EmissionLearner, public LeavesRowsOut, public CountsWhileScoring {
 public:
  HiddenTreeLearner(const HiddenTreeOptions& options, const StepShape& shape);
  std::string_view family() const override { return HiddenTreeEmission::family_name; }
  /// Retakes that are not read.
  RowSurvey survey(const StepRows& rows) const override;
  std::unique_ptr<EmissionStep> first_step(const RowSurvey& survey, Id states,
                                           const RandomStream& stream) const override;
  std::unique_ptr<EmissionStep> step(const RowSurvey& survey, const Emission& previous) const override;
  Pass score_and_count(const StepRows& rows, const Emission& emission, const RowMatrix& responsibilities,
                       const Executor& executor) const override;
  std::unique_ptr<LeftOut> leave_out(const StepRows& rows, Statistics sums, const RowSurvey& survey,
                                     const Emission& emission) const override;
  std::optional<std::string> incompatibility(const Emission& emission) const override;
  double log_prior(const RowSurvey& survey, const Emission& emission) const override;
  bool needs_previous(const RowSurvey&) const override { return true; }
  double memory_estimate(Id bits, Id states, int threads) const override;
  double kept_bytes(const StepRows& rows) const override;
  double work_estimate(const StepRows& rows, Id states) const override;
  std::vector<EmissionNote> notes(const RowSurvey& survey, const Vector& state_weights) const override;

 private:
  const TimingRows& timings(const StepRows& rows) const { return timings_of(rows, shape_, options_.retakes); }
  HiddenTreeOptions options_;
  StepShape shape_;
};

EmissionFamily hidden_tree_family();

}  // namespace desirepath::inline emissions
