// Fits of every model and emission of the catalog: they climb, do not depend on threads, and hold up where the data say
// next to nothing.
#include <cmath>

#include "support/example_cohorts.h"
#include "support/fits.h"
#include "support/support.h"
#include "support/worlds.h"

#include "desirepath/core/setting_name.h"
#include "desirepath/models/training.h"
#include "desirepath/transcripts/split.h"

namespace desirepath::every_model_test {
namespace {

std::vector<std::string> all_choices() {
  std::vector<std::string> choices;
  for (const ModelEntry& entry : standard_catalog().models) {
    if (!entry.structure) choices.push_back(entry.name);
    for (const EmissionFamily& family : standard_catalog().emissions) {
      if (entry.structure) choices.push_back(entry.name + "+" + family.name);
    }
  }
  return choices;
}

FitOptions short_fit(const std::string& choice, Id size) {
  FitOptions options(choice);
  if (choice == "hct") return options.set("trees", 2).set("tree-states", size).set("iterations", 20);
  if (choice == "vae") return options.set("latent", size).set("hidden", 6).set("epochs", 20);
  return options.set("states", size).set("restarts", 1).set("iterations", 20).set("tolerance", 0.0);
}

class FitOfEveryModel : public testing::TestWithParam<std::string> {};

TEST_P(FitOfEveryModel, ClimbsWithUnknownPeriodsAndLeavers) {
  for (const double left : {0.0, 0.2}) {
    const Cohort cohort = test::random_cohort(
        {.students = 200, .courses = 5, .periods = 3, .unknown = 0.25, .left = left}, RandomStream(21));
    FitOptions options = short_fit(GetParam(), 3);
    if (GetParam() == "vae") {
      const FitResult fit = test::fit(cohort, options, 2);
      EXPECT_GT(fit.objective_trace.back(), fit.objective_trace.front());
      continue;
    }
    if (GetParam() != "hct") options.set("restarts", 2);
    options.set("iterations", 40);
    const FitResult fit = test::fit(cohort, options, 2);  // throws when the objective falls
    EXPECT_GT(fit.objective_trace.back(), fit.objective_trace.front());
    EXPECT_EQ(test::chain_of(fit).has_left_state(), left > 0 && test::chain_of(fit).step_count() > 1);
    EXPECT_EQ(fit.restarts.size(), 2U);
  }
}

TEST_P(FitOfEveryModel, ThreadsDoNotChangeABit) {
  const bool vae = GetParam() == "vae";
  const Cohort cohort = test::random_cohort({.students = 1500, .courses = 8, .periods = 3, .unknown = 0.2, .left = 0.1},
                                            RandomStream(22));
  FitOptions options = short_fit(GetParam(), 3);
  options.set(vae ? "epochs" : "iterations", 6);
  const auto bytes_with = [&](int threads) {
    const FitResult fit = test::fit(cohort, options, threads);
    return test::bytes_of_model(*fit.model, test::record_of(cohort, options, fit));
  };
  const auto one = bytes_with(1);
  for (const int threads : {2, 3, 7})
    EXPECT_EQ(bytes_with(threads), one) << threads;
}

/// Laws that hold of any fit, however poor its students.
class PoorData {
 public:
  PoorData(const Cohort& cohort, const FitResult& fit)
      : cohort_(cohort), fit_(fit), model_(*fit.model), evidence_(EvidenceBatch::of(cohort)) {}

  void expect_numbers() const {
    EXPECT_TRUE(std::isfinite(fit_.log_likelihood));
    EXPECT_TRUE(std::isfinite(fit_.objective));
    EXPECT_EQ(std::ranges::count(model_.likelihood_kinds(), fit_.kind), 1);
    EXPECT_EQ(fit_.students, trained_on().student_count());
    if (fit_.kind != LikelihoodKind::density) {
      EXPECT_LE(fit_.log_likelihood, 0);
    }
    // What was said of the model is what it says itself.
    const Estimates own = model_.log_likelihood(EvidenceBatch::of(trained_on()), fit_.kind, executor_);
    const double slack = own.is_exact() || fit_.kind == LikelihoodKind::density ? 0 : 5 * own.standard_error.sum();
    EXPECT_NEAR(own.value.sum(), fit_.log_likelihood, slack + 1e-9 * (1 + std::abs(fit_.log_likelihood)));
  }

