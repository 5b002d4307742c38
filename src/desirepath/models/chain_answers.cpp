// What a hidden chain answers of bits it is not told: marginals and completions, pattern by pattern.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "desirepath/core/error.h"
#include "desirepath/emissions/capabilities.h"
#include "desirepath/models/chain_history.h"
#include "desirepath/models/first_enrollments.h"
#include "desirepath/models/hidden_chain.h"

namespace desirepath::inline models {

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

Id trait_bits(const StepLayout& layout) {
  Id bits = 0;
  for (const Trait& trait : layout.traits)
    bits += trait.value_count();
  return bits;
}

/// The drawn values of traits; left: the first period that a student is gone.
std::vector<TraitValues> drawn_traits(const StepLayout& layout, Id first_bit, std::span<const std::vector<Id>> bits,
                                      std::vector<Id>& left) {
  std::vector<TraitValues> values;
  for (std::size_t s = 0; s < bits.size(); ++s) {
    Id begin = first_bit;
    for (const Trait& trait : layout.traits) {
      const auto found = std::ranges::lower_bound(bits[s], begin);
      const Id value = found != bits[s].end() ? *found - begin : 0;
      values.push_back(TraitValues{1} << value);
      if (trait.kind == TraitKind::departure) left[s] = value + 1;
      begin += trait.value_count();
    }
  }
  return values;
}

/// What errors of the scores do to a mean over a student's states is at most the spread of what is averaged times this:
/// the change of a mean under changed log-weights is their covariance with it (Cauchy and Schwarz).
Vector error_of_scores(const ChainEvidence& data, const std::vector<RowScores>& scores, const RowMatrix& posterior,
                       Index states) {
  Vector result = Vector::Zero(data.student_count());
  for (std::int64_t s = 0; s < data.student_count(); ++s) {
    for (Id step = 0; step < data.layout->step_count(); ++step) {
      const std::int32_t row = data.row(s, step);
      const RowMatrix& error =
          scores[static_cast<std::size_t>(data.layout->pool_of[static_cast<std::size_t>(step)])].standard_error;
      if (row < 0 || error.size() == 0) continue;
      const auto share = posterior.row(s).segment(step * states, error.cols()).array();
      result[s] += std::sqrt((share * error.row(row).array().square()).sum());
    }
  }
  return result;
}

}  // namespace

