// EM on hidden trees: expected counts, and the M step towards fixed centres, which keeps the objective from falling.
#include <algorithm>
#include <cassert>
#include <cmath>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/hidden_tree.h"
#include "desirepath/emissions/hidden_tree_passes.h"
#include "desirepath/emissions/hidden_tree_start.h"
#include "desirepath/emissions/kept_plans.h"

namespace desirepath::inline emissions {

namespace {

const HiddenTreeEmission& as_hidden_tree(const Emission& emission) {
  return dynamic_cast<const HiddenTreeEmission&>(emission);
}

/// The priors that depend on the number of students.
struct PriorSizes {
  double link, timing;
  PriorSizes(const HiddenTreeOptions& options, const RowSurvey& survey)
      : link(options.link_prior_for(survey.students())), timing(options.timing_prior_for(survey.students())) {}
};

/// The M step: shape and centres stay.
HiddenTreeParameters improve(const HiddenTreeParameters& before, const HiddenTreeCounts& counts,
                             const HiddenTreeOptions& options, const PriorSizes& prior) {
  const Index states = before.states();
  const double links = prior.link * static_cast<double>(states);
  HiddenTreeParameters next = before;
  const Eigen::RowVectorXd towards = links * before.centres.states.transpose();
  next.initial = (counts.root() + towards).transpose() / (counts.root().sum() + links);
  for (Index r = 0; r < next.transition.rows(); ++r) {
    if (before.parents[static_cast<std::size_t>(r / states)] < 0) continue;
    next.transition.row(r) = (counts.pairs().row(r) + towards) / (counts.pairs().row(r).sum() + links);
  }
  for (Index r = 0; r < next.timing.rows(); ++r)
    next.timing.row(r) = (counts.timing().row(r) + prior.timing * before.centres.timing.row(r / states)) /
                         (counts.timing().row(r).sum() + prior.timing);
  if (options.retakes == Retakes::never) return next;
  for (Index c = 0; c < before.courses(); ++c) {
    for (Id t = 1; t < before.periods(); ++t)
      next.retake(c, t) = (counts.retaken()(c, t) + options.retake_prior * before.centres.retake[t]) /
                          (counts.risk()(c, t) + options.retake_prior);
  }
  return next;
}

std::span<const double> column_of(const Matrix& weights, Index state) {
  return {weights.col(state).data(), static_cast<std::size_t>(weights.rows())};
}

}  // namespace

HiddenTreeLearner::HiddenTreeLearner(const HiddenTreeOptions& options, const StepShape& shape)
    : options_(options), shape_(shape) {
  if (shape.periods > most_timing_periods)
    throw OptionError(concat(setting_name("emission"), " hidden-tree: at most ", most_timing_periods,
                             " periods in a step; ", setting_name("keep-periods"), " or a chain of periods cut them"));
}

RowSurvey HiddenTreeLearner::survey(const StepRows& rows) const {
  RowSurvey survey(rows);
  survey.sums.add(RowMatrix::Constant(1, 1, static_cast<double>(timings(rows).dropped_retakes())));
  return survey;
}

namespace {

/// One tree for each state, each found in the same rounds.
class FirstTrees : public EmissionStep {
 public:
  FirstTrees(const HiddenTreeOptions& options, const StepShape& shape, Id states, const RandomStream& stream)
      : options_(options), shape_(shape), stream_(stream) {
    for (Id k = 0; k < states; ++k)
      grounds_.push_back(std::make_unique<TreeGround>(options, shape));
  }

  Statistics count(const StepRows& rows, const RowMatrix& responsibilities, const Executor& executor) const override {
    const TimingRows& timings = timings_of(rows, shape_, options_.retakes);
    const Matrix weights = responsibilities;  // each state's weights side by side
    Statistics sums;
    for (std::size_t k = 0; k < grounds_.size(); ++k) {
      const StartRows own(rows, timings, column_of(weights, static_cast<Index>(k)));
      Statistics found = starts_.empty() ? grounds_[k]->count(own, executor) : starts_[k]->count(own, executor);
      for (std::size_t i = 0; i < found.table_count(); ++i)
        sums.add(std::move(found.table(i)));
    }
    return sums;
  }

