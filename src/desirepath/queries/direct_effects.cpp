#include "desirepath/queries/direct_effects.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "desirepath/models/earlier_periods.h"
#include "desirepath/queries/course_places.h"
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
        had_depth_variance(had_residual),
        had_depth_square(had_residual),
        residual(Vector::Zero(courses)),
        variance(residual),
        square(residual),
        depth_residual(residual),
        depth_variance(residual),
        depth2_variance(residual),
        depth_square(residual),
        depth2_square(residual) {}

  void clear() {
    for (RowMatrix* sum : {&had_residual, &had_variance, &had_square, &had_depth_variance, &had_depth_square})
      sum->setZero();
    for (Vector* sum : {&residual, &variance, &square, &depth_residual, &depth_variance, &depth2_variance,
                        &depth_square, &depth2_square})
      sum->setZero();
  }

  RowMatrix had_residual, had_variance, had_square;  // [p, c] over those who had p: r, v, r^2
  RowMatrix had_depth_variance, had_depth_square;    // v d, r^2 d, d the depth in the subject of c
  Vector residual, variance, square;                 // [c] over all
  Vector depth_residual, depth_variance, depth2_variance, depth_square,
      depth2_square;  // r d, v d, v d^2, r^2 d, r^2 d^2
};

/// Courses by courses, over all students.
struct Scores {
  explicit Scores(Index courses)
      : score(RowMatrix::Zero(courses, courses)),
        information(score),
        spread(score),
        shared(score),
        shared_spread(score),
        taken(score),
        residual(score),
        depth_score(Vector::Zero(courses)),
        depth_information(depth_score),
        depth_spread(depth_score) {}

  /// Each p centred by v among the students who are compared.
  void add(const ComparedSums& sums) {
    const Index courses = sums.residual.size();
    residual += sums.had_residual;
    Vector depth = Vector::Zero(courses);  // mean by v
    for (Index c = 0; c < courses; ++c) {
      if (sums.variance(c) <= 0) continue;
      depth(c) = sums.depth_variance(c) / sums.variance(c);
      depth_score(c) += sums.depth_residual(c) - depth(c) * sums.residual(c);
      depth_information(c) += sums.depth2_variance(c) - depth(c) * sums.depth_variance(c);
      depth_spread(c) +=
          sums.depth2_square(c) - 2 * depth(c) * sums.depth_square(c) + depth(c) * depth(c) * sums.square(c);
    }
    for (Index p = 0; p < courses; ++p) {
      for (Index c = 0; c < courses; ++c) {
        if (sums.had_variance(p, c) <= 0) continue;
        const double mean = sums.had_variance(p, c) / sums.variance(c);
        shared(p, c) += sums.had_depth_variance(p, c) - depth(c) * sums.had_variance(p, c);
        shared_spread(p, c) += sums.had_depth_square(p, c) - depth(c) * sums.had_square(p, c) -
                               mean * (sums.depth_square(c) - depth(c) * sums.square(c));
        score(p, c) += sums.had_residual(p, c) - mean * sums.residual(c);
        information(p, c) += sums.had_variance(p, c) - mean * mean * sums.variance(c);
        spread(p, c) += (1 - 2 * mean) * sums.had_square(p, c) + mean * mean * sums.square(c);
      }
    }
  }

  struct Pair {
    double score, information, spread;
  };
  /// Of p's log-odds among students who are as deep in the subject of c: with as many other courses of it. (With p
  /// itself among these courses, a p that is the only one would have no effect.)
  Pair pair(Index p, Index c, bool same_subject) const {
    const double own = same_subject ? 1 : 0;
    const double shared_here = shared(p, c) - own * information(p, c);
    const double shared_spread_here = shared_spread(p, c) - own * spread(p, c);
    const double depth = depth_information(c) - own * (2 * shared(p, c) - information(p, c));
    const double depth_spread_here = depth_spread(c) - own * (2 * shared_spread(p, c) - spread(p, c));
    constexpr double least_share = 1e-9;
    const double slope = depth > least_share * depth_information(c) ? shared_here / depth : 0;
    return {score(p, c) - slope * (depth_score(c) - own * score(p, c)), information(p, c) - slope * shared_here,
            spread(p, c) - 2 * slope * shared_spread_here + slope * slope * depth_spread_here};
  }

