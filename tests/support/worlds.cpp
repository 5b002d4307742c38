#include "support/worlds.h"

#include <algorithm>
#include <cmath>
#include <map>

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
  const TimeStructure structure = *entry.structure;
  ChainIdentity identity{model, truth.family, truth.family == entry.default_emission, structure,
                         small_schema(courses, periods)};
  const StepLayout layout = StepLayout::of(structure, periods);
  const bool chain = layout.step_count() > 1;
  const Id all = states + (with_left && chain ? 1 : 0);
  ChainParameters parameters;
  parameters.has_left_state = with_left && chain;
  parameters.prior.initial = Vector::Zero(all);
  parameters.prior.initial.head(states) = random_simplex(states, stream);
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
    for (const EmissionTruth& truth : emission_truths()) {
      for (const bool left : {false, true})
        cases.push_back({model, &truth, left});
    }
  }
  return cases;
}

}  // namespace desirepath::test
