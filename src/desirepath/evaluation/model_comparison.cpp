#include "desirepath/evaluation/model_comparison.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "desirepath/core/digest.h"
#include "desirepath/core/error.h"
#include "desirepath/core/json_number.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/queries/student_scores.h"
#include "desirepath/transcripts/split.h"

namespace desirepath::inline evaluation {

namespace {

struct MeanAndError {
  double mean = 0, error = 0;
};

/// Weights: empty, or one a value.
MeanAndError mean_of(const std::vector<double>& values, const std::vector<double>& weights) {
  const StudentScores summary = summarise_scores({Eigen::Map<const Vector>(values.data(), std::ssize(values)), {}},
                                                 LikelihoodKind::mass, weights);
  return {summary.mean(), summary.standard_error_of_mean};
}

Split split_of(const Cohort& cohort, const ComparisonTask& task) {
  return held_out_split(cohort, task.held_out_share, task.fits.front().seed, task.weights);
}

/// What finished fits belong to.
std::string digest_of(const Cohort& cohort, const ComparisonTask& task) {
  DigestBuilder digest;
  digest.add(concat(cohort.fingerprint(), "\n", shortest(task.held_out_share), "\n", task.weights, "\n"));
  for (const FitOptions& options : task.fits)
    digest.add(options.describe().dump());
  return digest.finish().hex();
}

}  // namespace

ComparisonTask comparison_task(const std::string& models, const std::vector<Id>& states, const SettingValues& values,
                               std::uint64_t seed) {
  ComparisonTask task;
  task.states = states;
  if (const auto weights = values.find("weights"); weights != values.end())
    task.weights = setting_text(weights->second);
  for (const std::string& name : split(models, ',')) {
    FitOptions options{std::string_view(name)};
    // What has no emissions has no probability of enrollments in closed form either: refused before anything is
    // trained.
    if (options.choice().emission == nullptr) {
      throw OptionError(concat(setting_name("models"), " ", name,
                               ": only a bound on its likelihood is known, and models are compared by the likelihood "
                               "itself; 'desirepath evaluate' has both"));
    }
    options.seed = seed;
    task.add(std::move(options), states, values);
  }
  return task;
}

FitEstimate estimate_comparison(const Cohort& cohort, const ComparisonTask& task, const Executor& executor) {
  return estimate_fits(cohort.select(split_of(cohort, task).training), task.fits, {executor});
}

Comparison compare_models(const Cohort& cohort, const ComparisonTask& task, const TrainingContext& context) {
  const Split split = split_of(cohort, task);
  const Cohort training = cohort.select(split.training), others = cohort.select(split.validation);
  const EvidenceBatch held_out = EvidenceBatch::of(others);
  const std::vector<double> weights =
      task.weights.empty() ? std::vector<double>() : student_weights(others, task.weights);
  FinishedFits finished(task.file, digest_of(cohort, task), task.fits.size());
  Comparison comparison;
  comparison.states = task.states;
  comparison.training_students = training.student_count();
  comparison.held_out_students = others.student_count();
  for (std::size_t i = 0; i < task.fits.size(); ++i) {
    const FitOptions& options = task.fits[i];
    if (i >= finished.size()) {
      TrainingContext inner{context.executor};
      if (context.progress) {
        inner.progress = [&, i](ProgressEvent event) {
          event.phase = concat(options.choice().name(), task.sizes[i] > 0 ? concat(" K = ", task.sizes[i]) : "", " (",
                               i + 1, " of ", task.fits.size(), ")");
          event.fraction = (static_cast<double>(i) + event.fraction) / static_cast<double>(task.fits.size());
          context.progress(event);
        };
      }
      const FitResult fit = fit_model(training, options, inner);
      const Vector scores = fit.model->log_likelihood(held_out, LikelihoodKind::mass, context.executor).value.col(0);
      finished.add(
          {{{"parameters", fit.model->parameter_count()}, {"iterations", fit.iterations}, {"converged", fit.converged}},
           {scores.begin(), scores.end()}});
    }
    ComparisonRow& row = comparison.rows.emplace_back();
    finished.read(i, static_cast<std::size_t>(others.student_count()), [&](const FinishedFit& fit) {
      row.parameters = whole_number_in<std::int64_t>(fit.facts.at("parameters"), "parameters of a fit");
      row.iterations = whole_number_in<int>(fit.facts.at("iterations"), "iterations of a fit");
      row.converged = fit.facts.at("converged").get<bool>();
      row.scores = fit.numbers;
    });
    // A student of probability 0 is as bad as can be, and a number all the same.
    for (double& score : row.scores)
      score = std::max(score, -1e6);
    row.model = options.choice().name();
    row.states = task.sizes[i];
    const MeanAndError found = mean_of(row.scores, weights);
    row.held_out = found.mean;
    row.standard_error = found.error;
  }
  const auto best = std::ranges::max_element(comparison.rows, {}, &ComparisonRow::held_out);
  comparison.best = static_cast<std::size_t>(best - comparison.rows.begin());
  for (ComparisonRow& row : comparison.rows) {
    std::vector<double> differences;
    for (std::size_t s = 0; s < row.scores.size(); ++s)
      differences.push_back(row.scores[s] - best->scores[s]);
    const MeanAndError found = mean_of(differences, weights);
    row.difference = found.mean;
    row.difference_error = found.error;
  }
  return comparison;
}

std::string Comparison::recommendation() const {
  const auto name = [](const ComparisonRow& row) {
    return row.states > 0 ? concat(row.model, " with ", counted(row.states, "state", "states")) : row.model;
  };
  const ComparisonRow& top = rows[best];
  // The simplest that students held out do not tell from the best.
  const ComparisonRow* simplest = &top;
  for (const ComparisonRow& row : rows) {
    if (row.difference > -2 * row.difference_error && row.parameters < simplest->parameters) simplest = &row;
  }
  std::string text = concat("Take ", name(*simplest), ": ", fixed(simplest->held_out, 3), " nats a held-out student");
  if (simplest != &top) {
    text += concat("; ", name(top), " is ", fixed(-simplest->difference, 3), " +- ",
                   fixed(simplest->difference_error, 3), " above it, no more than chance, with ",
                   with_separators(top.parameters), " parameters for ", with_separators(simplest->parameters));
  } else
    text += ", the best of all, and none with fewer parameters comes near";
  return text + ".";
}

Answer Comparison::answer() const {
  using Row = ComparisonRow;
  const std::string kind(name_of(LikelihoodKind::mass));
  const Look nats{.unit = "nats", .decimals = 4};
  Answer answer;
  answer.set({{"likelihood_kind", kind},
              {"training_students", training_students},
              {"held_out_students", held_out_students},
              {"best", {{"model", rows[best].model}, {"states", rows[best].states}}},
              {"recommendation", recommendation()}});
  answer.add("rows", {rows,
                      {{"model", &Row::model},
                       {"states", [](const Row& row) { return value_if(row.states > 0, row.states); }},
                       {"parameters", &Row::parameters},
                       {"likelihood_kind", [=](const Row&) { return kind; }},
                       {"held_out", &Row::held_out, nats},
                       {"standard_error", &Row::standard_error, nats},
                       {"difference", &Row::difference, nats},
                       {"difference_error", &Row::difference_error, nats},
                       {"iterations", &Row::iterations},
                       {"converged", &Row::converged, {.flag = FlagForm::word}}}});
  answer.show(answer.chosen_table());
  answer.say("\nlog-probability (mass) of ", counted(held_out_students, "student", "students"), " held out of ",
             with_separators(held_out_students + training_students),
             ", a student; differences to the best over the same students");
  answer.say(recommendation());
  const Id chosen = rows[best].states;
  if (chosen > 0 && states.size() > 1 && (chosen == states.back() || chosen == states.front()))
    answer.warn("the best number of states, ", chosen, ", is an end of the range: ask for ",
                chosen == states.back() ? "more" : "fewer");
  return answer;
}

}  // namespace desirepath::inline evaluation
