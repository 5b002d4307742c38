// A program of somebody else's, built without -march: Eigen's matrices must lie the same way on both sides.
#include <fstream>
#include <iostream>

#include <desirepath/core/types.h>
#include <desirepath/core/version.h>
#include <desirepath/ingest/prepare.h>
#include <desirepath/transcripts/cohort_summary.h>

int main() {
  std::ofstream("t.csv") << "student,period,course\na,1,A\na,2,B\nb,1,A\n";
  desirepath::TableOptions options;
  options.min_takers = 1;
  const auto prepared = desirepath::prepare_cohort({"t.csv"}, options, desirepath::Executor(2));
  desirepath::Matrix matrix = desirepath::Matrix::Identity(7, 7);
  matrix.conservativeResize(33, 5);
  matrix.setOnes();
  std::cout << desirepath::version << ' ' << desirepath::summarise(prepared.cohort).enrollments << ' ' << matrix.sum()
            << '\n';
  return desirepath::summarise(prepared.cohort).enrollments == 3 && matrix.sum() == 165 ? 0 : 1;
}
