// Ways to score many students under one state of a thresholded factor model: time a student and error.
//
//   orthant_students [COURSES [FACTORS [STUDENTS]]]
//
// Students are drawn from the model itself: Zipf popularity, five courses on average, random loadings.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <vector>

#include <time.h>

#include "benchmark_table.h"

#include "desirepath/core/table.h"
#include "desirepath/core/text.h"
#include "desirepath/probability/factor_ep.h"
#include "desirepath/probability/factor_sampler.h"
#include "desirepath/probability/normal.h"

namespace {

using namespace desirepath;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

int main(int argc, char** argv) {
  const Index courses = argc > 1 ? std::atol(argv[1]) : 400;
  const Index factor_count = argc > 2 ? std::atol(argv[2]) : 4;
  const std::size_t student_count = argc > 3 ? static_cast<std::size_t>(std::atol(argv[3])) : 2000;
  const std::size_t reference_count = std::min<std::size_t>(student_count, 300);
  RandomStream stream(20);
  Vector share(courses);
  for (Index j = 0; j < courses; ++j)
    share[j] = 1 / static_cast<double>(j + 3);
  share *= 5 / share.sum();
  RowMatrix slopes(courses, factor_count);
  Vector thresholds(courses);
  for (Index j = 0; j < courses; ++j) {
    for (Index k = 0; k < factor_count; ++k)
      slopes(j, k) = 0.6 * stream.normal();
    thresholds[j] = normal_quantile(std::min(share[j], 0.9)) * std::sqrt(1 + slopes.row(j).squaredNorm());
  }
  const ThresholdedFactors factors(thresholds, slopes);
  std::vector<std::vector<Id>> students(student_count);
  for (std::vector<Id>& taken : students) {
    Vector z(factor_count);
    for (Index k = 0; k < factor_count; ++k)
      z[k] = stream.normal();
    for (Id j = 0; j < courses; ++j) {
      if (thresholds[j] + slopes.row(j).dot(z) + stream.normal() > 0) taken.push_back(j);
    }
  }
  FactorEp reference_ep(factors);
  const FactorSampler reference_sampler(factors, {4096, 8}, stream.child("reference"));
  std::vector<double> reference;
  for (std::size_t n = 0; n < reference_count; ++n)
    reference.push_back(reference_sampler.estimate({students[n]}, reference_ep.solve({students[n]})).log_probability);

  std::vector<CellRow> rows;
  const auto measure = [&](const std::string& name, std::size_t count,
                           const std::function<double(std::size_t)>& score) {
    std::vector<double> scores(count);
    const double begin = cpu_seconds();
    for (std::size_t n = 0; n < count; ++n)
      scores[n] = score(n);
    const double seconds = cpu_seconds() - begin;
    double sum = 0, squares = 0, worst = 0;
    const std::size_t compared = std::min(count, reference_count);
    for (std::size_t n = 0; n < compared; ++n) {
      const double error = scores[n] - reference[n];
      sum += error;
      squares += error * error;
      worst = std::max(worst, std::abs(error));
    }
    const auto number = static_cast<double>(compared);
    rows.push_back(
        {name, 1e6 * seconds / static_cast<double>(count), sum / number, std::sqrt(squares / number), worst});
  };
  for (const double tolerance : {1e-6, 1e-2}) {
    FactorEp ep(factors, tolerance);
    measure(concat("ep, tolerance ", tolerance), student_count,
            [&](std::size_t n) { return ep.solve({students[n]}).log_probability; });
    measure(concat("ep with correction, tolerance ", tolerance), student_count, [&](std::size_t n) {
      const double plain = ep.solve({students[n]}).log_probability;
      return plain + ep.correction();
    });
  }
  for (const std::int64_t points : {8, 32, 128}) {
    FactorEp ep(factors, 1e-2);
    const FactorSampler sampler(factors, {points, 8}, stream.child("points"));
    measure(concat("ep-centred sampling, 8 x ", points), reference_count,
            [&](std::size_t n) { return sampler.estimate({students[n]}, ep.solve({students[n]})).log_probability; });
  }
  double taken = 0;
  for (const std::vector<Id>& one : students)
    taken += static_cast<double>(one.size());
  std::cout << courses << " courses, " << factor_count << " factors, " << student_count << " students of "
            << fixed(taken / static_cast<double>(student_count), 2) << " courses\n";
  table_of({{"way"}, {"microseconds a student", 2}, {"mean error", 5}, {"rms error", 5}, {"worst", 4}}, std::move(rows))
      .print_text(std::cout);
  return 0;
}
