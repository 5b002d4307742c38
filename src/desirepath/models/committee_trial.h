// Which priors, how many hidden values and how many iterations suit the students: tried with one tree before a
// committee is trained, on students set aside. docs/models/hidden_tree.md.
//
// Trees are dropped one after the other: all run a few iterations, the better half goes on to twice as many, and what
// is left at last runs to its end. This is the schedule alone, a function of what trees have shown so far: whoever
// trains them asks what is next and hands in what came of it, so a trial can be taken up between any two of them.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "desirepath/models/chain_parameters.h"
#include "desirepath/models/trial_report.h"

namespace desirepath::inline models {

/// Whether priors and hidden values that are not given are tried, or are those of the number of students.
enum class Trial { on, off };
inline std::span<const std::string_view> value_names(Trial) {
  static constexpr std::array<std::string_view, 2> names = {"on", "off"};
  return names;
}

struct TrialTask {
  TrialValues usual;  // given, or by the number of students
  bool varies_link = false, varies_timing = false, varies_states = false;
  Id trees = 1;                 // of the committee
  double share = 1;             // of the committee's students that a tree of the trial learns from
  bool members_judged = false;  // each member stops by the same judges, some iterations after its best
  int most_iterations = 200;
  bool may_go_on = false;      // past these, while the judges gain
  std::vector<double> judges;  // the weight of each

  bool varies() const { return varies_link || varies_timing || varies_states; }
};

/// One tree that is to be trained next.
struct TrialStep {
  int tree = 0;  // -1: only where trees with these hidden values begin
  TrialValues values;
  int iterations = 0;
  const ChainParameters* from = nullptr;  // null: from its own start
};

/// What came of it.
struct TrialPart {
  int iterations = 0, best_iteration = 0;
  bool has_ended = false;  // by itself, before its iterations were over
  Vector scores;           // log-likelihood of every judge at the best iteration
};

class CommitteeTrial {
 public:
  explicit CommitteeTrial(TrialTask task);

  /// What is to be trained before anything else is decided, in any order; empty: the trial is over. Refers to
  /// parameters that stay until the last of these is taken.
  std::span<const TrialStep> next() const { return next_; }
  /// What came of one of them. best: the parameters at its best iteration.
  void take(const TrialStep& step, TrialPart part, ChainParameters best);

  /// After the end. At most these iterations suit every tree of the committee.
  int iterations() const { return iterations_; }
  /// Nothing where there was only one to choose from.
  std::optional<TrialReport> report() const;
  /// Iterations times what one takes, of the trial and of a committee with the usual values.
  double work() const { return work_; }
  double committee_work() const { return committee_work_; }

  nlohmann::json save(ArchiveWriter& archive) const;
  /// Back to where save() was called. Throws OptionError where it was another trial, ArchiveError where it is none.
  void load(const ArchiveReader& archive, const nlohmann::json& header, const StepLayout& layout, const Schema& schema,
            const EmissionFamily& family);

 private:
  struct Start {
    Id states = 0;
    ChainParameters parameters;
  };
  struct Tree {
    TrialValues values;
    std::vector<TrialPart> parts;
    std::optional<ChainParameters> best;  // while it may go on
    // As far as the plan has followed the parts, and which of them counts: the last, unless it was not worth it.
    std::size_t followed = 0, counted = 0;
    int run = 0, best_iteration = 0;
    bool has_ended = false, may_go_on = false;
    const Vector& scores() const { return parts[counted - 1].scores; }
  };

  /// Follows the trial from its beginning to where something is to be trained.
  void plan();
  bool follow();
  bool try_others(const std::vector<TrialValues>& others);
  bool find_iterations();
  /// False where a part is missing: it is then next.
  bool train(std::size_t number, int iterations);
  std::size_t number_of(const TrialValues& values);
  int first_round(std::span<const TrialValues> others) const;
  double work_of(const TrialValues& values, int iterations) const;
  double mean(const Vector& scores) const;
  TrialGain gain(const Vector& scores, const Vector& over) const;
  std::vector<TrialValues> other_priors() const;
  std::vector<TrialValues> other_states() const;

  TrialTask task_;
  std::vector<Start> starts_;
  std::vector<Tree> trees_;
  // What the plan came to.
  std::vector<TrialStep> next_;
  std::size_t chosen_ = 0;
  int iterations_ = 0, limit_ = 0;
  double work_ = 0, committee_work_ = 0;
};

}  // namespace desirepath::inline models