  RowMatrix score, information;     // of p's log-odds
  RowMatrix spread;                 // variance of the score as the residuals have it
  RowMatrix shared, shared_spread;  // of p and the depth in the subject of c
  RowMatrix taken, residual;        // over those who had p: takers of c, and how many more than expected
  Vector depth_score, depth_information, depth_spread;
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

/// What a student took before a place of a period.
struct EarlierCourses {
  std::vector<Id> all;          // ascending
  std::vector<Id> this_period;  // their bits
};
EarlierCourses courses_before(const Cohort& cohort, const CoursePlaces& places, std::int64_t student, Id period,
                              Id place) {
  EarlierCourses had;
  for (Id t = 0; t < period; ++t) {
    for (const Id bit : cohort.bits(student, t))
      had.all.push_back(cohort.schema().course_of(bit));
  }
  const std::vector<Id> own = places.of_enrollments(student, period);
  for (std::size_t i = 0; i < own.size(); ++i) {
    const Id bit = cohort.bits(student, period)[i];
    if (own[i] >= place) continue;
    had.this_period.push_back(bit);
    had.all.push_back(cohort.schema().course_of(bit));
  }
  std::ranges::sort(had.all);
  had.all.erase(std::unique(had.all.begin(), had.all.end()), had.all.end());
  return had;
}

/// Everything known before a place of a period: earlier periods, and the courses that usually come before that place in
/// this one, but for those that the student took at an unusual time.
EvidenceBatch known_before_place(const Model& model, const Cohort& cohort, const EvidenceBatch& record,
                                 const CoursePlaces& places, std::span<const std::int64_t> students, Id period,
                                 Id place) {
  if (place == 0) return known_before(model, record, students, period);
  const Schema& schema = model.schema();
  PeriodEvidence enrolled;
  enrolled.presence = Presence::present;
  for (Id c = 0; c < schema.course_count(); ++c) {
    if (places.usual(c) >= place) enrolled.set(schema.bit(period, c), std::nullopt);
  }
  EvidenceBuilder rows(record);
  for (const std::int64_t s : students) {
    PeriodEvidence own = enrolled;
    for (const Id bit : cohort.bits(s, period))
      own.set(bit, std::nullopt);
    for (const Id bit : courses_before(cohort, places, s, period, place).this_period)
      own.set(bit, true);
    rows.begin_student(record, s);
    for (Id t = 0; t < schema.period_count(); ++t)
      rows.add(t < period ? PeriodEvidence::of(record, s, t) : t == period ? own : PeriodEvidence());
  }
  return std::move(rows).build();
}

/// Adds what enrolled students took at a place of a period beside what their records let expect.
class PlaceOfPeriod {
 public:
  PlaceOfPeriod(const Model& model, const Cohort& cohort, const OfferedCourses& offered, const CoursePlaces& places,
                Id period, Id place)
      : model_(model), cohort_(cohort), offered_(offered), places_(places), period_(period), place_(place) {
    for (Id c = 0; c < model.schema().course_count(); ++c) {
      if (places.usual(c) == place) asked_.push_back(model.schema().bit(period, c));
      // The first course of the same subject stands for the subject.
      Id first = 0;
      while (model.schema().course(first).subject != model.schema().course(c).subject)
        ++first;
      subject_.push_back(first);
    }
  }

  bool is_empty() const { return asked_.empty(); }
  void add(std::span<const ComparedStudent> there, const EvidenceBatch& record, const Executor& executor,
           ComparedSums& sums, Scores& scores) const {
    constexpr std::size_t block = 1024;
    for (std::size_t begin = 0; begin < there.size(); begin += block) {
      const std::span some = there.subspan(begin, std::min(block, there.size() - begin));
      std::vector<std::int64_t> students;
      for (const ComparedStudent& one : some)
        students.push_back(one.student);
      const RowMatrix expected =
          model_
              .marginals(known_before_place(model_, cohort_, record, places_, students, period_, place_), asked_,
                         executor)
              .value;
      for (std::size_t i = 0; i < some.size(); ++i) {
        if (begin + i > 0 && some[i].group() != there[begin + i - 1].group()) {
          scores.add(sums);
          sums.clear();
        }
        add_student(some[i], {expected.row(static_cast<Index>(i)).data(), asked_.size()}, sums, scores);
      }
    }
    scores.add(sums);
    sums.clear();
  }

