// What all trainings do alike, held for one of each kind.
#include "support/example_cohorts.h"
#include "support/fits.h"
#include "support/stopped_fits.h"
#include "support/support.h"

#include "desirepath/core/error.h"

namespace desirepath::training_run_test {
namespace {

std::vector<FitOptions> kinds() {
  std::vector<FitOptions> list = {FitOptions("cmm+bernoulli").set("states", 2), FitOptions("hct").set("trees", 2),
                                  FitOptions("vae").set("hidden", 3).set("latent", 2),
                                  FitOptions("cmm+gaussian").set("states", 2)};
  list.back().set("refine", std::string("orthant-em")).set("covariance", std::string("factor:1"));
  return list;
}

Cohort some_students(std::int64_t students = 60, Id courses = 4) {
  return test::random_cohort({.students = students, .courses = courses, .periods = 2}, RandomStream(85));
}

TEST(TrainingRun, RefusesJudgesWithOtherCourses) {
  const Cohort cohort = some_students(), others = some_students(60, 5);
  const Executor executor(1);
  for (const FitOptions& options : kinds()) {
    TrainingContext context{executor};
    context.validation = &others;
    const std::string message = test::message_of<InputError>([&] { prepare_training({cohort, options, context}); });
    EXPECT_TRUE(test::says(message, {"--validation"})) << options.choice().name() << ": " << message;
  }
}

TEST(TrainingRun, RefusesAShareThatLeavesNobody) {
  const Cohort cohort = some_students(3);
  const Executor executor(1);
  const TrainingContext context{executor};
  for (FitOptions& options : kinds()) {
    options.set("validation", 0.01);
    const std::string message = test::message_of<OptionError>([&] { prepare_training({cohort, options, context}); });
    EXPECT_TRUE(test::says(message, {"0.01"})) << options.choice().name() << ": " << message;
  }
}

TEST(TrainingRun, SaysHowAnInterruptedOneGoesOn) {
  const Cohort cohort = some_students();
  const test::TemporaryFolder folder;
  for (const FitOptions& options : kinds()) {
    const std::string name = options.choice().name();
    const auto interrupted = [&](const std::filesystem::path& checkpoint, bool may_checkpoint) {
      std::atomic<bool> interrupt = false;
      const Executor executor(1, &interrupt);
      TrainingContext context{executor};
      context.checkpoint = checkpoint;
      context.may_checkpoint = may_checkpoint;
      context.progress = [&](const ProgressEvent& event) { interrupt = interrupt || event.iteration >= 2; };
      return test::message_of<Interrupted>([&] { fit_model(cohort, options, context); });
    };
    EXPECT_EQ(interrupted({}, false), "interrupted") << name;
    EXPECT_TRUE(test::says(interrupted({}, true), {"--checkpoint"})) << name;
    const std::filesystem::path file = folder / name;
    EXPECT_TRUE(test::says(interrupted(file, true), {"--resume", "--checkpoint", file.string()})) << name;
    EXPECT_TRUE(std::filesystem::exists(file)) << name;
  }
}

TEST(TrainingRun, RefusesTheCheckpointOfAnother) {
  const test::TemporaryFolder folder;
  const Cohort cohort = some_students(), others = some_students(61);
  for (const FitOptions& options : kinds()) {
    const std::string name = options.choice().name();
    const auto file = folder / name;
    ASSERT_TRUE(test::stop_fit(cohort, options, file, [](const ProgressEvent& event) { return event.iteration >= 2; }))
        << name;
    const Executor executor(1);
    TrainingContext context{executor};
    context.checkpoint = file;
    context.resume = true;
    FitOptions changed = options;
    changed.seed = 2;
    using Asked = std::pair<const Cohort*, const FitOptions*>;
    for (const Asked& asked : {Asked(&cohort, &changed), Asked(&others, &options)}) {
      const std::string message =
          test::message_of<OptionError>([&] { fit_model(*asked.first, *asked.second, context); });
      EXPECT_TRUE(test::says(message, {file.string()})) << name << ": " << message;
    }
  }
}

}  // namespace
}  // namespace desirepath::training_run_test
