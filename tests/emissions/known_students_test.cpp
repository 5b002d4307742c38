// Trees that know when students leave, and their attributes and outcomes: against all worlds of few bits, written out
// from the parameters alone, and against a dense textbook version.
#include <bit>
#include <cmath>
#include <map>

#include "support/emission_steps.h"
#include "support/emission_truths.h"
#include "support/example_cohorts.h"
#include "support/fits.h"
#include "support/stopped_fits.h"
#include "support/support.h"
#include "support/textbook_hidden_tree.h"
#include "support/worlds.h"

#include "desirepath/emissions/hidden_tree.h"
#include "desirepath/models/committee.h"
#include "desirepath/models/model_file.h"

namespace desirepath::known_students_test {
namespace {

constexpr Id courses = 2, periods = 3, trees = 2;

Trait residence() {
  return {"residence", TraitKind::attribute, {"campus", "commuter", "other"}, {}, {}};
}
Trait graduated() {
  return {"graduated", TraitKind::outcome, {"no", "yes"}, {}, {}};
}

Schema schema_with_traits() {
  const std::vector<std::string> names = {"1", "2", "3"};
  return Schema({{.name = "A"}, {.name = "B"}}, names, {residence(), departure_trait(names), graduated()});
}
constexpr std::size_t departure_at = 1;

HiddenChain drawn_chain(RandomStream stream) {
  const Schema schema = schema_with_traits();
  ChainParameters parameters;
  parameters.prior.initial = Vector::Constant(trees, 1.0 / trees);
  for (const test::EmissionTruth& truth : test::emission_truths()) {
    if (truth.family == HiddenTreeEmission::family_name)
      parameters.emissions.push_back(
          truth.draw(StepLayout::of(TimeStructure::one_step, schema).shape(schema), trees, stream));
  }
  return HiddenChain({"hct", "hidden-tree", true, TimeStructure::one_step, schema}, std::move(parameters));
}

/// One way everything could be: bits exist up to the last period of enrollment.
struct KnownWorld {
  std::vector<bool> taken;  // periods by courses
  std::vector<Id> values;   // of the traits; departure: the last period, from 0
  double probability = 0;
  bool operator<(const KnownWorld& other) const {
    return std::pair(taken, values) < std::pair(other.taken, other.values);
  }
};

/// P(the bits of a course in periods up to the last | z).
double of_course(const HiddenTreeParameters& p, Id course, Id z, const KnownWorld& world, Id last) {
  double sum = 0;
  for (Id v = 0; v <= p.periods(); ++v) {
    double product = p.timing(course * p.states() + z, v);
    for (Id t = 0; t <= last; ++t) {
      const bool taken = world.taken[static_cast<std::size_t>(t * courses + course)];
      if (v == 0 || t + 1 < v)
        product *= taken ? 0 : 1;
      else if (t + 1 == v)
        product *= taken ? 1 : 0;
      else
        product *= taken ? p.retake(course, t) : 1 - p.retake(course, t);
    }
    sum += product;
  }
  return sum;
}

std::vector<KnownWorld> all_worlds(const HiddenChain& model) {
  const auto& emission = dynamic_cast<const HiddenTreeEmission&>(*model.parameters().emissions.front());
  std::map<KnownWorld, double> found;
  for (const auto& tree : emission.trees()) {
    const HiddenTreeParameters& p = tree->parameters();
    const Id nodes = p.nodes(), h = p.states();
    for (Id home = 0; home < 3; ++home) {
      for (Id last = 0; last < periods; ++last) {
        for (Id outcome = 0; outcome < 2; ++outcome) {
          for (int bits = 0; bits < 1 << ((last + 1) * courses); ++bits) {
            KnownWorld world{std::vector<bool>(courses * periods), {home, last, outcome}};
            for (Id b = 0; b < (last + 1) * courses; ++b)
              world.taken[static_cast<std::size_t>(b)] = (bits >> b & 1) != 0;
            double sum = 0;
            Id assignments = 1;
            for (Id i = 0; i < nodes; ++i)
              assignments *= h;
            for (Id code = 0; code < assignments; ++code) {
              std::vector<Id> z;
              for (Id rest = code; std::ssize(z) < nodes; rest /= h)
                z.push_back(rest % h);
              double product = 1;
              for (Id i = 0; i < nodes; ++i) {
                const Id own = z[static_cast<std::size_t>(i)], parent = p.parents[static_cast<std::size_t>(i)];
                product *= parent < 0 ? p.initial[own] : p.transition(i * h + z[static_cast<std::size_t>(parent)], own);
                product *= i < courses ? of_course(p, i, own, world, last)
                                       : p.timing(i * h + own, world.values[static_cast<std::size_t>(i - courses)]);
              }
              sum += product;
            }
            found[world] += sum / trees;
          }
        }
      }
    }
  }
  std::vector<KnownWorld> worlds;
  for (const auto& [world, probability] : found) {
    worlds.push_back(world);
    worlds.back().probability = probability;
  }
  return worlds;
}

bool agrees(const KnownWorld& world, const EvidenceBatch& evidence, std::int64_t s) {
  for (Id t = 0; t < periods; ++t) {
    const Presence seen = evidence.seen(s, t);
    const bool is_there = t <= world.values[departure_at];
    if ((seen == Presence::present && !is_there) || (seen == Presence::left && is_there)) return false;
    const PeriodEvidence known = PeriodEvidence::of(evidence, s, t);
    for (Id bit = t * courses; bit < (t + 1) * courses && is_there; ++bit) {
      const std::optional<bool> value = known.known(bit);
      if (value && *value != world.taken[static_cast<std::size_t>(bit)]) return false;
    }
  }
  for (Id i = 0; i < evidence.trait_count(); ++i) {
    if ((evidence.possible(s, evidence.trait(i)) >> world.values[static_cast<std::size_t>(i)] & 1U) == 0) return false;
  }
  return true;
}

/// Periods of every kind, and of traits one, two or all values.
EvidenceBatch evidence_of_all_kinds(const Schema& schema, std::int64_t students, RandomStream stream) {
  EvidenceBatch evidence = test::random_evidence(schema, students, /*with_left=*/true, stream.child("courses"));
  std::vector<TraitValues> known;
  for (std::int64_t s = 0; s < students; ++s) {
    for (const Trait& trait : schema.traits()) {
      const double kind = stream.uniform();
      const TraitValues one = TraitValues{1} << stream.below(static_cast<std::uint64_t>(trait.value_count()));
      known.push_back(kind < 0.4 ? one : kind < 0.6 ? (one | 1U) : trait.all());
    }
  }
  return evidence.with_traits(schema.traits(), std::move(known));
}

class KnownStudents : public testing::TestWithParam<std::uint64_t> {
 protected:
  HiddenChain chain_ = drawn_chain(RandomStream(GetParam()));
  std::vector<KnownWorld> worlds_ = all_worlds(chain_);
  EvidenceBatch evidence_ = evidence_of_all_kinds(chain_.schema(), 60, RandomStream(GetParam()).child("students"));
  Executor executor_{2};

