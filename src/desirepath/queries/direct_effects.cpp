#include "desirepath/queries/direct_effects.h"

#include <algorithm>
#include <numeric>

#include "desirepath/queries/student_groups.h"
#include "desirepath/transcripts/evidence.h"

namespace desirepath::inline queries {

namespace {

/// Earlier periods as they were; of this one that the student was there, which alone is what a model of leaving needs.
EvidenceBatch before_period(const EvidenceBatch& record, std::span<const std::int64_t> students, const Schema& schema,
                            Id period, bool says_presence) {
  PeriodEvidence there;
  if (says_presence) {
    there.presence = Presence::present;
    for (Id c = 0; c < schema.course_count(); ++c)
      there.set(schema.bit(period, c), std::nullopt);
  }
  EvidenceBuilder rows(record);
  for (const std::int64_t s : students) {
    rows.begin_student({});
    for (Id t = 0; t < schema.period_count(); ++t)
      rows.add(t < period ? PeriodEvidence::of(record, s, t) : t == period ? there : PeriodEvidence());
  }
  return std::move(rows).build();
}

/// Sums over the students of one period; of the residual r and the variance v that the model gives it.
struct PeriodSums {
  explicit PeriodSums(Index courses)
      : had_residual(RowMatrix::Zero(courses, courses)),
        had_variance(had_residual),
        had_square(had_residual),
        residual(Vector::Zero(courses)),
        variance(residual),
        square(residual) {}

  RowMatrix had_residual, had_variance, had_square;  // [p, c] over those who had p: r, v, r^2
  Vector residual, variance, square;                 // [c] over all
};

/// The score of p's log-odds, its information, and its variance as the residuals have it, each p centred by v.
void add_scores(const PeriodSums& sums, RowMatrix& score, RowMatrix& information, RowMatrix& spread) {
  const Index courses = sums.residual.size();
  for (Index c = 0; c < courses; ++c) {
    if (sums.variance(c) <= 0) continue;
    for (Index p = 0; p < courses; ++p) {
      const double mean = sums.had_variance(p, c) / sums.variance(c);
      score(p, c) += sums.had_residual(p, c) - mean * sums.residual(c);
      information(p, c) += sums.had_variance(p, c) - mean * mean * sums.variance(c);
      spread(p, c) += (1 - 2 * mean) * sums.had_square(p, c) + mean * mean * sums.square(c);
    }
  }
}

}  // namespace

DirectEffects direct_effects(const Model& model, const Cohort& cohort, std::int64_t most, const RandomStream& stream,
                             const Compute& compute, const ProgressSink& progress) {
  constexpr std::int64_t block = 1024;
  constexpr double least_variance = 1e-12;
  const Schema& schema = model.schema();
  const Index courses = schema.course_count();
  const EvidenceBatch record = EvidenceBatch::of(cohort);
  std::vector<std::int64_t> all(static_cast<std::size_t>(cohort.student_count()));
  std::iota(all.begin(), all.end(), 0);
  const std::vector<std::int64_t> chosen = draw_students(std::move(all), most, stream);
  RowMatrix score = RowMatrix::Zero(courses, courses), information = score, spread = score;
  for (Id t = 1; t < schema.period_count(); ++t) {
    std::vector<std::int64_t> there;
    std::ranges::copy_if(chosen, std::back_inserter(there), [&](std::int64_t s) { return cohort.enrolled(s, t); });
    std::vector<Id> asked(static_cast<std::size_t>(courses));
    for (Id c = 0; c < schema.course_count(); ++c)
      asked[static_cast<std::size_t>(c)] = schema.bit(t, c);
    PeriodSums sums(courses);
    for (std::size_t begin = 0; begin < there.size(); begin += block) {
      if (progress) {
        progress({"beyond the model",
                  (static_cast<double>(t) - 1 + static_cast<double>(begin) / static_cast<double>(there.size())) /
                      (schema.period_count() - 1)});
      }
      const std::span students = std::span(there).subspan(begin, std::min<std::size_t>(block, there.size() - begin));
      const RowMatrix expected =
          model.marginals(before_period(record, students, schema, t, model.models_leaving()), asked, compute).value;
      for (std::size_t i = 0; i < students.size(); ++i) {
        std::vector<Id> had;
        for (Id u = 0; u < t; ++u) {
          for (const Id bit : cohort.bits(students[i], u))
            had.push_back(schema.course_of(bit));
        }
        std::ranges::sort(had);
        had.erase(std::unique(had.begin(), had.end()), had.end());
        const Eigen::ArrayXd share = expected.row(static_cast<Index>(i)).array();
        Eigen::ArrayXd residual = -share, variance = share * (1 - share);
        for (const Id bit : cohort.bits(students[i], t))
          residual(schema.course_of(bit)) += 1;
        for (const Id c : had)
          residual(c) = variance(c) = 0;
        const Eigen::ArrayXd square = residual.square();
        sums.residual.array() += residual;
        sums.variance.array() += variance;
        sums.square.array() += square;
        for (const Id p : had) {
          sums.had_residual.row(p).array() += residual.transpose();
          sums.had_variance.row(p).array() += variance.transpose();
          sums.had_square.row(p).array() += square.transpose();
        }
      }
    }
    add_scores(sums, score, information, spread);
  }
  DirectEffects effects{RowMatrix::Zero(courses, courses), RowMatrix::Zero(courses, courses), std::ssize(chosen)};
  for (Index p = 0; p < courses; ++p) {
    for (Index c = 0; c < courses; ++c) {
      if (information(p, c) <= least_variance) continue;
      effects.log_odds(p, c) = score(p, c) / information(p, c);
      effects.error(p, c) = std::sqrt(std::max(0.0, spread(p, c))) / information(p, c);
    }
  }
  return effects;
}

}  // namespace desirepath::inline queries
