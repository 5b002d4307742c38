#include "desirepath/models/training.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "desirepath/core/digest.h"
#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/models/tilts_loads.h"

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

Answer FitResult::answer() const {
  Answer answer;
  answer.set("model", model_name);
  if (!emission.empty()) answer.set("emission", emission);
  if (states > 0) answer.set("states", states);
  if (trees > 0) answer.set("trees", trees);
  if (tree_states > 0) answer.set("tree_states", tree_states);
  const auto* loads = dynamic_cast<const TiltsLoads*>(model.get());
  if (loads != nullptr) answer.set("loads", loads->is_tilted() ? "tilted" : "of the trees");
  answer.set({{"students", students}, {"student_weight", student_weight}, {"courses", model->schema().course_count()}});
  answer.set("periods", model->schema().period_count());
  answer.set({{"parameters", model->parameter_count()},
              {"likelihood_kind", std::string(name_of(kind))},
              {"log_likelihood", log_likelihood},
              {"objective", objective},
              {"state_entropy", state_entropy},
              {"trace", trace},
              {"objective_trace", objective_trace}});
  if (!validation_trace.empty()) {
    answer.set({{"validation_trace", validation_trace}, {"best_iteration", best_iteration}});
  }
  if (refinement) answer.set("refinement", refinement->to_json());
  if (trial) answer.set("trial", trial->to_json());
  answer.set({{"converged", converged}, {"stopped_by", stopped_by}, {"iterations", iterations}, {"seconds", seconds}});
  using Row = RestartResult;
  const Table table(
      restarts,
      {{"restart", &Row::number, {.shown = Shown::to_programs}},
       {"number", [](const Row& row) { return row.number + 1; }, {.title = "restart", .shown = Shown::to_people}},
       {"seed", &Row::seed, {.shown = Shown::to_programs}},
       {"start", &Row::start},
       {"log_likelihood", &Row::log_likelihood, {.unit = "nats", .decimals = 2}},
       {"objective", &Row::objective, {.unit = "nats", .shown = Shown::to_programs}},
       {"iterations", &Row::iterations},
       {"converged", &Row::converged},
       {"validation", &Row::validation, {.unit = "nats", .shown = Shown::to_programs, .may_lack = true}}});
  answer.add("restarts", table);
  if (starts_at_best > 0) answer.set("starts_at_best", starts_at_best);
  if (kept_log_likelihood) answer.set("kept_states_log_likelihood", *kept_log_likelihood);
  answer.set("warnings", warnings);

  const std::string size = states > 0 ? concat(" with ", counted(states, "state", "states")) : "";
  const std::string of_trees =
      trees > 0 ? concat(", ", counted(trees, "tree", "trees"), " of ", tree_states, " hidden values a course") : "";
  answer.say(model->name(), size, of_trees, ", ", counted(model->parameter_count(), "parameter", "parameters"), ", ",
             counted(students, "student", "students"));
  answer.say("log-likelihood (", name_of(kind), ") ", fixed(log_likelihood, 2), ", ",
             fixed(log_likelihood / student_weight, 4), " per student; ", converged ? "converged" : "not converged",
             " after ", counted(iterations, "iteration", "iterations"), ", ", as_duration(seconds));
  if (loads != nullptr && loads->is_tilted())
    answer.say("drawn students take as many courses per period as these students do (", setting_name("load"), ")");
  if (trial) answer.say(trial->text());
  if (restarts.size() < 2) return answer;
  if (starts_at_best > 0) {
    answer.say("of ", restarts.size(), " starts ", starts_at_best, " came within ", fixed(100 * same_optimum, 2),
               " % of the best likelihood");
  }
  answer.say("");
  answer.show(table);
  return answer;
}

Answer FitEstimate::answer() const {
  Answer answer;
  answer.add_row("estimate",
                 {std::vector{*this},
                  {{"bytes", [](const FitEstimate& row) { return std::llround(row.bytes); }, {.unit = "bytes"}},
                   {"seconds_per_iteration", &FitEstimate::seconds_per_iteration, {.unit = "s"}},
                   {"distinct_rows", &FitEstimate::distinct_rows}}});
  const std::string memory = concat("memory about ", as_bytes_text(bytes)),
                    time = concat("roughly ", as_duration(seconds_per_iteration));
  answer.say(fits > 0
                 ? concat(counted(fits, "fit", "fits"), "; ", memory,
                          " for the largest; an iteration of all their restarts ", time)
                 : concat(memory, "; an iteration ", time, " (", with_separators(distinct_rows), " distinct rows)"));
  return answer;
}

}  // namespace desirepath::inline models
