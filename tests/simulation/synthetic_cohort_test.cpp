#include "desirepath/simulation/synthetic_cohort.h"

#include "support/support.h"

#include "desirepath/core/atomic_file.h"
#include "desirepath/simulation/synthetic_university.h"

namespace desirepath::synthetic_cohort_test {
namespace {

using test::TemporaryFolder;

/// What a file of it holds, whatever is said of where it came from.
std::string bytes_of_cohort(const Cohort& cohort) {
  const TemporaryFolder folder;
  CohortParts parts = cohort.parts();
  parts.provenance = "{}";
  Cohort(std::move(parts)).save(folder / "a.cohort", Overwrite::refuse);
  return read_text_file(folder / "a.cohort");
}

TEST(SyntheticCohort, IsWhatPrepareMakesOfTheFiles) {
  TableOptions with_filters, by_terms, of_one_major;
  with_filters.summer = RowRule::drop;
  with_filters.part_time = PartTimeRule::drop_students;
  with_filters.full_time_courses = 5;
  by_terms.periods = PeriodRule::terms_since_entry;
  of_one_major.where = "major = 'Computer Science'";
  for (const int edition : {1, 2, 3}) {
    const TemporaryFolder folder;
    SyntheticOptions options;
    options.edition = edition;
    options.students = 1300;
    options.courses = 120;
    write_synthetic_university(options, folder.path(), Overwrite::refuse, Executor(2));
    for (TableOptions table : {TableOptions(), with_filters, by_terms, of_one_major}) {
      const Prepared made = synthetic_cohort(options, table, Executor(3));
      table.courses_file = folder / "courses.csv";
      const Prepared read = prepare_cohort({(folder / "enrollments.csv").string()}, table, Executor(2));
      EXPECT_EQ(made.cohort.fingerprint(), read.cohort.fingerprint()) << "edition " << edition;
      EXPECT_TRUE(bytes_of_cohort(made.cohort) == bytes_of_cohort(read.cohort)) << "edition " << edition;
      EXPECT_EQ(made.report.rows_in, read.report.rows_in);
      EXPECT_EQ(made.report.rows_rejected(), 0);
      EXPECT_GT(made.cohort.student_count(), 10);
    }
  }
}

TEST(SyntheticCohort, ThreadsChangeNothingAndTheSeedDoes) {
  SyntheticOptions options;
  options.students = 1300;
  options.courses = 60;
  const std::string one = synthetic_cohort(options, {}, Executor(1)).cohort.fingerprint();
  for (const int threads : {2, 7})
    EXPECT_EQ(synthetic_cohort(options, {}, Executor(threads)).cohort.fingerprint(), one);
  ++options.seed;
  EXPECT_NE(synthetic_cohort(options, {}, Executor(1)).cohort.fingerprint(), one);
}

}  // namespace
}  // namespace desirepath::synthetic_cohort_test
