#include "desirepath/emissions/learner.h"

namespace desirepath::inline emissions {

RowSurvey::RowSurvey(const StepRows& rows) {
  RowMatrix own = RowMatrix::Zero(1, 2);
  for (const double weight : rows.weights())
    own(0, 0) += weight;
  own(0, 1) = rows.pattern_count() - 1;
  sums.add(std::move(own));
}

std::unique_ptr<Emission> run_step(EmissionStep& step, const StepRows& rows, const RowMatrix& responsibilities,
                                   const Executor& executor, std::optional<Statistics> counted) {
  while (true) {
    Statistics sums = counted ? std::move(*counted) : step.count(rows, responsibilities, executor);
    counted.reset();
    executor.add_up(sums);
    StepResult result = step.maximise(std::move(sums), executor);
    if (result.is_done) return std::move(result.emission);
  }
}

}  // namespace desirepath::inline emissions
