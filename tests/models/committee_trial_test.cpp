#include "desirepath/models/committee_trial.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/example_cohorts.h"
#include "support/fits.h"
#include "support/stopped_fits.h"
#include "support/support.h"

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::committee_trial_test {
namespace {

constexpr int judges = 100;

TrialTask task_for(Id trees) {
  TrialTask task;
  task.usual = {0.05, 1, 16};
  task.varies_link = task.varies_timing = task.varies_states = true;
  task.trees = trees;
  task.share = 0.9;
  task.judges.assign(judges, 1);
  return task;
}

/// What trees of these values are like: the mean of the judges after so many iterations, the best at `peak`.
struct Kind {
  double mean = -10;
  int peak = 30;
  double after(int iterations) const { return mean - 4.0 * std::abs(iterations - peak) / (iterations + peak); }
};

struct Trial {
  CommitteeTrial trial;
  std::vector<TrialStep> steps;
};

/// Trains nothing: judges say what a kind has for its values, each with noise of its own that does not change.
Trial run(const TrialTask& task, const std::function<Kind(const TrialValues&)>& kind_of, double noise = 0.1,
          std::uint64_t seed = 1) {
  constexpr int patience = 20;
  Trial run{CommitteeTrial(task), {}};
  std::map<int, int> reached;
  while (!run.trial.next().empty()) {
    const TrialStep step = run.trial.next().front();
    run.steps.push_back(step);
    EXPECT_LT(run.steps.size(), 100U);
    if (step.tree < 0) {
      run.trial.take(step, {}, {});
      continue;
    }
    const Kind kind = kind_of(step.values);
    int& before = reached[step.tree];
    TrialPart part;
    part.iterations = std::min(step.iterations, std::max(0, kind.peak + patience - before));
    part.has_ended = part.iterations < step.iterations;
    part.best_iteration = std::clamp(kind.peak - before, 0, part.iterations);
    before += part.best_iteration;
    part.scores.resize(judges);
    RandomStream draws = RandomStream(seed).child(static_cast<std::uint64_t>(step.tree));
    for (double& score : part.scores)
      score = kind.after(before) + noise * draws.normal();
    run.trial.take(step, std::move(part), {});
  }
  return run;
}

bool is(const TrialValues& values, double link, double timing) {
  return std::abs(values.link_prior - link) < 1e-12 && std::abs(values.timing_prior - timing) < 1e-12;
}

TEST(CommitteeTrial, ChoosesWhatIsClearlyBetter) {
  const Trial found = run(task_for(16), [](const TrialValues& values) {
    Kind kind;
    if (is(values, 0.01, 0.3)) kind = {-9, 40};
    if (is(values, 0.01, 0.3) && values.tree_states == 32) kind = {-8.5, 35};
    return kind;
  });
  const auto report = found.trial.report();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->values(), (TrialValues{0.01, 0.3, 32}));
  EXPECT_EQ(found.trial.iterations(), 35);
  EXPECT_EQ(report->students, judges);
  EXPECT_NEAR(report->trees[report->chosen].gain.mean, 1.5, 0.1);
  EXPECT_NEAR(report->trees[report->chosen].gain.error, 0.1 * std::sqrt(2.0 / judges), 0.005);
  EXPECT_EQ(std::get<double>(report->settings().at("link-prior")), 0.01);
  EXPECT_FALSE(report->settings().contains("iterations"));
}

TEST(CommitteeTrial, KeepsTheDefaultWhereOthersAreBetterByChance) {
  int moved = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Trial found = run(
        task_for(16), [](const TrialValues&) { return Kind(); }, 1, seed);
    moved += found.trial.report()->chosen != 0 ? 1 : 0;
  }
  // Two choices, each wrong one time in twenty at most: 30 of 300, and three standard errors.
  EXPECT_LT(moved, 46);
  EXPECT_GT(moved, 0);
}

