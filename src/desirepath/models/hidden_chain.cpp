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

constexpr std::int64_t students_a_block = 256;

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

std::vector<RowScores> score_pools(const ChainParameters& parameters, const ChainEvidence& evidence,
                                   LikelihoodKind kind, const Compute& compute) {
  std::vector<RowScores> scores;
  for (std::size_t p = 0; p < evidence.pools.size(); ++p)
    scores.push_back(parameters.emissions[p]->score(evidence.pools[p].rows, kind, compute));
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

void student_frame(const ChainParameters& parameters, const ChainEvidence& evidence, std::int64_t student,
                   RowMatrix& out) {
  out.setZero();
  if (parameters.has_left_state) {
    const Index left = parameters.prior.state_count() - 1;
    for (Id step = 0; step < evidence.layout->step_count(); ++step) {
      const Presence presence = evidence.presence_at(student, step);
      if (presence == Presence::present) out(step, left) = -infinity;
      if (presence == Presence::left) out.row(step).head(left).setConstant(-infinity);
    }
  }
  if (parameters.departures.size() > 0) {
    out.row(0) +=
        log_departure(parameters.departures, evidence.departures[static_cast<std::size_t>(student)]).transpose();
  }
}

void student_emissions(const ChainParameters& parameters, const ChainEvidence& evidence,
                       const std::vector<RowScores>& scores, std::int64_t student, RowMatrix& out) {
  const StepLayout& layout = *evidence.layout;
  student_frame(parameters, evidence, student, out);
  for (Id step = 0; step < layout.step_count(); ++step) {
    const std::int32_t row = evidence.row(student, step);
    if (row < 0) continue;
    out.row(step).head(parameters.emitting_states()) +=
        scores[static_cast<std::size_t>(layout.pool_of[static_cast<std::size_t>(step)])].log_likelihood.row(row);
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
  const std::vector<RowScores> scores = score_pools(parameters_, data, kind, compute);
  const bool sampled =
      std::ranges::any_of(scores, [](const RowScores& pool) { return pool.standard_error.size() > 0; });
  Estimates result;
  result.value.resize(data.student_count(), 1);
  if (sampled) result.standard_error.setZero(data.student_count(), 1);
  compute.for_blocks(data.student_count(), students_a_block, [&](Range range) {
    ChainPosterior posterior(parameters_.prior);
    RowMatrix emissions(layout_.step_count(), state_count());
    for (std::int64_t s = range.first; s < range.last; ++s) {
      student_emissions(parameters_, data, scores, s, emissions);
      const double value = posterior.run(emissions);
      // A probability is at most one; a sampled one may come out above, and its error says so.
      result.value(s, 0) = kind == LikelihoodKind::mass ? std::min(value, 0.0) : value;
      if (!sampled) continue;
      // d log p / d log p(step | state) is the posterior of the state.
      double variance = 0;
      for (Id step = 0; step < layout_.step_count(); ++step) {
        const std::int32_t row = data.row(s, step);
        const RowMatrix& error =
            scores[static_cast<std::size_t>(layout_.pool_of[static_cast<std::size_t>(step)])].standard_error;
        if (row < 0 || error.size() == 0) continue;
        for (Index k = 0; k < error.cols(); ++k) {
          const double share = posterior.states()(step, k);
          if (share > 0) variance += share * share * error(row, k) * error(row, k);
        }
      }
      result.standard_error(s, 0) = std::sqrt(variance);
    }
  });
  return result;
}

std::string HiddenChain::likelihood_note(const EvidenceBatch& evidence, LikelihoodKind kind,
                                         const Compute& compute) const {
  check_evidence(evidence);
  if (!parameters_.emissions.front()->approximates(kind)) return {};
  const ChainEvidence data(evidence, layout_);
  return parameters_.emissions.front()->likelihood_note(data.pools.front().rows, kind, compute);
}

LikelihoodKind HiddenChain::state_kind(Conditioning conditioning) const {
  const Emission& emission = *parameters_.emissions.front();
  return conditioning == Conditioning::exact ? emission.likelihood_kinds().front() : emission.training_kind();
}

std::unique_ptr<GivenPattern> HiddenChain::given(std::size_t pool, const UnknownBits& unknown,
                                                 Conditioning conditioning) const {
  const Emission& emission = *parameters_.emissions[pool];
  return conditioning == Conditioning::exact ? emission.given_exactly(unknown) : emission.given(unknown);
}

RowMatrix HiddenChain::posterior_of(const ChainEvidence& data, LikelihoodKind kind, const Compute& compute) const {
  const std::vector<RowScores> scores = score_pools(parameters_, data, kind, compute);
  const Index states = state_count(), steps = layout_.step_count();
  RowMatrix result(data.student_count(), steps * states);
  compute.for_blocks(data.student_count(), students_a_block, [&](Range range) {
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

RowMatrix HiddenChain::posterior(const EvidenceBatch& evidence, const Compute& compute) const {
  check_evidence(evidence);
  return posterior_of(ChainEvidence(evidence, layout_), state_kind(Conditioning::linear), compute);
}

std::vector<std::vector<Id>> HiddenChain::paths(const EvidenceBatch& evidence, const Compute& compute) const {
  check_evidence(evidence);
  const ChainEvidence data(evidence, layout_);
  const std::vector<RowScores> scores =
      score_pools(parameters_, data, parameters_.emissions.front()->training_kind(), compute);
  std::vector<std::vector<Id>> result(static_cast<std::size_t>(data.student_count()));
  compute.for_blocks(data.student_count(), students_a_block, [&](Range range) {
    RowMatrix emissions(layout_.step_count(), state_count());
    for (std::int64_t s = range.first; s < range.last; ++s) {
      student_emissions(parameters_, data, scores, s, emissions);
      result[static_cast<std::size_t>(s)] = most_likely_path(parameters_.prior, emissions).states;
    }
  });
  return result;
}

namespace {

/// The rows of a pool by their pattern; students of whom nothing is known in a step make a last group without a row.
struct PatternGroup {
  Id pattern = -1;                   // -1: nothing known
  std::vector<std::int64_t> rows;    // of the pattern
  std::vector<std::int64_t> silent;  // step * students + student, of the group without a row
};

std::vector<PatternGroup> group_by_pattern(const RowPool& pool, std::int64_t students) {
  std::vector<PatternGroup> groups(static_cast<std::size_t>(pool.rows.pattern_count()) + 1);
  for (Id p = 0; p < pool.rows.pattern_count(); ++p)
    groups[static_cast<std::size_t>(p)].pattern = p;
  for (std::int64_t row = 0; row < pool.rows.row_count(); ++row)
    groups[static_cast<std::size_t>(pool.rows.pattern_of(row))].rows.push_back(row);
  for (std::size_t place = 0; place < pool.row_of.size(); ++place) {
    for (std::int64_t s = 0; s < students; ++s) {
      if (pool.row_of[place][static_cast<std::size_t>(s)] < 0)
        groups.back().silent.push_back(static_cast<std::int64_t>(place) * students + s);
    }
  }
  std::erase_if(groups, [](const PatternGroup& group) { return group.rows.empty() && group.silent.empty(); });
  return groups;
}

}  // namespace

Estimates HiddenChain::marginals(const EvidenceBatch& evidence, std::span<const Id> asked, const Compute& compute,
                                 Conditioning conditioning) const {
  check_evidence(evidence);
  const Id courses = schema().course_count();
  const ChainEvidence data(evidence, layout_);
  const RowMatrix posterior = posterior_of(data, state_kind(conditioning), compute);
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
  const Index states = state_count(), emitting = parameters_.emitting_states();
  Estimates result;
  result.value.setZero(data.student_count(), static_cast<Index>(asked.size()));
  // A student's share of a row's answer: the states' posterior, and where departures are modelled, being still there.
  const bool sampled = conditioning == Conditioning::exact &&
                       parameters_.emissions.front()->training_kind() != state_kind(Conditioning::exact);
  if (sampled) result.standard_error.setZero(data.student_count(), static_cast<Index>(asked.size()));
  const auto mix = [&](std::int64_t s, std::size_t step, const RowMatrix& given, const RowMatrix& errors) {
    const auto weights = posterior.row(s).segment(static_cast<Index>(step) * states, emitting);
    for (std::size_t i = 0; i < local[step].size(); ++i) {
      double sum = 0;
      const Id period = asked[static_cast<std::size_t>(columns[step][i])] / courses;
      for (Index k = 0; k < emitting; ++k) {
        double there = 1;
        if (parameters_.departures.size() > 0) {
          const DepartureRange& allowed = data.departures[static_cast<std::size_t>(s)];
          double all = 0, later = 0;
          for (Id d = allowed.earliest; d <= allowed.latest; ++d) {
            all += parameters_.departures(k, d - 1);
            if (d > period) later += parameters_.departures(k, d - 1);
          }
          there = all > 0 ? later / all : 0;
        }
        sum += weights[k] * given(k, static_cast<Index>(i)) * there;
      }
      result.value(s, columns[step][i]) = sum;
      if (!sampled) continue;
      double variance = 0;
      for (Index k = 0; k < emitting; ++k)
        variance += std::pow(weights[k] * errors(k, static_cast<Index>(i)), 2);
      result.standard_error(s, columns[step][i]) = std::sqrt(variance);
    }
  };
  for (std::size_t p = 0; p < data.pools.size(); ++p) {
    const RowPool& pool = data.pools[p];
    const StepRows blank = one_unknown_row(pool.rows.bit_count());
    for (const PatternGroup& group : group_by_pattern(pool, data.student_count())) {
      const bool silent = group.pattern < 0;
      const std::unique_ptr<GivenPattern> given =
          this->given(p, silent ? blank.unknown(1) : pool.rows.unknown(group.pattern), conditioning);
      for (std::size_t place = 0; place < pool.row_of.size(); ++place) {
        const auto step = static_cast<std::size_t>(layout_.pools[p][place]);
        if (local[step].empty()) continue;
        const auto asked_here = static_cast<Index>(local[step].size());
        if (silent) {
          RowMatrix answer(emitting, asked_here), errors(emitting, asked_here);
          given->marginals_with_errors({}, local[step], answer, errors);
          for (const std::int64_t at : group.silent) {
            if (at / data.student_count() == static_cast<std::int64_t>(place))
              mix(at % data.student_count(), step, answer, errors);
          }
          continue;
        }
        compute.for_blocks(static_cast<std::int64_t>(group.rows.size()), 32, [&](Range range) {
          RowMatrix answer(emitting, asked_here), errors(emitting, asked_here);
          for (std::int64_t i = range.first; i < range.last; ++i) {
            const std::int64_t row = group.rows[static_cast<std::size_t>(i)];
            given->marginals_with_errors(pool.rows.taken(row), local[step], answer, errors);
            for (const std::int64_t at : pool.occurrences_of(row)) {
              if (at / data.student_count() == static_cast<std::int64_t>(place))
                mix(at % data.student_count(), step, answer, errors);
            }
          }
        });
      }
    }
  }
  return result;
}

EvidenceBatch HiddenChain::complete(const EvidenceBatch& evidence, const RandomStream& stream, const Compute& compute,
                                    Conditioning conditioning) const {
  check_evidence(evidence);
  const Id courses = schema().course_count(), periods = schema().period_count();
  const ChainEvidence data(evidence, layout_);
  const std::vector<RowScores> scores = score_pools(parameters_, data, state_kind(conditioning), compute);
  const Id emitting = parameters_.emitting_states();
  const auto students = static_cast<std::size_t>(data.student_count());
  std::vector<std::vector<Id>> path(students);
  std::vector<Id> departure(students, periods);  // first period the student is gone
  compute.for_blocks(data.student_count(), students_a_block, [&](Range range) {
    RowMatrix emissions(layout_.step_count(), state_count());
    for (std::int64_t s = range.first; s < range.last; ++s) {
      RandomStream draws = stream.child(static_cast<std::uint64_t>(s)).child("path");
      student_emissions(parameters_, data, scores, s, emissions);
      const auto at = static_cast<std::size_t>(s);
      path[at] = sample_path(parameters_.prior, emissions, draws);
      for (Id step = 0; step < layout_.step_count(); ++step) {
        if (path[at][static_cast<std::size_t>(step)] >= emitting)
          departure[at] = std::min(departure[at], layout_.steps[static_cast<std::size_t>(step)].first);
      }
      if (parameters_.departures.size() > 0) {
        const DepartureRange& allowed = data.departures[at];
        std::vector<double> weights;
        for (Id d = allowed.earliest; d <= allowed.latest; ++d)
          weights.push_back(parameters_.departures(path[at][0], d - 1));
        departure[at] = allowed.earliest + static_cast<Id>(draws.categorical(weights));
      }
    }
  });
  std::vector<std::vector<std::vector<Id>>> bits(layout_.steps.size(),
                                                 std::vector<std::vector<Id>>(students));  // by step, student
  for (std::size_t p = 0; p < data.pools.size(); ++p) {
    const RowPool& pool = data.pools[p];
    const StepRows blank = one_unknown_row(pool.rows.bit_count());
    const auto draw = [&](const GivenPattern& given, std::span<const Id> taken, std::int64_t at) {
      const auto s = static_cast<std::size_t>(at % data.student_count());
      const auto step = static_cast<std::size_t>(layout_.pools[p][static_cast<std::size_t>(at / data.student_count())]);
      const Id state = path[s][step];
      if (state >= emitting) return;
      RandomStream draws = stream.child(s).child(step);
      given.complete(taken, state, draws, bits[step][s]);
    };
    for (const PatternGroup& group : group_by_pattern(pool, data.student_count())) {
      const bool silent = group.pattern < 0;
      const std::unique_ptr<GivenPattern> given =
          this->given(p, silent ? blank.unknown(1) : pool.rows.unknown(group.pattern), conditioning);
      const auto items = static_cast<std::int64_t>(silent ? group.silent.size() : group.rows.size());
      compute.for_blocks(items, 32, [&](Range range) {
        for (std::int64_t i = range.first; i < range.last; ++i) {
          if (silent) {
            draw(*given, {}, group.silent[static_cast<std::size_t>(i)]);
            continue;
          }
          const std::int64_t row = group.rows[static_cast<std::size_t>(i)];
          for (const std::int64_t at : pool.occurrences_of(row))
            draw(*given, pool.rows.taken(row), at);
        }
      });
    }
  }
  BinaryMatrixBuilder taken(schema().bit_count()), exceptions(schema().bit_count());
  std::vector<PeriodKnowledge> knowledge;
  for (std::size_t s = 0; s < students; ++s) {
    for (std::size_t step = 0; step < layout_.steps.size(); ++step) {
      const PeriodRange& range = layout_.steps[step];
      for (Id t = range.first; t < range.last; ++t) {
        const bool gone = t >= departure[s];
        knowledge.push_back(gone ? PeriodKnowledge::left : PeriodKnowledge::closed);
        for (const Id bit : bits[step][s]) {
          const bool here = bit >= (t - range.first) * courses && bit < (t - range.first + 1) * courses;
          if (here && !gone) taken.add(bit + range.first * courses);
        }
        taken.finish_row();
        exceptions.finish_row();
      }
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
