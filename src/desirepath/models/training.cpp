#include "desirepath/models/training.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include <nlohmann/json.hpp>

#include "desirepath/core/digest.h"
#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/table.h"
#include "desirepath/core/text.h"

namespace desirepath::inline models {

void TrainingContext::describe(nlohmann::ordered_json& record) const {
  if (warm != nullptr) record["start"] = start_from_model;
  if (!labels.empty()) record["start"] = start_from_labels;
  if (!transitions.empty()) {
    record["transitions"] = nlohmann::ordered_json::array();
    for (const TransitionRow& row : transitions)
      record["transitions"].push_back({row.period, row.from, row.to, row.probability});
  }
  if (validation != nullptr) record["validation_fingerprint"] = validation->fingerprint();
}

nlohmann::ordered_json TrainingTask::record() const {
  nlohmann::ordered_json json = options.describe();
  context.describe(json);
  return json;
}

std::string TrainingTask::digest() const {
  DigestBuilder digest;
  digest.add(record().dump());
  for (const LabelRow& row : context.labels)
    digest.add(concat(row.student, "\n", row.period, "\n", row.state, "\n", shortest(row.weight), "\n"));
  if (context.warm != nullptr) {
    ArchiveWriter warm("model");
    context.warm->save(warm);
    digest.add(std::span<const std::byte>(warm.bytes()));
  }
  return digest.finish().hex();
}

std::unique_ptr<Training> prepare_training(const TrainingTask& task) {
  if (task.context.resume && task.context.checkpoint.empty() && task.context.checkpoint_bytes.empty())
    throw OptionError(concat(setting_name("resume"), " needs ", setting_name("checkpoint"), " FILE"));
  return task.options.choice().model->prepare(task);
}

FitResult fit_model(const Cohort& cohort, const FitOptions& options, const TrainingContext& context) {
  return prepare_training({cohort, options, context})->run();
}

int FitResult::count_at_best() const {
  double best = -infinity;
  for (const RestartResult& restart : restarts)
    best = std::max(best, restart.log_likelihood);
  return static_cast<int>(std::ranges::count_if(restarts, [&](const RestartResult& restart) {
    return restart.log_likelihood >= best - same_optimum * std::abs(best);
  }));
}

void FitResult::warn_of_size(const Cohort& trained_on) {
  const std::int64_t enrollments = trained_on.enrollments().one_count(), free = model->parameter_count();
  if (free > enrollments) {
    warnings.push_back(concat("more parameters (", with_separators(free), ") than enrollments (",
                              with_separators(enrollments),
                              "): part of what it says is chance and will not hold for other students; try fewer ",
                              setting_name("states"), " or a simpler ", setting_name("model")));
  }
  if (states > trained_on.student_count())
    warnings.push_back(
        concat("there are more states than students, so some describe nobody; ask for fewer ", setting_name("states")));
}

nlohmann::ordered_json FitResult::to_json() const {
  nlohmann::ordered_json json;
  json["model"] = model_name;
  if (!emission.empty()) json["emission"] = emission;
  if (states > 0) json["states"] = states;
  if (trees > 0) json["trees"] = trees;
  if (tree_states > 0) json["tree_states"] = tree_states;
  json["students"] = students;
  json["student_weight"] = student_weight;
  json["courses"] = model->schema().course_count();
  json["periods"] = model->schema().period_count();
  json["parameters"] = model->parameter_count();
  json["likelihood_kind"] = std::string(name_of(kind));
  json["log_likelihood"] = log_likelihood;
  json["objective"] = objective;
  json["state_entropy"] = state_entropy;
  json["trace"] = trace;
  json["objective_trace"] = objective_trace;
  if (!validation_trace.empty()) {
    json["validation_trace"] = validation_trace;
    json["best_iteration"] = best_iteration;
  }
  if (refinement) json["refinement"] = refinement->to_json();
  json["converged"] = converged;
  json["stopped_by"] = stopped_by;
  json["iterations"] = iterations;
  json["seconds"] = seconds;
  json["restarts"] = nlohmann::ordered_json::array();
  for (const RestartResult& restart : restarts) {
    nlohmann::ordered_json entry = {{"restart", restart.number},      {"seed", restart.seed},
                                    {"start", restart.start},         {"log_likelihood", restart.log_likelihood},
                                    {"objective", restart.objective}, {"iterations", restart.iterations},
                                    {"converged", restart.converged}};
    if (restart.validation) entry["validation"] = *restart.validation;
    json["restarts"].push_back(std::move(entry));
  }
  if (starts_at_best > 0) json["starts_at_best"] = starts_at_best;
  if (kept_log_likelihood) json["kept_states_log_likelihood"] = *kept_log_likelihood;
  json["warnings"] = warnings;
  return json;
}

nlohmann::ordered_json FitEstimate::to_json() const {
  return {{"bytes", std::llround(bytes)},
          {"seconds_per_iteration", seconds_per_iteration},
          {"distinct_rows", distinct_rows}};
}

std::string FitEstimate::text() const {
  return concat("memory about ", as_bytes_text(bytes), "; an iteration roughly ", as_duration(seconds_per_iteration),
                " (", with_separators(distinct_rows), " distinct rows)");
}

void FitResult::print(std::ostream& out) const {
  out << model->name();
  if (states > 0) out << " with " << counted(states, "state", "states");
  if (trees > 0) out << ", " << counted(trees, "tree", "trees") << " of " << tree_states << " hidden values a course";
  out << ", " << counted(model->parameter_count(), "parameter", "parameters") << ", "
      << counted(students, "student", "students") << '\n'
      << "log-likelihood (" << name_of(kind) << ") " << fixed(log_likelihood, 2) << ", "
      << fixed(log_likelihood / student_weight, 4) << " per student; " << (converged ? "converged" : "not converged")
      << " after " << counted(iterations, "iteration", "iterations") << ", " << as_duration(seconds) << '\n';
  if (restarts.size() < 2) return;
  if (starts_at_best > 0) {
    out << "of " << restarts.size() << " starts " << starts_at_best << " came within " << fixed(100 * same_optimum, 2)
        << " % of the best likelihood\n";
  }
  Table table({{"restart"}, {"start"}, {"log_likelihood", 2}, {"iterations"}, {"converged"}});
  for (const RestartResult& restart : restarts) {
    table.add_row({std::int64_t{restart.number + 1}, restart.start, restart.log_likelihood,
                   std::int64_t{restart.iterations}, std::string(restart.converged ? "yes" : "no")});
  }
  out << '\n';
  table.print_text(out);
}

}  // namespace desirepath::inline models
