// Fits that begin where others ended: from another model, numbered like another, from a checkpoint at the very end.
#include <cmath>
#include <fstream>

#include "support/example_cohorts.h"
#include "support/fits.h"
#include "support/stopped_fits.h"
#include "support/support.h"

#include "desirepath/core/error.h"

namespace desirepath::take_up_test {
namespace {

FitOptions chain(const std::string& choice, const SettingValues& more = {}) {
  FitOptions options(choice);
  options.set("states", 2).set("iterations", 6).set("tolerance", 0.0);
  return options.set(more);
}

std::vector<FitOptions> forms() {
  std::vector<FitOptions> list;
  for (const std::string model : {"nb", "hmm", "cmm"}) {
    list.push_back(chain(model + "+bernoulli"));
    for (const char* tree : {"shared", "per-state"})
      list.push_back(chain(model + "+tree", {{"tree", std::string(tree)}}));
    for (const char* covariance : {"full", "tied", "diagonal", "factor:1", "factor:2"})
      list.push_back(chain(model + "+gaussian", {{"covariance", std::string(covariance)}}));
    for (const char* covariance : {"factor:1", "factor:2"})
      list.push_back(chain(model + "+probit", {{"covariance", std::string(covariance)}, {"nodes", std::int64_t{32}}}));
  }
  for (const std::int64_t states : {2, 3})
    list.push_back(chain("nb+hidden-tree", {{"tree-states", states}}));
  list.push_back(FitOptions("hct").set("trees", 2).set("tree-states", 2).set("iterations", 3));
  return list;
}

/// Whether every pair of forms trains or is refused in a line; the pairs that trained. A fit that begins from another
/// ends no lower, one whose states are numbered like another's is the fit it would have been.
std::size_t pairs_that_train(const Cohort& before, const Cohort& after, const Model* TrainingContext::*role) {
  const Executor executor(1);
  std::vector<FitResult> earlier;
  for (const FitOptions& options : forms())
    earlier.push_back(fit_model(before, options, {executor}));
  const bool is_warm = role == &TrainingContext::warm;
  std::size_t trained = 0;
  for (std::size_t form = 0; form < forms().size(); ++form) {
    const FitOptions options = forms()[form];
    const FitResult& own = earlier[form];
    for (const FitResult& fit : earlier) {
      TrainingContext context{executor};
      context.*role = fit.model.get();
      try {
        const FitResult found = fit_model(after, options, context);
        const double slack = 1e-9 * std::abs(own.objective);
        if (is_warm && found.trees > 0) {  // what is climbed is each tree's own
          for (std::size_t tree = 0; tree < own.restarts.size(); ++tree)
            EXPECT_GE(found.restarts.at(tree).objective, own.restarts[tree].objective - slack) << tree;
        } else if (is_warm) {
          EXPECT_GE(found.objective, own.objective - slack) << found.model->name();
        } else {
          EXPECT_NEAR(found.objective, own.objective, slack) << found.model->name();
        }
        ++trained;
      } catch (const OptionError& error) {
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      }
    }
  }
  return trained;
}

TEST(TakeUp, EveryModelFromEveryOther) {
  const Cohort plain = test::random_cohort({.students = 40, .courses = 4, .periods = 2}, RandomStream(81));
  const Cohort left = test::random_cohort({.students = 40, .courses = 4, .periods = 2, .left = 0.3}, RandomStream(82));
  // Each from itself, and nothing from another form.
  EXPECT_EQ(pairs_that_train(plain, plain, &TrainingContext::warm), forms().size());
  EXPECT_EQ(pairs_that_train(left, left, &TrainingContext::warm), forms().size());
  EXPECT_EQ(pairs_that_train(plain, left, &TrainingContext::warm), 0U);
  EXPECT_EQ(pairs_that_train(left, plain, &TrainingContext::warm), 0U);
}

TEST(TakeUp, StatesNumberedLikeEveryOther) {
  const Cohort plain = test::random_cohort({.students = 20, .courses = 4, .periods = 2}, RandomStream(83));
  // One step (nb, hidden trees), tied or a set of states a period: numbers carry over within each, whatever the states.
  EXPECT_EQ(pairs_that_train(plain, plain, &TrainingContext::match), 12U * 12U + 2 * 10U * 10U + 0U);
}

TEST(TakeUp, TheClosingCheckpointOfAnInexactClimb) {
  const test::TemporaryFolder folder;
  const Cohort cohort = test::random_cohort({.students = 60, .courses = 5, .periods = 2}, RandomStream(84));
  for (const double ridge : {0.05, 0.5}) {
    FitOptions options = chain("cmm+gaussian", {{"ridge", ridge}});
    options.set("iterations", 200).set("tolerance", 1e-6);
    const Executor executor(1);
    TrainingContext context{executor};
    context.checkpoint = folder / "c";
    const auto bytes = [&] {
      ArchiveWriter archive("model");
      const FitResult fit = fit_model(cohort, options, context);
      fit.model->save(archive);
      archive.set("iterations", std::to_string(fit.iterations));
      return archive.bytes();
    };
    const std::vector<std::byte> whole = bytes();
    context.resume = true;
    for (int kill = 0; kill < 3; ++kill)  // the model is not written yet, the checkpoint is the last
      EXPECT_EQ(bytes(), whole) << ridge;
    std::filesystem::remove(context.checkpoint);
  }
}

TEST(TakeUp, OrthantEmFromItsCheckpoints) {
  const test::TemporaryFolder folder;
  const Cohort cohort = test::random_cohort({.students = 80, .courses = 4, .periods = 2}, RandomStream(85));
  const FitOptions options =
      chain("cmm+gaussian", {{"refine", std::string("orthant-em")}, {"covariance", std::string("factor:1")}});
  const auto saved = [](const FitResult& fit) {
    TrainingRecord record;
    record.text = fit.refinement->to_json().dump();
    return test::bytes_of_model(*fit.model, record);
  };
  const FitResult whole = test::fit(cohort, options, 1);
  EXPECT_EQ(saved(test::fit_with_stops(cohort, options, folder / "c", {.least = 3, .most = 3})), saved(whole));
}

}  // namespace
}  // namespace desirepath::take_up_test