  StepResult maximise(Statistics sums, const Executor& executor) override {
    const std::size_t tables = sums.table_count() / grounds_.size();
    bool is_done = true;
    for (std::size_t k = 0; k < grounds_.size(); ++k) {
      Statistics own;
      for (std::size_t i = 0; i < tables; ++i)
        own.add(std::move(sums.table(k * tables + i)));
      is_done = (starts_.empty() ? grounds_[k]->take(own, executor) : starts_[k]->take(own)) && is_done;
    }
    if (!is_done) return StepResult::count_again();
    if (starts_.empty()) {
      for (std::size_t k = 0; k < grounds_.size(); ++k)
        starts_.push_back(std::make_unique<HiddenTreeStart>(*grounds_[k], options_, stream_.child(k)));
      return StepResult::count_again();
    }
    std::vector<std::shared_ptr<const HiddenTree>> trees;
    for (const auto& start : starts_)
      trees.push_back(std::make_shared<const HiddenTree>(start->take_parameters()));
    return {std::make_unique<HiddenTreeEmission>(std::move(trees), options_.retakes)};
  }

 private:
  HiddenTreeOptions options_;
  StepShape shape_;
  RandomStream stream_;
  std::vector<std::unique_ptr<TreeGround>> grounds_;
  std::vector<std::unique_ptr<HiddenTreeStart>> starts_;  // once the grounds are found
};

}  // namespace

std::unique_ptr<EmissionStep> HiddenTreeLearner::first_step(const RowSurvey&, Id states,
                                                            const RandomStream& stream) const {
  return std::make_unique<FirstTrees>(options_, shape_, states, stream);
}

CountsWhileScoring::Pass HiddenTreeLearner::score_and_count(const StepRows& rows, const Emission& emission,
                                                            const RowMatrix& responsibilities,
                                                            const Executor& executor) const {
  const auto& trees = as_hidden_tree(emission).trees();
  const Matrix weights = responsibilities;  // each state's weights side by side
  Pass pass{{RowMatrix(rows.row_count(), std::ssize(trees)), {}}, {}};
  for (std::size_t k = 0; k < trees.size(); ++k) {
    const auto plan = trees[k]->state_count() > 1 ? plans_of(timings(rows)).get(trees[k]->shape(), executor) : nullptr;
    const auto state = static_cast<Index>(k);
    const HiddenTreeExpectation found =
        HiddenTreePasses(timings(rows), plan).expect(*trees[k], column_of(weights, state), executor);
    pass.scores.log_likelihood.col(state) = found.log_probability;
    add_to_statistics(found.counts, pass.sums);
  }
  return pass;
}

std::unique_ptr<EmissionStep> HiddenTreeLearner::step(const RowSurvey& survey, const Emission& previous) const {
  const auto& before = as_hidden_tree(previous).trees();
  const auto count = [this, &previous](const StepRows& rows, const RowMatrix& responsibilities,
                                       const Executor& executor) {
    return score_and_count(rows, previous, responsibilities, executor).sums;
  };
  const auto maximise = [options = options_, prior = PriorSizes(options_, survey), &before](Statistics sums,
                                                                                            const Executor&) {
    std::vector<std::shared_ptr<const HiddenTree>> trees;
    for (const auto& tree : before)
      trees.push_back(std::make_shared<const HiddenTree>(
          improve(tree->parameters(), take_counts(sums, trees.size(), *tree), options, prior)));
    return std::make_unique<HiddenTreeEmission>(std::move(trees), options.retakes);
  };
  return one_round(count, maximise);
}

std::optional<std::string> HiddenTreeLearner::incompatibility(const Emission& emission) const {
  const auto* hidden = dynamic_cast<const HiddenTreeEmission*>(&emission);
  if (hidden == nullptr || !hidden->fits(shape_)) return "no hidden trees of these courses and traits";
  if (hidden->retakes() != options_.retakes) return concat("another ", setting_name("retakes"));
  for (const auto& tree : hidden->trees()) {
    if (options_.tree_states && tree->state_count() != *options_.tree_states)
      return concat(setting_name("tree-states"), " ", tree->state_count(), ", not ", *options_.tree_states);
  }
  return std::nullopt;
}

double HiddenTreeLearner::log_prior(const RowSurvey& survey, const Emission& emission) const {
  const PriorSizes prior(options_, survey);
  double total = 0;
  for (const auto& tree : as_hidden_tree(emission).trees()) {
    const HiddenTreeParameters& p = tree->parameters();
    const Index states = p.states();
    const Vector& q = p.centres.states;
    double links = q.dot(p.initial.array().log().matrix()), timings = 0, retakes = 0;
    for (Index r = 0; r < p.transition.rows(); ++r) {
      if (p.parents[static_cast<std::size_t>(r / states)] >= 0)
        links += p.transition.row(r).array().log().matrix().dot(q);
      const Id node = static_cast<Id>(r / states), values = p.values(node);
      timings += p.timing.row(r).head(values).array().log().matrix().dot(p.centres.timing.row(node).head(values));
    }
    for (Index c = 0; c < p.courses() && options_.retakes == Retakes::learned; ++c) {
      for (Id t = 1; t < p.periods(); ++t)
        retakes +=
            p.centres.retake[t] * std::log(p.retake(c, t)) + (1 - p.centres.retake[t]) * std::log1p(-p.retake(c, t));
    }
    total +=
        prior.link * static_cast<double>(states) * links + prior.timing * timings + options_.retake_prior * retakes;
  }
  return total;
}

namespace {

class HiddenTreeLeftOut : public LeftOut {
 public:
  HiddenTreeLeftOut(const TimingRows& timings, Statistics sums, std::int64_t rows, const HiddenTreeEmission& emission,
                    const HiddenTreeOptions& options, const PriorSizes& prior)
      : timings_(timings),
        emission_(emission),
        options_(options),
        prior_(prior),
        group_of_(static_cast<std::size_t>(rows)) {
    for (std::size_t k = 0; k < emission.trees().size(); ++k)
      counts_.push_back(take_counts(sums, k, *emission.trees()[k]));
    for (std::size_t g = 0; g < timings.groups().size(); ++g) {
      for (const std::int64_t row : timings.groups()[g].rows)
        group_of_[static_cast<std::size_t>(row)] = g;
    }
  }