  void expect_simplexes() const {
    const auto* has = offered<HasChain>(model_);
    if (has == nullptr) return;
    const HiddenChain* chain = &has->chain();
    const auto expect_rows = [](const Matrix& rows) {
      EXPECT_GE(rows.minCoeff(), 0);
      EXPECT_LT((rows.rowwise().sum().array() - 1).abs().maxCoeff(), 1e-12);
    };
    const auto expect_law = [&](const ChainPrior& prior, const Matrix& departures) {
      expect_rows(prior.initial.transpose());
      for (const Matrix& transition : prior.transitions)
        expect_rows(transition);
      if (departures.size() > 0) expect_rows(departures);
    };
    const ChainParameters& parameters = chain->parameters();
    expect_law(parameters.prior, parameters.departures);
    if (parameters.mass_dynamics) expect_law(parameters.mass_dynamics->prior, parameters.mass_dynamics->departures);
    const Id states = chain->state_count();
    const RowMatrix posterior = chain->posterior(evidence_, executor_);
    ASSERT_EQ(posterior.cols(), chain->step_count() * states);
    for (Id step = 0; step < chain->step_count(); ++step) {
      expect_rows(posterior.middleCols(step * states, states));
      const RowMatrix shares = chain->course_probabilities(chain->step_periods(step).first);
      EXPECT_GE(shares.minCoeff(), 0);
      EXPECT_LE(shares.maxCoeff(), 1);
    }
  }

  /// Of few bits: all complete records together have probability one, and the shares of each bit follow from them.
  void expect_probabilities() const {
    const auto bits = static_cast<Id>(cohort_.schema().bit_count());
    if (bits > 8) return;
    test::CohortMaker made(cohort_.schema());
    for (Id code = 0; code < 1 << bits; ++code) {
      made.add_student();
      for (Id bit = 0; bit < bits; ++bit) {
        if ((code >> bit & 1) != 0) made.take(bit);
      }
    }
    const LikelihoodKind kind = model_.likelihood_kinds().front() == LikelihoodKind::lower_bound
                                    ? LikelihoodKind::lower_bound
                                    : LikelihoodKind::mass;
    const Estimates scores = model_.log_likelihood(EvidenceBatch::of(made.build()), kind, executor_);
    const Vector worlds = scores.value.col(0).array().exp();
    double slack = 1e-10;
    if (!scores.is_exact()) {
      // Errors of draws are independent, those of an approximation are not.
      const Vector errors = worlds.cwiseProduct(scores.standard_error.col(0));
      slack = 0.005 + (kind == LikelihoodKind::mass ? 2 * errors.sum() : 5 * errors.norm());
      EXPECT_LT(slack, 0.2);
    }
    EXPECT_NEAR(worlds.sum(), 1, slack);
    const EvidenceBatch nothing = test::nothing_known(cohort_.schema(), 1);
    const Estimates shares = model_.marginals(nothing, all_bits(), executor_, Conditioning::exact);
    for (Id bit = 0; bit < bits; ++bit) {
      double expected = 0;
      for (Id code = 0; code < 1 << bits; ++code)
        expected += (code >> bit & 1) != 0 ? worlds[code] : 0;
      const double error = shares.is_exact() ? 0 : shares.standard_error(0, bit);
      EXPECT_NEAR(shares.value(0, bit), expected, slack + 4 * error) << "bit " << bit;
    }
  }

  /// What is known stays, and completions are whole.
  void expect_answers() const {
    const RowMatrix found = model_.marginals(evidence_, all_bits(), executor_).value;
    EXPECT_TRUE(found.allFinite());
    EXPECT_GE(found.minCoeff(), 0);
    EXPECT_LE(found.maxCoeff(), 1 + 1e-12);
    const EvidenceBatch drawn = model_.complete(evidence_, RandomStream(1), executor_);
    for (std::int64_t s = 0; s < cohort_.student_count(); ++s) {
      for (Id t = 0; t < cohort_.schema().period_count(); ++t) {
        EXPECT_EQ(drawn.presence(s, t), Presence::present);
        if (!cohort_.enrolled(s, t)) continue;
        EXPECT_TRUE(std::ranges::equal(drawn.taken(s, t), cohort_.bits(s, t)));
        for (Id c = 0; c < cohort_.schema().course_count(); ++c) {
          const Id bit = cohort_.schema().bit(t, c);
          EXPECT_NEAR(found(s, bit), std::ranges::count(cohort_.bits(s, t), bit) > 0 ? 1 : 0, 1e-12);
        }
      }
    }
  }

