#include "desirepath/models/hidden_chain.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/capabilities.h"
#include "desirepath/models/chain_history.h"
#include "desirepath/models/state_weights.h"

namespace desirepath::inline models {

namespace {

constexpr std::array<std::string_view, 3> structure_names = {"one_step", "tied", "per_period"};

TimeStructure structure_named(const ArchiveReader& archive, const std::string& name) {
  const auto found = std::ranges::find(structure_names, name);
  if (found == structure_names.end()) archive.refuse("damaged: time structure");
  return static_cast<TimeStructure>(found - structure_names.begin());
}

}  // namespace

HiddenChain::HiddenChain(ChainIdentity identity, ChainParameters parameters)
    : identity_(std::move(identity)),
      parameters_(std::move(parameters)),
      answers_(parameters_.answering()),
      layout_(StepLayout::of(identity_.structure, identity_.schema)) {
  assert(!parameters_.fault(layout_, identity_.schema));
  layout_.with_history = offered<ReadsHistory>(*parameters_.emissions.front()) != nullptr;
}

std::string HiddenChain::name() const {
  return identity_.plain ? identity_.model : concat(identity_.model, "+", identity_.emission);
}

void HiddenChain::check_evidence(const EvidenceBatch& evidence) const {
  if (evidence.period_count() != schema().period_count() || evidence.course_count() != schema().course_count()) {
    throw InputError("the evidence has other courses or periods than the model");
  }
}

namespace {

ScoreError score_error(const Emission& emission, const StepRows& rows, LikelihoodKind kind, Precision precision,
                       const Executor& executor) {
  const auto* fitted = offered<ScoresByFit>(emission);
  return fitted != nullptr ? fitted->score_error(rows, kind, precision, executor) : ScoreError();
}

}  // namespace

Estimates HiddenChain::log_likelihood(const EvidenceBatch& evidence, LikelihoodKind kind, const Executor& executor,
                                      Precision precision) const {
  check_evidence(evidence);
  const ChainEvidence& data = cut_evidence(evidence, layout_);
  // The density belongs to what EM climbed with.
  const ChainParameters& parameters = kind == likelihood_kinds().front() ? answers_ : parameters_;
  std::vector<RowScores> scores = score_pools(parameters, data, kind, precision, executor);
  // Where something simpler was scored, it may be off by what it is off on some rows.
  for (std::size_t p = 0; p < scores.size(); ++p) {
    const ScoreError error = score_error(*parameters.emissions[p], data.pools[p].rows, kind, precision, executor);
    if (!error.of.empty()) scores[p].standard_error.array() += error.root_mean_square;
  }
  const bool sampled =
      std::ranges::any_of(scores, [](const RowScores& pool) { return pool.standard_error.size() > 0; });
  Estimates result;
  result.value.resize(data.student_count(), 1);
  if (sampled) result.standard_error.setZero(data.student_count(), 1);
  executor.for_blocks(data.student_count(), students_per_block, [&](Range range) {
    const auto note = [&](std::int64_t s, double value, const ChainPosterior& posterior) {
      // A probability is at most one; a sampled one may come out above, and its error says so.
      result.value(s, 0) = kind == LikelihoodKind::mass ? std::min(value, 0.0) : value;
      if (!sampled) return;
      // d log p / d log p(step | state) is the posterior of the state; the errors are not independent, so they add up.
      double error = 0;
      for (Id step = 0; step < layout_.step_count(); ++step) {
        const std::int32_t row = data.row(s, step);
        const RowMatrix& errors =
            scores[static_cast<std::size_t>(layout_.pool_of[static_cast<std::size_t>(step)])].standard_error;
        if (row < 0 || errors.size() == 0) continue;
        for (Index k = 0; k < errors.cols(); ++k) {
          const double share = posterior.states()(step, k);
          if (share > 0) error += share * errors(row, k);
        }
      }
      result.standard_error(s, 0) = error;
    };
    for_each_posterior(parameters, data, scores, range, note);
  });
  return result;
}

std::string HiddenChain::likelihood_note(const EvidenceBatch& evidence, LikelihoodKind kind, const Executor& executor,
                                         Precision precision) const {
  check_evidence(evidence);
  const ChainEvidence& data = cut_evidence(evidence, layout_);
  ScoreError all;
  double sum = 0;
  for (std::size_t p = 0; p < data.pools.size(); ++p) {
    const ScoreError error = score_error(*parameters_.emissions[p], data.pools[p].rows, kind, precision, executor);
    if (error.of.empty()) continue;
    all.of = error.of;
    all.rows += error.rows;
    sum += error.mean * static_cast<double>(error.rows);
    all.largest = std::max(all.largest, error.largest);
  }
  if (all.of.empty() || all.rows == 0) return all.of;
  const double mean = sum / static_cast<double>(all.rows);
  return concat(all.of, "; checked without it on ", counted(all.rows, "record", "records"),
                layout_.step_count() > 1 ? " of a period" : "", ": the log-likelihood would be ",
                fixed(std::abs(mean), 2), mean < 0 ? " lower" : " higher", " on average, ", fixed(all.largest, 2),
                " apart at most; smaller differences between students say nothing");
}

std::vector<RowScores> HiddenChain::answer_scores(const ChainEvidence& data, const Executor& executor) const {
  return score_pools(answers_, data, likelihood_kinds().front(), weighing_precision(*answers_.emissions.front()),
                     executor);
}

std::unique_ptr<GivenPattern> HiddenChain::given(std::size_t pool, const UnknownBits& unknown,
                                                 Conditioning conditioning) const {
  const Emission& emission = *parameters_.emissions[pool];
  const auto* exact = conditioning == Conditioning::exact ? offered<AnswersExactly>(emission) : nullptr;
  return exact != nullptr ? exact->given_exactly(unknown) : emission.given(unknown);
}

RowMatrix HiddenChain::posterior_of(const ChainEvidence& data, const std::vector<RowScores>& scores,
                                    const Executor& executor) const {
  const Index states = state_count();
  RowMatrix result(data.student_count(), layout_.step_count() * states);
  executor.for_blocks(data.student_count(), students_per_block, [&](Range range) {
    for_each_posterior(answers_, data, scores, range, [&](std::int64_t s, double, const ChainPosterior& posterior) {
      for (Index t = 0; t < layout_.step_count(); ++t)
        result.row(s).segment(t * states, states) = posterior.states().row(t);
    });
  });
  return result;
}

RowMatrix HiddenChain::posterior(const EvidenceBatch& evidence, const Executor& executor) const {
  check_evidence(evidence);
  const ChainEvidence& data = cut_evidence(evidence, layout_);
  return posterior_of(data, answer_scores(data, executor), executor);
}

std::vector<std::vector<Id>> HiddenChain::paths(const EvidenceBatch& evidence, const Executor& executor) const {
  check_evidence(evidence);
  const ChainEvidence& data = cut_evidence(evidence, layout_);
  const std::vector<RowScores> scores = answer_scores(data, executor);
  std::vector<std::vector<Id>> result(static_cast<std::size_t>(data.student_count()));
  executor.for_blocks(data.student_count(), students_per_block, [&](Range range) {
    for_each_student(answers_, data, scores, range, [&](std::int64_t s, const RowMatrix& emissions) {
      result[static_cast<std::size_t>(s)] = most_likely_path(answers_.prior, emissions).states;
    });
  });
  return result;
}

Vector HiddenChain::share(Id step) const {
  Vector share = answers_.prior.initial;
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
    if (layout_.with_history) return HistoryAhead(answers_, layout_, courses).state_profile(step);
    const RowMatrix all = parameters_.emissions[pool]->bit_probabilities();
    if (!all.allFinite()) throw NumericalError("the model's numbers are so large that a probability is lost");
    return all.middleRows(Index{period - periods.first} * courses, courses);
  }
  throw InputError("no such period");
}