  void score(std::span<const std::int32_t> rows, const RowMatrix& weights, RowMatrix& out) const override {
    out.resize(std::ssize(rows), std::ssize(counts_));
    for (std::size_t k = 0; k < counts_.size(); ++k) {
      const HiddenTree& tree = *emission_.trees()[k];
      HiddenTreeCounts without = counts_[k];
      for (std::size_t r = 0; r < rows.size(); ++r) {
        HiddenTreeCounts own = count_one_row(tree, timings_, group_of_[static_cast<std::size_t>(rows[r])], rows[r]);
        own *= weights(static_cast<Index>(r), static_cast<Index>(k));
        without -= own;
      }
      const HiddenTree next(improve(tree.parameters(), without, options_, prior_));
      for (std::size_t r = 0; r < rows.size(); ++r)
        out(static_cast<Index>(r), static_cast<Index>(k)) =
            score_one_row(next, timings_, group_of_[static_cast<std::size_t>(rows[r])], rows[r]);
    }
  }

 private:
  const TimingRows& timings_;
  const HiddenTreeEmission& emission_;
  HiddenTreeOptions options_;
  PriorSizes prior_;
  std::vector<std::size_t> group_of_;
  std::vector<HiddenTreeCounts> counts_;
};

}  // namespace

std::unique_ptr<LeftOut> HiddenTreeLearner::leave_out(const StepRows& rows, Statistics sums, const RowSurvey& survey,
                                                      const Emission& emission) const {
  return std::make_unique<HiddenTreeLeftOut>(timings(rows), std::move(sums), rows.row_count(), as_hidden_tree(emission),
                                             options_, PriorSizes(options_, survey));
}

double HiddenTreeLearner::memory_estimate(Id, Id states, int) const {
  const double h = options_.states_for(infinity),
               links = 8.0 * (shape_.courses + shape_.trait_count()) * h * std::ceil(h / 8) * 8;
  // The tree both ways round, old and new; sums side by side; a little for messages.
  return (states * 6 + std::clamp(256.0 * 1024 * 1024 / links, 2.0, 16.0) + 3) * links;
}

double HiddenTreeLearner::kept_bytes(const StepRows& rows) const {
  // A course taken is a number among the timings, half of one in the blocks, and three in each of two plans.
  return 30.0 * static_cast<double>(rows.all_taken().one_count());
}

double HiddenTreeLearner::work_estimate(const StepRows& rows, Id states) const {
  // A course taken changes itself and an ancestor or so of its own; four products of a table each.
  const double changed = 2.0 * static_cast<double>(rows.all_taken().one_count());
  const double h = options_.states_for(static_cast<double>(rows.row_count()));
  return states * changed * (2 * h * h + 60 * h);
}

std::vector<EmissionNote> HiddenTreeLearner::notes(const RowSurvey& survey, const Vector&) const {
  const auto dropped = static_cast<std::int64_t>(survey.sums.table(1)(0, 0));
  if (dropped == 0) return {};
  return {{-1, -1,
           concat(counted(dropped, "enrollment", "enrollments"),
                  " in a course already taken not read: here a course is taken once (", setting_name("retakes"),
                  " never; students with equal records count as one)")}};
}

}  // namespace desirepath::inline emissions
