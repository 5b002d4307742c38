#include "desirepath/evaluation/sample_statistics.h"

#include <algorithm>
#include <numeric>

namespace desirepath::inline evaluation {

namespace {

constexpr Index most_courses = 200;  // that the distribution tells apart

class Counter {
 public:
  Counter(const Schema& schema, std::span<const Id> paired)
      : schema_(schema), place_(static_cast<std::size_t>(schema.course_count()), -1) {
    found_.shares = {Vector::Zero(schema.course_count()), Vector::Zero(schema.bit_count())};
    found_.pairs = Matrix::Zero(std::ssize(paired), std::ssize(paired));
    found_.courses = Vector::Zero(most_courses + 1);
    present_ = Vector::Zero(schema.period_count());
    for (std::size_t i = 0; i < paired.size(); ++i)
      place_[static_cast<std::size_t>(paired[i])] = static_cast<Index>(i);
  }

  void add(const EvidenceBatch& students, const Cohort& like) {
    for (std::int64_t s = 0; s < like.student_count(); ++s)
      add_student(students, like, s);
  }

  SampleStatistics finish() && {
    const double students = std::max(1.0, students_), all = found_.shares.bit.sum();
    found_.shares.course /= students;
    found_.pairs /= students;
    found_.courses /= students;
    found_.mean_courses = all / students;
    found_.repeats = again_ / std::max(1.0, all);
    for (Id bit = 0; bit < schema_.bit_count(); ++bit)
      found_.shares.bit[bit] /= std::max(1.0, present_[schema_.period_of(bit)]);
    return std::move(found_);
  }

 private:
  void add_student(const EvidenceBatch& students, const Cohort& like, std::int64_t s) {
    std::vector<bool> had(place_.size(), false);
    std::vector<Index> taken;
    Index enrollments = 0;
    bool here = false;
    for (Id t = 0; t < schema_.period_count(); ++t) {
      if (!like.enrolled(s, t)) continue;
      here = true;
      present_[t] += 1;
      for (const Id bit : students.taken(s, t)) {
        const auto course = static_cast<std::size_t>(schema_.course_of(bit));
        found_.shares.bit[bit] += 1;
        ++enrollments;
        if (had[course]) {
          again_ += 1;
          continue;
        }
        had[course] = true;
        found_.shares.course[static_cast<Index>(course)] += 1;
        if (place_[course] >= 0) taken.push_back(place_[course]);
      }
    }
    if (!here) return;
    students_ += 1;
    found_.courses[std::min(enrollments, most_courses)] += 1;
    for (const Index i : taken) {
      for (const Index j : taken)
        found_.pairs(i, j) += 1;
    }
  }

  const Schema& schema_;
  std::vector<Index> place_;  // of a course among the pairs; -1: none
  SampleStatistics found_;
  Vector present_;
  double students_ = 0, again_ = 0;
};

}  // namespace

SampleDistance distance(const SampleStatistics& a, const SampleStatistics& b) {
  SampleDistance result{squared_distance(a.shares, b.shares)};
  const Matrix difference = a.pairs - b.pairs;
  result.pairs = 0.5 * (difference.squaredNorm() - difference.diagonal().squaredNorm());
  result.courses = 0.5 * (a.courses - b.courses).cwiseAbs().sum();
  return result;
}

std::vector<Id> common_courses(const Cohort& cohort, std::size_t count) {
  const Vector share = enrollment_shares(cohort).course;
  std::vector<Id> courses(static_cast<std::size_t>(share.size()));
  std::iota(courses.begin(), courses.end(), 0);
  std::ranges::stable_sort(courses, std::ranges::greater(), [&](Id course) { return share[course]; });
  courses.resize(std::min(courses.size(), count));
  return courses;
}

SampleStatistics statistics_of(const Cohort& cohort, std::span<const Id> paired) {
  Counter counter(cohort.schema(), paired);
  counter.add(EvidenceBatch::of(cohort), cohort);
  return std::move(counter).finish();
}

SampleStatistics statistics_of(const Model& model, const Cohort& like, std::int64_t draws, std::span<const Id> paired,
                               const RandomStream& stream, const Executor& executor) {
  Counter counter(like.schema(), paired);
  constexpr std::int64_t block = 1000;  // what is unknown of these takes a number a bit
  const std::int64_t times = (draws + like.student_count() - 1) / std::max<std::int64_t>(1, like.student_count());
  for (std::int64_t first = 0; first < like.student_count(); first += block) {
    std::vector<std::int64_t> some(static_cast<std::size_t>(std::min(block, like.student_count() - first)));
    std::iota(some.begin(), some.end(), first);
    const Cohort part = like.select(some);
    const EvidenceBatch there = presence_of(part);
    for (std::int64_t d = 0; d < times; ++d) {
      const RandomStream own = stream.child(static_cast<std::uint64_t>(d)).child(static_cast<std::uint64_t>(first));
      counter.add(model.complete(there, own, executor), part);
    }
  }
  return std::move(counter).finish();
}

}  // namespace desirepath::inline evaluation