std::vector<CourseLink> HiddenChain::links() const {
  // Of a chain of several steps each has its own; only those of one step are the model's.
  const auto* ties = offered<TiesCourses>(*parameters_.emissions.front());
  return ties != nullptr && layout_.step_count() == 1 ? ties->links() : std::vector<CourseLink>();
}

std::int64_t HiddenChain::parameter_count() const {
  std::int64_t count = 0;
  for (const auto& emission : parameters_.emissions)
    count += emission->parameter_count();
  const auto free_in = [](const auto& row) {
    // A probability that is exactly 0 was forbidden; one is given by the others.
    const std::int64_t possible = (row.array() > 0).count();
    return std::max<std::int64_t>(0, possible - 1);
  };
  count += free_in(parameters_.prior.initial);
  for (std::size_t t = 0; t < parameters_.own_transitions(identity_.structure); ++t) {
    for (Index k = 0; k < state_count(); ++k)
      count += free_in(parameters_.prior.transitions[t].row(k));
  }
  if (parameters_.departures.size() == 0) return count;  // a file may have rows of nothing
  for (Index k = 0; k < parameters_.departures.rows(); ++k)
    count += free_in(parameters_.departures.row(k));
  return count;
}

void HiddenChain::save(ArchiveWriter& archive) const {
  archive.set("model", identity_.model);
  archive.set("emission", identity_.emission);
  archive.set("structure", std::string(structure_names[static_cast<std::size_t>(identity_.structure)]));
  archive.set("schema", identity_.schema.to_json().dump());
  parameters_.save(archive, "");
}

std::unique_ptr<HiddenChain> HiddenChain::load(const ArchiveReader& archive, std::span<const EmissionFamily> families,
                                               const std::string& default_emission) {
  ChainIdentity identity;
  identity.model = archive.metadata("model");
  identity.emission = archive.metadata("emission");
  identity.plain = identity.emission == default_emission;
  identity.structure = structure_named(archive, archive.metadata("structure"));
  const auto family = std::ranges::find(families, identity.emission, &EmissionFamily::name);
  if (family == families.end())
    archive.refuse(concat("emission family '", identity.emission, "' is not known to this version"));
  try {
    identity.schema = Schema::from_json(nlohmann::json::parse(archive.metadata("schema"), nullptr, false));
  } catch (const InputError& error) {
    archive.refuse(concat("damaged: ", error.what()));
  }
  if (identity.schema.bit_count() < 1) archive.refuse("damaged: no courses or periods");
  const StepLayout layout = StepLayout::of(identity.structure, identity.schema);
  ChainParameters parameters = ChainParameters::load(archive, "", layout, identity.schema, *family);
  return std::make_unique<HiddenChain>(std::move(identity), std::move(parameters));
}

}  // namespace desirepath::inline models
