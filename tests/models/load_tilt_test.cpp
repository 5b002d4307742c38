// Tilted loads: the fit of the factors alone, and what a tilted committee answers against enumeration of all worlds.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>

#include "support/example_cohorts.h"
#include "support/fits.h"
#include "support/support.h"
#include "support/worlds.h"

#include "desirepath/models/committee.h"

namespace desirepath::load_tilt_test {
namespace {

using test::World;

Id last_period(const World& world) {
  return static_cast<Id>(std::ranges::count(world.left, false)) - 1;
}

std::vector<Id> loads_in(const World& world, const Schema& schema) {
  std::vector<Id> loads(static_cast<std::size_t>(schema.period_count()), 0);
  for (Id bit = 0; bit < schema.bit_count(); ++bit)
    loads[static_cast<std::size_t>(schema.period_of(bit))] += world.taken[static_cast<std::size_t>(bit)] ? 1 : 0;
  return loads;
}

/// A committee of drawn trees, tilted by drawn factors whose draws are all worlds, each with its probability.
struct Tilted {
  static constexpr Id courses = 3, periods = 3;
  Tilted(bool leaves, std::uint64_t seed)
      : chain(test::random_chain("hct", truth(), courses, periods, 2, leaves, RandomStream(seed))),
        worlds(test::enumerate_worlds(chain, truth())) {
    RandomStream stream = RandomStream(seed).child("factors");
    // Of periods 1 to 3, of students enrolled in two and in three, and of those who leave after the first and the
    // second; the last holds for all larger loads.
    for (const Index size : {3, 4, 4, 7, 8, 3, 4}) {
      Vector& own = factors.emplace_back(size);
      for (double& factor : own)
        factor = 0.5 * stream.normal();
    }
    std::vector<Loads> draws;
    for (const World& world : worlds) {
      const Id last = last_period(world);
      draws.push_back(
          {{periods_until(last), PeriodSet{1} << last}, loads_in(world, chain.schema()), world.probability});
    }
    committee = std::make_unique<Committee>(chain, LoadTilt(factors, draws));
  }
  static const test::EmissionTruth& truth() {
    return *std::ranges::find(test::emission_truths(), std::string("hidden-tree"), &test::EmissionTruth::family);
  }
  /// The product of the factors of students enrolled in these periods.
  double product(const World& world, PeriodSet enrolled) const {
    const std::vector<Id> loads = loads_in(world, chain.schema());
    const auto factor = [&](std::size_t term, Id load) {
      return std::exp(factors[term][std::min<Index>(load, factors[term].size() - 1)]);
    };
    double product = 1;
    Id all = 0, count = 0;
    for (std::size_t t = 0; t < 3; ++t) {
      if (!has_period(enrolled, static_cast<Id>(t))) continue;
      product *= factor(t, loads[t]);
      all += loads[t];
      ++count;
    }
    if (count == 2) product *= factor(3, all);
    if (count == 3) product *= factor(4, all);
    const Id last = last_period(world);
    if (last < 2 && has_period(enrolled, last))
      product *= factor(5 + static_cast<std::size_t>(last), loads[static_cast<std::size_t>(last)]);
    return product;
  }
  double normaliser(PeriodSet enrolled, Id last) const {
    double sum = 0, all = 0;
    for (const World& world : worlds) {
      if (last_period(world) != last) continue;
      sum += world.probability * product(world, enrolled);
      all += world.probability;
    }
    return sum / all;
  }
  /// The tilted probability of what is known, from the definition.
  double probability(const EvidenceBatch& evidence, std::int64_t student) const {
    PeriodSet enrolled = 0;
    for (Id t = 0; t < periods; ++t)
      enrolled |= evidence.seen(student, t) == Presence::present ? PeriodSet{1} << t : 0;
    double sum = 0;
    for (const World& world : worlds) {
      if (test::agrees(world, evidence, student))
        sum += world.probability * product(world, enrolled) / normaliser(enrolled, last_period(world));
    }
    return sum;
  }

