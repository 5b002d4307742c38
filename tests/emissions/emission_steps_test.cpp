// The seam of learning: what is counted of rows adds up, and maximising needs nothing else of them.
#include "support/emission_steps.h"

#include <cmath>
#include <numeric>
#include <optional>

#include "support/example_cohorts.h"
#include "support/support.h"

#include "desirepath/models/catalog.h"
#include "desirepath/models/chain_evidence.h"

namespace desirepath::emission_steps_test {
namespace {

constexpr Id courses = 5, periods = 3, states = 2;

struct Family {
  const char* name;
  SettingValues settings;
  Id step_periods = periods;
};

std::vector<Family> families() {
  return {{"bernoulli", {}},
          {"bernoulli", {{"carry-over", true}}},     // timings
          {"bernoulli", {{"carry-over", true}}, 1},  // rows with history
          {"tree", {}},
          {"tree", {{"tree", std::string("per-state")}}},
          {"gaussian", {{"covariance", std::string("full")}}},
          {"gaussian", {{"covariance", std::string("tied")}}},
          {"gaussian", {{"covariance", std::string("diagonal")}}},
          {"gaussian", {{"covariance", std::string("factor:2")}}},
          {"probit", {{"covariance", std::string("factor:2")}}},
          {"hidden-tree", {{"tree-states", std::int64_t{3}}}}};
}

struct Part {
  RowPool pool;
  RowMatrix responsibilities;
};

/// Rows of some students, with responsibilities that depend on the row alone.
Part part_of(const Family& family, const Cohort& students) {
  const StepLayout layout = [&] {
    StepLayout made = StepLayout::of(family.step_periods == 1 ? TimeStructure::tied : TimeStructure::one_step, periods);
    made.with_history = family.step_periods == 1;
    return made;
  }();
  ChainEvidence evidence(EvidenceBatch::of(students), layout);
  Part part{std::move(evidence.pools.front()), {}};
  StepRows& rows = part.pool.rows;
  std::vector<double> weights;
  for (std::int64_t row = 0; row < rows.row_count(); ++row)
    weights.push_back(static_cast<double>(part.pool.occurrences_of(row).size()));
  part.responsibilities.resize(rows.row_count(), states);
  for (std::int64_t row = 0; row < rows.row_count(); ++row) {
    const auto taken = rows.taken(row);
    const double share = 0.1 + 0.8 * std::fmod(0.37 * std::accumulate(taken.begin(), taken.end(), 1.0), 1.0);
    part.responsibilities.row(row) << weights[static_cast<std::size_t>(row)] * share,
        weights[static_cast<std::size_t>(row)] * (1 - share);
  }
  rows.set_weights(std::move(weights));
  return part;
}

Cohort students(bool has_unknown) {
  return test::random_cohort(
      {.students = 400, .courses = courses, .periods = periods, .unknown = has_unknown ? 0.2 : 0.0}, RandomStream(3));
}

std::vector<Cohort> quarters(const Cohort& cohort) {
  std::vector<Cohort> parts;
  for (std::int64_t first = 0; first < cohort.student_count(); first += cohort.student_count() / 4) {
    std::vector<std::int64_t> chosen(static_cast<std::size_t>(cohort.student_count() / 4));
    std::iota(chosen.begin(), chosen.end(), first);
    parts.push_back(cohort.select(chosen));
  }
  return parts;
}

std::unique_ptr<EmissionLearner> learner_of(const Family& family) {
  return standard_catalog().emission(family.name).learner(family.settings, {family.step_periods, courses});
}

std::vector<double> numbers_of(const Emission& emission) {
  const RowMatrix shares = emission.bit_probabilities();
  return {shares.data(), shares.data() + shares.size()};
}

void expect_near(const Emission& emission, const Emission& expected, double tolerance) {
  const std::vector<double> found = numbers_of(emission), truth = numbers_of(expected);
  ASSERT_EQ(found.size(), truth.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], truth[i], tolerance);
}

/// All steps that the learner has, from the emission of the whole.
std::vector<std::unique_ptr<EmissionStep>> steps_of(const EmissionLearner& learner, const RowSurvey& survey,
                                                    const Emission& emission) {
  std::vector<std::unique_ptr<EmissionStep>> steps;
  steps.push_back(learner.first_step(survey, states, RandomStream(9)));
  steps.push_back(learner.step(survey, emission));
  if (const auto* finishes = offered<FinishesAfterClimb>(learner))
    steps.push_back(finishes->finishing_step(survey, emission));
  if (const auto* balances = offered<BalancesShares>(learner)) {
    const RowMatrix shares = RowMatrix::Constant(periods, states, 0.5);
    steps.push_back(balances->balancing_step(shares, emission));
  }
  if (const auto* proposes = offered<ProposesEmissions>(learner)) steps.push_back(proposes->proposal(survey, emission));
  return steps;
}

/// Runs all rounds on parts of the rows. Each part is made when it is counted and gone before anything is maximised.
std::unique_ptr<Emission> run_on_parts(EmissionStep& step, const Family& family, const std::vector<Cohort>& cohorts,
                                       const Executor& executor) {
  while (true) {
    std::optional<Statistics> sums;
    for (const Cohort& cohort : cohorts) {
      const Part part = part_of(family, cohort);
      Statistics own = step.count(part.pool.rows, part.responsibilities, executor);
      if (sums)
        sums->merge(own);
      else
        sums = std::move(own);
    }
    StepResult result = step.maximise(std::move(*sums), executor);
    if (result.is_done) return std::move(result.emission);
  }
}

TEST(EmissionSteps, CountsOfPartsAddUpToThoseOfTheWhole) {
  const Executor executor(2);
  for (const bool has_unknown : {false, true}) {
    const Cohort all = students(has_unknown);
    const std::vector<Cohort> parts = quarters(all);
    for (const Family& family : families()) {
      // Rows with history are those of students who are known up to some period.
      if (has_unknown && family.step_periods == 1) continue;
      SCOPED_TRACE(::testing::Message() << family.name << (has_unknown ? " unknown" : ""));
      const auto learner = learner_of(family);
      const Part whole = part_of(family, all);
      const RowSurvey survey = learner->survey(whole.pool.rows);
      RowSurvey merged = learner->survey(part_of(family, parts.front()).pool.rows);
      for (std::size_t p = 1; p < parts.size(); ++p)
        merged.sums.merge(learner->survey(part_of(family, parts[p]).pool.rows).sums);
      EXPECT_EQ(merged.all_known(), survey.all_known());
      EXPECT_NEAR(merged.students(), survey.students(), 1e-9);
      const std::unique_ptr<Emission> emission =
          test::first_emission(*learner, whole.pool.rows, whole.responsibilities, RandomStream(9), executor);
      EXPECT_NEAR(learner->log_prior(merged, *emission), learner->log_prior(survey, *emission), 1e-9);
      auto of_whole = steps_of(*learner, survey, *emission), of_parts = steps_of(*learner, merged, *emission);
      for (std::size_t i = 0; i < of_whole.size(); ++i) {
        ASSERT_EQ(of_whole[i] == nullptr, of_parts[i] == nullptr) << i;
        if (of_whole[i] == nullptr) continue;
        // The first step of trees of timings draws a label for each row by its number: only sizes can be compared.
        const bool draws_by_row = i == 0 && std::string(family.name) == "hidden-tree";
        const auto expected = run_step(*of_whole[i], whole.pool.rows, whole.responsibilities, executor);
        const auto found = run_on_parts(*of_parts[i], family, parts, executor);
        ASSERT_EQ(found == nullptr, expected == nullptr) << i;
        if (found != nullptr && !draws_by_row) expect_near(*found, *expected, 1e-7);
      }
    }
  }
}

TEST(EmissionSteps, MaximisingSeesNoRows) {
  const Executor executor(2);
  for (const bool has_unknown : {false, true}) {
    const Cohort all = students(has_unknown);
    for (const Family& family : families()) {
      if (has_unknown && family.step_periods == 1) continue;
      SCOPED_TRACE(::testing::Message() << family.name << (has_unknown ? " unknown" : ""));
      const auto learner = learner_of(family);
      const Part whole = part_of(family, all);
      const RowSurvey survey = learner->survey(whole.pool.rows);
      const auto bytes = [](const Emission& emission) {
        ArchiveWriter archive("model");
        emission.save(archive, "e");
        return archive.bytes();
      };
      const auto expected =
          test::first_emission(*learner, whole.pool.rows, whole.responsibilities, RandomStream(9), executor);
      const auto step = learner->first_step(survey, states, RandomStream(9));
      const auto found = run_on_parts(*step, family, {all}, executor);
      EXPECT_EQ(bytes(*found), bytes(*expected));
      const auto next = learner->step(survey, *found);
      EXPECT_EQ(
          bytes(*run_on_parts(*next, family, {all}, executor)),
          bytes(*test::next_emission(*learner, whole.pool.rows, whole.responsibilities, expected.get(), executor)));
    }
  }
}

TEST(Statistics, AreTablesThatAddUp) {
  Statistics some, others;
  some.add(RowMatrix::Constant(2, 3, 1.5));
  some.add(RowMatrix::Constant(1, 1, -1));
  others.add(RowMatrix::Constant(2, 3, 0.25));
  others.add(RowMatrix::Constant(1, 1, 4));
  some.merge(others);
  std::vector<double> numbers;
  for (const std::span<double> table : some.numbers())
    numbers.insert(numbers.end(), table.begin(), table.end());
  EXPECT_EQ(numbers, (std::vector<double>{1.75, 1.75, 1.75, 1.75, 1.75, 1.75, 3}));
}

}  // namespace
}  // namespace desirepath::emission_steps_test