TEST(CommitteeTrial, CostsNoMoreThanTheCommittee) {
  for (const Id trees : {1, 2, 3, 4, 8, 16, 50}) {
    for (const int peak : {2, 10, 30, 90, 300}) {
      for (const bool members_judged : {false, true}) {
        TrialTask task = task_for(trees);
        task.members_judged = members_judged;
        task.share = members_judged ? 1 : 0.9;
        // Others are better and take longer.
        const Trial found = run(task, [&](const TrialValues& values) {
          return values == TrialValues{0.05, 1, 16} ? Kind{-10, peak} : Kind{-9 + values.tree_states * 0.01, 2 * peak};
        });
        const bool has_tried = found.trial.report().has_value();
        const std::string what = concat(trees, " trees, ", peak, " iterations");
        if (has_tried) {
          // With the default settings, or with those that were chosen.
          const auto report = found.trial.report();
          const double states = report->values().tree_states,
                       chosen = trees * found.trial.iterations() * states * (states + 30);
          EXPECT_LE(found.trial.work(), std::max(found.trial.committee_work(), chosen)) << what;
        }
        if (trees == 1 || (trees >= 8 && peak >= 10)) {
          EXPECT_EQ(has_tried, trees > 1) << what;
        }
      }
    }
  }
}

TEST(CommitteeTrial, NeverVariesWhatIsGiven) {
  const auto any = [](const TrialValues&) { return Kind(); };
  TrialTask task = task_for(16);
  task.varies_link = false;
  for (const TrialStep& step : run(task, any).steps)
    EXPECT_EQ(step.values.link_prior, 0.05);
  task = task_for(16);
  task.varies_timing = task.varies_states = false;
  const Trial found = run(task, any);
  EXPECT_GT(found.trial.report()->trees.size(), 2U);
  for (const TrialStep& step : found.steps) {
    EXPECT_EQ(step.values.timing_prior, 1);
    EXPECT_EQ(step.values.tree_states, 16);
  }
  task.varies_link = false;
  const Trial alone = run(task, any);
  EXPECT_FALSE(alone.trial.report());
  EXPECT_EQ(alone.trial.iterations(), 30);
  for (const TrialStep& step : alone.steps)
    EXPECT_LE(step.tree, 0);
}

TEST(CommitteeTrial, GoesPastTheLimitWhileItGains) {
  TrialTask task = task_for(16);
  task.varies_link = task.varies_timing = task.varies_states = false;
  const auto slow = [](const TrialValues&) { return Kind{-10, 430}; };
  EXPECT_EQ(run(task, slow).trial.iterations(), 200);
  task.may_go_on = true;
  EXPECT_EQ(run(task, slow).trial.iterations(), 430);
  // A gain too little to be worth it.
  CommitteeTrial trial(task);
  int before = 0;
  while (!trial.next().empty()) {
    const TrialStep step = trial.next().front();
    before += step.iterations;
    trial.take(step, {step.iterations, step.iterations, false, Vector::Constant(judges, -10 + 1e-6 * before)}, {});
  }
  EXPECT_EQ(trial.iterations(), 200);
}

/// Groups of courses, each rather taken by those who took the one before in its group.
struct Groups {
  Id groups, size;
  double first, kept, begun;  // P(the first of a group), P(the next | taken), P(the next | not taken)
  Cohort students(int count, std::uint64_t seed) const {
    test::CohortMaker made(groups * size, 1);
    RandomStream stream(seed);
    for (int s = 0; s < count; ++s) {
      made.add_student();
      for (Id g = 0; g < groups; ++g) {
        bool taken = stream.bernoulli(first);
        for (Id i = 0; i < size; ++i) {
          if (i > 0) taken = stream.bernoulli(taken ? kept : begun);
          if (taken) made.take(0, g * size + i);
        }
      }
    }
    return made.build();
  }
};
/// Sparse, and links close to certainty: what the default priors add is more than what students say.
constexpr Groups certain{8, 12, 0.05, 0.995, 0.0003};
/// Links as loose as the default takes them to be.
constexpr Groups loose{6, 6, 0.3, 0.75, 0.08};

double mean_score(const FitResult& fit, const Cohort& cohort) {
  return fit.model->log_likelihood(EvidenceBatch::of(cohort), LikelihoodKind::mass, Executor(2)).value.col(0).mean();
}

