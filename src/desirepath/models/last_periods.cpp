// When students leave, by a committee whose loads are tilted.
#include <algorithm>
#include <bit>
#include <cmath>

#include "desirepath/models/committee_loads.h"
#include "desirepath/probability/log_space.h"

namespace desirepath::inline models {

namespace {

Id latest(PeriodSet periods) {
  return static_cast<Id>(std::bit_width(periods)) - 1;
}

}  // namespace

EvidenceBatch copied_students(const EvidenceBatch& evidence, std::span<const std::int64_t> students,
                              std::span<const Id> last) {
  EvidenceBuilder rows(evidence);
  std::vector<Trait> traits;
  std::vector<TraitValues> known;
  for (Id a = 0; a < evidence.trait_count(); ++a)
    traits.push_back(evidence.trait(a));
  for (std::size_t i = 0; i < students.size(); ++i) {
    const std::int64_t s = students[i];
    rows.begin_student(evidence.students()[static_cast<std::size_t>(s)]);
    for (Id t = 0; t < evidence.period_count(); ++t) {
      const bool is_gone = !last.empty() && t > last[i];
      rows.add(is_gone ? PeriodEvidence{Presence::left, {}, {}} : PeriodEvidence::of(evidence, s, t));
    }
    for (Id a = 0; a < evidence.trait_count(); ++a)
      known.push_back(evidence.possible(s, evidence.trait(a)));
  }
  EvidenceBatch batch = std::move(rows).build();
  return traits.empty() ? batch : batch.with_traits(std::move(traits), std::move(known));
}

std::vector<LastPeriods> weigh_last_periods(const HiddenChain& chain, const LoadTilt& tilt,
                                            const EvidenceBatch& evidence, LikelihoodKind kind,
                                            const RowMatrix& log_likelihood, const Executor& executor) {
  const LoadReader reader(chain);
  std::vector<LastPeriods> found;
  std::vector<std::int64_t> undecided;
  std::vector<Id> last;
  for (std::int64_t s = 0; s < evidence.student_count(); ++s) {
    LastPeriods own{s, reader.read(evidence, s), {}, {}, {}, {}};
    const bool counts = std::isfinite(log_likelihood(s, 0)) && own.loads.enrolled != 0 && own.loads.last != 0;
    if (!counts || !own.loads.is_whole()) continue;
    for (Id d = 0; d <= latest(own.loads.last); ++d) {
      if (!has_period(own.loads.last, d)) continue;
      own.last.push_back(d);
      if (d == latest(own.loads.last)) continue;
      undecided.push_back(s);
      last.push_back(d);
    }
    found.push_back(std::move(own));
  }
  Vector until;
  if (!undecided.empty())
    until = chain.log_likelihood(copied_students(evidence, undecided, last), kind, executor).value.col(0);
  Index next = 0;
  for (LastPeriods& own : found) {
    double before = 0;
    for (const Id d : own.last) {
      const bool is_latest = d == own.last.back();
      const double now =
          is_latest ? 1 : std::clamp(std::exp(until[next++] - log_likelihood(own.student, 0)), before, 1.0);
      own.until.push_back(now);
      const double log_by_trees = now > before ? std::log(now - before) : -infinity;
      const Id seen = latest(own.loads.enrolled);
      own.log_share.push_back(log_by_trees +
                              tilt.log_load_ratio(seen, d, own.loads.courses[static_cast<std::size_t>(seen)]));
      own.log_weight.push_back(log_by_trees + tilt.log_product(own.loads.enrolled, d, own.loads.courses) -
                               tilt.log_normaliser(own.loads.enrolled, d));
      before = now;
    }
  }
  return found;
}

Estimates tilted_marginals(const HiddenChain& chain, const LoadTilt& tilt, const EvidenceBatch& evidence,
                           std::span<const Id> asked, Estimates untilted, const Executor& executor) {
  const Schema& schema = chain.schema();
  const auto departure = std::ranges::find(schema.traits(), TraitKind::departure, &Trait::kind);
  if (departure == schema.traits().end() || asked.empty()) return untilted;
  const LikelihoodKind kind = chain.likelihood_kinds().front();
  const RowMatrix log_likelihood = chain.log_likelihood(evidence, kind, executor).value;
  std::vector<LastPeriods> students = weigh_last_periods(chain, tilt, evidence, kind, log_likelihood, executor);
  std::erase_if(students, [](const LastPeriods& own) { return own.last.size() < 2; });
  const Id departure_bit = schema.trait_bit(static_cast<Id>(departure - schema.traits().begin()), 0);
  const auto is_departure = [&](Id bit) {
    return bit >= departure_bit && bit < departure_bit + departure->value_count();
  };
  // Of other traits, what each last period says of them.
  std::vector<Id> other_traits;
  std::vector<Index> other_columns;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (asked[i] < schema.bit_count() || is_departure(asked[i])) continue;
    other_traits.push_back(asked[i]);
    other_columns.push_back(static_cast<Index>(i));
  }
  RowMatrix given_until;
  if (!other_traits.empty()) {
    std::vector<std::int64_t> copies;
    std::vector<Id> last;
    for (const LastPeriods& own : students) {
      for (const Id d : own.last) {
        copies.push_back(own.student);
        last.push_back(d);
      }
    }
    if (!copies.empty())
      given_until = chain.marginals(copied_students(evidence, copies, last), other_traits, executor).value;
  }
  Index row = 0;
  for (const LastPeriods& own : students) {
    const double all = log_sum_exp(own.log_share);
    std::vector<double> share;  // tilted
    for (const double log_share : own.log_share)
      share.push_back(std::exp(log_share - all));
    for (std::size_t i = 0; i < asked.size(); ++i) {
      double& answer = untilted.value(own.student, static_cast<Index>(i));
      if (is_departure(asked[i])) {
        const auto found = std::ranges::find(own.last, asked[i] - departure_bit);
        answer = found == own.last.end() ? 0 : share[static_cast<std::size_t>(found - own.last.begin())];
      } else if (asked[i] < schema.bit_count()) {
        // As likely given that the student is enrolled, which is more or less likely than the trees have it.
        const Id period = schema.period_of(asked[i]);
        if (has_period(own.loads.enrolled, period)) continue;
        double enrolled = 0, by_trees = 1;
        for (std::size_t d = 0; d < own.last.size(); ++d) {
          if (own.last[d] >= period)
            enrolled += share[d];
          else
            by_trees = 1 - own.until[d];
        }
        answer = by_trees > 0 ? std::min(1.0, answer * enrolled / by_trees) : 0;
      }
    }
    for (std::size_t i = 0; i < other_traits.size(); ++i) {
      double sum = 0, before = 0, joint_before = 0;
      for (std::size_t d = 0; d < own.last.size(); ++d) {
        const double joint = own.until[d] * given_until(row + static_cast<Index>(d), static_cast<Index>(i)),
                     here = own.until[d] - before;
        if (here > 0) sum += share[d] * std::clamp((joint - joint_before) / here, 0.0, 1.0);
        before = own.until[d];
        joint_before = joint;
      }
      untilted.value(own.student, other_columns[i]) = std::min(1.0, sum);
    }
    row += other_traits.empty() ? 0 : std::ssize(own.last);
  }
  return untilted;
}

}  // namespace desirepath::inline models
