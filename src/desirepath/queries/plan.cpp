#include "desirepath/queries/plan.h"

#include <algorithm>
#include <numeric>

namespace desirepath::inline queries {

namespace {

/// The student of the evidence, with bits set.
EvidenceBatch with_bits(const EvidenceBatch& known, const Schema& schema, std::span<const Id> bits, bool taken) {
  EvidenceBuilder changed(known);
  changed.begin_student(known.students().front());
  for (Id t = 0; t < schema.period_count(); ++t) {
    PeriodEvidence period = PeriodEvidence::of(known, 0, t);
    for (const Id bit : bits) {
      if (schema.period_of(bit) == t) period.set(bit, taken);
    }
    changed.add(period);
  }
  return std::move(changed).build();
}

/// Probability that the bits are all as said, one after the other: by marginals alone, as `infer` gives them.
double chance_of(const Model& model, EvidenceBatch known, std::span<const Id> bits, bool taken,
                 Conditioning conditioning, const Compute& compute) {
  double chance = 1;
  for (const Id bit : bits) {
    const double p = model.marginals(known, std::span(&bit, 1), compute, conditioning).value(0, 0);
    chance *= taken ? p : 1 - p;
    if (chance <= 0) return 0;
    known = with_bits(known, model.schema(), std::span(&bit, 1), taken);
  }
  return chance;
}

/// All bits of the goal that are wanted, and of these cases none of the others.
struct GoalChance {
  double all = 0, none = 0;
};

GoalChance chance_of_goal(const Model& model, const PlanTask& task, const EvidenceBatch& reached,
                          const Compute& compute) {
  const double all = chance_of(model, task.known, task.goal.all, true, task.conditioning, compute);
  if (task.goal.any.empty() || all <= 0) return {all, 0};
  return {all, all * chance_of(model, reached, task.goal.any, false, task.conditioning, compute)};
}

}  // namespace

double goal_chance(const Model& model, const PlanTask& task, const Compute& compute) {
  const EvidenceBatch reached = with_bits(task.known, model.schema(), task.goal.all, true);
  const auto [all, none] = chance_of_goal(model, task, reached, compute);
  return all - none;
}

Plan make_plan(const Model& model, const PlanTask& task, const Compute& compute) {
  const Schema& schema = model.schema();
  std::vector<Id> next(static_cast<std::size_t>(schema.course_count()));
  std::iota(next.begin(), next.end(), schema.bit(task.period, 0));
  const auto chances = [&](const EvidenceBatch& evidence) {
    return Vector(model.marginals(evidence, next, compute, task.conditioning).value.row(0));
  };
  const EvidenceBatch reached = with_bits(task.known, schema, task.goal.all, true);
  const auto [all, none] = chance_of_goal(model, task, reached, compute);
  Plan plan;
  plan.chance = all - none;
  if (plan.chance <= 0) return plan;
  const Vector taken = chances(task.known), with_all = chances(reached);
  const Vector missed =
      none > 0 ? chances(with_bits(reached, schema, task.goal.any, false)) : Vector(Vector::Zero(taken.size()));
  const PeriodEvidence known = PeriodEvidence::of(task.known, 0, task.period);
  for (Id c = 0; c < schema.course_count(); ++c) {
    if (known.known(schema.bit(task.period, c))) continue;
    if (taken[c] <= 0 || taken[c] >= 1) continue;
    const double both = all * with_all[c] - none * missed[c];
    plan.steps.push_back({c, taken[c], std::clamp(both / taken[c], 0.0, 1.0),
                          std::clamp((plan.chance - both) / (1 - taken[c]), 0.0, 1.0)});
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

}  // namespace

std::vector<PlanWay> find_ways(const Model& model, const PlanTask& task, std::int64_t draws, std::size_t ways,
                               const RandomStream& stream, const Compute& compute) {
  const Schema& schema = model.schema();
  const EvidenceBatch reached = with_bits(task.known, schema, task.goal.all, true);
  std::vector<double> when(task.goal.any.size(), 0);
  if (!when.empty()) {
    const RowMatrix chances = model.marginals(reached, task.goal.any, compute, task.conditioning).value;
    for (std::size_t i = 0; i < when.size(); ++i)
      when[i] = chances(0, static_cast<Index>(i));
  }
  RandomStream choice = stream.child("goal");
  EvidenceBuilder copies(task.known);
  for (std::int64_t d = 0; d < draws; ++d) {
    const Id own = when.empty() ? -1 : task.goal.any[choice.categorical(when)];
    copies.begin_student(std::to_string(d));
    for (Id t = 0; t < schema.period_count(); ++t) {
      PeriodEvidence period = PeriodEvidence::of(reached, 0, t);
      if (own >= 0 && schema.period_of(own) == t) period.set(own, true);
      copies.add(period);
    }
  }
  const EvidenceBatch drawn =
      model.complete(std::move(copies).build(), stream.child("ways"), compute, task.conditioning);
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
      if (sum[bit] > size / 2) way.courses.push_back({bit, sum[bit] / size});
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