  HiddenChain chain;
  std::vector<World> worlds;
  std::vector<Vector> factors;
  std::unique_ptr<Committee> committee;
};

/// All ways in which bits of these periods can be known, the others unknown; known to have left from a period on, where
/// that is less than the number of periods.
EvidenceBatch all_records(const Schema& schema, PeriodSet enrolled, Id gone_from) {
  std::vector<Id> bits;
  for (Id bit = 0; bit < schema.bit_count(); ++bit) {
    if (has_period(enrolled, schema.period_of(bit))) bits.push_back(bit);
  }
  EvidenceBuilder builder(schema.period_count(), schema.course_count());
  for (std::size_t code = 0; code < std::size_t{1} << bits.size(); ++code) {
    builder.begin_student("");
    for (Id t = 0; t < schema.period_count(); ++t) {
      PeriodEvidence period;
      if (has_period(enrolled, t)) period.presence = Presence::present;
      if (t >= gone_from) period.presence = Presence::left;
      for (std::size_t i = 0; i < bits.size(); ++i) {
        if (schema.period_of(bits[i]) == t && (code >> i & 1) != 0) period.taken.push_back(bits[i]);
      }
      builder.add(period);
    }
  }
  return std::move(builder).build();
}

class TiltedCommittee : public testing::TestWithParam<bool> {
 protected:
  Executor executor_{2};
};

TEST_P(TiltedCommittee, KeepsTheProbabilityOfEveryPatternOfEnrollment) {
  const Tilted tilted(GetParam(), 3);
  const Schema& schema = tilted.chain.schema();
  for (PeriodSet enrolled = 1; enrolled < 8; ++enrolled) {
    const Id first_gone = static_cast<Id>(std::bit_width(enrolled));
    for (Id gone = GetParam() ? first_gone : Tilted::periods; gone <= Tilted::periods; ++gone) {
      const EvidenceBatch records = all_records(schema, enrolled, gone);
      const Estimates scores = tilted.committee->log_likelihood(records, LikelihoodKind::mass, executor_);
      ASSERT_TRUE(scores.is_exact());
      double together = 0;
      for (const World& world : tilted.worlds) {
        const Id last = last_period(world);
        const bool may_be = last < gone && last >= first_gone - 1;
        together += may_be ? world.probability : 0;
      }
      EXPECT_NEAR(scores.value.array().exp().sum(), together, 1e-10) << enrolled << " gone from " << gone;
      for (std::int64_t s = 0; s < records.student_count(); ++s)
        EXPECT_NEAR(scores.value(s, 0), std::log(tilted.probability(records, s)), 1e-9) << enrolled << " " << s;
    }
  }
}

TEST_P(TiltedCommittee, ScoresWhatIsKnownInPartByDraws) {
  const Tilted tilted(GetParam(), 4);
  const EvidenceBatch known = test::random_evidence(tilted.chain.schema(), 60, GetParam(), RandomStream(8));
  const Estimates scores = tilted.committee->log_likelihood(known, LikelihoodKind::mass, executor_);
  const Estimates of_trees = tilted.chain.log_likelihood(known, LikelihoodKind::mass, executor_);
  ASSERT_FALSE(scores.is_exact());
  double squares = 0, moved = 0;
  int drawn = 0;
  for (std::int64_t s = 0; s < 60; ++s) {
    const double expected = std::log(tilted.probability(known, s)), error = scores.standard_error(s, 0);
    if (error < 1e-9) {  // all draws weigh alike
      EXPECT_NEAR(scores.value(s, 0), expected, 1e-9) << s;
      continue;
    }
    ++drawn;
    squares += std::pow((scores.value(s, 0) - expected) / error, 2);
    moved = std::max(moved, std::abs(of_trees.value(s, 0) - expected) / error);
    EXPECT_LT(error, 0.1);
    EXPECT_NEAR(scores.value(s, 0), expected, 5 * error) << s;
  }
  ASSERT_GT(drawn, 20);
  EXPECT_LT(squares / drawn, 2);
  EXPECT_GT(moved, 10);  // the errors would show an untilted score
}

/// Worlds with the probabilities that completions of a student are to have: first those of the periods in which the
/// student is known to be enrolled, with the last period; then the other periods until the last, given these.
std::vector<World> worlds_of_completions(const Tilted& tilted, const EvidenceBatch& evidence, std::int64_t student) {
  const Schema& schema = tilted.chain.schema();
  PeriodSet seen = 0;
  for (Id t = 0; t < Tilted::periods; ++t)
    seen |= evidence.seen(student, t) == Presence::present ? PeriodSet{1} << t : 0;
  const auto in_seen = [&](const World& world) {
    std::vector<bool> bits(1, false);
    for (Id bit = 0; bit < schema.bit_count(); ++bit)
      bits.push_back(has_period(seen, schema.period_of(bit)) && world.taken[static_cast<std::size_t>(bit)]);
    return std::pair(last_period(world), bits);
  };
  std::map<std::pair<Id, std::vector<bool>>, std::pair<double, double>> alike;  // P, and P times all factors
  for (const World& world : tilted.worlds) {
    auto& [plain, weighed] = alike[in_seen(world)];
    plain += world.probability;
    weighed += world.probability * tilted.product(world, periods_until(last_period(world)));
  }
  std::vector<World> worlds = tilted.worlds;
  for (World& world : worlds) {
    const Id last = last_period(world);
    if ((seen & ~periods_until(last)) != 0) {
      world.probability = 0;
      continue;
    }
    const auto& [plain, weighed] = alike.at(in_seen(world));
    world.probability *= plain * tilted.product(world, seen) / tilted.normaliser(seen, last) *
                         tilted.product(world, periods_until(last)) / weighed;
  }
  return worlds;
}

TEST_P(TiltedCommittee, CompletesByTheTiltedProbabilities) {
  const Tilted tilted(GetParam(), 5);
  const EvidenceBatch nothing = test::nothing_known(tilted.chain.schema(), 1);
  const EvidenceBatch some = test::random_evidence(tilted.chain.schema(), 4, GetParam(), RandomStream(9));
  constexpr int draws = 4000;
  int freedom =
      test::expect_chi_squared(test::count_worlds(*tilted.committee, nothing, 0, draws, RandomStream(1), executor_),
                               worlds_of_completions(tilted, nothing, 0), nothing, 0);
  for (std::int64_t s = 0; s < some.student_count(); ++s) {
    freedom +=
        test::expect_chi_squared(test::count_worlds(*tilted.committee, some, s, draws, RandomStream(2), executor_),
                                 worlds_of_completions(tilted, some, s), some, s);
  }
  EXPECT_GT(freedom, 20);
}

TEST_P(TiltedCommittee, CompletionsDependOnSeedAndStudentAlone) {
  const Tilted tilted(GetParam(), 6);
  const EvidenceBatch known = test::random_evidence(tilted.chain.schema(), 700, GetParam(), RandomStream(12));
  const EvidenceBatch drawn = tilted.committee->complete(known, RandomStream(3), Executor(1));
  for (const int threads : {2, 3, 7})
    EXPECT_TRUE(test::same_students(drawn, tilted.committee->complete(known, RandomStream(3), Executor(threads))));
  const EvidenceBatch fewer = tilted.committee->complete(known.slice(0, 10), RandomStream(3), executor_);
  EXPECT_TRUE(test::same_students(drawn.slice(0, 10), fewer));
  EXPECT_FALSE(test::same_students(drawn, tilted.committee->complete(known, RandomStream(4), executor_)));
  const Estimates scores = tilted.committee->log_likelihood(known, LikelihoodKind::mass, Executor(1));
  const Estimates again = tilted.committee->log_likelihood(known, LikelihoodKind::mass, Executor(3));
  EXPECT_EQ(scores.value, again.value);
  EXPECT_EQ(scores.standard_error, again.standard_error);
}

TEST_P(TiltedCommittee, ComesBackFromItsFile) {
  const Tilted tilted(GetParam(), 7);
  const std::vector<std::byte> bytes = test::bytes_of_model(*tilted.committee);
  const StoredModel stored = load_model(ArchiveReader::from_bytes(bytes, "a model"));
  EXPECT_EQ(test::bytes_of_model(*stored.model), bytes);
  const EvidenceBatch known = test::random_evidence(tilted.chain.schema(), 20, GetParam(), RandomStream(13));
  EXPECT_EQ(stored.model->log_likelihood(known, LikelihoodKind::mass, executor_).value,
            tilted.committee->log_likelihood(known, LikelihoodKind::mass, executor_).value);
  EXPECT_TRUE(offered<TiltsLoads>(*stored.model)->is_tilted());
  const StoredModel without =
      load_model(ArchiveReader::from_bytes(test::bytes_of_model(Committee(tilted.chain)), "a model"));
  EXPECT_FALSE(offered<TiltsLoads>(*without.model)->is_tilted());
}

INSTANTIATE_TEST_SUITE_P(Leaving, TiltedCommittee, testing::Bool(),
                         [](const auto& the_case) { return the_case.param ? "leavers" : "nobody_leaves"; });

TEST(TiltOfLoads, DamagedFilesAreRefused) {
  const Tilted tilted(true, 2);
  const auto refused = [&](const std::function<void(ArchiveWriter&)>& write) {
    ArchiveWriter archive("model");
    tilted.chain.save(archive);
    archive.set("training", "{}");
    write(archive);
    EXPECT_THROW(load_model(ArchiveReader::from_bytes(archive.bytes(), "damaged")), ArchiveError);
  };
  using Sizes = std::vector<std::int32_t>;
  using Draws = std::vector<std::int16_t>;
  const auto parts = [](Sizes sizes, std::vector<double> factors, Draws draws, std::vector<std::uint8_t> last,
                        std::vector<double> weights) {
    return [=](ArchiveWriter& archive) {
      const auto rows = static_cast<std::int64_t>(draws.size() / 3);
      archive.add("load.sizes", sizes);
      archive.add("load.factors", factors);
      archive.add("load.draws", draws, {rows, 3});
      archive.add("load.last", last);
      archive.add("load.weights", weights);
    };
  };
  {
    ArchiveWriter archive("model");
    tilted.chain.save(archive);
    archive.set("training", "{}");
    parts({1, 2, 1, 1, 1, 1, 1}, {0, 1, 2, 0, 0, 0, 0, 0}, {0, 1, 0}, {1}, {1})(archive);
    EXPECT_TRUE(
        offered<TiltsLoads>(*load_model(ArchiveReader::from_bytes(archive.bytes(), "whole")).model)->is_tilted());
  }
  refused(parts({1, 2, 1, 1, 1}, {0, 1, 2, 0, 0, 0}, {0, 1, 0}, {1}, {1}));                 // periods
  refused(parts({1, 2, 0, 1, 1, 1, 1}, {0, 1, 2, 0, 0, 0, 0}, {0, 1, 0}, {1}, {1}));        // no factor
  refused(parts({1, 2, 1, 1, 1, 1, 1}, {0, 1, 2}, {0, 1, 0}, {1}, {1}));                    // a factor is missing
  refused(parts({1, 2, 1, 1, 1, 1, 1}, {0, 1, 2000, 0, 0, 0, 0, 0}, {0, 1, 0}, {1}, {1}));  // too large
  refused(parts({1, 2, 1, 1, 1, 1, 1}, {0, NAN, 2, 0, 0, 0, 0, 0}, {0, 1, 0}, {1}, {1}));   // no number
  refused(parts({1, 2, 1, 1, 1, 1, 1}, {0, 1, 2, 0, 0, 0, 0, 0}, {0, -1, 0}, {1}, {1}));    // a load below none
  refused(parts({1, 2, 1, 1, 1, 1, 1}, {0, 1, 2, 0, 0, 0, 0, 0}, {0, 1, 0}, {0}, {1}));     // a load after leaving
  refused(parts({1, 2, 1, 1, 1, 1, 1}, {0, 1, 2, 0, 0, 0, 0, 0}, {0, 1, 0}, {3}, {1}));     // no such period
  refused(parts({1, 2, 1, 1, 1, 1, 1}, {0, 1, 2, 0, 0, 0, 0, 0}, {0, 1, 0}, {1}, {0}));     // no weight
  refused(parts({1, 2, 1, 1, 1, 1, 1}, {0, 1, 2, 0, 0, 0, 0, 0}, {0, 1, 0, 0, 0, 0}, {1}, {1}));  // a draw too many
  refused(parts({1, 2, 1, 1, 1, 1, 1}, {0, 1, 2, 0, 0, 0, 0, 0}, {}, {}, {}));                    // no draws
}

/// Loads of students who are enrolled in all periods, or in some of them, and of draws that vary more.
struct SomeLoads {
  explicit SomeLoads(std::uint64_t seed, bool leaves = true) {
    RandomStream stream(seed);
    const auto draw = [&](int coins, double share, Id last) {
      std::vector<Id> courses(3, 0);
      for (Id t = 0; t <= last; ++t) {
        for (int i = 0; i < coins; ++i)
          courses[static_cast<std::size_t>(t)] += stream.bernoulli(share) ? 1 : 0;
      }
      return courses;
    };
    for (int s = 0; s < 400; ++s) {
      const Id last = leaves && s % 4 == 0 ? 1 : 2;
      const PeriodSet may_be_last = s % 8 == 0 && leaves ? 6 : PeriodSet{1} << last;  // of some it is not known
      PeriodSet enrolled = periods_until(last);
      if (s % 5 == 0) enrolled &= ~PeriodSet{1};
      Loads own{{enrolled, may_be_last}, draw(4, 0.75, last), 1};
      if (!has_period(enrolled, 0)) own.courses[0] = 0;
      students.push_back(own);
    }
    for (int d = 0; d < 3000; ++d) {
      const Id last = leaves && d % 2 == 0 ? 1 : 2;
      draws.push_back({{periods_until(last), PeriodSet{1} << last}, draw(9, 0.3, last), last == 1 ? 0.3 : 0.7});
    }
  }
  std::vector<double> ones() const { return std::vector<double>(students.size(), 1); }
  std::vector<Loads> students, draws;
};

TEST(TiltOfLoads, DerivativesAreThoseOfTheLikelihood) {
  const SomeLoads some(1);
  const LoadProblem problem(some.students, some.draws, LoadGroups(some.students, some.draws, 3));
  RandomStream stream(2);
  Vector at(problem.size());
  for (double& value : at)
    value = stream.normal();
  const LoadProblem::Slope slope = problem.slope(at);
  const double step = 1e-5;
  for (Index i = 0; i < at.size(); ++i) {
    Vector above = at, below = at;
    above[i] += step;
    below[i] -= step;
    EXPECT_NEAR(slope.gradient[i], (problem.log_likelihood(above) - problem.log_likelihood(below)) / (2 * step), 1e-5);
    const Vector change = (problem.slope(below).gradient - problem.slope(above).gradient) / (2 * step);
    EXPECT_LT((slope.curvature.col(i) - change).cwiseAbs().maxCoeff(), 1e-5);
  }
  EXPECT_NEAR(problem.log_likelihood(Vector::Zero(problem.size())), 0, 1e-9);
}

TEST(TiltOfLoads, WithoutSmoothnessTiltedDrawsHaveTheLoadsOfTheStudents) {
  const SomeLoads some(3, /*leaves=*/false);
  std::vector<Loads> everywhere;  // enrolled in all periods, so that one normaliser holds for all
  for (const Loads& loads : some.students) {
    if (loads.pattern.enrolled == 7) everywhere.push_back(loads);
  }
  const LoadProblem problem(everywhere, some.draws, LoadGroups(everywhere, some.draws, 3));
  const Vector best = problem.climb(problem.penalty(0), Vector::Zero(problem.size()));
  const std::vector<Vector> factors = problem.by_load(best);
  for (Id t = 0; t < 3; ++t) {
    const auto group = [&](const Loads& loads) {
      return problem.groups().of(t, loads.courses[static_cast<std::size_t>(t)]);
    };
    Vector students = Vector::Zero(problem.groups().group_count(t)), draws = students;
    ASSERT_GE(students.size(), 4);
    for (const Loads& loads : everywhere)
      students[group(loads)] += 1;
    for (const Loads& draw : some.draws) {
      double product = draw.weight;
      for_each_load(7, 2, draw.courses, [&](Id term, Id load) {
        const Vector& own = factors[static_cast<std::size_t>(term)];
        product *= std::exp(own[std::min<Index>(load, own.size() - 1)]);
      });
      draws[group(draw)] += product;
    }
    EXPECT_LT((students / students.sum() - draws / draws.sum()).cwiseAbs().maxCoeff(), 1e-6) << "period " << t;
  }
}

TEST(TiltOfLoads, AStudentOfWeightTwoCountsTwice) {
  const SomeLoads some(10);
  std::vector<Loads> weighted = some.students, repeated;
  for (std::size_t s = 0; s < weighted.size(); ++s) {
    weighted[s].weight = s % 3 == 0 ? 2 : 1;
    for (int i = 0; i < (s % 3 == 0 ? 2 : 1); ++i)
      repeated.push_back(some.students[s]);
  }
  const std::optional<LoadTilt> one = fit_load_tilt(weighted, some.draws, 3),
                                other = fit_load_tilt(repeated, some.draws, 3);
  ASSERT_TRUE(one && other);
  for (std::size_t term = 0; term < 7; ++term)
    EXPECT_LT((one->log_factors()[term] - other->log_factors()[term]).cwiseAbs().maxCoeff(), 1e-8);
}

TEST(TiltOfLoads, SmoothFactorsDescribeOthersBetterThanTheModelDoes) {
  const SomeLoads learned(4), others(5);
  const std::optional<LoadTilt> tilt = fit_load_tilt(learned.students, learned.draws, 3);
  ASSERT_TRUE(tilt);
  double gain = 0;
  for (const Loads& loads : others.students) {
    if (std::popcount(loads.pattern.last) > 1) continue;
    const Id last = static_cast<Id>(std::bit_width(loads.pattern.last)) - 1;
    gain += tilt->log_product(loads.pattern.enrolled, last, loads.courses) -
            tilt->log_normaliser(loads.pattern.enrolled, last);
  }
  EXPECT_GT(gain / 350, 0.3);
}

TEST(TiltOfLoads, PublishedFactorsAreOfEnoughStudents) {
  const SomeLoads some(6);
  for (const double least : {10.0, 60.0, 1000.0}) {
    const LoadGroups groups(some.students, some.draws, 3, least);
    for (Id term = 0; term < groups.term_count(); ++term) {
      const Index count = groups.group_count(term);
      std::vector<double> behind(static_cast<std::size_t>(count), 0);
      for (const Loads& loads : some.students) {
        for_each_load(loads.pattern.enrolled, last_period_of(loads.pattern), loads.courses, [&](Id own, Id load) {
          if (own == term) behind[static_cast<std::size_t>(groups.of(term, load))] += 1;
        });
      }
      for (Index g = 0; g < count; ++g) {
        const bool is_few = behind[static_cast<std::size_t>(g)] < least;
        EXPECT_EQ(groups.stands_for(term, g), is_few ? std::optional(least / 2) : std::nullopt) << term << " " << g;
        if (is_few) {
          EXPECT_TRUE(g == 0 || g + 1 == count) << term << " " << g;
        }
      }
      if (least == 10 && term < 5) {  // of leavers there are fewer
        EXPECT_GT(count, 3) << term;
      }
    }
  }
  // Four students at the end count as five.
  std::vector<Loads> fewer = some.students;
  const auto is_high = [](const Loads& loads) {
    return has_period(loads.pattern.enrolled, 0) && loads.courses[0] == 4;
  };
  const auto high = std::ranges::count_if(fewer, is_high);
  ASSERT_GT(high, 20);
  for (auto keep = high; keep > 4;) {
    const auto one = std::ranges::find_if(fewer, is_high);
    one->courses[0] = 3;
    --keep;
  }
  const LoadGroups groups(fewer, some.draws, 3, 10);
  EXPECT_EQ(groups.stands_for(0, groups.group_count(0) - 1), 5);
  // Students who count for less are more of them.
  const std::vector<double> halves(some.students.size(), 0.5);
  EXPECT_EQ(LoadGroups(some.students, some.draws, 3, 30, halves).group_count(2),
            LoadGroups(some.students, some.draws, 3, 60).group_count(2));
  const std::optional<LoadTilt> rounded = fit_load_tilt(some.students, some.draws, 3, {10, {}, /*is_rounded=*/true});
  ASSERT_TRUE(rounded);
  for (const Vector& own : rounded->log_factors()) {
    for (const double factor : own)
      EXPECT_NEAR(100 * factor, std::round(100 * factor), 1e-9);
  }
}

TEST(TiltOfLoads, PoorDataAreNotTilted) {
  const SomeLoads some(7);
  EXPECT_FALSE(fit_load_tilt({}, some.draws, 3));
  EXPECT_FALSE(fit_load_tilt(some.students, {}, 3));
  EXPECT_FALSE(fit_load_tilt(std::span(some.students).first(99), some.draws, 3));
  // Nobody is enrolled.
  std::vector<Loads> nobody = some.students;
  for (Loads& loads : nobody)
    loads.pattern.enrolled = 0;
  EXPECT_FALSE(fit_load_tilt(nobody, some.draws, 3));
  // Draws that are students already: nothing to gain.
  std::vector<Loads> alike = some.draws;
  std::vector<Loads> part(alike.begin(), alike.begin() + 400);
  EXPECT_FALSE(fit_load_tilt(part, part, 3));
}

TEST(TiltOfLoads, OneLoadOnlyAndAPeriodThatNobodyIsIn) {
  SomeLoads some(8);
  for (Loads& loads : some.students) {
    loads.courses = {3, 2, 0};
    loads.pattern = {3, 2};  // nobody in period 3
  }
  const std::optional<LoadTilt> one = fit_load_tilt(some.students, some.draws, 3);
  ASSERT_TRUE(one);
  double alike = 0, all = 0;
  for (const Loads& draw : some.draws) {
    const Id last = last_period_of(draw.pattern);
    if (last != 1) continue;
    const double weight = draw.weight * std::exp(one->log_product(3, last, draw.courses));
    alike += draw.courses[0] == 3 && draw.courses[1] == 2 ? weight : 0;
    all += weight;
  }
  EXPECT_GT(alike / all, 0.95);
  RandomStream stream(9);
  for (Loads& loads : some.students)
    loads.courses = {3 + static_cast<Id>(stream.below(2)), 2, 0};
  const std::optional<LoadTilt> tilt = fit_load_tilt(some.students, some.draws, 3);
  ASSERT_TRUE(tilt);
  EXPECT_EQ(tilt->log_factors()[2], Vector::Zero(1));
  for (PeriodSet enrolled = 0; enrolled < 8; ++enrolled)
    EXPECT_TRUE(std::isfinite(tilt->log_normaliser(enrolled, 2)));
  // No draw left after period 1: there is nothing to normalise.
  EXPECT_EQ(tilt->log_normaliser(1, 0), 0);
}

/// Students who all take four or five of twelve courses in each period: less spread than independent courses have.
Cohort steady_students(std::int64_t students, bool leaves) {
  test::CohortMaker made(12, 2);
  RandomStream stream(21);
  for (std::int64_t s = 0; s < students; ++s) {
    made.add_student();
    for (Id t = 0; t < 2; ++t) {
      std::vector<Id> courses(12);
      std::iota(courses.begin(), courses.end(), 0);
      shuffle(courses, stream);
      const std::size_t load = 4 + stream.below(2);
      for (std::size_t i = 0; i < load; ++i)
        made.take(t, courses[i]);
    }
    if (leaves && s % 3 == 0) made.set(1, Presence::left);
  }
  return std::move(made).build();
}

FitOptions small_committee() {
  FitOptions options("hct");
  options.set("trees", 2).set("tree-states", 2).set("iterations", 8).set("tolerance", 0.0);
  return options;
}

TEST(FitOfLoads, GivesDrawsTheLoadsOfTheStudents) {
  for (const bool leaves : {false, true}) {
    const Cohort cohort = steady_students(400, leaves);
    FitOptions options = small_committee();
    const StoredModel tilted = test::fitted(cohort, options);
    options.set("load", "none");
    const StoredModel plain = test::fitted(cohort, options);
    ASSERT_TRUE(offered<TiltsLoads>(*tilted.model)->is_tilted());
    EXPECT_FALSE(offered<TiltsLoads>(*plain.model)->is_tilted());
    const Executor executor(2);
    // The trees are the same.
    const EvidenceBatch evidence = EvidenceBatch::of(cohort);
    EXPECT_EQ(untilted(*tilted.model).log_likelihood(evidence, LikelihoodKind::mass, executor).value,
              plain.model->log_likelihood(evidence, LikelihoodKind::mass, executor).value);
    EXPECT_GT(tilted.model->log_likelihood(evidence, LikelihoodKind::mass, executor).value.mean(),
              plain.model->log_likelihood(evidence, LikelihoodKind::mass, executor).value.mean() + 0.8);
    EXPECT_NEAR(tilted.model->log_likelihood(evidence, LikelihoodKind::mass, executor).value.sum(),
                *tilted.training.log_likelihood, 1e-8 * std::abs(*tilted.training.log_likelihood));
    const auto outside = [&](const Model& model) {
      const EvidenceBatch drawn = model.complete(test::nothing_known(cohort.schema(), 2000), RandomStream(4), executor);
      double count = 0, all = 0;
      for (std::int64_t s = 0; s < 2000; ++s) {
        for (Id t = 0; t < 2; ++t) {
          if (drawn.presence(s, t) != Presence::present) continue;
          const auto load = std::ssize(drawn.taken(s, t));
          count += load < 4 || load > 5 ? 1 : 0;
          all += 1;
        }
      }
      return count / all;
    };
    EXPECT_GT(outside(*plain.model), 0.3);
    EXPECT_LT(outside(*tilted.model), 0.1);
  }
}

}  // namespace
}  // namespace desirepath::load_tilt_test
