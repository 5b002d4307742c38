#include "desirepath/queries/sample_error.h"

#include <algorithm>

namespace desirepath::inline queries {

namespace {

/// Counts takers of courses and bits; `taken` gives the bits of a student's period.
template <class Taken>
void count(const Cohort& like, Vector& course, Vector& bit, const Taken& taken) {
  const Schema& schema = like.schema();
  std::vector<std::int64_t> last(static_cast<std::size_t>(schema.course_count()), -1);
  for (std::int64_t s = 0; s < like.student_count(); ++s) {
    for (Id t = 0; t < schema.period_count(); ++t) {
      if (!like.enrolled(s, t)) continue;
      for (const Id b : taken(s, t)) {
        bit[b] += 1;
        const Id c = schema.course_of(b);
        if (last[static_cast<std::size_t>(c)] == s) continue;
        last[static_cast<std::size_t>(c)] = s;
        course[c] += 1;
      }
    }
  }
}

/// Students present in any period, and in each.
std::pair<double, Vector> present(const Cohort& cohort) {
  double any = 0;
  Vector each = Vector::Zero(cohort.schema().period_count());
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    bool here = false;
    for (Id t = 0; t < cohort.schema().period_count(); ++t) {
      if (!cohort.enrolled(s, t)) continue;
      each[t] += 1;
      here = true;
    }
    any += here ? 1 : 0;
  }
  return {any, each};
}

void divide(EnrollmentShares& shares, const Cohort& like, double draws) {
  const auto [any, each] = present(like);
  if (any > 0) shares.course /= any * draws;
  for (Id b = 0; b < like.schema().bit_count(); ++b) {
    const double students = each[like.schema().period_of(b)];
    if (students > 0) shares.bit[b] /= students * draws;
  }
}

}  // namespace

EnrollmentShares enrollment_shares(const Cohort& cohort) {
  EnrollmentShares shares{Vector::Zero(cohort.schema().course_count()), Vector::Zero(cohort.schema().bit_count())};
  count(cohort, shares.course, shares.bit, [&](std::int64_t s, Id t) { return cohort.bits(s, t); });
  divide(shares, cohort, 1);
  return shares;
}

EvidenceBatch presence_of(const Cohort& cohort) {
  const Schema& schema = cohort.schema();
  const Id periods = schema.period_count(), courses = schema.course_count();
  const EvidenceBatch known = EvidenceBatch::of(cohort);
  BinaryMatrixBuilder taken(schema.bit_count()), unknown(schema.bit_count());
  std::vector<Presence> presence;
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    for (Id t = 0; t < periods; ++t) {
      presence.push_back(known.presence(s, t));
      for (Id c = 0; c < courses && presence.back() == Presence::present; ++c)
        unknown.add(schema.bit(t, c));
      taken.finish_row();
      unknown.finish_row();
    }
  }
  return {periods, courses, cohort.students(), presence, std::move(taken).build(), std::move(unknown).build()};
}

EnrollmentShares model_shares(const Model& model, const Cohort& like, int draws, const RandomStream& stream,
                              const Executor& executor) {
  const Schema& schema = like.schema();
  EnrollmentShares shares{Vector::Zero(schema.course_count()), Vector::Zero(schema.bit_count())};
  constexpr std::int64_t block = 1000;  // what is unknown of these takes a number a bit
  for (std::int64_t first = 0; first < like.student_count(); first += block) {
    std::vector<std::int64_t> some;
    for (std::int64_t s = first; s < std::min(first + block, like.student_count()); ++s)
      some.push_back(s);
    const Cohort part = like.select(some);
    const EvidenceBatch there = presence_of(part);
    for (int d = 0; d < draws; ++d) {
      const RandomStream own = stream.child(static_cast<std::uint64_t>(d)).child(static_cast<std::uint64_t>(first));
      const EvidenceBatch drawn = model.complete(there, own, executor);
      count(part, shares.course, shares.bit, [&](std::int64_t s, Id t) { return drawn.taken(s, t); });
    }
  }
  divide(shares, like, draws);
  return shares;
}

SampleError squared_distance(const EnrollmentShares& a, const EnrollmentShares& b) {
  return {(a.course - b.course).squaredNorm(), (a.bit - b.bit).squaredNorm()};
}

}  // namespace desirepath::inline queries
