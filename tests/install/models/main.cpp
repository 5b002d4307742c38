// A program of somebody else's that learns and scores, and reads no raw tables.
#include <cmath>
#include <iostream>

#include <desirepath/models/model_file.h>
#include <desirepath/models/training.h>
#include <desirepath/transcripts/evidence.h>

int main() {
  using namespace desirepath;
  CohortParts parts;
  parts.schema = Schema({{.name = "A"}, {.name = "B"}}, {"1", "2"});
  BinaryMatrixBuilder enrollments(parts.schema.bit_count());
  for (Id student = 0; student < 20; ++student) {
    parts.students.push_back(std::to_string(student));
    for (Id period = 0; period < 2; ++period) {
      parts.status.push_back(EnrollmentStatus::enrolled);
      enrollments.add(parts.schema.bit(period, student % 2));
      enrollments.finish_row();
    }
  }
  parts.enrollments = std::move(enrollments).build();
  const Cohort cohort(std::move(parts));
  const Executor executor(1);
  FitOptions options("cmm+bernoulli");
  options.set("states", 2);
  const FitResult fit = fit_model(cohort, options, {executor});
  save_model(*fit.model, {}, "a.desirepath", Overwrite::allow);
  const StoredModel stored = load_model("a.desirepath");
  const double total =
      stored.model->log_likelihood(EvidenceBatch::of(cohort), LikelihoodKind::mass, executor).value.sum();
  std::cout << stored.model->name() << ' ' << total << ' ' << fit.log_likelihood << '\n';
  return std::abs(total - fit.log_likelihood) < 1e-9 ? 0 : 1;
}