  /// Nats that a coin for every known bit would score.
  double coins() const {
    double known = 0;
    for (std::int64_t s = 0; s < cohort_.student_count(); ++s) {
      for (Id t = 0; t < cohort_.schema().period_count(); ++t)
        known += cohort_.enrolled(s, t) ? cohort_.schema().course_count() : 0;
    }
    return -known * std::log(2);
  }
  /// The mass, or its estimate, whatever training climbed.
  double mass() const {
    const LikelihoodKind kind =
        fit_.kind == LikelihoodKind::lower_bound ? LikelihoodKind::lower_bound : LikelihoodKind::mass;
    return model_.log_likelihood(evidence_, kind, executor_).value.sum();
  }

  /// Settings that the warnings name. Of an autoencoder there are none, of a committee those of its first tree.
  void expect_warnings() const {
    if (fit_.states == 0) return;
    const auto names = [&](const char* setting) {
      return std::ranges::any_of(fit_.warnings, [&](const std::string& text) {
        return text.find(setting_name(setting)) != std::string::npos;
      });
    };
    EXPECT_EQ(names("model"), model_.parameter_count() > cohort_.enrollments().one_count());
    if (fit_.states > cohort_.student_count()) {
      EXPECT_TRUE(names("states"));
    }
  }

 private:
  /// An autoencoder sets some aside where there are enough.
  Cohort trained_on() const {
    if (fit_.kind != LikelihoodKind::lower_bound || fit_.students == cohort_.student_count()) return cohort_;
    return cohort_.select(split_by_share(cohort_, {0.1, 0}, RandomStream(1).child("validation")).training);
  }
  std::vector<Id> all_bits() const {
    std::vector<Id> all;
    for (Id bit = 0; bit < cohort_.schema().bit_count(); ++bit)
      all.push_back(bit);
    return all;
  }
  const Cohort& cohort_;
  const FitResult& fit_;
  const Model& model_;
  EvidenceBatch evidence_;
  Executor executor_{2};
};

TEST_P(FitOfEveryModel, SurvivesDegenerateData) {
  const auto fitted = [&](const char* what, const test::RandomCohortOptions& students, Id size) {
    SCOPED_TRACE(what);
    const Cohort cohort = test::random_cohort(students, RandomStream(1));
    FitOptions options = short_fit(GetParam(), size);
    if (GetParam() != "hct" && GetParam() != "vae") options.set("restarts", 2);
    const FitResult fit = test::fit(cohort, options, 2);
    const PoorData laws(cohort, fit);
    laws.expect_numbers();
    laws.expect_simplexes();
    laws.expect_probabilities();
    laws.expect_answers();
    laws.expect_warnings();
    // No model is worse than coins on the students it learned from.
    EXPECT_GT(laws.mass(), laws.coins());
    const EvidenceBatch nothing = test::nothing_known(cohort.schema(), 1);
    const std::vector<Id> some = {0, static_cast<Id>(cohort.schema().bit_count()) - 1};
    return RowMatrix(fit.model->marginals(nothing, some, Executor(1)).value);
  };
  fitted("one student", {.students = 1, .courses = 3, .periods = 2, .unknown = 0}, 2);
  fitted("one period", {.students = 30, .courses = 3, .periods = 1, .unknown = 0}, 2);
  fitted("more states than students", {.students = 5, .courses = 3, .periods = 2, .unknown = 0}, 9);
  fitted("more courses than students", {.students = 6, .courses = 60, .periods = 2, .unknown = 0}, 3);
  fitted("hardly anything known", {.students = 40, .courses = 4, .periods = 3, .unknown = 0.9}, 2);
  fitted("one course", {.students = 40, .courses = 1, .periods = 2}, 2);
  // What all do is expected of anyone.
  EXPECT_LT(
      fitted("nothing taken", {.students = 40, .courses = 4, .periods = 2, .taken = 0, .unknown = 0}, 3).maxCoeff(),
      0.05);
  EXPECT_GT(
      fitted("everything taken", {.students = 40, .courses = 4, .periods = 2, .taken = 1, .unknown = 0}, 3).minCoeff(),
      0.95);
}

INSTANTIATE_TEST_SUITE_P(Catalog, FitOfEveryModel, testing::ValuesIn(all_choices()), [](const auto& the_case) {
  std::string name = the_case.param;
  std::ranges::replace_if(
      name, [](char c) { return c == '+' || c == '-'; }, '_');
  return name;
});

}  // namespace
}  // namespace desirepath::every_model_test
