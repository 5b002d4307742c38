#include "desirepath/queries/direct_effects.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "desirepath/models/earlier_periods.h"
#include "desirepath/queries/offered_courses.h"
#include "desirepath/queries/student_groups.h"
#include "desirepath/transcripts/evidence.h"

namespace desirepath::inline queries {

namespace {

/// Sums over students who are compared with each other, of the residual r and the variance v that the model gives it.
struct ComparedSums {
  explicit ComparedSums(Index courses)
      : had_residual(RowMatrix::Zero(courses, courses)),
        had_variance(had_residual),
        had_square(had_residual),
        residual(Vector::Zero(courses)),
        variance(residual),
        square(residual) {}

  void clear() {
    for (RowMatrix* sum : {&had_residual, &had_variance, &had_square})
      sum->setZero();
    for (Vector* sum : {&residual, &variance, &square})
      sum->setZero();
  }

  RowMatrix had_residual, had_variance, had_square;  // [p, c] over those who had p: r, v, r^2
  Vector residual, variance, square;                 // [c] over all
};

/// Courses by courses, over all students.
struct Scores {
  explicit Scores(Index courses)
      : score(RowMatrix::Zero(courses, courses)), information(score), spread(score), taken(score), residual(score) {}

  /// Each p centred by v among the students who are compared.
  void add(const ComparedSums& sums) {
    const Index courses = sums.residual.size();
    residual += sums.had_residual;
    for (Index p = 0; p < courses; ++p) {
      for (Index c = 0; c < courses; ++c) {
        if (sums.had_variance(p, c) <= 0) continue;
        const double mean = sums.had_variance(p, c) / sums.variance(c);
        score(p, c) += sums.had_residual(p, c) - mean * sums.residual(c);
        information(p, c) += sums.had_variance(p, c) - mean * mean * sums.variance(c);
        spread(p, c) += (1 - 2 * mean) * sums.had_square(p, c) + mean * mean * sums.square(c);
      }
    }
  }

  RowMatrix score, information;  // of p's log-odds
  RowMatrix spread;              // variance of the score as the residuals have it
  RowMatrix taken, residual;     // over those who had p: takers of c, and how many more than expected
};

/// A student, and who is compared with whom: those of one entry in the same year.
struct ComparedStudent {
  std::int64_t student = 0;
  std::int32_t year = -1, entry = -1;

  std::pair<std::int32_t, std::int32_t> group() const { return {year, entry}; }
};

std::vector<ComparedStudent> enrolled_by_group(const Cohort& cohort, const OfferedCourses& offered,
                                               std::span<const std::int64_t> students, Id period) {
  std::vector<ComparedStudent> there;
  for (const std::int64_t s : students) {
    if (!cohort.enrolled(s, period)) continue;
    Id entry = 0;
    while (!cohort.enrolled(s, entry))
      ++entry;
    there.push_back({s, offered.year(s, period), offered.year(s, entry)});
  }
  std::ranges::stable_sort(there, {}, &ComparedStudent::group);
  return there;
}

/// Courses taken before the period, ascending.
std::vector<Id> courses_before(const Cohort& cohort, std::int64_t student, Id period) {
  std::vector<Id> had;
  for (Id t = 0; t < period; ++t) {
    for (const Id bit : cohort.bits(student, t))
      had.push_back(cohort.schema().course_of(bit));
  }
  std::ranges::sort(had);
  had.erase(std::unique(had.begin(), had.end()), had.end());
  return had;
}

}  // namespace

DirectEffects direct_effects(const Model& model, const Cohort& cohort, std::int64_t most, const RandomStream& stream,
                             const Compute& compute, const ProgressSink& progress) {
  constexpr std::int64_t block = 1024;
  constexpr double least_variance = 1e-12;
  const Schema& schema = model.schema();
  const Index courses = schema.course_count();
  const EvidenceBatch record = EvidenceBatch::of(cohort);
  const OfferedCourses offered(cohort);
  std::vector<std::int64_t> all(static_cast<std::size_t>(cohort.student_count()));
  std::iota(all.begin(), all.end(), 0);
  const std::vector<std::int64_t> chosen = draw_students(std::move(all), most, stream);
  Scores scores(courses);
  ComparedSums sums(courses);
  for (Id t = 1; t < schema.period_count(); ++t) {
    const std::vector<ComparedStudent> there = enrolled_by_group(cohort, offered, chosen, t);
    std::vector<Id> asked(static_cast<std::size_t>(courses));
    for (Id c = 0; c < schema.course_count(); ++c)
      asked[static_cast<std::size_t>(c)] = schema.bit(t, c);
    for (std::size_t begin = 0; begin < there.size(); begin += block) {
      if (progress) {
        progress({"beyond the model",
                  (static_cast<double>(t) - 1 + static_cast<double>(begin) / static_cast<double>(there.size())) /
                      (schema.period_count() - 1)});
      }
      const std::span some = std::span(there).subspan(begin, std::min<std::size_t>(block, there.size() - begin));
      std::vector<std::int64_t> students;
      for (const ComparedStudent& one : some)
        students.push_back(one.student);
      const RowMatrix expected = model.marginals(known_before(model, record, students, t), asked, compute).value;
      for (std::size_t i = 0; i < some.size(); ++i) {
        if (begin + i > 0 && some[i].group() != there[begin + i - 1].group()) {
          scores.add(sums);
          sums.clear();
        }
        const std::vector<Id> had = courses_before(cohort, some[i].student, t);
        const Eigen::ArrayXd share = expected.row(static_cast<Index>(i)).array();
        Eigen::ArrayXd residual = -share, variance = share * (1 - share);
        for (const Id bit : cohort.bits(some[i].student, t)) {
          const Id c = schema.course_of(bit);
          residual(c) += 1;
          if (std::ranges::binary_search(had, c)) continue;
          for (const Id p : had)
            scores.taken(p, c) += 1;
        }
        for (Id c = 0; c < schema.course_count(); ++c) {
          if (!offered(c, some[i].year)) residual(c) = variance(c) = 0;
        }
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
    scores.add(sums);
    sums.clear();
  }
  DirectEffects effects{RowMatrix::Zero(courses, courses), RowMatrix::Zero(courses, courses),
                        scores.taken - scores.residual, std::ssize(chosen)};
  for (Index p = 0; p < courses; ++p) {
    for (Index c = 0; c < courses; ++c) {
      const double information = scores.information(p, c);
      if (information <= least_variance) continue;
      effects.log_odds(p, c) = scores.score(p, c) / information;
      effects.error(p, c) = std::sqrt(std::max(information, scores.spread(p, c))) / information;
    }
  }
  return effects;
}

}  // namespace desirepath::inline queries
