#include "desirepath/queries/plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/models/tilts_loads.h"

namespace desirepath::inline queries {

namespace {

constexpr std::size_t most_terms = 4096;

/// Bits as they are to be known, beside what is.
struct Supposed {
  std::vector<Id> taken, not_taken;
};

void add_supposing(EvidenceBuilder& to, const EvidenceBatch& known, const Schema& schema, const Supposed& supposed) {
  to.begin_student(known, 0);
  for (Id t = 0; t < schema.period_count(); ++t) {
    PeriodEvidence period = PeriodEvidence::of(known, 0, t);
    for (const auto& [bits, taken] : {std::pair(&supposed.taken, true), std::pair(&supposed.not_taken, false)}) {
      for (const Id bit : *bits) {
        if (schema.period_of(bit) == t) period.set(bit, taken);
      }
    }
    to.add(period);
  }
}

EvidenceBatch supposing(const EvidenceBatch& known, const Schema& schema, const Supposed& supposed) {
  EvidenceBuilder rows(known);
  add_supposing(rows, known, schema, supposed);
  return std::move(rows).build();
}

/// The goal as a sum of what can be supposed, each with a sign.
struct GoalTerm {
  Supposed supposed;
  double sign = 1;
};

void require_few(double terms, const PlanGoal& goal) {
  if (terms > static_cast<double>(most_terms))
    throw OptionError(concat(setting_name("goal"), ": ", goal.any.size(),
                             " courses without a period are too many together; say @PERIOD of some"));
}

/// Inclusion and exclusion: of a set of the groups, nothing is taken.
std::vector<GoalTerm> terms_by_exclusion(const PlanGoal& goal) {
  require_few(std::pow(2.0, static_cast<double>(goal.any.size())), goal);
  std::vector<GoalTerm> terms = {{{goal.all, {}}, 1}};
  for (const std::vector<Id>& group : goal.any) {
    const std::size_t count = terms.size();
    for (std::size_t i = 0; i < count; ++i) {
      GoalTerm term = terms[i];
      term.supposed.not_taken.insert(term.supposed.not_taken.end(), group.begin(), group.end());
      term.sign = -term.sign;
      terms.push_back(std::move(term));
    }
  }
  return terms;
}

/// Which of a group comes first. Who may have left took nothing either, but is not known to have been there: so what
/// was not taken is only supposed before what was.
std::vector<GoalTerm> terms_by_first(const PlanGoal& goal) {
  std::vector<GoalTerm> terms = {{{goal.all, {}}, 1}};
  for (const std::vector<Id>& group : goal.any) {
    require_few(static_cast<double>(terms.size() * group.size()), goal);
    std::vector<GoalTerm> longer;
    for (const GoalTerm& term : terms) {
      for (std::size_t first = 0; first < group.size(); ++first) {
        GoalTerm next = term;
        next.supposed.taken.push_back(group[first]);
        next.supposed.not_taken.insert(next.supposed.not_taken.end(), group.begin(),
                                       group.begin() + static_cast<std::ptrdiff_t>(first));
        longer.push_back(std::move(next));
      }
    }
    terms = std::move(longer);
  }
  return terms;
}

/// Probability of what is supposed, bit after bit: by marginals alone, as `infer` gives them.
double chance_of(const Model& model, EvidenceBatch known, const Supposed& supposed,
                 std::span<const TraitCondition> outcomes, Conditioning conditioning, const Executor& executor) {
  double chance = 1;
  for (const TraitCondition& outcome : outcomes) {
    const Id bit = model.schema().trait_bit(outcome.trait, outcome.value);
    chance *= model.marginals(known, std::span(&bit, 1), executor, conditioning).value(0, 0);
    if (chance <= 0) return 0;
    known = given_conditions(model.schema(), known, std::span(&outcome, 1));
  }
  for (const auto& [bits, taken] : {std::pair(&supposed.taken, true), std::pair(&supposed.not_taken, false)}) {
    for (const Id bit : *bits) {
      const double p = model.marginals(known, std::span(&bit, 1), executor, conditioning).value(0, 0);
      chance *= taken ? p : 1 - p;
      if (chance <= 0) return 0;
      known = supposing(known, model.schema(), taken ? Supposed{{bit}, {}} : Supposed{{}, {bit}});
    }
  }
  return chance;
}

/// The goal's terms as evidence, and P(term | known) with its sign.
struct WeighedTerms {
  EvidenceBatch evidence;
  Vector weight;
  double chance() const {
    // Terms cancel: what is left of them by rounding is nothing.
    const double sum = weight.sum();
    return sum > 1e-12 * static_cast<double>(weight.size()) || weight.size() == 1 ? std::min(1.0, sum) : 0;
  }
};

WeighedTerms weighed_terms(const Model& model, const PlanTask& task, const Executor& executor) {
  const std::vector<GoalTerm> terms =
      model.models_leaving() ? terms_by_first(task.goal) : terms_by_exclusion(task.goal);
  EvidenceBuilder rows(task.known);
  for (const GoalTerm& term : terms)
    add_supposing(rows, task.known, model.schema(), term.supposed);
  WeighedTerms weighed{given_conditions(model.schema(), std::move(rows).build(), task.goal.outcomes),
                       Vector(std::ssize(terms))};
  Estimates likelihood;
  const Model& with_marginals = untilted(model);
  if (model.likelihood_kinds().front() == LikelihoodKind::mass)
    likelihood = with_marginals.log_likelihood(weighed.evidence, LikelihoodKind::mass, executor);
  const bool is_exact = likelihood.value.size() > 0 && likelihood.is_exact();
  const double before =
      is_exact ? with_marginals.log_likelihood(task.known, LikelihoodKind::mass, executor).value(0, 0) : 0;
  for (Index i = 0; i < weighed.weight.size(); ++i) {
    const GoalTerm& term = terms[static_cast<std::size_t>(i)];
    weighed.weight[i] = term.sign * (is_exact ? std::exp(likelihood.value(i, 0) - before)
                                              : chance_of(model, task.known, term.supposed, task.goal.outcomes,
                                                          task.conditioning, executor));
  }
  return weighed;
}

}  // namespace

double goal_chance(const Model& model, const PlanTask& task, const Executor& executor) {
  return weighed_terms(model, task, executor).chance();
}

Plan make_plan(const Model& model, const PlanTask& task, const Executor& executor) {
  const Schema& schema = model.schema();
  std::vector<Id> next(static_cast<std::size_t>(schema.course_count()));
  std::iota(next.begin(), next.end(), schema.bit(task.period, 0));
  const auto chances = [&](const EvidenceBatch& evidence) {
    return model.marginals(evidence, next, executor, task.conditioning).value;
  };
  const WeighedTerms terms = weighed_terms(model, task, executor);
  Plan plan;
  plan.chance = terms.chance();
  if (plan.chance <= 0) return plan;
  const Vector taken = chances(task.known).row(0);
  // A term of probability 0 has no answers, and no part in any.
  const RowMatrix given = chances(terms.evidence);
  Vector with_goal = Vector::Zero(taken.size());
  for (Index i = 0; i < given.rows(); ++i) {
    if (terms.weight[i] != 0) with_goal += terms.weight[i] * given.row(i).transpose();
  }
  const PeriodEvidence known = PeriodEvidence::of(task.known, 0, task.period);
  for (Id c = 0; c < schema.course_count(); ++c) {
    if (known.known(schema.bit(task.period, c))) continue;
    if (taken[c] <= 0 || taken[c] >= 1) continue;
    const double both = with_goal[c];
    plan.steps.push_back({c, taken[c], std::clamp(both / taken[c], 0.0, 1.0),
                          std::clamp((plan.chance - both) / (1 - taken[c]), 0.0, 1.0), named(schema.course(c))});
  }
  std::ranges::stable_sort(plan.steps, std::ranges::greater(), &PlanStep::raises);
  return plan;
}

namespace {

/// k-means of few rows and few groups, plainly.
std::vector<std::size_t> group_rows(const RowMatrix& rows, std::size_t groups, RandomStream stream) {
  constexpr int rounds = 20;
  const auto count = static_cast<std::size_t>(rows.rows());
  RowMatrix centres(static_cast<Index>(groups), rows.cols());
  Vector nearest = Vector::Constant(rows.rows(), infinity);
  for (std::size_t g = 0; g < groups; ++g) {
    std::vector<double> far(count, 1);
    if (g > 0) far.assign(nearest.data(), nearest.data() + nearest.size());
    const double sum = std::accumulate(far.begin(), far.end(), 0.0);
    const std::size_t chosen = sum > 0 ? stream.categorical(far) : stream.below(count);
    centres.row(static_cast<Index>(g)) = rows.row(static_cast<Index>(chosen));
    nearest = nearest.cwiseMin((rows.rowwise() - centres.row(static_cast<Index>(g))).rowwise().squaredNorm());
  }
  std::vector<std::size_t> label(count, 0);
  for (int round = 0; round < rounds; ++round) {
    RowMatrix sums = RowMatrix::Zero(centres.rows(), centres.cols());
    Vector sizes = Vector::Zero(centres.rows());
    for (std::size_t r = 0; r < count; ++r) {
      Index best = 0;
      (centres.rowwise() - rows.row(static_cast<Index>(r))).rowwise().squaredNorm().minCoeff(&best);
      label[r] = static_cast<std::size_t>(best);
      sums.row(best) += rows.row(static_cast<Index>(r));
      sizes[best] += 1;
    }
    for (Index g = 0; g < centres.rows(); ++g) {
      if (sizes[g] > 0) centres.row(g) = sums.row(g) / sizes[g];
    }
  }
  return label;
}

/// Of each student one of the bits is taken as well, drawn by how likely it is; one that has any already stays.
EvidenceBatch with_one_of(const Model& model, const EvidenceBatch& students, const std::vector<Id>& bits,
                          Conditioning conditioning, RandomStream& stream, const Executor& executor) {
  const Schema& schema = model.schema();
  const RowMatrix chances = model.marginals(students, bits, executor, conditioning).value;
  EvidenceBuilder changed(students);
  for (std::int64_t s = 0; s < students.student_count(); ++s) {
    const std::vector<double> weights(chances.row(s).begin(), chances.row(s).end());
    const Id own = bits[stream.categorical(weights)];
    changed.begin_student(students, s);
    for (Id t = 0; t < schema.period_count(); ++t) {
      PeriodEvidence period = PeriodEvidence::of(students, s, t);
      if (schema.period_of(own) == t) period.set(own, true);
      changed.add(period);
    }
  }
  return std::move(changed).build();
}

}  // namespace

std::vector<PlanWay> find_ways(const Model& model, const PlanTask& task, std::int64_t draws, std::size_t ways,
                               const RandomStream& stream, const Executor& executor) {
  const Schema& schema = model.schema();
  EvidenceBuilder copies(task.known);
  for (std::int64_t d = 0; d < draws; ++d)
    add_supposing(copies, task.known, schema, {task.goal.all, {}});
  EvidenceBatch rows_known = given_conditions(schema, std::move(copies).build(), task.goal.outcomes);
  RandomStream choice = stream.child("goal");
  for (const std::vector<Id>& group : task.goal.any)
    rows_known = with_one_of(model, rows_known, group, task.conditioning, choice, executor);
  const EvidenceBatch drawn = model.complete(rows_known, stream.child("ways"), executor, task.conditioning);
  RowMatrix rows = RowMatrix::Zero(draws, schema.bit_count());
  for (Id t = 0; t < schema.period_count(); ++t) {
    const PeriodEvidence known = PeriodEvidence::of(task.known, 0, t);
    for (std::int64_t d = 0; d < draws; ++d) {
      for (const Id bit : drawn.taken(d, t)) {
        if (!known.known(bit)) rows(d, bit) = 1;
      }
    }
  }
  const std::vector<std::size_t> label = group_rows(rows, ways, stream.child("groups"));
  std::vector<PlanWay> found;
  for (std::size_t g = 0; g < ways; ++g) {
    Vector sum = Vector::Zero(rows.cols());
    double size = 0;
    for (std::size_t d = 0; d < label.size(); ++d) {
      if (label[d] != g) continue;
      sum += rows.row(static_cast<Index>(d)).transpose();
      size += 1;
    }
    if (size == 0) continue;
    PlanWay way{size / static_cast<double>(draws), {}};
    for (Id bit = 0; bit < schema.bit_count(); ++bit) {
      if (sum[bit] > size / 2)
        way.courses.push_back(
            {bit, sum[bit] / size, named(schema.course(schema.course_of(bit))), schema.period(schema.period_of(bit))});
    }
    std::ranges::stable_sort(way.courses, [&](const PlanWay::Entry& a, const PlanWay::Entry& b) {
      const Id one = schema.period_of(a.bit), other = schema.period_of(b.bit);
      return one != other ? one < other : a.share > b.share;
    });
    found.push_back(std::move(way));
  }
  std::ranges::stable_sort(found, std::ranges::greater(), &PlanWay::share);
  return found;
}

}  // namespace desirepath::inline queries
