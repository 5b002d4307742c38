#include "support/worlds.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "support/example_cohorts.h"

#include "desirepath/models/catalog.h"

namespace desirepath::test {

std::vector<World> enumerate_worlds(const HiddenChain& model, const EmissionTruth& truth) {
  const Schema& schema = model.schema();
  const Id courses = schema.course_count(), periods = schema.period_count();
  const ChainParameters& parameters = model.parameters();
  const Id emitting = parameters.emitting_states();
  std::vector<World> worlds;

  if (model.layout().structure == TimeStructure::one_step) {
    const Index bits = schema.bit_count();
    const Id departures = parameters.departures.size() > 0 ? periods : 1;
    for (Id d = 1; d <= departures; ++d) {
      const Id last = parameters.departures.size() > 0 ? d : periods;  // periods before it are attended
      for (std::uint64_t code = 0; code < (std::uint64_t{1} << bits); ++code) {
        World world;
        for (Index j = 0; j < bits; ++j)
          world.taken.push_back(((code >> j) & 1) != 0);
        for (Id t = 0; t < periods; ++t)
          world.left.push_back(t >= last);
        double probability = 0;
        for (Id k = 0; k < emitting; ++k) {
          const double departure = parameters.departures.size() > 0 ? parameters.departures(k, d - 1) : 1;
          probability +=
              parameters.prior.initial[k] * departure * truth.probability(*parameters.emissions[0], world.taken, k);
        }
        world.probability = probability;
        worlds.push_back(std::move(world));
      }
    }
    // Bits of periods after the departure are nobody's: worlds that differ only there are one.
    if (parameters.departures.size() > 0) {
      std::map<std::pair<std::vector<bool>, std::vector<bool>>, double> merged;
      for (World& world : worlds) {
        for (Id t = 0; t < periods; ++t) {
          for (Id c = 0; c < courses && world.left[static_cast<std::size_t>(t)]; ++c)
            world.taken[static_cast<std::size_t>(schema.bit(t, c))] = false;
        }
        merged[{world.taken, world.left}] += world.probability;
      }
      worlds.clear();
      for (const auto& [key, probability] : merged)
        worlds.push_back({key.first, key.second, probability});
    }
    return worlds;
  }

  // Period by period: partial worlds with a probability for every current state.
  struct Partial {
    std::vector<bool> taken, left;
    Vector weight;
  };
  std::vector<Partial> partial = {{{}, {}, Vector()}};
  for (Id t = 0; t < periods; ++t) {
    std::vector<Partial> next;
    const Emission& emission =
        *parameters.emissions[static_cast<std::size_t>(model.layout().pool_of[static_cast<std::size_t>(t)])];
    for (const Partial& before : partial) {
      const Vector prior =
          t == 0 ? parameters.prior.initial
                 : (before.weight.transpose() * parameters.prior.transitions[static_cast<std::size_t>(t - 1)])
                       .transpose()
                       .eval();
      for (std::uint64_t code = 0; code < (std::uint64_t{1} << courses); ++code) {
        std::vector<bool> bits;
        for (Id c = 0; c < courses; ++c)
          bits.push_back(((code >> c) & 1) != 0);
        Partial here{before.taken, before.left, Vector::Zero(prior.size())};
        here.taken.insert(here.taken.end(), bits.begin(), bits.end());
        here.left.push_back(false);
        for (Id k = 0; k < emitting; ++k)
          here.weight[k] = prior[k] * truth.probability(emission, bits, k);
        next.push_back(std::move(here));
      }
      if (parameters.has_left_state) {
        Partial gone{before.taken, before.left, Vector::Zero(prior.size())};
        gone.taken.insert(gone.taken.end(), static_cast<std::size_t>(courses), false);
        gone.left.push_back(true);
        gone.weight[emitting] = prior[emitting];
        next.push_back(std::move(gone));
      }
    }
    partial = std::move(next);
  }
  for (const Partial& last : partial)
    worlds.push_back({last.taken, last.left, last.weight.sum()});
  return worlds;
}

std::vector<World> worlds_of_path(const HiddenChain& model, const EmissionTruth& truth, const std::vector<Id>& path) {
  // Of a chain that walks this path and no other.
  ChainParameters only = model.parameters();
  double probability = only.prior.initial[path[0]];
  only.prior.initial = Vector::Unit(only.prior.initial.size(), path[0]);
  for (std::size_t t = 0; t + 1 < path.size(); ++t) {
    probability *= only.prior.transitions[t](path[t], path[t + 1]);
    only.prior.transitions[t].row(path[t]) = Vector::Unit(only.prior.initial.size(), path[t + 1]).transpose();
  }
  if (!(probability > 0)) return {};
  std::vector<World> worlds = enumerate_worlds(HiddenChain(model.identity(), std::move(only)), truth);
  for (World& world : worlds)
    world.probability *= probability;
  return worlds;
}

bool agrees(const World& world, const EvidenceBatch& evidence, std::int64_t student) {
  const Id courses = evidence.course_count();
  for (Id t = 0; t < evidence.period_count(); ++t) {
    if (evidence.is_unknown(student, t)) continue;
    const Presence knowledge = evidence.presence(student, t);
    const bool left = world.left[static_cast<std::size_t>(t)];
    if ((knowledge == Presence::left) != left) return false;
    if (left) continue;
    const auto taken = evidence.taken(student, t), exceptions = evidence.exceptions(student, t);
    for (Id bit = t * courses; bit < (t + 1) * courses; ++bit) {
      const bool named = std::ranges::binary_search(taken, bit), excepted = std::ranges::binary_search(exceptions, bit);
      const bool known = named || (knowledge == Presence::present ? !excepted : excepted);
      if (known && world.taken[static_cast<std::size_t>(bit)] != named) return false;
    }
  }
  return true;
}

WorldCounts count_worlds(const Model& model, const EvidenceBatch& evidence, std::int64_t student, int draws,
                         const RandomStream& stream, const Executor& executor) {
  const EvidenceBatch one = evidence.slice(student, student + 1);
  WorldCounts counts;
  for (int d = 0; d < draws; ++d) {
    const EvidenceBatch completed = model.complete(one, stream.child(static_cast<std::uint64_t>(d)), executor);
    std::vector<bool> taken(static_cast<std::size_t>(model.schema().bit_count()), false), left;
    for (Id t = 0; t < completed.period_count(); ++t) {
      EXPECT_NE(completed.presence(0, t), Presence::unknown);
      EXPECT_TRUE(completed.exceptions(0, t).empty());
      left.push_back(completed.presence(0, t) == Presence::left);
      for (const Id bit : completed.taken(0, t))
        taken[static_cast<std::size_t>(bit)] = true;
    }
    ++counts[{taken, left}];
  }
  return counts;
}

int expect_chi_squared(const WorldCounts& counts, const std::vector<World>& worlds, const EvidenceBatch& evidence,
                       std::int64_t student) {
  double all = 0;
  int draws = 0;
  for (const World& world : worlds)
    all += agrees(world, evidence, student) ? world.probability : 0;
  for (const auto& [world, count] : counts)
    draws += count;
  double statistic = 0, freedom = -1, rest_expected = 0;
  int seen = 0, rest_seen = 0;
  for (const World& world : worlds) {
    if (!agrees(world, evidence, student)) continue;
    const double expected = draws * world.probability / all;
    const auto found = counts.find({world.taken, world.left});
    const int observed = found == counts.end() ? 0 : found->second;
    seen += observed;
    if (expected < 5) {
      rest_expected += expected;
      rest_seen += observed;
      continue;
    }
    statistic += (observed - expected) * (observed - expected) / expected;
    ++freedom;
  }
  EXPECT_EQ(seen, draws) << "a completion contradicts its evidence";
  if (rest_expected > 1) {
    statistic += (rest_seen - rest_expected) * (rest_seen - rest_expected) / rest_expected;
    ++freedom;
  }
  if (freedom <= 0) return 0;
  EXPECT_LT(statistic, freedom + 4 * std::sqrt(2 * freedom) + 6) << "student " << student;
  return static_cast<int>(freedom);
}

namespace {

Vector random_simplex(Index size, RandomStream& stream) {
  Vector weights(size);
  for (Index i = 0; i < size; ++i)
    weights[i] = -std::log(stream.uniform_open());
  return weights / weights.sum();
}

}  // namespace

HiddenChain random_chain(const std::string& model, const EmissionTruth& truth, Id courses, Id periods, Id states,
                         bool with_left, RandomStream stream) {
  const ModelEntry& entry = standard_catalog().model(model);
  // A committee of trees is a chain of one step whose states are the trees, each as likely as the others.
  const bool is_committee = !entry.structure.has_value();
  const TimeStructure structure = entry.structure.value_or(TimeStructure::one_step);
  ChainIdentity identity{model, truth.family, truth.family == entry.default_emission, structure,
                         small_schema(courses, periods)};
  const StepLayout layout = StepLayout::of(structure, periods);
  const bool chain = layout.step_count() > 1;
  const Id all = states + (with_left && chain ? 1 : 0);
  ChainParameters parameters;
  parameters.has_left_state = with_left && chain;
  parameters.prior.initial = Vector::Zero(all);
  parameters.prior.initial.head(states) =
      is_committee ? Vector::Constant(states, 1.0 / states) : random_simplex(states, stream);
  for (Id t = 0; t + 1 < layout.step_count(); ++t) {
    if (structure == TimeStructure::tied && t > 0) {
      parameters.prior.transitions.push_back(parameters.prior.transitions.front());
      continue;
    }
    Matrix transition = Matrix::Zero(all, all);
    for (Id k = 0; k < states; ++k)
      transition.row(k) = random_simplex(all, stream).transpose();
    if (all > states) transition(states, states) = 1;
    parameters.prior.transitions.push_back(std::move(transition));
  }
  if (with_left && !chain) {
    parameters.departures.resize(states, periods);
    for (Id k = 0; k < states; ++k)
      parameters.departures.row(k) = random_simplex(periods, stream).transpose();
  }
  for (Id p = 0; p < layout.pool_count(); ++p)
    parameters.emissions.push_back(truth.draw(layout.shape(identity.schema), states, stream));
  return {std::move(identity), std::move(parameters)};
}

VaeNetwork random_vae_network(Index bits, Index hidden, Index latent, RandomStream stream) {
  const VaeShape shape{bits, hidden, latent};
  Vector parameters(shape.size()), shares(shape.bits);
  for (double& value : parameters)
    value = 0.8 * stream.normal();
  for (double& value : shares)
    value = 0.1 + 0.8 * stream.uniform();
  return {shape, std::move(parameters), std::move(shares)};
}

EvidenceBatch random_evidence(const Schema& schema, std::int64_t students, bool with_left, RandomStream stream) {
  std::vector<std::string> ids;
  std::vector<Presence> knowledge;
  BinaryMatrixBuilder taken(schema.bit_count()), exceptions(schema.bit_count());
  for (std::int64_t s = 0; s < students; ++s) {
    ids.push_back("s" + std::to_string(s));
    bool left = false;
    for (Id t = 0; t < schema.period_count(); ++t) {
      left = left || (with_left && t > 0 && stream.bernoulli(0.2));
      const double kind = stream.uniform();
      if (left) {
        knowledge.push_back(Presence::left);
      } else if (kind < 0.25) {
        knowledge.push_back(Presence::unknown);  // unknown
      } else {
        const bool closed = kind < 0.65;
        knowledge.push_back(closed ? Presence::present : Presence::unknown);
        for (Id c = 0; c < schema.course_count(); ++c) {
          const double draw = stream.uniform();
          if (draw < 0.35)
            taken.add(schema.bit(t, c));
          else if (draw < 0.6)
            exceptions.add(schema.bit(t, c));
        }
      }
      taken.finish_row();
      exceptions.finish_row();
    }
  }
  return {schema.period_count(), schema.course_count(),    std::move(ids),
          std::move(knowledge),  std::move(taken).build(), std::move(exceptions).build()};
}

EvidenceBatch nothing_known(const Schema& schema, std::int64_t students) {
  EvidenceBuilder builder(schema.period_count(), schema.course_count());
  for (std::int64_t s = 0; s < students; ++s) {
    builder.begin_student("s" + std::to_string(s));
    for (Id t = 0; t < schema.period_count(); ++t)
      builder.add({});
  }
  return std::move(builder).build();
}

Cohort drawn_cohort(const Model& model, std::int64_t students, RandomStream stream) {
  const EvidenceBatch drawn = model.complete(nothing_known(model.schema(), students), stream, Executor(2));
  CohortMaker made(model.schema());
  for (std::int64_t s = 0; s < students; ++s) {
    made.add_student();
    for (Id t = 0; t < drawn.period_count(); ++t) {
      made.set(t, drawn.presence(s, t));
      for (const Id bit : drawn.taken(s, t))
        made.take(bit);
    }
  }
  return made.build();
}

bool same_students(const EvidenceBatch& one, const EvidenceBatch& other) {
  if (one.students() != other.students() || one.period_count() != other.period_count()) return false;
  for (std::int64_t s = 0; s < one.student_count(); ++s) {
    for (Id t = 0; t < one.period_count(); ++t) {
      if (one.presence(s, t) != other.presence(s, t) || !std::ranges::equal(one.taken(s, t), other.taken(s, t)))
        return false;
    }
  }
  return true;
}

std::vector<ChainCase> chain_cases(const std::vector<std::string>& models) {
  std::vector<ChainCase> cases;
  for (const std::string& model : models) {
    const ModelEntry& entry = standard_catalog().model(model);
    for (const EmissionTruth& truth : emission_truths()) {
      if (!entry.structure && truth.family != entry.default_emission) continue;
      for (const bool left : {false, true})
        cases.push_back({model, &truth, left});
    }
  }
  return cases;
}

}  // namespace desirepath::test
