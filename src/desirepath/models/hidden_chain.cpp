#include "desirepath/models/hidden_chain.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/emission_file.h"
#include "desirepath/models/catalog.h"
#include "desirepath/probability/log_space.h"

namespace desirepath::inline models {

namespace {

constexpr std::int64_t rows_a_block = 256;

std::vector<Id> identity_order(Id count) {
  std::vector<Id> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

ChainParameters ChainParameters::copy() const {
  ChainParameters copied{prior, {}, has_left_state, departures};
  for (const auto& emission : emissions)
    copied.emissions.push_back(emission->reordered(identity_order(emission->state_count())));
  return copied;
}

std::vector<RowMatrix> score_pools(const ChainParameters& parameters, const ChainEvidence& evidence,
                                   LikelihoodKind kind, const Compute& compute) {
  std::vector<RowMatrix> scores;
  for (std::size_t p = 0; p < evidence.pools.size(); ++p) {
    const StepRows& rows = evidence.pools[p].rows;
    RowMatrix& score = scores.emplace_back(rows.row_count(), parameters.emitting_states());
    const std::unique_ptr<RowScorer> scorer = parameters.emissions[p]->scorer(rows, kind, compute);
    compute.for_blocks(rows.row_count(), rows_a_block, [&](Range range) { scorer->score(range, score.middleRows(range.first, range.size())); });
  }
  return scores;
}

Vector log_departure(const Matrix& departures, const DepartureRange& range) {
  Vector logs = Vector::Zero(departures.rows());
  for (Index k = 0; k < departures.rows(); ++k) {
    double sum = 0;
    for (Id d = range.earliest; d <= range.latest; ++d)
      sum += departures(k, d - 1);
    logs[k] = sum > 0 ? std::log(sum) : -infinity;
  }
  return logs;
}

void student_emissions(const ChainParameters& parameters, const ChainEvidence& evidence,
                       const std::vector<RowMatrix>& scores, std::int64_t student, RowMatrix& out) {
  const StepLayout& layout = *evidence.layout;
  const Index emitting = parameters.emitting_states();
  for (Id step = 0; step < layout.step_count(); ++step) {
    const std::int32_t row = evidence.row(student, step);
    if (row < 0) {
      out.row(step).setZero();
    } else {
      out.row(step).head(emitting) =
          scores[static_cast<std::size_t>(layout.pool_of[static_cast<std::size_t>(step)])].row(row);
    }
    if (!parameters.has_left_state) continue;
    const Presence presence = evidence.presence_at(student, step);
    out(step, emitting) = presence == Presence::present ? -infinity : 0;
    if (presence == Presence::left) out.row(step).head(emitting).setConstant(-infinity);
  }
  if (parameters.departures.size() > 0) {
    out.row(0) +=
        log_departure(parameters.departures, evidence.departures[static_cast<std::size_t>(student)]).transpose();
  }
}

HiddenChain::HiddenChain(ChainIdentity identity, ChainParameters parameters)
    : identity_(std::move(identity)),
      parameters_(std::move(parameters)),
      layout_(StepLayout::of(identity_.structure, identity_.schema.period_count())) {
  const auto refuse = [](const char* reason) { throw ModelFileError(concat("model: ", reason)); };
  const ChainPrior& prior = parameters_.prior;
  const Index states = prior.state_count();
  if (static_cast<Id>(parameters_.emissions.size()) != layout_.pool_count()) refuse("emissions do not fit the steps");
  if (prior.step_count() != layout_.step_count()) refuse("transitions do not fit the steps");
  const Id bits = (layout_.steps.front().last - layout_.steps.front().first) * identity_.schema.course_count();
  for (const auto& emission : parameters_.emissions) {
    if (emission->bit_count() != bits || emission->state_count() + (parameters_.has_left_state ? 1 : 0) != states) {
      refuse("emissions do not fit courses and states");
    }
  }
  const auto is_distribution = [](const auto& row) {
    return (row.array() >= 0).all() && std::abs(row.sum() - 1) < 1e-6;
  };
  if (!is_distribution(prior.initial)) refuse("initial probabilities do not sum to one");
  for (const Matrix& transition : prior.transitions) {
    if (transition.rows() != states || transition.cols() != states) refuse("transitions do not fit the states");
    for (Index k = 0; k < states; ++k) {
      if (!is_distribution(transition.row(k))) refuse("transition probabilities do not sum to one");
    }
    for (Index from = 0; from < states; ++from) {
      for (Index to = 0; to < states; ++to)
        transition_values_.push_back(transition(from, to));
    }
  }
  if (parameters_.departures.size() > 0) {
    if (parameters_.departures.rows() != states || parameters_.departures.cols() != identity_.schema.period_count()) {
      refuse("departures do not fit states and periods");
    }
    for (Index k = 0; k < states; ++k) {
      if (!is_distribution(parameters_.departures.row(k))) refuse("departure probabilities do not sum to one");
    }
  }
}

std::string HiddenChain::name() const {
  const CatalogEntry& entry = require_model(identity_.model);
  return entry.default_emission == identity_.emission ? identity_.model
                                                      : concat(identity_.model, "+", identity_.emission);
}

void HiddenChain::check_evidence(const EvidenceBatch& evidence) const {
  if (evidence.period_count() != schema().period_count() || evidence.course_count() != schema().course_count()) {
    throw InputError("the evidence has other courses or periods than the model");
  }
}

Estimates HiddenChain::log_likelihood(const EvidenceBatch& evidence, LikelihoodKind kind,
                                      const Compute& compute) const {
  check_evidence(evidence);
  const ChainEvidence data(evidence, layout_);
  const std::vector<RowMatrix> scores = score_pools(parameters_, data, kind, compute);
  Estimates result;
  result.value.resize(data.student_count(), 1);
  compute.for_blocks(data.student_count(), rows_a_block, [&](Range range) {
    ChainPosterior posterior(parameters_.prior);
    RowMatrix emissions(layout_.step_count(), state_count());
    for (std::int64_t s = range.first; s < range.last; ++s) {
      student_emissions(parameters_, data, scores, s, emissions);
      result.value(s, 0) = posterior.run(emissions);
    }
  });
  return result;
}

RowMatrix HiddenChain::posterior(const EvidenceBatch& evidence, const Compute& compute) const {
  check_evidence(evidence);
  const ChainEvidence data(evidence, layout_);
  const std::vector<RowMatrix> scores =
      score_pools(parameters_, data, parameters_.emissions.front()->training_kind(), compute);
  const Index states = state_count(), steps = layout_.step_count();
  RowMatrix result(data.student_count(), steps * states);
  compute.for_blocks(data.student_count(), rows_a_block, [&](Range range) {
    ChainPosterior posterior(parameters_.prior);
    RowMatrix emissions(steps, states);
    for (std::int64_t s = range.first; s < range.last; ++s) {
      student_emissions(parameters_, data, scores, s, emissions);
      posterior.run(emissions);
      for (Index t = 0; t < steps; ++t)
        result.row(s).segment(t * states, states) = posterior.states().row(t);
    }
  });
  return result;
}

std::vector<std::vector<Id>> HiddenChain::paths(const EvidenceBatch& evidence, const Compute& compute) const {
  check_evidence(evidence);
  const ChainEvidence data(evidence, layout_);
  const std::vector<RowMatrix> scores =
      score_pools(parameters_, data, parameters_.emissions.front()->training_kind(), compute);
  std::vector<std::vector<Id>> result(static_cast<std::size_t>(data.student_count()));
  compute.for_blocks(data.student_count(), rows_a_block, [&](Range range) {
    RowMatrix emissions(layout_.step_count(), state_count());
    for (std::int64_t s = range.first; s < range.last; ++s) {
      student_emissions(parameters_, data, scores, s, emissions);
      result[static_cast<std::size_t>(s)] = most_likely_path(parameters_.prior, emissions).states;
    }
  });
  return result;
}

Estimates HiddenChain::marginals(const EvidenceBatch& evidence, std::span<const Id> asked,
                                 const Compute& compute) const {
  check_evidence(evidence);
  const Id courses = schema().course_count();
  const ChainEvidence data(evidence, layout_);
  const std::vector<RowMatrix> scores =
      score_pools(parameters_, data, parameters_.emissions.front()->training_kind(), compute);
  // Bits asked for, by step, in the step's own numbers.
  std::vector<std::vector<Id>> local(layout_.steps.size());
  std::vector<std::vector<Index>> columns(layout_.steps.size());
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (asked[i] < 0 || asked[i] >= schema().bit_count()) throw InputError("a bit outside the model is asked for");
    for (std::size_t step = 0; step < layout_.steps.size(); ++step) {
      const PeriodRange& periods = layout_.steps[step];
      if (asked[i] < periods.first * courses || asked[i] >= periods.last * courses) continue;
      local[step].push_back(asked[i] - periods.first * courses);
      columns[step].push_back(static_cast<Index>(i));
    }
  }
  std::vector<RowMatrix> nothing_known;  // by pool: bits by states
  for (const auto& emission : parameters_.emissions)
    nothing_known.push_back(emission->bit_probabilities());

  const Index emitting = parameters_.emitting_states();
  Estimates result;
  result.value.setZero(data.student_count(), static_cast<Index>(asked.size()));
  compute.for_blocks(data.student_count(), 64, [&](Range range) {
    ChainPosterior posterior(parameters_.prior);
    RowMatrix emissions(layout_.step_count(), state_count());
    for (std::int64_t s = range.first; s < range.last; ++s) {
      student_emissions(parameters_, data, scores, s, emissions);
      posterior.run(emissions);
      for (std::size_t step = 0; step < local.size(); ++step) {
        if (local[step].empty()) continue;
        const auto pool = static_cast<std::size_t>(layout_.pool_of[step]);
        const std::int32_t row = data.row(s, static_cast<Id>(step));
        RowMatrix given(emitting, static_cast<Index>(local[step].size()));
        if (row < 0) {
          for (std::size_t i = 0; i < local[step].size(); ++i)
            given.col(static_cast<Index>(i)) = nothing_known[pool].row(local[step][i]).transpose();
        } else {
          parameters_.emissions[pool]->marginals(data.pools[pool].rows, row, local[step], given);
        }
        const Eigen::RowVectorXd weights = posterior.states().row(static_cast<Index>(step)).head(emitting);
        Eigen::RowVectorXd mixed = weights * given;
        if (parameters_.departures.size() > 0) {
          // Taken only if still there: the period of departure is another unknown of the state.
          for (std::size_t i = 0; i < local[step].size(); ++i) {
            mixed[static_cast<Index>(i)] = 0;
            const Id period = asked[static_cast<std::size_t>(columns[step][i])] / courses;
            const DepartureRange& range_here = data.departures[static_cast<std::size_t>(s)];
            for (Index k = 0; k < emitting; ++k) {
              double all = 0, still_there = 0;
              for (Id d = range_here.earliest; d <= range_here.latest; ++d) {
                all += parameters_.departures(k, d - 1);
                if (d > period) still_there += parameters_.departures(k, d - 1);
              }
              if (all > 0)
                mixed[static_cast<Index>(i)] += weights[k] * given(k, static_cast<Index>(i)) * still_there / all;
            }
          }
        }
        for (std::size_t i = 0; i < local[step].size(); ++i)
          result.value(s, columns[step][i]) = mixed[static_cast<Index>(i)];
      }
    }
  });
  return result;
}

EvidenceBatch HiddenChain::complete(const EvidenceBatch& evidence, const RandomStream& stream,
                                    const Compute& compute) const {
  check_evidence(evidence);
  const Id courses = schema().course_count(), periods = schema().period_count();
  const Id bits_of_step = parameters_.emissions.front()->bit_count();
  const ChainEvidence data(evidence, layout_);
  const std::vector<RowMatrix> scores =
      score_pools(parameters_, data, parameters_.emissions.front()->training_kind(), compute);
  const StepRows blank_rows = one_unknown_row(bits_of_step);  // for steps of which nothing is known
  const Index emitting = parameters_.emitting_states();
  std::vector<std::vector<Id>> drawn(static_cast<std::size_t>(data.student_count()));
  std::vector<std::vector<std::uint8_t>> gone(static_cast<std::size_t>(data.student_count()));
  compute.for_blocks(data.student_count(), 64, [&](Range range) {
    RowMatrix emissions(layout_.step_count(), state_count());
    std::vector<Id> taken;
    for (std::int64_t s = range.first; s < range.last; ++s) {
      RandomStream draws = stream.child(static_cast<std::uint64_t>(s));
      student_emissions(parameters_, data, scores, s, emissions);
      const std::vector<Id> path = sample_path(parameters_.prior, emissions, draws);
      std::vector<Id>& bits = drawn[static_cast<std::size_t>(s)];
      std::vector<std::uint8_t>& left = gone[static_cast<std::size_t>(s)];
      left.assign(static_cast<std::size_t>(periods), 0);
      for (Id step = 0; step < layout_.step_count(); ++step) {
        const PeriodRange& range_of_step = layout_.steps[static_cast<std::size_t>(step)];
        const Id state = path[static_cast<std::size_t>(step)];
        if (state >= emitting) {
          left[static_cast<std::size_t>(range_of_step.first)] = 1;
          continue;
        }
        const auto pool = static_cast<std::size_t>(layout_.pool_of[static_cast<std::size_t>(step)]);
        const std::int32_t row = data.row(s, step);
        const StepRows& rows = row < 0 ? blank_rows : data.pools[pool].rows;
        parameters_.emissions[pool]->complete(rows, std::max(row, 0), state, draws, taken);
        for (const Id bit : taken)
          bits.push_back(bit + range_of_step.first * courses);
      }
      if (parameters_.departures.size() > 0) {
        const DepartureRange& allowed = data.departures[static_cast<std::size_t>(s)];
        std::vector<double> weights;
        for (Id d = allowed.earliest; d <= allowed.latest; ++d)
          weights.push_back(parameters_.departures(path[0], d - 1));
        const Id departure = allowed.earliest + static_cast<Id>(draws.categorical(weights));
        for (Id t = departure; t < periods; ++t)
          left[static_cast<std::size_t>(t)] = 1;
        std::erase_if(bits, [&](Id bit) { return bit / courses >= departure; });
      }
    }
  });
  BinaryMatrixBuilder taken(schema().bit_count()), exceptions(schema().bit_count());
  std::vector<PeriodKnowledge> knowledge;
  for (std::size_t s = 0; s < drawn.size(); ++s) {
    std::size_t next = 0;
    for (Id t = 0; t < periods; ++t) {
      knowledge.push_back(gone[s][static_cast<std::size_t>(t)] != 0 ? PeriodKnowledge::left : PeriodKnowledge::closed);
      for (; next < drawn[s].size() && drawn[s][next] < (t + 1) * courses; ++next)
        taken.add(drawn[s][next]);
      taken.finish_row();
      exceptions.finish_row();
    }
  }
  return {periods,
          courses,
          evidence.students(),
          std::move(knowledge),
          std::move(taken).build(),
          std::move(exceptions).build()};
}

Vector HiddenChain::share(Id step) const {
  Vector share = parameters_.prior.initial;
  for (Id t = 0; t < step; ++t)
    share = (share.transpose() * transition(t)).transpose().eval();
  return share;
}

RowMatrix HiddenChain::course_probabilities(Id period) const {
  for (Id step = 0; step < layout_.step_count(); ++step) {
    const PeriodRange& periods = layout_.steps[static_cast<std::size_t>(step)];
    if (period < periods.first || period >= periods.last) continue;
    const auto pool = static_cast<std::size_t>(layout_.pool_of[static_cast<std::size_t>(step)]);
    const Id courses = schema().course_count();
    return parameters_.emissions[pool]->bit_probabilities().middleRows((period - periods.first) * courses, courses);
  }
  throw InputError("no such period");
}

std::int64_t HiddenChain::parameter_count() const {
  const Index states = parameters_.prior.state_count();
  std::int64_t count = 0;
  for (const auto& emission : parameters_.emissions)
    count += emission->parameter_count();
  const auto free_in = [](const auto& row) {
    // A probability that is exactly 0 was forbidden; one is given by the others.
    const std::int64_t possible = (row.array() > 0).count();
    return std::max<std::int64_t>(0, possible - 1);
  };
  count += free_in(parameters_.prior.initial);
  const std::size_t own = identity_.structure == TimeStructure::tied
                              ? std::min<std::size_t>(1, parameters_.prior.transitions.size())
                              : parameters_.prior.transitions.size();
  for (std::size_t t = 0; t < own; ++t) {
    for (Index k = 0; k < states; ++k)
      count += free_in(parameters_.prior.transitions[t].row(k));
  }
  for (Index k = 0; k < parameters_.departures.rows(); ++k)
    count += free_in(parameters_.departures.row(k));
  return count;
}

void HiddenChain::save(ArchiveWriter& archive) const {
  archive.set("model", identity_.model);
  archive.set("emission", identity_.emission);
  archive.set("structure", identity_.structure == TimeStructure::one_step ? "one_step"
                           : identity_.structure == TimeStructure::tied   ? "tied"
                                                                          : "per_period");
  archive.set("schema", identity_.schema.to_json().dump());
  archive.set("left_state", parameters_.has_left_state ? "yes" : "no");
  const std::int64_t states = state_count();
  archive.add("initial", std::span<const double>(parameters_.prior.initial.data(), static_cast<std::size_t>(states)),
              {states});
  archive.add("transitions", std::span<const double>(transition_values_), {layout_.step_count() - 1, states, states});
  if (parameters_.departures.size() > 0) {
    // Column-major: periods by states in the file.
    archive.add(
        "departures",
        std::span<const double>(parameters_.departures.data(), static_cast<std::size_t>(parameters_.departures.size())),
        {parameters_.departures.cols(), parameters_.departures.rows()});
  }
  for (std::size_t p = 0; p < parameters_.emissions.size(); ++p)
    parameters_.emissions[p]->save(archive, concat("emission.", p));
}

std::unique_ptr<HiddenChain> HiddenChain::load(const ArchiveReader& archive) {
  archive.require_kind("model");
  try {
    ChainIdentity identity;
    identity.model = archive.metadata("model");
    identity.emission = archive.metadata("emission");
    const std::string& structure = archive.metadata("structure");
    if (structure != "one_step" && structure != "tied" && structure != "per_period")
      archive.refuse("damaged: time structure");
    identity.structure = structure == "one_step" ? TimeStructure::one_step
                         : structure == "tied"   ? TimeStructure::tied
                                                 : TimeStructure::per_period;
    require_model(identity.model);
    identity.schema = Schema::from_json(nlohmann::json::parse(archive.metadata("schema"), nullptr, false));
    if (identity.schema.period_count() < 1 || identity.schema.course_count() < 1)
      archive.refuse("damaged: no courses or periods");
    const StepLayout layout = StepLayout::of(identity.structure, identity.schema.period_count());
    ChainParameters parameters;
    parameters.has_left_state = archive.metadata("left_state") == "yes";
    const std::vector<double> initial = archive.read<double>("initial");
    const auto states = static_cast<std::int64_t>(initial.size());
    parameters.prior.initial = Eigen::Map<const Vector>(initial.data(), states);
    const std::vector<double> transitions =
        archive.read<double>("transitions", {layout.step_count() - 1, states, states});
    for (Id t = 0; t + 1 < layout.step_count(); ++t) {
      parameters.prior.transitions.emplace_back(
          Eigen::Map<const RowMatrix>(transitions.data() + t * states * states, states, states));
    }
    if (archive.has("departures")) {
      const std::vector<double> values = archive.read<double>("departures", {identity.schema.period_count(), states});
      parameters.departures = Eigen::Map<const Matrix>(values.data(), states, identity.schema.period_count());
    }
    for (Id p = 0; p < layout.pool_count(); ++p)
      parameters.emissions.push_back(load_emission(archive, identity.emission, concat("emission.", p)));
    return std::make_unique<HiddenChain>(std::move(identity), std::move(parameters));
  } catch (const ModelFileError&) {
    throw;
  } catch (const Error& error) {
    archive.refuse(concat("damaged: ", error.what()));
  }
}

}  // namespace desirepath::inline models