TEST(CommitteeTrial, LeavesADefaultThatIsWrong) {
  const Cohort cohort = certain.students(600, 1), others = certain.students(2000, 2);
  FitOptions options("hct");
  options.set("trees", 8).set("load", "none");  // fitted loads would mend much of what wrong priors do
  FitResult tried = test::fit(cohort, options);
  ASSERT_TRUE(tried.trial);
  EXPECT_GT(tried.trial->chosen, 0U);
  EXPECT_LT(tried.trial->values().timing_prior, 1);
  const FitOptions without = FitOptions(options).set("trial", "off");
  const FitResult usual = test::fit(cohort, without);
  EXPECT_FALSE(usual.trial);
  EXPECT_GT(mean_score(tried, others), mean_score(usual, others) + 0.1);

  // What the record says holds for whoever trains alike, and they need no trial.
  const TrainingRecord record = test::record_of(cohort, options, tried);
  const FitOptions& alike = record.trained_with();
  const SettingValues chosen = tried.trial->values().settings();
  for (const auto& [name, value] : chosen)
    EXPECT_EQ(alike.values().at(name), value) << name;
  FitResult again = test::fit(cohort, alike);
  EXPECT_FALSE(again.trial);
  EXPECT_NEAR(mean_score(again, others), mean_score(tried, others), 0.05);

  // Students are left out by the priors their model was trained with.
  const TrainingRecord by_values = test::record_of(cohort, alike, again),
                       by_default = test::record_of(cohort, without, usual);
  const Executor executor(2);
  StoredModel stored{std::move(again.model), record};
  const Vector left_out = leave_one_out(stored, cohort, executor);
  stored.training = by_values;
  EXPECT_EQ(leave_one_out(stored, cohort, executor), left_out);
  stored.training = by_default;
  EXPECT_GT((leave_one_out(stored, cohort, executor) - left_out).cwiseAbs().maxCoeff(), 0.01);

  // Who goes on from it has them too, but for what is given.
  FitOptions on("hct");
  keep_tried(record, on.set("link-prior", 0.7));
  EXPECT_EQ(std::get<double>(on.values().at("link-prior")), 0.7);
  EXPECT_EQ(on.values().at("timing-prior"), chosen.at("timing-prior"));
  FitOptions of_none("hct");
  keep_tried(by_default, of_none);
  EXPECT_FALSE(of_none.values().contains("timing-prior"));
}

TEST(CommitteeTrial, KeepsADefaultThatIsRight) {
  const Cohort cohort = loose.students(700, 1), others = loose.students(2000, 2);
  FitOptions options("hct");
  options.set("trees", 16);
  const FitResult tried = test::fit(cohort, options);
  ASSERT_TRUE(tried.trial);
  EXPECT_EQ(tried.trial->chosen, 0U);
  const FitResult usual = test::fit(cohort, FitOptions(options).set("trial", "off"));
  EXPECT_EQ(test::bytes_of_model(*tried.model), test::bytes_of_model(*usual.model));
  // Others agree: what looked best beside it is better by less than so few judges could tell, if at all.
  const auto& trees = tried.trial->trees;
  const auto best =
      std::ranges::max_element(trees.begin() + 1, trees.end(), {}, [](const auto& tree) { return tree.gain.mean; });
  const FitResult second = test::fit(cohort, FitOptions(options).set("trial", "off").set(best->values.settings()));
  EXPECT_GT(mean_score(usual, others), mean_score(second, others) - 2 * best->gain.error);
}

TEST(CommitteeTrial, AnyNumberOfThreadsAndAnyStopComesToTheSameBits) {
  const test::TemporaryFolder folder;
  const Cohort cohort = certain.students(300, 4);
  FitOptions options("hct");
  options.set("trees", 6);
  const FitResult whole = test::fit(cohort, options, 1);
  ASSERT_TRUE(whole.trial);
  EXPECT_EQ(test::bytes_of_model(*test::fit(cohort, options, 3).model), test::bytes_of_model(*whole.model));
  const FitResult resumed = test::fit_with_stops(cohort, options, folder / "c", {.least = 6, .most = 23});
  EXPECT_EQ(test::bytes_of_model(*resumed.model), test::bytes_of_model(*whole.model));
  nlohmann::ordered_json first = whole.answer().to_json(), second = resumed.answer().to_json();
  first.erase("seconds");
  second.erase("seconds");
  EXPECT_EQ(first, second);
  // Stopped in the middle of the trial, it is another fit's without one.
  const auto in_trial = [](const ProgressEvent& event) { return event.phase.starts_with("trial, "); };
  ASSERT_TRUE(test::stop_fit(cohort, options, folder / "d", in_trial));
  const Executor executor(1);
  TrainingContext context{executor};
  context.checkpoint = folder / "d";
  context.resume = true;
  EXPECT_THROW(fit_model(cohort, FitOptions(options).set("trial", "off"), context), OptionError);
  EXPECT_EQ(test::bytes_of_model(*fit_model(cohort, options, context).model), test::bytes_of_model(*whole.model));
}

}  // namespace
}  // namespace desirepath::committee_trial_test
