// The record of training that a published model keeps: nothing in it that one student moves by a digit.
#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "desirepath/core/rounded.h"
#include "desirepath/models/publication.h"

namespace desirepath::inline models {

namespace {

/// A number of students: to the place of the first digit of its chance error, its root. Few are half of the
/// bound, however few.
double rounded_count(double students, double least) {
  if (!(students > 0)) return 0;
  if (students < least) return least / 2;
  const double unit = std::max(1.0, std::pow(10.0, std::floor(std::log10(std::sqrt(students)))));
  return std::max(std::round(students / unit) * unit, std::ceil(least));
}

void round_counts(nlohmann::ordered_json& rows, double least) {
  for (auto& row : rows) {
    for (auto& count : row)
      count = rounded_count(count.get<double>(), least);
  }
}

}  // namespace

TrainingRecord published_record(const TrainingTask& task, const FitResult& fit, const Publication& publication) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(training_record(task, fit).text);
  json["published"] = true;
  json.erase("data_fingerprint");
  json["options"].erase("validation_fingerprint");
  nlohmann::ordered_json& result = json["result"];
  for (const char* field : {"trace", "objective_trace", "validation_trace", "refinement", "warnings",
                            "kept_states_log_likelihood", "state_entropy", "trial"})
    result.erase(field);
  const auto rounded = [&](nlohmann::ordered_json& number) {
    if (!number.is_number()) return;  // of students who are impossible
    number = rounded_to_error(number.get<double>(), publication.likelihood_error);
  };
  for (const char* field : {"log_likelihood", "objective"})
    rounded(result[field]);
  for (auto& restart : result["restarts"]) {
    restart.erase("validation");
    rounded(restart["log_likelihood"]);
    rounded(restart["objective"]);
  }
  result["students"] = static_cast<std::int64_t>(rounded_count(static_cast<double>(fit.students), publication.least));
  result["student_weight"] = rounded_count(fit.student_weight, publication.least);
  for (const char* counts : {"state_students", "state_behind"}) {
    if (result.contains(counts)) round_counts(result[counts], publication.least);
  }
  return TrainingRecord::read(json.dump(), task.options.catalog());
}

}  // namespace desirepath::inline models
