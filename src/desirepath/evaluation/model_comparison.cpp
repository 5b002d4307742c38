#include "desirepath/evaluation/model_comparison.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "desirepath/core/digest.h"
#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/transcripts/split.h"

namespace desirepath::inline evaluation {

namespace {

using nlohmann::json;

struct MeanAndError {
  double mean = 0, error = 0;
};

MeanAndError mean_of(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values)
    sum += value;
  const double mean = sum / count;
  for (const double value : values)
    squares += (value - mean) * (value - mean);
  return {mean, count > 1 ? std::sqrt(squares / (count - 1) / count) : 0};
}

Split split_of(const Cohort& cohort, const ComparisonTask& task) {
  Split split =
      split_by_share(cohort, {task.held_out_share, 0}, RandomStream(task.fits.front().seed).child("validation"));
  if (split.training.empty() || split.validation.empty()) throw OptionError("too few students to set some aside");
  return split;
}

/// What finished fits belong to.
std::string digest_of(const Cohort& cohort, const ComparisonTask& task) {
  DigestBuilder digest;
  digest.add(concat(cohort.fingerprint(), "\n", shortest(task.held_out_share), "\n"));
  for (const FitOptions& options : task.fits)
    digest.add(options.describe().dump());
  return digest.finish().hex();
}

void save_rows(const std::filesystem::path& path, const std::string& digest, const std::vector<ComparisonRow>& rows) {
  ArchiveWriter archive("checkpoint");
  json list = json::array();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    list.push_back(
        {{"parameters", rows[i].parameters}, {"iterations", rows[i].iterations}, {"converged", rows[i].converged}});
    archive.add(concat("scores.", i), rows[i].scores);
  }
  archive.set("checkpoint", json{{"comparison", digest}, {"finished", list}}.dump());
  archive.set("em", "{}");
  archive.write(path, Overwrite::allow);
}

std::vector<ComparisonRow> load_rows(const ComparisonTask& task, const std::string& digest, std::size_t students) {
  if (!task.resume || !std::filesystem::exists(task.checkpoint)) return {};
  const ArchiveReader archive = ArchiveReader::open(task.checkpoint);
  archive.require_kind("checkpoint");
  std::vector<ComparisonRow> rows;
  try {
    const json header = json::parse(archive.metadata("checkpoint"));
    if (header.value("comparison", "") != digest)
      throw OptionError(concat(archive.name(), ": the checkpoint belongs to another comparison"));
    const json& finished = header.at("finished");
    if (finished.size() > task.fits.size()) archive.refuse("damaged: the fits that are finished");
    for (std::size_t i = 0; i < finished.size(); ++i) {
      ComparisonRow& row = rows.emplace_back();
      row.parameters = finished[i].at("parameters").get<std::int64_t>();
      row.iterations = finished[i].at("iterations").get<int>();
      row.converged = finished[i].at("converged").get<bool>();
      row.scores = archive.read<double>(concat("scores.", i), {static_cast<std::int64_t>(students)});
    }
  } catch (const json::exception&) {
    archive.refuse("damaged: the description of the checkpoint");
  }
  return rows;
}

}  // namespace

ComparisonTask comparison_task(const std::string& models, const std::vector<Id>& states, const SettingValues& values,
                               std::uint64_t seed) {
  ComparisonTask task;
  task.states = states;
  for (const std::string& name : split(models, ',')) {
    FitOptions options{std::string_view(name)};
    options.seed = seed;
    const std::vector<Setting> known = options.known();
    for (const auto& [setting, value] : values) {
      if (std::ranges::find(known, setting, &Setting::name) != known.end()) options.set(setting, value);
    }
    const bool by_states = options.choice().model->size_setting == "states";
    for (const Id size : by_states ? states : std::vector<Id>{0}) {
      task.fits.push_back(options);
      task.sizes.push_back(size);
      if (by_states) task.fits.back().set("states", std::int64_t{size});
    }
  }
  return task;
}

FitEstimate estimate_comparison(const Cohort& cohort, const ComparisonTask& task, const Compute& compute) {
  const Cohort training = cohort.select(split_of(cohort, task).training);
  FitEstimate all;
  for (const FitOptions& options : task.fits) {
    const TrainingContext context{compute};
    const FitEstimate one = prepare_training({training, options, context})->estimate();
    const auto restarts = options.values().find("restarts");
    double times = 1;
    for (const Setting& setting : options.known()) {
      if (setting.name == "restarts") {
        times =
            number_in<double>(setting_text(restarts == options.values().end() ? setting.standard : restarts->second))
                .value_or(1);
      }
    }
    all.bytes = std::max(all.bytes, one.bytes);
    all.seconds_per_iteration += times * one.seconds_per_iteration;
    all.distinct_rows = std::max(all.distinct_rows, one.distinct_rows);
  }
  return all;
}