 private:
  void add_student(const ComparedStudent& one, std::span<const double> expected, ComparedSums& sums,
                   Scores& scores) const {
    const Schema& schema = model_.schema();
    const std::vector<Id> had = courses_before(cohort_, places_, one.student, period_, place_).all;
    const std::span bits = cohort_.bits(one.student, period_);
    Eigen::ArrayXd residual = Eigen::ArrayXd::Zero(schema.course_count()), variance = residual, depth = residual;
    Eigen::ArrayXd in_subject = Eigen::ArrayXd::Zero(schema.course_count());
    for (const Id p : had)
      in_subject(subject_[static_cast<std::size_t>(p)]) += schema.course(p).subject.empty() ? 0 : 1;
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      const Id c = schema.course_of(asked_[i]);
      if (!offered_(c, one.year) || std::ranges::binary_search(had, c)) continue;
      const double share = expected[i];
      const bool is_taken = std::ranges::binary_search(bits, asked_[i]);
      residual(c) = (is_taken ? 1 : 0) - share;
      variance(c) = share * (1 - share);
      depth(c) = in_subject(subject_[static_cast<std::size_t>(c)]);
      if (!is_taken) continue;
      for (const Id p : had)
        scores.taken(p, c) += 1;
    }
    const Eigen::ArrayXd square = residual.square();
    sums.residual.array() += residual;
    sums.variance.array() += variance;
    sums.square.array() += square;
    const Eigen::ArrayXd depth_variance = depth * variance, depth_square = depth * square;
    sums.depth_residual.array() += depth * residual;
    sums.depth_variance.array() += depth_variance;
    sums.depth2_variance.array() += depth * depth_variance;
    sums.depth_square.array() += depth_square;
    sums.depth2_square.array() += depth * depth_square;
    for (const Id p : had) {
      sums.had_residual.row(p).array() += residual.transpose();
      sums.had_variance.row(p).array() += variance.transpose();
      sums.had_square.row(p).array() += square.transpose();
      sums.had_depth_variance.row(p).array() += depth_variance.transpose();
      sums.had_depth_square.row(p).array() += depth_square.transpose();
    }
  }

  const Model& model_;
  const Cohort& cohort_;
  const OfferedCourses& offered_;
  const CoursePlaces& places_;
  Id period_, place_;
  std::vector<Id> asked_, subject_;
};

}  // namespace

DirectEffects direct_effects(const Model& model, const Cohort& cohort, std::int64_t most, const RandomStream& stream,
                             const Executor& executor, const ProgressSink& progress,
                             std::span<const TraitCondition> given) {
  constexpr double least_variance = 1e-12;
  const Schema& schema = model.schema();
  const Index courses = schema.course_count();
  const EvidenceBatch record = given_conditions(schema, without_outcomes(EvidenceBatch::of(cohort)), given);
  const OfferedCourses offered(cohort);
  const CoursePlaces places(cohort);
  std::vector<std::int64_t> all(static_cast<std::size_t>(cohort.student_count()));
  std::iota(all.begin(), all.end(), 0);
  const std::vector<std::int64_t> chosen = draw_students(std::move(all), most, stream);
  Scores scores(courses);
  ComparedSums sums(courses);
  const Id steps = schema.period_count() * places.count();
  for (Id step = 1; step < steps; ++step) {  // before the first there is nothing
    if (progress) progress({"beyond the model", static_cast<double>(step) / steps});
    const Id period = step / places.count(), place = step % places.count();
    const PlaceOfPeriod here(model, cohort, offered, places, period, place);
    if (!here.is_empty()) here.add(enrolled_by_group(cohort, offered, chosen, period), record, executor, sums, scores);
  }
  DirectEffects effects{RowMatrix::Zero(courses, courses), RowMatrix::Zero(courses, courses),
                        scores.taken - scores.residual, std::ssize(chosen)};
  for (Index p = 0; p < courses; ++p) {
    for (Index c = 0; c < courses; ++c) {
      const Scores::Pair pair =
          scores.pair(p, c,
                      !schema.course(static_cast<Id>(p)).subject.empty() &&
                          schema.course(static_cast<Id>(p)).subject == schema.course(static_cast<Id>(c)).subject);
      if (pair.information <= least_variance) continue;
      effects.log_odds(p, c) = pair.score / pair.information;
      effects.error(p, c) = std::sqrt(std::max(pair.information, pair.spread)) / pair.information;
    }
  }
  return effects;
}

}  // namespace desirepath::inline queries
