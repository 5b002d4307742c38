// Chains that know what a student had before, against the sum over all paths of states and all bits.
#include "desirepath/models/chain_history.h"

#include <cmath>
#include <map>
#include <set>

#include "support/example_cohorts.h"
#include "support/fits.h"
#include "support/support.h"
#include "support/weighted_twice.h"

#include "desirepath/core/error.h"
#include "desirepath/emissions/carried_bernoulli.h"
#include "desirepath/models/catalog.h"
#include "desirepath/models/model_file.h"
#include "desirepath/models/publication.h"

namespace desirepath::chain_history_test {
namespace {

constexpr Id courses = 2, periods = 3, states = 2;

RowMatrix shares(RandomStream& stream) {
  RowMatrix result(courses, states);
  for (Index i = 0; i < result.size(); ++i)
    result.data()[i] = 0.05 + 0.9 * stream.uniform();
  return result;
}

HiddenChain drawn_chain(TimeStructure structure, bool leaving, RandomStream stream) {
  const Id all = states + (leaving ? 1 : 0);
  const auto simplex = [&](Id size) {
    Vector weights(size);
    for (Id i = 0; i < size; ++i)
      weights[i] = 0.1 + stream.uniform();
    return Vector(weights / weights.sum());
  };
  ChainParameters parameters;
  parameters.has_left_state = leaving;
  parameters.prior.initial = Vector::Zero(all);
  parameters.prior.initial.head(states) = simplex(states);
  const bool tied = structure == TimeStructure::tied;
  for (Id t = 0; t + 1 < periods; ++t) {
    Matrix transition = Matrix::Zero(all, all);
    for (Id k = 0; k < states; ++k)
      transition.row(k) = simplex(all).transpose();
    if (leaving) transition(states, states) = 1;
    parameters.prior.transitions.push_back(tied && t > 0 ? parameters.prior.transitions.front() : transition);
  }
  for (Id p = 0; p < (tied ? 1 : periods); ++p) {
    const RowMatrix first = shares(stream);
    // Nothing comes before the first period.
    parameters.emissions.push_back(
        std::make_shared<CarriedBernoulliEmission>(first, !tied && p == 0 ? RowMatrix() : shares(stream)));
  }
  return {{tied ? "hmm" : "cmm", "bernoulli", false, structure, test::small_schema(courses, periods)},
          std::move(parameters)};
}

/// One path of states and all bits, with its probability, written down from the definition.
struct Life {
  std::vector<Id> path;
  std::vector<bool> taken;  // by bit of the schema
  double probability = 1;
};

std::vector<Life> all_lives(const HiddenChain& chain) {
  const ChainParameters& parameters = chain.parameters();
  const auto all = static_cast<Id>(parameters.prior.state_count());
  std::vector<Life> lives;
  for (int code = 0; code < static_cast<int>(std::pow(all, periods)); ++code) {
    for (unsigned bits = 0; bits < 1U << static_cast<unsigned>(courses * periods); ++bits) {
      Life life;
      for (Id t = 0, rest = code; t < periods; ++t, rest /= all)
        life.path.push_back(rest % all);
      for (Id bit = 0; bit < courses * periods; ++bit)
        life.taken.push_back((bits >> static_cast<unsigned>(bit) & 1U) != 0);
      life.probability = parameters.prior.initial[life.path[0]];
      for (Id t = 0; t < periods; ++t) {
        const Id state = life.path[static_cast<std::size_t>(t)];
        if (t > 0) {
          life.probability *= parameters.prior.transitions[static_cast<std::size_t>(t - 1)](
              life.path[static_cast<std::size_t>(t - 1)], state);
        }
        for (Id course = 0; course < courses; ++course) {
          const bool now = life.taken[static_cast<std::size_t>(t * courses + course)];
          bool had = false;
          for (Id before = 0; before < t; ++before)
            had = had || life.taken[static_cast<std::size_t>(before * courses + course)];
          double share = 0;
          if (state < states) {
            const auto pool = static_cast<std::size_t>(parameters.emissions.size() == 1 ? 0 : t);
            const auto& emission = dynamic_cast<const CarriedBernoulliEmission&>(*parameters.emissions[pool]);
            share = (had ? emission.again() : emission.first())(course, state);
          }
          life.probability *= now ? share : 1 - share;
        }
      }
      if (life.probability > 0) lives.push_back(std::move(life));
    }
  }
  return lives;
}

/// The first `known` periods of a life; the rest is not known.
EvidenceBatch beginning_of(const Life& life, Id known) {
  EvidenceBuilder builder(periods, courses);
  builder.begin_student("s");
  for (Id t = 0; t < periods; ++t) {
    PeriodEvidence period;
    const bool left = life.path[static_cast<std::size_t>(t)] == states;
    if (t < known) period.presence = left ? Presence::left : Presence::present;
    for (Id bit = t * courses; bit < (t + 1) * courses && t < known; ++bit) {
      if (life.taken[static_cast<std::size_t>(bit)]) period.taken.push_back(bit);
    }
    builder.add(period);
  }
  return std::move(builder).build();
}

bool begins_alike(const Life& one, const Life& other, Id known) {
  for (Id t = 0; t < known; ++t) {
    if ((one.path[static_cast<std::size_t>(t)] == states) != (other.path[static_cast<std::size_t>(t)] == states))
      return false;
    for (Id bit = t * courses; bit < (t + 1) * courses; ++bit) {
      if (one.taken[static_cast<std::size_t>(bit)] != other.taken[static_cast<std::size_t>(bit)]) return false;
    }
  }
  return true;
}

struct HistoryCase {
  TimeStructure structure;
  bool leaving;
};

class ChainHistory : public testing::TestWithParam<HistoryCase> {
 protected:
  HiddenChain chain_ = drawn_chain(GetParam().structure, GetParam().leaving, RandomStream(5));
  std::vector<Life> lives_ = all_lives(chain_);
  Executor executor_{2};
};

TEST_P(ChainHistory, AnswersAreSumsOverAllLives) {
  std::vector<Id> all_bits;
  for (Id bit = 0; bit < courses * periods; ++bit)
    all_bits.push_back(bit);
  RandomStream stream(6);
  for (Id known = 0; known <= periods; ++known) {
    for (int round = 0; round < 12; ++round) {
      const Life& life = lives_[static_cast<std::size_t>(stream.below(lives_.size()))];
      double total = 0;
      Vector taken = Vector::Zero(courses * periods);
      Matrix posterior = Matrix::Zero(periods, chain_.state_count());
      for (const Life& other : lives_) {
        if (!begins_alike(life, other, known)) continue;
        total += other.probability;
        for (const Id bit : all_bits)
          taken[bit] += other.taken[static_cast<std::size_t>(bit)] ? other.probability : 0;
        for (Id t = 0; t < periods; ++t)
          posterior(t, other.path[static_cast<std::size_t>(t)]) += other.probability;
      }
      const EvidenceBatch evidence = beginning_of(life, known);
      EXPECT_NEAR(chain_.log_likelihood(evidence, LikelihoodKind::mass, executor_).value(0, 0), std::log(total), 1e-12);
      const Estimates marginals = chain_.marginals(evidence, all_bits, executor_);
      EXPECT_TRUE(marginals.is_exact());
      for (const Id bit : all_bits)
        EXPECT_NEAR(marginals.value(0, bit), taken[bit] / total, 1e-12) << known << " " << bit;
      const RowMatrix states_found = chain_.posterior(evidence, executor_);
      for (Id t = 0; t < periods; ++t) {
        for (Id k = 0; k < chain_.state_count(); ++k)
          EXPECT_NEAR(states_found(0, t * chain_.state_count() + k), posterior(t, k) / total, 1e-12);
      }
    }
  }
}

TEST_P(ChainHistory, ProfilesOfStatesAreSumsOverAllLives) {
  for (Id t = 0; t < periods; ++t) {
    const RowMatrix profile = chain_.course_probabilities(t);
    for (Id k = 0; k < states; ++k) {
      for (Id course = 0; course < courses; ++course) {
        double all = 0, taken = 0;
        for (const Life& life : lives_) {
          if (life.path[static_cast<std::size_t>(t)] != k) continue;
          all += life.probability;
          if (life.taken[static_cast<std::size_t>(t * courses + course)]) taken += life.probability;
        }
        EXPECT_NEAR(profile(course, k), taken / all, 1e-12);
      }
    }
  }
}

TEST_P(ChainHistory, DrawsFollowTheLivesThatBeginAlike) {
  const Life& life = lives_[lives_.size() / 3];
  for (const Id known : {0, 1, 2}) {
    std::map<std::vector<bool>, double> expected;
    double total = 0;
    for (const Life& other : lives_) {
      if (!begins_alike(life, other, known)) continue;
      expected[other.taken] += other.probability;
      total += other.probability;
    }
    const EvidenceBatch one = beginning_of(life, known);
    EvidenceBuilder builder(one);
    constexpr int draws = 20'000;
    for (int i = 0; i < draws; ++i) {
      builder.begin_student("s" + std::to_string(i));
      for (Id t = 0; t < periods; ++t)
        builder.add(PeriodEvidence::of(one, 0, t));
    }
    const EvidenceBatch drawn = chain_.complete(std::move(builder).build(), RandomStream(7), executor_);
    std::map<std::vector<bool>, double> found;
    for (std::int64_t s = 0; s < draws; ++s) {
      std::vector<bool> taken(courses * periods, false);
      for (Id t = 0; t < periods; ++t) {
        for (const Id bit : drawn.taken(s, t))
          taken[static_cast<std::size_t>(bit)] = true;
      }
      found[taken] += 1.0 / draws;
    }
    for (const auto& [taken, weight] : found)
      EXPECT_GT(expected[taken], 0);
    for (const auto& [taken, weight] : expected) {
      const double share = weight / total;
      EXPECT_NEAR(found[taken], share, 5 * std::sqrt(share * (1 - share) / draws) + 1e-4);
    }
  }
}

TEST_P(ChainHistory, ComesBackFromItsFile) {
  const std::vector<std::byte> bytes = test::bytes_of_model(chain_);
  const StoredModel stored = load_model(ArchiveReader::from_bytes(bytes, "memory"));
  const EvidenceBatch evidence = beginning_of(lives_[lives_.size() / 2], 2);
  const std::vector<Id> asked = {4, 5};
  EXPECT_EQ(stored.model->marginals(evidence, asked, executor_).value,
            chain_.marginals(evidence, asked, executor_).value);
  EXPECT_EQ(stored.model->parameter_count(), chain_.parameter_count());
}

INSTANTIATE_TEST_SUITE_P(Structures, ChainHistory,
                         testing::Values(HistoryCase{TimeStructure::per_period, false},
                                         HistoryCase{TimeStructure::per_period, true},
                                         HistoryCase{TimeStructure::tied, false},
                                         HistoryCase{TimeStructure::tied, true}),
                         [](const auto& the_case) {
                           return std::string(the_case.param.structure == TimeStructure::tied ? "Tied" : "PerPeriod") +
                                  (the_case.param.leaving ? "Leaving" : "");
                         });

FitOptions carried(const std::string& choice, Id state_count) {
  return FitOptions(choice)
      .set("states", state_count)
      .set("restarts", 2)
      .set("iterations", 30)
      .set("tolerance", 0.0)
      .set("carry-over", true);
}

TEST(ChainHistoryFit, OneStateIsCountedByHand) {
  const Cohort cohort =
      test::random_cohort({.students = 60, .courses = 3, .periods = 3, .unknown = 0}, RandomStream(8));
  for (const std::string choice : {"cmm+bernoulli", "hmm+bernoulli"}) {
    const FitResult fit = test::fit(cohort, carried(choice, 1).set("pseudocount", 0.25));
    const bool tied = choice.starts_with("hmm");
    const EvidenceBatch students = EvidenceBatch::of(cohort);
    std::array<std::array<double, 3>, 3> all_had{}, all_again{};  // by course, pool
    for (Id course = 0; course < 3; ++course) {
      std::array<double, 3> fresh{}, first{}, had{}, again{};  // by pool
      for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
        bool before = false;
        for (Id t = 0; t < 3; ++t) {
          const bool now = std::ranges::binary_search(students.taken(s, t), t * 3 + course);
          const auto at = static_cast<std::size_t>(tied ? 0 : t);
          (before ? had : fresh)[at] += 1;
          if (now) (before ? again : first)[at] += 1;
          before = before || now;
        }
      }
      for (std::size_t pool = 0; pool < (tied ? 1U : 3U); ++pool) {
        const auto& emission =
            dynamic_cast<const CarriedBernoulliEmission&>(*test::chain_of(fit).parameters().emissions[pool]);
        EXPECT_NEAR(emission.first()(course, 0), (first[pool] + 0.25) / (fresh[pool] + 0.5), 1e-12);
      }
      all_had[static_cast<std::size_t>(course)] = had;
      all_again[static_cast<std::size_t>(course)] = again;
    }
    for (std::size_t pool = tied ? 0 : 1; pool < (tied ? 1U : 3U); ++pool) {
      double had = 0, again = 0;
      for (std::size_t course = 0; course < 3; ++course) {
        had += all_had[course][pool];
        again += all_again[course][pool];
      }
      const double usual = (again + 0.5) / (had + 1);
      const auto& emission =
          dynamic_cast<const CarriedBernoulliEmission&>(*test::chain_of(fit).parameters().emissions[pool]);
      for (std::size_t course = 0; course < 3; ++course) {
        const double expected = (all_again[course][pool] + usual) / (all_had[course][pool] + 1);
        EXPECT_NEAR(emission.again()(static_cast<Index>(course), 0),
                    (all_again[course][pool] + 5 * expected) / (all_had[course][pool] + 5), 1e-12);
      }
    }
    // Two probabilities a course in every period but the first.
    EXPECT_EQ(fit.model->parameter_count(), tied ? 6 : 15);
  }
}

TEST(ChainHistoryFit, ClimbsAndDoesNotDependOnThreads) {
  const Cohort cohort =
      test::random_cohort({.students = 600, .courses = 5, .periods = 3, .unknown = 0, .left = 0.1}, RandomStream(9));
  for (const std::string choice : {"cmm+bernoulli", "hmm+bernoulli"}) {
    const auto bytes = [&](int threads) {
      const FitResult fit = test::fit(cohort, carried(choice, 3), threads);  // throws when the objective falls
      EXPECT_GT(fit.objective_trace.back(), fit.objective_trace.front());
      return test::bytes_of_model(*fit.model);
    };
    const auto one = bytes(1);
    EXPECT_EQ(bytes(3), one);
  }
}

TEST(ChainHistoryFit, FindsWhoNeverRepeats) {
  // Students of a chain in which nobody repeats: the plain chain repeats, this one does not.
  ChainParameters truth;
  truth.prior.initial = Vector::Constant(2, 0.5);
  truth.prior.transitions.assign(2, (Matrix(2, 2) << 0.9, 0.1, 0.1, 0.9).finished());
  RowMatrix first(6, 2);
  first << 0.6, 0.1, 0.5, 0.1, 0.4, 0.1, 0.1, 0.6, 0.1, 0.5, 0.1, 0.4;
  truth.emissions = {std::make_shared<CarriedBernoulliEmission>(first, RowMatrix::Constant(6, 2, 1e-9))};
  const HiddenChain chain({"hmm", "bernoulli", false, TimeStructure::tied, test::small_schema(6, 3)}, truth);
  const Executor executor(2);
  const Cohort cohort = test::drawn_cohort(chain, 3000, RandomStream(10));
  const EvidenceBatch silent = test::nothing_known(chain.schema(), 3000);
  const auto repeats = [&](const Model& model) {
    const EvidenceBatch sample = model.complete(silent, RandomStream(11), executor);
    double all = 0, again = 0;
    for (std::int64_t s = 0; s < sample.student_count(); ++s) {
      std::set<Id> had;
      for (Id t = 0; t < 3; ++t) {
        for (const Id bit : sample.taken(s, t)) {
          all += 1;
          again += had.insert(bit % 6).second ? 0 : 1;
        }
      }
    }
    return again / all;
  };
  const FitResult plain = test::fit(cohort, carried("hmm+bernoulli", 2).set("carry-over", false));
  const FitResult remembering = test::fit(cohort, carried("hmm+bernoulli", 2));
  EXPECT_GT(repeats(*plain.model), 0.15);
  EXPECT_LT(repeats(*remembering.model), 0.001);
  EXPECT_GT(remembering.log_likelihood, plain.log_likelihood + 500);
}

TEST(ChainHistoryFit, WeightTwoIsTheRowTwice) {
  const Cohort cohort =
      test::random_cohort({.students = 80, .courses = 4, .periods = 3, .unknown = 0}, RandomStream(12));
  const test::WeightedTwice twice = test::weighted_twice(cohort, 3);
  const FitResult doubled = test::fit(twice.repeated, carried("cmm+bernoulli", 2).set("start", std::string("kmeans")));
  const FitResult weighted =
      test::fit(twice.weighted,
                carried("cmm+bernoulli", 2).set("start", std::string("kmeans")).set("weights", std::string("weight")));
  EXPECT_NEAR(doubled.objective, weighted.objective, 1e-9 * std::abs(doubled.objective));
}

TEST(ChainHistoryFit, ValidationStudentsHaveTheirHistoryToo) {
  const Cohort cohort =
      test::random_cohort({.students = 80, .courses = 4, .periods = 3, .unknown = 0}, RandomStream(15));
  const Executor executor(2);
  TrainingContext context{executor};
  context.validation = &cohort;
  const FitResult fit = fit_model(cohort, carried("cmm+bernoulli", 2), context);
  const double mean = fit.model->log_likelihood(EvidenceBatch::of(cohort), LikelihoodKind::mass, executor).value.mean();
  EXPECT_NEAR(fit.validation_trace[static_cast<std::size_t>(fit.best_iteration)], mean, 1e-9);
}

TEST(ChainHistoryFit, RefusesWhatItCannotKnow) {
  const Cohort gaps =
      test::random_cohort({.students = 60, .courses = 3, .periods = 3, .unknown = 0.4}, RandomStream(13));
  EXPECT_TRUE(test::says(test::message_of<InputError>([&] { test::fit(gaps, carried("cmm+bernoulli", 2)); }),
                         {"--carry-over", "nb"}));
  const Cohort whole =
      test::random_cohort({.students = 60, .courses = 3, .periods = 3, .unknown = 0}, RandomStream(13));
  const FitResult fit = test::fit(whole, carried("cmm+bernoulli", 2));
  const Executor executor(1);
  const std::vector<Id> asked = {3};
  const std::vector<Id> middle = {1};
  EXPECT_TRUE(test::says(test::message_of<InputError>([&] {
                           fit.model->marginals(EvidenceBatch::of(whole).without_periods(middle), asked, executor);
                         }),
                         {"--carry-over", "hct"}));
  EvidenceBuilder builder(3, 3);
  builder.begin_student("s");
  builder.add({Presence::unknown, {0}, {}});  // one course is known, the others are not
  builder.add({});
  builder.add({});
  EXPECT_TRUE(test::says(
      test::message_of<InputError>([&] { fit.model->marginals(std::move(builder).build(), asked, executor); }),
      {"--carry-over", "hct"}));
}

TEST(ChainHistoryFit, StatesOfAnotherFormAreNoStart) {
  const Cohort cohort =
      test::random_cohort({.students = 60, .courses = 3, .periods = 3, .unknown = 0}, RandomStream(14));
  const FitOptions remembering = carried("cmm+bernoulli", 2);
  FitOptions plain = carried("cmm+bernoulli", 2);
  plain.set("carry-over", false);
  const FitResult with = test::fit(cohort, remembering), without = test::fit(cohort, plain);
  const Executor executor(1);
  TrainingContext context{executor};
  context.warm = without.model.get();
  const std::string into_carried = test::message_of<OptionError>([&] { fit_model(cohort, remembering, context); });
  EXPECT_TRUE(test::says(into_carried, {"--warm", "carry-over"}));
  context.warm = with.model.get();
  const std::string into_plain = test::message_of<OptionError>([&] { fit_model(cohort, plain, context); });
  EXPECT_TRUE(test::says(into_plain, {"--warm", "carry-over"}));
  EXPECT_NE(into_plain, into_carried);
  const FitResult again = fit_model(cohort, remembering, context);
  EXPECT_GE(again.objective_trace.back(), again.objective_trace.front());
}

}  // namespace
}  // namespace desirepath::chain_history_test