  double probability_of(std::int64_t s, const std::function<bool(const KnownWorld&)>& holds) const {
    double sum = 0;
    for (const KnownWorld& world : worlds_)
      sum += agrees(world, evidence_, s) && holds(world) ? world.probability : 0;
    return sum;
  }
  double probability_of(std::int64_t s) const {
    return probability_of(s, [](const KnownWorld&) { return true; });
  }
};

TEST_P(KnownStudents, WorldsSumToOne) {
  double sum = 0;
  for (const KnownWorld& world : worlds_)
    sum += world.probability;
  EXPECT_NEAR(sum, 1, 1e-12);
}

TEST_P(KnownStudents, ScoresAreThoseOfAllWorlds) {
  const Vector found = chain_.log_likelihood(evidence_, LikelihoodKind::mass, executor_).value.col(0);
  for (std::int64_t s = 0; s < evidence_.student_count(); ++s)
    EXPECT_NEAR(found[s], std::log(probability_of(s)), 1e-11) << s;
}

TEST_P(KnownStudents, AnswersAreThoseOfAllWorldsAlsoWhereItIsNotKnownWhenTheyLeft) {
  std::vector<Id> asked;
  for (Id bit = 0; bit < chain_.schema().all_bit_count(); ++bit)
    asked.push_back(bit);
  const RowMatrix found = chain_.marginals(evidence_, asked, executor_).value;
  for (std::int64_t s = 0; s < evidence_.student_count(); ++s) {
    const double all = probability_of(s);
    for (Id bit = 0; bit < chain_.schema().bit_count(); ++bit) {
      const double expected =
          probability_of(s, [&](const KnownWorld& world) { return bool{world.taken[static_cast<std::size_t>(bit)]}; }) /
          all;
      EXPECT_NEAR(found(s, bit), expected, 1e-11) << s << " " << bit;
    }
    for (Id i = 0; i < chain_.schema().trait_count(); ++i) {
      for (Id v = 0; v < chain_.schema().traits()[static_cast<std::size_t>(i)].value_count(); ++v) {
        const double expected =
            probability_of(s, [&](const KnownWorld& world) { return world.values[static_cast<std::size_t>(i)] == v; }) /
            all;
        EXPECT_NEAR(found(s, chain_.schema().trait_bit(i, v)), expected, 1e-11) << s << " " << i << " " << v;
      }
    }
  }
}

TEST_P(KnownStudents, CompletionsComeAsOftenAsTheirWorlds) {
  constexpr int draws = 4000;
  for (std::int64_t s = 0; s < 4; ++s) {
    std::map<KnownWorld, int> seen;
    EvidenceBuilder copies(periods, courses);
    std::vector<TraitValues> known;
    for (int i = 0; i < draws; ++i) {
      copies.begin_student("s" + std::to_string(i));
      for (Id t = 0; t < periods; ++t)
        copies.add(PeriodEvidence::of(evidence_, s, t));
      for (const Trait& trait : chain_.schema().traits())
        known.push_back(trait.kind == TraitKind::departure ? trait.all() : evidence_.possible(s, trait));
    }
    const EvidenceBatch drawn =
        chain_.complete(std::move(copies).build().with_traits(chain_.schema().traits(), std::move(known)),
                        RandomStream(GetParam()).child("draws"), executor_);
    for (int i = 0; i < draws; ++i) {
      KnownWorld world{std::vector<bool>(courses * periods), {}};
      for (const Trait& trait : chain_.schema().traits()) {
        const TraitValues value = drawn.possible(i, trait);
        ASSERT_TRUE(std::has_single_bit(value));
        world.values.push_back(std::countr_zero(value));
      }
      for (Id t = 0; t < periods; ++t) {
        for (const Id bit : drawn.taken(i, t))
          world.taken[static_cast<std::size_t>(bit)] = true;
      }
      ++seen[world];
    }
    const double all = probability_of(s);
    double statistic = 0;
    int cells = 0, matched = 0;
    for (const KnownWorld& world : worlds_) {
      if (!agrees(world, evidence_, s)) continue;
      const double expected = draws * world.probability / all;
      const int observed = seen.contains(world) ? seen.at(world) : 0;
      matched += observed;
      if (expected < 5) continue;
      statistic += (observed - expected) * (observed - expected) / expected;
      ++cells;
    }
    EXPECT_EQ(matched, draws) << "a completion contradicts its evidence";
    EXPECT_LT(statistic, cells + 4 * std::sqrt(2.0 * cells) + 6) << s;
  }
}

TEST_P(KnownStudents, EvidenceThatSaysNothingOfTraitsLeavesThemUnknown) {
  const EvidenceBatch bare = test::random_evidence(chain_.schema(), 40, true, RandomStream(GetParam()));
  std::vector<TraitValues> anything;
  for (std::int64_t s = 0; s < 40; ++s) {
    for (const Trait& trait : chain_.schema().traits())
      anything.push_back(trait.all());
  }
  const EvidenceBatch told = bare.with_traits(chain_.schema().traits(), anything);
  EXPECT_EQ(chain_.log_likelihood(bare, LikelihoodKind::mass, executor_).value,
            chain_.log_likelihood(told, LikelihoodKind::mass, executor_).value);
}

TEST_P(KnownStudents, ModelFilesKeepWhatIsKnown) {
  const Committee model{HiddenChain(chain_.identity(), chain_.parameters())};
  const StoredModel loaded = load_model(ArchiveReader::from_bytes(test::bytes_of_model(model), "file"));
  EXPECT_EQ(loaded.model->schema(), chain_.schema());
  EXPECT_EQ(loaded.model->log_likelihood(evidence_, LikelihoodKind::mass, executor_).value,
            chain_.log_likelihood(evidence_, LikelihoodKind::mass, executor_).value);
}

TEST_P(KnownStudents, LoadsThatAreKnownSayWhoLeaves) {
  const auto loads_in = [](const KnownWorld& world) {
    std::vector<Id> loads(periods, 0);
    for (Id bit = 0; bit < courses * periods; ++bit)
      loads[static_cast<std::size_t>(bit / courses)] += world.taken[static_cast<std::size_t>(bit)] ? 1 : 0;
    return loads;
  };
  std::vector<Loads> draws;
  for (const KnownWorld& world : worlds_) {
    const Id last = world.values[departure_at];
    draws.push_back({{periods_until(last), PeriodSet{1} << last}, loads_in(world), world.probability});
  }
  RandomStream stream = RandomStream(GetParam()).child("factors");
  std::vector<Vector> factors;
  for (const Index size : {3, 3, 3, 5, 7, 3, 3}) {
    factors.emplace_back(size);
    for (double& factor : factors.back())
      factor = 0.7 * stream.normal();
  }
  const Committee committee(chain_, LoadTilt(factors, draws));
  // Each factor written out: of a period, of two and three periods together, of the last period of a leaver.
  const auto product = [&](const KnownWorld& world, PeriodSet enrolled) {
    const std::vector<Id> loads = loads_in(world);
    double log = 0;
    Id all = 0, count = 0;
    for (Id t = 0; t < periods; ++t) {
      if (!has_period(enrolled, t)) continue;
      log += factors[static_cast<std::size_t>(t)][loads[static_cast<std::size_t>(t)]];
      all += loads[static_cast<std::size_t>(t)];
      ++count;
    }
    if (count > 1) log += factors[static_cast<std::size_t>(count) + 1][all];
    const Id last = world.values[departure_at];
    if (last < periods - 1 && has_period(enrolled, last))
      log += factors[static_cast<std::size_t>(5 + last)][loads[static_cast<std::size_t>(last)]];
    return std::exp(log);
  };
  const auto normaliser = [&](PeriodSet enrolled, Id last) {
    double sum = 0, all = 0;
    for (const KnownWorld& world : worlds_) {
      if (world.values[departure_at] != last) continue;
      sum += world.probability * product(world, enrolled);
      all += world.probability;
    }
    return sum / all;
  };
  std::vector<Id> asked;
  for (Id bit = 0; bit < chain_.schema().all_bit_count(); ++bit)
    asked.push_back(bit);
  const RowMatrix found = committee.marginals(evidence_, asked, executor_).value;
  const Vector scores = committee.log_likelihood(evidence_, LikelihoodKind::mass, executor_).value.col(0);
  int whole = 0;
  for (std::int64_t s = 0; s < evidence_.student_count(); ++s) {
    PeriodSet enrolled = 0;
    bool is_whole = true;
    for (Id t = 0; t < periods; ++t) {
      if (evidence_.seen(s, t) != Presence::present) continue;
      enrolled |= PeriodSet{1} << t;
      is_whole = is_whole && evidence_.presence(s, t) == Presence::present && evidence_.exceptions(s, t).empty();
    }
    if (!is_whole || enrolled == 0) continue;
    ++whole;
    // How likely each last period is follows from the load of the latest period, with all factors of all periods.
    const Id seen = static_cast<Id>(std::bit_width(enrolled)) - 1;
    const auto load_ratio = [&](Id load, Id last) {
      double plain = 0, weighed = 0, all = 0;
      for (const KnownWorld& world : worlds_) {
        if (world.values[departure_at] != last) continue;
        all += world.probability;
        if (loads_in(world)[static_cast<std::size_t>(seen)] != load) continue;
        plain += world.probability;
        weighed += world.probability * product(world, periods_until(last)) / normaliser(periods_until(last), last);
      }
      return (weighed + 0.001 * all) / (plain + 0.001 * all);
    };
    double score = 0;
    std::vector<double> by_trees(periods), tilted(periods);
    for (Id d = 0; d < periods; ++d) {
      for (const KnownWorld& world : worlds_) {
        if (world.values[departure_at] != d || !agrees(world, evidence_, s)) continue;
        by_trees[static_cast<std::size_t>(d)] += world.probability;
        score += world.probability * product(world, enrolled) / normaliser(enrolled, d);
        tilted[static_cast<std::size_t>(d)] +=
            world.probability * load_ratio(loads_in(world)[static_cast<std::size_t>(seen)], d);
      }
    }
    const double all = tilted[0] + tilted[1] + tilted[2];
    EXPECT_NEAR(scores[s], std::log(score), 1e-10) << s;
    for (Id d = 0; d < periods; ++d)
      EXPECT_NEAR(found(s, chain_.schema().trait_bit(departure_at, d)), tilted[static_cast<std::size_t>(d)] / all,
                  1e-10)
          << s;
    for (Id bit = 0; bit < courses * periods; ++bit) {
      const Id t = bit / courses;
      double enrolled_tilted = 0, enrolled_by_trees = 0;
      for (Id d = t; d < periods; ++d) {
        enrolled_tilted += tilted[static_cast<std::size_t>(d)] / all;
        enrolled_by_trees += by_trees[static_cast<std::size_t>(d)];
      }
      const double taken =
          probability_of(s, [&](const KnownWorld& world) { return bool{world.taken[static_cast<std::size_t>(bit)]}; });
      const double expected = enrolled_by_trees > 0 ? enrolled_tilted * taken / enrolled_by_trees : 0;
      EXPECT_NEAR(found(s, bit), expected, 1e-10) << s << " " << bit;
    }
    for (const Id v : {0, 1}) {
      double expected = 0;
      for (Id d = 0; d < periods; ++d) {
        const auto at = static_cast<std::size_t>(d);
        if (!(by_trees[at] > 0)) continue;
        expected +=
            tilted[at] / all *
            probability_of(
                s, [&](const KnownWorld& world) { return world.values[departure_at] == d && world.values[2] == v; }) /
            by_trees[at];
      }
      EXPECT_NEAR(found(s, chain_.schema().trait_bit(2, v)), expected, 1e-9) << s;
    }
  }
  EXPECT_GT(whole, 4);
}

INSTANTIATE_TEST_SUITE_P(Draws, KnownStudents, testing::Values(1, 2, 3));

TEST(TreesOfKnownStudents, ClimbAsTheTextbookDoes) {
  constexpr Id many = 7, years = 3;
  const StepShape shape{years, many, {3, years, 2}, 1};
  std::vector<std::string> labels = {"1", "2", "3"};
  const std::vector<Trait> traits = {residence(), departure_trait(labels), graduated()};
  EvidenceBatch students = test::odd_students(300, {years, many}, RandomStream(5));
  RandomStream stream(6);
  std::vector<TraitValues> known;
  for (std::int64_t s = 0; s < students.student_count(); ++s) {
    for (const Trait& trait : traits) {
      const TraitValues one = TraitValues{1} << stream.below(static_cast<std::uint64_t>(trait.value_count()));
      known.push_back(stream.bernoulli(0.3) ? trait.all() : one);
    }
  }
  students = students.with_traits(traits, std::move(known));
  RowPool pool = pool_rows(students, std::vector<PeriodRange>{{0, years}}, traits);
  ASSERT_EQ(pool.rows.bit_count(), shape.bits());
  std::vector<double> weights;
  for (std::int64_t row = 0; row < pool.rows.row_count(); ++row)
    weights.push_back(row % 5 == 0 ? 0 : 0.5 + stream.uniform());
  pool.rows.set_weights(weights);
  const Executor executor(2);
  for (const Id states : {1, 4}) {
    HiddenTreeOptions options;
    options.tree_states = states;
    options.link_prior = 0.05;
    options.timing_prior = 1;
    const HiddenTreeLearner learner(options, shape);
    const RowMatrix responsibilities = Eigen::Map<const RowMatrix>(weights.data(), pool.rows.row_count(), 1);
    std::shared_ptr<const Emission> emission =
        test::first_emission(learner, pool.rows, responsibilities, RandomStream(8), executor);
    HiddenTreeParameters dense = dynamic_cast<const HiddenTreeEmission&>(*emission).trees().front()->parameters();
    ASSERT_EQ(dense.fault(), std::nullopt);
    ASSERT_EQ(dense.shape(), shape);
    double before = -infinity;
    for (int iteration = 0; iteration < 12; ++iteration) {
      const double found = emission->score(pool.rows, LikelihoodKind::mass, Precision::quick, executor)
                               .log_likelihood.col(0)
                               .dot(responsibilities.col(0));
      double expected = 0;
      HiddenTreeCounts counts(dense.nodes(), states, years, dense.timing.cols());
      for (std::int64_t row = 0; row < pool.rows.row_count(); ++row) {
        const std::int64_t s = pool.occurrences_of(row).front();
        Eigen::MatrixXi bits(many, years);
        for (Id t = 0; t < years; ++t) {
          const PeriodEvidence period = PeriodEvidence::of(students, s, t);
          for (Id c = 0; c < many; ++c) {
            const std::optional<bool> bit = period.known(t * many + c);
            bits(c, t) = bit ? *bit ? 1 : 0 : 2;
          }
        }
        std::vector<TraitValues> possible;
        for (const Trait& trait : traits)
          possible.push_back(students.possible(s, trait));
        test::DenseTreePass pass = test::dense_tree_pass(dense, bits, possible);
        expected += weights[static_cast<std::size_t>(row)] * pass.log_probability;
        pass.counts *= weights[static_cast<std::size_t>(row)];
        counts += pass.counts;
      }
      EXPECT_NEAR(found, expected, 1e-9 * std::abs(expected)) << iteration;
      const double prior = test::dense_tree_log_prior(dense, 0.05, 1, 5);
      EXPECT_NEAR(learner.log_prior(learner.survey(pool.rows), *emission), prior, 1e-9 * std::abs(prior));
      EXPECT_GE(expected + prior, before - 1e-9 * std::abs(before)) << iteration;
      before = expected + prior;
      emission = test::next_emission(learner, pool.rows, responsibilities, emission.get(), executor);
      dense = test::dense_tree_step(dense, counts, 0.05, 1, 5);
    }
  }
}

/// Students of two kinds: those of one leave after the first period and commute, those of the other stay and graduate.
/// A tenth is not as its kind. Of the last tenth it is not known yet whether they graduate.
Cohort two_kinds(std::int64_t students, RandomStream stream) {
  test::CohortMaker made(6, 3);
  Attribute home{"residence", {"campus", "commuter"}, {}}, degree{"degree", {"BA"}, {}};
  for (std::int64_t s = 0; s < students; ++s) {
    made.add_student();
    const bool stays = stream.bernoulli(0.6), odd = stream.bernoulli(0.1);
    const Id years = stays != odd ? 3 : 1;
    home.codes.push_back(stays ? 0 : 1);
    degree.codes.push_back(years == 3 ? 0 : -1);
    for (Id t = 0; t < 3; ++t) {
      made.set(t, t < years ? Presence::present : Presence::left);
      for (Id c = 0; c < 6 && t < years; ++c) {
        if (stream.bernoulli((c < 3) == stays ? 0.5 : 0.1)) made.take(t, c);
      }
    }
  }
  CohortParts parts = made.build().parts();
  parts.attributes = {degree, home};
  return Cohort(std::move(parts));
}

TEST(TreesOfKnownStudents, KnowWhoLeavesAndWhoGraduates) {
  const Cohort cohort = two_kinds(3000, RandomStream(21));
  FitOptions options("hct");
  options.set("trees", 2).set("tree-states", 4).set("iterations", 30).set("tolerance", 0.0);
  options.set("attributes", "residence").set("outcomes", "graduated=degree is not null");
  const FitResult fit = test::fit(cohort, options);
  const Schema& schema = fit.model->schema();
  ASSERT_EQ(schema.trait_count(), 3);
  EXPECT_TRUE(fit.model->models_leaving());
  const Id last = schema.require_trait("last period"), home = schema.require_trait("residence"),
           graduated_at = schema.require_trait("graduated");
  // A student in the first period with courses of each kind, and one of whom nothing but the residence is known.
  EvidenceBuilder asked_of(3, 6);
  for (const std::vector<Id>& taken : {std::vector<Id>{0, 1, 2}, {3, 4, 5}, {}, {}}) {
    asked_of.begin_student("s" + std::to_string(taken.size()) + std::to_string(taken.empty() ? 0 : taken[0]));
    const bool knows = !taken.empty();
    asked_of.add({knows ? Presence::present : Presence::unknown, taken, {}});
    asked_of.add({});
    asked_of.add({});
  }
  const EvidenceBatch bare = std::move(asked_of).build();
  std::vector<TraitValues> known;
  for (std::int64_t s = 0; s < 4; ++s) {
    for (Id i = 0; i < 3; ++i) {
      const Trait& trait = schema.traits()[static_cast<std::size_t>(i)];
      known.push_back(i == home && s >= 2 ? TraitValues{1} << (s - 2) : trait.all());
    }
  }
  const std::vector<Id> asked = {schema.trait_bit(last, 0), schema.trait_bit(home, 1),
                                 schema.trait_bit(graduated_at, 1)};
  const RowMatrix found = fit.model->marginals(bare.with_traits(schema.traits(), known), asked, Executor(2)).value;
  EXPECT_LT(found(0, 0), 0.2);
  EXPECT_GT(found(1, 0), 0.75);
  EXPECT_LT(found(0, 1), 0.1);
  EXPECT_GT(found(1, 1), 0.85);
  EXPECT_GT(found(0, 2), 0.8);
  EXPECT_LT(found(1, 2), 0.25);
  // Known of the residence alone: a tenth is not as its kind.
  EXPECT_NEAR(found(2, 0), 0.1, 0.03);
  EXPECT_NEAR(found(3, 0), 0.9, 0.03);
  EXPECT_NEAR(found(3, 2), 0.1, 0.03);
  // Draws of all: as many leave, commute and graduate as did.
  const EvidenceBatch drawn = fit.model->complete(test::nothing_known(schema, 4000), RandomStream(3), Executor(2));
  double left = 0, commute = 0, both = 0;
  for (std::int64_t s = 0; s < drawn.student_count(); ++s) {
    const bool leaves = drawn.seen(s, 1) == Presence::left,
               commutes = drawn.possible(s, schema.traits()[static_cast<std::size_t>(home)]) == 2U;
    left += leaves ? 1 : 0;
    commute += commutes ? 1 : 0;
    both += leaves && commutes ? 1 : 0;
    EXPECT_EQ(drawn.possible(s, schema.traits()[static_cast<std::size_t>(last)]) == 1U, leaves);
  }
  EXPECT_NEAR(left / 4000, 0.42, 0.03);  // 0.4 * 0.9 + 0.6 * 0.1
  EXPECT_NEAR(commute / 4000, 0.4, 0.03);
  EXPECT_NEAR(both / 4000, 0.36, 0.03);
}

TEST(TreesOfKnownStudents, AreTheSameForAnyThreadsAndAfterAnInterruption) {
  const test::TemporaryFolder folder;
  const Cohort cohort = two_kinds(500, RandomStream(31));
  FitOptions options("hct");
  options.set("trees", 3).set("tree-states", 4).set("iterations", 20).set("attributes", "residence");
  options.set("outcomes", "graduated=degree is not null");
  const std::vector<std::byte> whole = test::bytes_of_model(*test::fit(cohort, options).model);
  for (const int threads : {1, 3, 7}) {
    const Executor executor(threads);
    EXPECT_EQ(test::bytes_of_model(*fit_model(cohort, options, TrainingContext{executor}).model), whole) << threads;
  }
  const FitResult resumed = test::fit_with_stops(cohort, options, folder / "c", {.least = 3, .most = 11});
  EXPECT_EQ(test::bytes_of_model(*resumed.model), whole);
}

TEST(TreesOfKnownStudents, ALeaverSaysNothingOfLaterPeriods) {
  // Whoever leaves cannot take what is taken late: that alone must not tie leaving to late courses.
  test::CohortMaker made(4, 3);
  RandomStream stream(41);
  for (int s = 0; s < 4000; ++s) {
    made.add_student();
    const bool early = stream.bernoulli(0.5), leaves = stream.bernoulli(early ? 0.5 : 0.2);
    for (Id t = 0; t < 3; ++t) {
      const bool there = t == 0 || !leaves;
      made.set(t, there ? Presence::present : Presence::left);
      if (!there) continue;
      if (t == 0 && early) made.take(t, 0);
      if (t == 0 && stream.bernoulli(0.5)) made.take(t, 1);
      if (t == 2 && stream.bernoulli(0.9)) made.take(t, 2);
      if (t == 1 && stream.bernoulli(0.9)) made.take(t, 3);
    }
  }
  const std::vector<Trait> traits = {departure_trait({"1", "2", "3"})};
  const EvidenceBatch evidence = EvidenceBatch::of(made.build());
  const RowPool pool = pool_rows(evidence, std::vector<PeriodRange>{{0, 3}}, traits);
  const StepShape shape{3, 4, {3}, 0};
  const TimingRows timings(pool.rows, shape, Retakes::learned);
  std::vector<double> weights;
  for (std::int64_t row = 0; row < pool.rows.row_count(); ++row)
    weights.push_back(static_cast<double>(pool.occurrences_of(row).size()));
  const TraitPairs pairs(shape);
  const RowMatrix information = pairs.information(pairs.count(timings, weights), 4000);
  // Of two bits, 0.5 and 0.2 against 0.35.
  const auto entropy = [](double p) { return -p * std::log(p) - (1 - p) * std::log(1 - p); };
  EXPECT_NEAR(information(0, 0), entropy(0.35) - 0.5 * (entropy(0.5) + entropy(0.2)), 0.012);
  for (const Id other : {1, 2, 3})
    EXPECT_LT(information(0, other), 0.003) << other;
}

}  // namespace
}  // namespace desirepath::known_students_test
