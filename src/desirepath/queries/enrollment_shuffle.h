// Enrollments with nothing left in them but loads and popularity: every student keeps the number of courses of each
// period, every course its takers of each period, and all such tables are equally likely.
//
// Curveball trades (Strona et al. 2014; pairs of all students at once, Carstens et al. 2018): two students pool the
// courses that one of them alone has and deal them out again at random.
#pragma once

#include <span>
#include <vector>

#include "desirepath/core/random_stream.h"
#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline queries {

/// Who takes what in one period: rows of courses, ascending, each once.
class EnrollmentRows {
 public:
  void add_row(std::span<const Id> courses);
  std::size_t row_count() const { return begin_.size() - 1; }
  std::span<const Id> row(std::size_t r) const { return {courses_.data() + begin_[r], begin_[r + 1] - begin_[r]}; }

  /// Each round pairs all rows at random; a pair trades. The steps are as likely forth as back.
  void shuffle(int rounds, RandomStream stream);

 private:
  std::vector<std::size_t> begin_ = {0};
  std::vector<Id> courses_;
};

class EnrollmentTable {
 public:
  explicit EnrollmentTable(const Cohort& cohort);

  /// A table that knows nothing of this one once rounds are enough.
  EnrollmentTable shuffled(RandomStream stream) const;
  /// Courses of each student over all periods, ascending, each once.
  std::vector<std::vector<std::int64_t>> of_students() const;

  static constexpr int rounds = 20;

 private:
  std::vector<EnrollmentRows> periods_;
};

}  // namespace desirepath::inline queries