Comparison compare_models(const Cohort& cohort, const ComparisonTask& task, const TrainingContext& context) {
  const Split split = split_of(cohort, task);
  const Cohort training = cohort.select(split.training), others = cohort.select(split.validation);
  const EvidenceBatch held_out = EvidenceBatch::of(others);
  const std::string digest = digest_of(cohort, task);
  Comparison comparison;
  comparison.states = task.states;
  comparison.training_students = training.student_count();
  comparison.held_out_students = others.student_count();
  comparison.rows = load_rows(task, digest, static_cast<std::size_t>(others.student_count()));
  for (std::size_t i = 0; i < task.fits.size(); ++i) {
    const FitOptions& options = task.fits[i];
    if (i >= comparison.rows.size()) {
      TrainingContext inner{context.compute};
      if (context.progress) {
        inner.progress = [&, i](ProgressEvent event) {
          event.phase = concat(options.choice().name(), task.sizes[i] > 0 ? concat(" K = ", task.sizes[i]) : "", " (",
                               i + 1, " of ", task.fits.size(), ")");
          event.fraction = (static_cast<double>(i) + event.fraction) / static_cast<double>(task.fits.size());
          context.progress(event);
        };
      }
      const FitResult fit = fit_model(training, options, inner);
      const Vector scores = fit.model->log_likelihood(held_out, LikelihoodKind::mass, context.compute).value.col(0);
      ComparisonRow& row = comparison.rows.emplace_back();
      row.scores.assign(scores.begin(), scores.end());
      // A student of probability 0 is as bad as can be, and a number all the same: it goes through files.
      for (double& score : row.scores)
        score = std::max(score, -1e6);
      row.parameters = fit.model->parameter_count();
      row.iterations = fit.iterations;
      row.converged = fit.converged;
      if (!task.checkpoint.empty()) save_rows(task.checkpoint, digest, comparison.rows);
    }
    ComparisonRow& row = comparison.rows[i];
    row.model = options.choice().name();
    row.states = task.sizes[i];
    const MeanAndError found = mean_of(row.scores);
    row.held_out = found.mean;
    row.standard_error = found.error;
  }
  const auto best = std::ranges::max_element(comparison.rows, {}, &ComparisonRow::held_out);
  comparison.best = static_cast<std::size_t>(best - comparison.rows.begin());
  for (ComparisonRow& row : comparison.rows) {
    std::vector<double> differences;
    for (std::size_t s = 0; s < row.scores.size(); ++s)
      differences.push_back(row.scores[s] - best->scores[s]);
    const MeanAndError found = mean_of(differences);
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

Table Comparison::table() const {
  Table table({{"model"},
               {"states"},
               {"parameters"},
               {"likelihood_kind"},
               {"held_out", 4},
               {"standard_error", 4},
               {"difference", 4},
               {"difference_error", 4},
               {"iterations"},
               {"converged"}});
  for (const ComparisonRow& row : rows) {
    table.add_row({row.model, row.states > 0 ? Cell(std::int64_t{row.states}) : Cell(), row.parameters,
                   std::string(name_of(LikelihoodKind::mass)), row.held_out, row.standard_error, row.difference,
                   row.difference_error, std::int64_t{row.iterations}, std::string(row.converged ? "yes" : "no")});
  }
  return table;
}

nlohmann::ordered_json Comparison::to_json() const {
  return {{"likelihood_kind", std::string(name_of(LikelihoodKind::mass))},
          {"training_students", training_students},
          {"held_out_students", held_out_students},
          {"best", {{"model", rows[best].model}, {"states", rows[best].states}}},
          {"recommendation", recommendation()},
          {"rows", table().to_json()}};
}

void Comparison::print(std::ostream& out) const {
  table().print_text(out);
  out << "\nlog-probability (mass) of " << counted(held_out_students, "student", "students") << " held out of "
      << with_separators(held_out_students + training_students)
      << ", a student; differences to the best over the same students\n"
      << recommendation() << '\n';
}

std::vector<std::string> Comparison::warnings() const {
  std::vector<std::string> result;
  const Id chosen = rows[best].states;
  if (chosen > 0 && states.size() > 1 && (chosen == states.back() || chosen == states.front()))
    result.push_back(concat("the best number of states, ", chosen, ", is an end of the range: ask for ",
                            chosen == states.back() ? "more" : "fewer"));
  return result;
}

}  // namespace desirepath::inline evaluation
