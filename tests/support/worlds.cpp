#include "support/worlds.h"

#include <cmath>
#include <stdexcept>

#include "support/example_cohorts.h"

#include "desirepath/emissions/bernoulli.h"
#include "desirepath/emissions/probit.h"
#include "desirepath/emissions/tree.h"
#include "desirepath/models/catalog.h"

namespace desirepath::test {

double emission_probability(const Emission& emission, const std::vector<bool>& bits, Id state) {
  double probability = 1;
  if (const auto* bernoulli = dynamic_cast<const BernoulliEmission*>(&emission)) {
    for (std::size_t j = 0; j < bits.size(); ++j) {
      const double p = bernoulli->probability()(static_cast<Index>(j), state);
      probability *= bits[j] ? p : 1 - p;
    }
    return probability;
  }
  if (const auto* tree = dynamic_cast<const TreeEmission*>(&emission)) {
    const TreeGroup& group = tree->groups()[tree->is_shared() ? 0 : static_cast<std::size_t>(state)];
    for (std::size_t j = 0; j < bits.size(); ++j) {
      const Id parent = group.tree().parent(static_cast<Id>(j));
      const bool given = parent >= 0 && bits[static_cast<std::size_t>(parent)];
      const RowMatrix& table = given ? group.given_taken() : group.given_not_taken();
      const double p = table(static_cast<Index>(j), state - group.first_state());
      probability *= bits[j] ? p : 1 - p;
    }
    return probability;
  }
  if (const auto* probit = dynamic_cast<const ProbitEmission*>(&emission)) {
    probability = 0;
    for (Index s = 0; s < probit->nodes().log_weights.size(); ++s) {
      double product = std::exp(probit->nodes().log_weights[s]);
      for (std::size_t j = 0; j < bits.size(); ++j) {
        const auto bit = static_cast<Index>(j);
        const double eta = probit->intercepts()(bit, state) +
                           probit->slopes().row(state * probit->bit_count() + bit).dot(probit->nodes().points.row(s));
        product *= 0.5 * std::erfc((bits[j] ? -eta : eta) / std::sqrt(2.0));
      }
      probability += product;
    }
    return probability;
  }
  throw std::logic_error("no enumeration of this family");
}

std::vector<World> enumerate_worlds(const HiddenChain& model) {
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
              parameters.prior.initial[k] * departure * emission_probability(*parameters.emissions[0], world.taken, k);
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
          here.weight[k] = prior[k] * emission_probability(emission, bits, k);
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

bool agrees(const World& world, const EvidenceBatch& evidence, std::int64_t student) {
  const Id courses = evidence.course_count();
  for (Id t = 0; t < evidence.period_count(); ++t) {
    if (evidence.is_unknown(student, t)) continue;
    const PeriodKnowledge knowledge = evidence.knowledge(student, t);
    const bool left = world.left[static_cast<std::size_t>(t)];
    if ((knowledge == PeriodKnowledge::left) != left) return false;
    if (left) continue;
    const auto taken = evidence.taken(student, t), exceptions = evidence.exceptions(student, t);
    for (Id bit = t * courses; bit < (t + 1) * courses; ++bit) {
      const bool named = std::ranges::binary_search(taken, bit), excepted = std::ranges::binary_search(exceptions, bit);
      const bool known = named || (knowledge == PeriodKnowledge::closed ? !excepted : excepted);
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

std::unique_ptr<Emission> random_emission(const std::string& family, Id bits, Id states, RandomStream& stream) {
  const auto table = [&] {
    RowMatrix p(bits, states);
    for (Index i = 0; i < p.size(); ++i)
      p.data()[i] = 0.05 + 0.9 * stream.uniform();
    return p;
  };
  if (family == "bernoulli") return std::make_unique<BernoulliEmission>(table());
  if (family == "probit") {
    const auto normals = [&](Index rows, Index columns) {
      RowMatrix values(rows, columns);
      for (Index i = 0; i < values.size(); ++i)
        values.data()[i] = stream.normal();
      return values;
    };
    const RowMatrix intercepts = normals(bits, states), slopes = normals(bits * states, 2);
    return std::make_unique<ProbitEmission>(intercepts, slopes, factor_nodes(2, 32));
  }
  const auto tree = [&] {
    std::vector<Id> parent(static_cast<std::size_t>(bits), -1);
    // A random recursive tree in a shuffled order, now and then a second root.
    std::vector<Id> order(static_cast<std::size_t>(bits));
    for (Id j = 0; j < bits; ++j)
      order[static_cast<std::size_t>(j)] = j;
    shuffle(order, stream);
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (stream.bernoulli(0.15)) continue;
      parent[static_cast<std::size_t>(order[i])] = order[stream.below(i)];
    }
    return DependencyTree(parent);
  };
  const auto with_roots = [&](const DependencyTree& shape, RowMatrix no, RowMatrix yes, Id first) {
    for (Id j = 0; j < bits; ++j) {
      if (shape.parent(j) < 0) yes.row(j) = no.row(j);
    }
    return TreeGroup(shape, first, std::move(no), std::move(yes));
  };
  std::vector<TreeGroup> groups;
  if (family == "tree") {
    groups.push_back(with_roots(tree(), table(), table(), 0));
  } else {  // "tree-per-state"
    for (Id k = 0; k < states; ++k)
      groups.push_back(with_roots(tree(), table().col(0), table().col(0), k));
  }
  return std::make_unique<TreeEmission>(std::move(groups));
}

}  // namespace

HiddenChain random_chain(const std::string& model, const std::string& emission, Id courses, Id periods, Id states,
                         bool with_left, RandomStream stream) {
  const CatalogEntry& entry = require_model(model);
  ChainIdentity identity{model, emission.starts_with("tree") ? "tree" : emission, entry.structure,
                         small_schema(courses, periods)};
  const StepLayout layout = StepLayout::of(entry.structure, periods);
  const bool chain = layout.step_count() > 1;
  const Id all = states + (with_left && chain ? 1 : 0);
  ChainParameters parameters;
  parameters.has_left_state = with_left && chain;
  parameters.prior.initial = Vector::Zero(all);
  parameters.prior.initial.head(states) = random_simplex(states, stream);
  for (Id t = 0; t + 1 < layout.step_count(); ++t) {
    if (entry.structure == TimeStructure::tied && t > 0) {
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
  const Id bits = (layout.steps[0].last - layout.steps[0].first) * courses;
  for (Id p = 0; p < layout.pool_count(); ++p)
    parameters.emissions.push_back(random_emission(emission, bits, states, stream));
  return {std::move(identity), std::move(parameters)};
}

EvidenceBatch random_evidence(const Schema& schema, std::int64_t students, bool with_left, RandomStream stream) {
  std::vector<std::string> ids;
  std::vector<PeriodKnowledge> knowledge;
  BinaryMatrixBuilder taken(schema.bit_count()), exceptions(schema.bit_count());
  for (std::int64_t s = 0; s < students; ++s) {
    ids.push_back("s" + std::to_string(s));
    bool left = false;
    for (Id t = 0; t < schema.period_count(); ++t) {
      left = left || (with_left && t > 0 && stream.bernoulli(0.2));
      const double kind = stream.uniform();
      if (left) {
        knowledge.push_back(PeriodKnowledge::left);
      } else if (kind < 0.25) {
        knowledge.push_back(PeriodKnowledge::open);  // unknown
      } else {
        const bool closed = kind < 0.65;
        knowledge.push_back(closed ? PeriodKnowledge::closed : PeriodKnowledge::open);
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

}  // namespace desirepath::test
