#include "desirepath/queries/enrollment_shuffle.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace desirepath::inline queries {

namespace {

/// Two rows of a table, in place. Kept between trades for its memory.
class CurveballTrade {
 public:
  void operator()(std::span<Id> one, std::span<Id> other, RandomStream& stream) {
    both_.clear();
    single_.clear();
    std::size_t i = 0, j = 0;
    while (i < one.size() && j < other.size()) {
      if (one[i] == other[j]) {
        both_.push_back(one[i]);
        ++i, ++j;
      } else {
        single_.push_back(one[i] < other[j] ? one[i++] : other[j++]);
      }
    }
    single_.insert(single_.end(), one.begin() + static_cast<std::ptrdiff_t>(i), one.end());
    single_.insert(single_.end(), other.begin() + static_cast<std::ptrdiff_t>(j), other.end());
    const std::size_t own = one.size() - both_.size();
    if (own == 0 || own == single_.size()) return;
    // Each choice of `own` of them is equally likely.
    for (std::size_t k = 0; k < own; ++k)
      std::swap(single_[k], single_[k + static_cast<std::size_t>(stream.below(single_.size() - k))]);
    write(one, {single_.data(), own});
    write(other, {single_.data() + own, single_.size() - own});
  }

 private:
  void write(std::span<Id> row, std::span<Id> singles) {
    std::ranges::sort(singles);
    std::ranges::merge(both_, singles, row.begin());
  }
  std::vector<Id> both_, single_;
};

}  // namespace

void EnrollmentRows::add_row(std::span<const Id> courses) {
  courses_.insert(courses_.end(), courses.begin(), courses.end());
  begin_.push_back(courses_.size());
}

void EnrollmentRows::shuffle(int rounds, RandomStream stream) {
  const auto own = [&](std::size_t r) { return std::span<Id>(courses_.data() + begin_[r], begin_[r + 1] - begin_[r]); };
  std::vector<std::size_t> order;
  for (std::size_t r = 0; r < row_count(); ++r) {
    if (!row(r).empty()) order.push_back(r);
  }
  CurveballTrade trade;
  for (int round = 0; round < rounds; ++round) {
    core::shuffle(order, stream);
    for (std::size_t k = 0; k + 1 < order.size(); k += 2)
      trade(own(order[k]), own(order[k + 1]), stream);
  }
}

EnrollmentTable::EnrollmentTable(const Cohort& cohort)
    : periods_(static_cast<std::size_t>(cohort.schema().period_count())) {
  std::vector<Id> courses;
  for (std::size_t t = 0; t < periods_.size(); ++t) {
    for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
      courses.clear();
      for (const Id bit : cohort.bits(s, static_cast<Id>(t)))
        courses.push_back(cohort.schema().course_of(bit));
      std::ranges::sort(courses);
      periods_[t].add_row(courses);
    }
  }
}

EnrollmentTable EnrollmentTable::shuffled(RandomStream stream) const {
  EnrollmentTable table = *this;
  for (std::size_t t = 0; t < periods_.size(); ++t)
    table.periods_[t].shuffle(rounds, stream.child(t));
  return table;
}

std::vector<std::vector<std::int64_t>> EnrollmentTable::of_students() const {
  std::vector<std::vector<std::int64_t>> students(periods_.empty() ? 0 : periods_.front().row_count());
  for (std::size_t s = 0; s < students.size(); ++s) {
    for (const EnrollmentRows& period : periods_)
      students[s].insert(students[s].end(), period.row(s).begin(), period.row(s).end());
    std::ranges::sort(students[s]);
    students[s].erase(std::unique(students[s].begin(), students[s].end()), students[s].end());
  }
  return students;
}

}  // namespace desirepath::inline queries