Estimates HiddenChain::marginals(const EvidenceBatch& evidence, std::span<const Id> asked, const Executor& executor,
                                 Conditioning conditioning) const {
  check_evidence(evidence);
  const Id courses = schema().course_count();
  const bool inside =
      std::ranges::all_of(asked, [&](Id bit) { return bit >= 0 && bit < schema().bit_count() + trait_bits(layout_); });
  if (!inside) throw InputError("a bit outside the model is asked for");
  const ChainEvidence& data = cut_evidence(evidence, layout_);
  const std::vector<RowScores> scores = answer_scores(data, executor);
  if (layout_.with_history) return marginals_ahead(evidence, data, scores, asked, executor);
  const RowMatrix posterior = posterior_of(data, scores, executor);
  // Bits asked for, by step, in the step's own numbers.
  std::vector<std::vector<Id>> local(layout_.steps.size());
  std::vector<std::vector<Index>> columns(layout_.steps.size());
  for (std::size_t i = 0; i < asked.size(); ++i) {
    for (std::size_t step = 0; step < layout_.steps.size(); ++step) {
      const PeriodRange& periods = layout_.steps[step];
      // Bits of traits follow those of the courses of the one step that knows them.
      const bool is_trait = asked[i] >= schema().bit_count();
      if (asked[i] < periods.first * courses || (asked[i] >= periods.last * courses && !is_trait)) continue;
      local[step].push_back(asked[i] - periods.first * courses);
      columns[step].push_back(static_cast<Index>(i));
    }
  }
  const Index states = state_count(), emitting = parameters_.emitting_states();
  Estimates result;
  result.value.setZero(data.student_count(), static_cast<Index>(asked.size()));
  const bool sampled =
      conditioning == Conditioning::exact && answers_.emissions.front()->training_kind() != likelihood_kinds().front();
  Vector weight_error;
  if (sampled) {
    result.standard_error.setZero(data.student_count(), static_cast<Index>(asked.size()));
    weight_error = error_of_scores(data, scores, posterior, states);
  }
  // A student's share of a row's answer: the states' posterior, and where departures are modelled, being still there.
  const auto mix = [&](std::int64_t s, std::size_t step, const RowMatrix& given, const RowMatrix& errors) {
    const auto weights = posterior.row(s).segment(static_cast<Index>(step) * states, emitting);
    for (std::size_t i = 0; i < local[step].size(); ++i) {
      double sum = 0, squares = 0, error = 0;
      const Id period = asked[static_cast<std::size_t>(columns[step][i])] / courses;
      for (Index k = 0; k < emitting; ++k) {
        double there = 1;
        if (answers_.departures.size() > 0) {
          const DepartureRange& allowed = data.departures[static_cast<std::size_t>(s)];
          double all = 0, later = 0;
          for (Id d = allowed.earliest; d <= allowed.latest; ++d) {
            all += answers_.departures(k, d - 1);
            if (d > period) later += answers_.departures(k, d - 1);
          }
          there = all > 0 ? later / all : 0;
        }
        const double share = given(k, static_cast<Index>(i)) * there;
        sum += weights[k] * share;
        squares += weights[k] * share * share;
        error += weights[k] * errors(k, static_cast<Index>(i)) * there;
      }
      result.value(s, columns[step][i]) = sum;
      if (!sampled) continue;
      const double spread = std::sqrt(std::max(0.0, squares - sum * sum));
      result.standard_error(s, columns[step][i]) = error + spread * weight_error[s];
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
        executor.for_blocks(static_cast<std::int64_t>(group.rows.size()), 32, [&](Range range) {
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
  if (result.value.hasNaN()) throw NumericalError("the model's numbers are so large that a probability is lost");
  return result;
}

Estimates HiddenChain::marginals_ahead(const EvidenceBatch& evidence, const ChainEvidence& data,
                                       const std::vector<RowScores>& scores, std::span<const Id> asked,
                                       const Executor& executor) const {
  const Id courses = schema().course_count();
  Estimates result;
  result.value.setZero(data.student_count(), static_cast<Index>(asked.size()));
  const HistoryAhead ahead(answers_, layout_, courses);
  executor.for_blocks(data.student_count(), students_per_block, [&](Range range) {
    for_each_posterior(answers_, data, scores, range, [&](std::int64_t s, double, const ChainPosterior& posterior) {
      const RowMatrix shares = ahead.course_shares(evidence, s, posterior);
      for (std::size_t i = 0; i < asked.size(); ++i)
        result.value(s, static_cast<Index>(i)) = shares(asked[i] / courses, asked[i] % courses);
    });
  });
  return result;
}

EvidenceBatch HiddenChain::complete(const EvidenceBatch& evidence, const RandomStream& stream, const Executor& executor,
                                    Conditioning conditioning) const {
  std::vector<std::uint64_t> numbers(static_cast<std::size_t>(evidence.student_count()));
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
  return complete_numbered(evidence, numbers, stream, executor, conditioning);
}

EvidenceBatch HiddenChain::complete_numbered(const EvidenceBatch& evidence, std::span<const std::uint64_t> numbers,
                                             const RandomStream& stream, const Executor& executor,
                                             Conditioning conditioning) const {
  check_evidence(evidence);
  const Id courses = schema().course_count(), periods = schema().period_count();
  const ChainEvidence& data = cut_evidence(evidence, layout_);
  const std::vector<RowScores> scores = answer_scores(data, executor);
  const Id emitting = parameters_.emitting_states();
  const auto students = static_cast<std::size_t>(data.student_count());
  std::vector<std::vector<Id>> path(students);
  std::vector<Id> departure(students, periods);  // first period the student is gone
  executor.for_blocks(data.student_count(), students_per_block, [&](Range range) {
    for_each_student(answers_, data, scores, range, [&](std::int64_t s, const RowMatrix& emissions) {
      const auto at = static_cast<std::size_t>(s);
      RandomStream draws = stream.child(numbers[at]).child("path");
      path[at] = sample_path(answers_.prior, emissions, draws);
      for (Id step = 0; step < layout_.step_count(); ++step) {
        if (path[at][static_cast<std::size_t>(step)] >= emitting)
          departure[at] = std::min(departure[at], layout_.steps[static_cast<std::size_t>(step)].first);
      }
      if (answers_.departures.size() == 0) return;
      const DepartureRange& allowed = data.departures[at];
      std::vector<double> weights;
      for (Id d = allowed.earliest; d <= allowed.latest; ++d)
        weights.push_back(answers_.departures(path[at][0], d - 1));
      departure[at] = allowed.earliest + static_cast<Id>(draws.categorical(weights));
    });
  });
  std::vector<std::vector<std::vector<Id>>> bits(layout_.steps.size(),
                                                 std::vector<std::vector<Id>>(students));  // by step, student
  if (layout_.with_history) {
    const HistoryAhead ahead(answers_, layout_, courses);
    executor.for_blocks(data.student_count(), students_per_block, [&](Range range) {
      for (auto s = static_cast<std::size_t>(range.first); s < static_cast<std::size_t>(range.last); ++s) {
        std::vector<std::vector<Id>> drawn =
            ahead.draw(evidence, static_cast<std::int64_t>(s), path[s], stream.child(numbers[s]));
        for (std::size_t step = 0; step < bits.size(); ++step)
          bits[step][s] = std::move(drawn[step]);
      }
    });
  }
  for (std::size_t p = 0; p < data.pools.size() && !layout_.with_history; ++p) {
    const RowPool& pool = data.pools[p];
    const StepRows blank = one_unknown_row(pool.rows.bit_count());
    const auto draw = [&](const GivenPattern& given, std::span<const Id> taken, std::int64_t at) {
      const auto s = static_cast<std::size_t>(at % data.student_count());
      const auto step = static_cast<std::size_t>(layout_.pools[p][static_cast<std::size_t>(at / data.student_count())]);
      const Id state = path[s][step];
      if (state >= emitting) return;
      RandomStream draws = stream.child(numbers[s]).child(step);
      given.complete(taken, state, draws, bits[step][s]);
    };
    for (const PatternGroup& group : group_by_pattern(pool, data.student_count())) {
      const bool silent = group.pattern < 0;
      const std::unique_ptr<GivenPattern> given =
          this->given(p, silent ? blank.unknown(1) : pool.rows.unknown(group.pattern), conditioning);
      const auto items = static_cast<std::int64_t>(silent ? group.silent.size() : group.rows.size());
      executor.for_blocks(items, 32, [&](Range range) {
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
  std::vector<TraitValues> traits;
  if (!layout_.traits.empty()) traits = drawn_traits(layout_, schema().bit_count(), bits.front(), departure);
  BinaryMatrixBuilder taken(schema().bit_count()), exceptions(schema().bit_count());
  std::vector<Presence> knowledge;
  for (std::size_t s = 0; s < students; ++s) {
    for (std::size_t step = 0; step < layout_.steps.size(); ++step) {
      const PeriodRange& range = layout_.steps[step];
      for (Id t = range.first; t < range.last; ++t) {
        const bool gone = t >= departure[s];
        knowledge.push_back(gone ? Presence::left : Presence::present);
        for (const Id bit : bits[step][s]) {
          const bool here = bit >= (t - range.first) * courses && bit < (t - range.first + 1) * courses;
          if (here && !gone) taken.add(bit + range.first * courses);
        }
        taken.finish_row();
        exceptions.finish_row();
      }
    }
  }
  EvidenceBatch completed(periods, courses, evidence.students(), knowledge, std::move(taken).build(),
                          std::move(exceptions).build());
  return layout_.traits.empty() ? completed : completed.with_traits(layout_.traits, std::move(traits));
}

std::optional<RowMatrix> first_enrollments(const Model& model, const EvidenceBatch& evidence,
                                           std::span<const Id> courses, const Executor& executor) {
  const auto* has = offered<HasChain>(model);
  if (has == nullptr || has->chain().step_count() != 1) return std::nullopt;
  const HiddenChain& chain = has->chain();
  const Emission& emission = *chain.parameters().emissions.front();
  const auto* repeats = offered<KnowsRetakes>(emission);
  if (repeats == nullptr) return std::nullopt;
  const Schema& schema = model.schema();
  const Id periods = schema.period_count();
  std::vector<Id> asked;
  for (const Id c : courses) {
    for (Id t = 0; t < periods; ++t)
      asked.push_back(schema.bit(t, c));
  }
  const RowMatrix posterior = chain.posterior(evidence, executor);
  const ChainEvidence& data = cut_evidence(evidence, chain.layout());
  RowMatrix result = RowMatrix::Zero(data.student_count(), static_cast<Index>(asked.size()));
  // Taken now but not for the first time: taken in an earlier enrolled period, and then again with a probability that
  // does not depend on which one that was.
  const auto add = [&](std::int64_t s, const RowMatrix& given) {
    for (Index k = 0; k < given.rows(); ++k) {
      const RowMatrix& retake = repeats->retakes(static_cast<Id>(k));
      for (std::size_t i = 0; i < courses.size(); ++i) {
        double before = 0;
        for (Id t = 0; t < periods; ++t) {
          if (evidence.seen(s, t) != Presence::present) continue;
          const Index column = static_cast<Index>(i) * periods + t;
          const double first = std::max(0.0, given(k, column) - retake(courses[i], t) * before);
          result(s, column) += posterior(s, k) * first;
          before += first;
        }
      }
    }
  };
  const RowPool& pool = data.pools.front();
  for (const PatternGroup& group : group_by_pattern(pool, data.student_count())) {
    if (group.pattern < 0) continue;  // of whom nothing is known are not known to be enrolled
    const std::unique_ptr<GivenPattern> given = emission.given(pool.rows.unknown(group.pattern));
    executor.for_blocks(static_cast<std::int64_t>(group.rows.size()), 32, [&](Range range) {
      RowMatrix answer(emission.state_count(), static_cast<Index>(asked.size()));
      for (std::int64_t i = range.first; i < range.last; ++i) {
        const std::int64_t row = group.rows[static_cast<std::size_t>(i)];
        given->marginals(pool.rows.taken(row), asked, answer);
        for (const std::int64_t s : pool.occurrences_of(row))
          add(s, answer);
      }
    });
  }
  return result;
}

}  // namespace desirepath::inline models
