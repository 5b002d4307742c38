#include "desirepath/models/state_counts.h"

#include <algorithm>

namespace desirepath::inline models {

namespace {

std::vector<std::vector<double>> rows_of(const RowMatrix& matrix) {
  std::vector<std::vector<double>> rows;
  for (Index row = 0; row < matrix.rows(); ++row)
    rows.emplace_back(matrix.row(row).begin(), matrix.row(row).end());
  return rows;
}

}  // namespace

void count_state_students(const ChainProblem& problem, const FittedTo& fitted, FitResult& result) {
  if (fitted.task.weights.empty()) {
    result.state_students = rows_of(problem.present_weights());
    return;
  }
  const double largest = std::ranges::max(fitted.task.weights);
  result.state_behind = rows_of(problem.present_weights() / (largest > 0 ? largest : 1));
  // Whoever weighs anything is one student.
  ChainTask once = fitted.task;
  for (double& weight : once.weights)
    weight = weight > 0 ? 1 : 0;
  ChainEvidence evidence(EvidenceBatch::of(fitted.students), fitted.layout);
  ChainProblem counted(once, evidence, fitted.learner, fitted.executor);
  counted.start_from_parameters(problem.parameters());
  counted.expectation();
  result.state_students = rows_of(counted.present_weights());
}

}  // namespace desirepath::inline models
