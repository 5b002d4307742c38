#include "desirepath/evaluation/model_evaluation.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <set>

#include <nlohmann/json.hpp>

#include "desirepath/core/available_memory.h"
#include "desirepath/core/digest.h"
#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/evaluation/sample_statistics.h"
#include "desirepath/queries/inference_accuracy.h"
#include "desirepath/queries/student_scores.h"
#include "desirepath/transcripts/split.h"

namespace desirepath::inline evaluation {

namespace {

using nlohmann::ordered_json;
constexpr SplitShares shares = {0.15, 0.15};
constexpr std::size_t paired_courses = 30;

bool climbs_density(const FitOptions& options) {
  const EmissionFamily* emission = options.choice().emission;
  return emission != nullptr && emission->climbs == LikelihoodKind::density;
}

/// One way to part the students, and what of it all models share.
struct Part {
  std::uint64_t seed;
  Cohort training, validation, held_out;
  std::vector<Id> paired;
  SampleStatistics truth;
  SampleDistance floor;  // of the training students themselves

  Part(const Cohort& cohort, const Split& split, std::uint64_t its_seed)
      : seed(its_seed),
        training(cohort.select(split.training)),
        validation(cohort.select(split.validation)),
        held_out(cohort.select(split.hold_out)),
        paired(common_courses(training, paired_courses)),
        truth(statistics_of(held_out, paired)),
        floor(distance(statistics_of(training, paired), truth)) {}
};

Part part_for(const Cohort& cohort, std::uint64_t seed) {
  const Split split = split_by_share(cohort, shares, RandomStream(seed).child("evaluation"));
  if (split.hold_out.empty()) throw PrivacyError("too few students to hold some out");
  require_parts(cohort, split, "");
  return {cohort, split, seed};
}

void add_samples(Measures& found, const Model& model, const Part& part, std::int64_t draws, const Executor& executor) {
  const SampleStatistics drawn =
      statistics_of(model, part.held_out, draws, part.paired, RandomStream(part.seed).child("draws"), executor);
  const SampleDistance off = distance(drawn, part.truth);
  found["error_by_course"] = off.error.by_course;
  found["error_by_period_and_course"] = off.error.by_bit;
  found["error_of_pairs"] = off.pairs;
  found["courses_distance"] = off.courses;
  found["floor_by_course"] = part.floor.error.by_course;
  found["floor_by_period_and_course"] = part.floor.error.by_bit;
  found["floor_of_pairs"] = part.floor.pairs;
  found["courses_floor"] = part.floor.courses;
  found["courses_a_student"] = drawn.mean_courses;
  found["courses_a_held_out_student"] = part.truth.mean_courses;
  found["repeats"] = drawn.repeats;
  found["repeats_held_out"] = part.truth.repeats;
}

void add_answers(Measures& found, const Model& model, const Part& part, const Executor& executor) {
  if (model.schema().period_count() < 3) return;
  const InferenceScore score = infer_period(model, part.training, part.held_out, {}, executor);
  if (!Disclosure().bound_to(part.held_out.min_cell()).rests(static_cast<double>(score.students))) return;
  found["accuracy"] = score.accuracy;
  found["most_frequent"] = score.most_frequent;
  found["cross_entropy"] = score.cross_entropy;
  found["marginal_entropy"] = score.marginal_entropy;
  found["asked_students"] = static_cast<double>(score.students);
}

EvaluationRow measured(const FitOptions& options, Id size, const Part& part, const EvaluationTask& task,
                       const TrainingContext& context) {
  FitOptions own = options;
  own.seed = part.seed;
  TrainingContext inner{context.executor};
  // A density picks no iterate for the mass.
  if (!climbs_density(options)) inner.validation = &part.validation;
  EvaluationRow row{options.choice().name(), size, part.seed, {}, {}};
  const std::unique_ptr<Training> training = prepare_training({part.training, own, inner});
  row.found["memory_bytes"] = training->estimate().bytes;
  const FitResult fit = training->run();
  const auto begin = std::chrono::steady_clock::now();
  const LikelihoodKind kind = fit.model->likelihood_kinds().front();
  row.kind = name_of(kind);
  row.found["fit_seconds"] = fit.seconds;
  row.found["parameters"] = static_cast<double>(fit.model->parameter_count());
  row.found["iterations"] = fit.iterations;
  row.found["converged"] = fit.converged ? 1 : 0;
  if (fit.starts_at_best > 0) {
    row.found["starts"] = static_cast<double>(fit.restarts.size());
    row.found["starts_at_best"] = fit.starts_at_best;
  }
  const std::int64_t scored = climbs_density(options) ? std::min(task.full_scored, part.held_out.student_count())
                                                      : part.held_out.student_count();
  const StudentScores scores =
      score_students(*fit.model, EvidenceBatch::of(part.held_out).slice(0, scored), kind, context.executor);
  // A student of probability 0 is as bad as can be, and a number all the same: it goes through files.
  row.found["held_out"] = std::max(scores.mean(), -1e6);
  row.found["held_out_error"] = scores.standard_error_of_mean;
  row.found["scored_students"] = static_cast<double>(scored);
  add_samples(row.found, *fit.model, part, task.draws, context.executor);
  add_answers(row.found, *fit.model, part, context.executor);
  row.found["asking_seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return row;
}

/// Measures of the run, not of the model: another run has others.
bool is_of_run(const std::string& measure) {
  return measure.ends_with("seconds") || measure == "memory_bytes";
}

Measures only(const Measures& all, bool of_run) {
  Measures kept;
  for (const auto& [name, value] : all) {
    if (is_of_run(name) == of_run) kept[name] = value;
  }
  return kept;
}

/// What a result belongs to.
std::string digest_of(const Cohort& cohort, const FitOptions& options, std::uint64_t seed, const EvaluationTask& task) {
  DigestBuilder digest;
  FitOptions own = options;
  own.seed = seed;
  digest.add(concat(cohort.fingerprint(), "\n", own.describe().dump(), "\n", task.draws, "\n", task.full_scored));
  return digest.finish().hex();
}

std::filesystem::path file_of(const EvaluationTask& task, const std::string& model, Id size, std::uint64_t seed) {
  return task.folder / concat("fit-", model, size > 0 ? concat("-", size) : "", "-", seed, ".json");
}

/// What the fit took, beside its results.
std::filesystem::path timing_file_of(const std::filesystem::path& fit) {
  return fit.parent_path() / concat("timing-", fit.filename().string().substr(std::string_view("fit-").size()));
}

void save_row(const std::filesystem::path& path, const EvaluationRow& row, const std::string& digest) {
  write_text_file(timing_file_of(path),
                  ordered_json{{"belongs_to", digest}, {"found", only(row.found, true)}}.dump(2) + "\n",
                  Overwrite::allow);
  const ordered_json object = {{"schema", "desirepath/evaluated-fit/1"},
                               {"belongs_to", digest},
                               {"model", row.model},
                               {"size", row.size},
                               {"seed", row.seed},
                               {"kind", row.kind},
                               {"found", only(row.found, false)}};
  write_text_file(path, object.dump(2) + "\n", Overwrite::allow);
}

/// Nothing where there is no result of this very fit.
std::optional<EvaluationRow> load_row(const std::filesystem::path& path, EvaluationRow row, const std::string& digest) {
  if (!std::filesystem::exists(path)) return {};
  const auto object = nlohmann::json::parse(read_text_file(path), nullptr, false);
  try {
    if (object.at("belongs_to").get<std::string>() != digest) return {};
    row.kind = object.at("kind").get<std::string>();
    row.found = object.at("found").get<Measures>();
  } catch (const nlohmann::json::exception&) {
    return {};
  }
  const std::filesystem::path timing = timing_file_of(path);
  if (!std::filesystem::exists(timing)) return row;
  const auto took = nlohmann::json::parse(read_text_file(timing), nullptr, false);
  try {
    if (took.at("belongs_to").get<std::string>() == digest) row.found.merge(took.at("found").get<Measures>());
  } catch (const nlohmann::json::exception&) {
    return row;  // nothing rests on it
  }
  return row;
}

std::vector<EvaluationSummary> summarised(const std::vector<EvaluationRow>& rows) {
  std::vector<EvaluationSummary> result;
  for (const EvaluationRow& row : rows) {
    const auto same = [&](const EvaluationSummary& one) { return one.model == row.model && one.size == row.size; };
    if (std::ranges::none_of(result, same)) result.push_back({row.model, row.kind, row.size, {}});
    EvaluationSummary& summary = *std::ranges::find_if(result, same);
    for (const auto& [name, value] : row.found) {
      // Running mean and sum of squares; the root is taken at the end.
      MeanAndSpread& all = summary.found[name];
      ++all.seeds;
      const double before = value - all.mean;
      all.mean += before / static_cast<double>(all.seeds);
      all.spread += before * (value - all.mean);
    }
  }
  for (EvaluationSummary& summary : result) {
    for (auto& [name, all] : summary.found)
      all.spread = all.seeds > 1 ? std::sqrt(all.spread / static_cast<double>(all.seeds - 1)) : 0;
  }
  return result;
}

std::optional<Id> size_of(const auto& row) {
  return value_if(row.size > 0, row.size);
}

/// A measure, where it applies.
auto mean_of(const std::string& name, double MeanAndSpread::*part = &MeanAndSpread::mean) {
  return [=](const EvaluationSummary& one) {
    const auto at = one.found.find(name);
    return at == one.found.end() ? std::nullopt : std::optional(at->second.*part);
  };
}

/// A model where it is best over its sizes, by one measure.
struct BestOf {
  std::optional<double> value;
  std::optional<Id> size;
};
BestOf best_of(const std::vector<EvaluationSummary>& summaries, const std::string& model, const std::string& name,
               double sign) {
  const EvaluationSummary* chosen = nullptr;
  for (const EvaluationSummary& one : summaries) {
    if (one.model != model || !one.found.contains(name)) continue;
    if (chosen == nullptr || sign * one.found.at(name).mean > sign * chosen->found.at(name).mean) chosen = &one;
  }
  return chosen == nullptr ? BestOf() : BestOf{chosen->found.at(name).mean, size_of(*chosen)};
}

}  // namespace

EvaluationTask evaluation_task(const std::string& models, const std::vector<Id>& sizes, const SettingValues& values,
                               std::uint64_t first_seed, int seeds) {
  EvaluationTask task;
  for (int s = 0; s < seeds; ++s)
    task.seeds.push_back(first_seed + static_cast<std::uint64_t>(s));
  for (const std::string& name : split(models, ','))
    task.add(FitOptions{std::string_view(name)}, sizes, values);
  return task;
}

Evaluation evaluate_models(const Cohort& cohort, const EvaluationTask& task, const TrainingContext& context) {
  std::vector<Part> parts;
  for (const std::uint64_t seed : task.seeds)
    parts.push_back(part_for(cohort, seed));
  Evaluation evaluation;
  evaluation.seeds = task.seeds;
  evaluation.training_students = parts.front().training.student_count();
  evaluation.held_out_students = parts.front().held_out.student_count();
  const auto splits = std::ssize(parts), count = std::ssize(task.fits) * splits;
  std::vector<std::optional<EvaluationRow>> rows(static_cast<std::size_t>(count));
  std::vector<std::size_t> missing;
  std::vector<std::string> digests;
  double largest = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const FitOptions& options = task.fits[i / parts.size()];
    const Id size = task.sizes[i / parts.size()];
    const Part& part = parts[i % parts.size()];
    digests.push_back(digest_of(cohort, options, part.seed, task));
    if (!task.folder.empty()) {
      const std::string name = options.choice().name();
      const std::filesystem::path file = file_of(task, name, size, part.seed);
      if (task.earlier == EarlierFits::refuse) check_target(file, Overwrite::refuse);
      if (task.earlier == EarlierFits::take_up) rows[i] = load_row(file, {name, size, part.seed, {}, {}}, digests[i]);
    }
    if (rows[i]) continue;
    missing.push_back(i);
    if (i % parts.size() > 0) continue;
    // Refused now where it would be refused later, after hours.
    largest = std::max(largest, prepare_training({part.training, options, context})->estimate().bytes);
  }
  const std::size_t kept = rows.size() - missing.size();
  if (kept > 0) evaluation.taken_up = concat(kept, " of ", counted(count, "fit", "fits"), " were there already");
  std::mutex mutex;
  std::size_t finished = kept;
  const auto run = [&](std::int64_t number) {
    const std::size_t i = missing[static_cast<std::size_t>(number)];
    const Part& part = parts[i % parts.size()];
    EvaluationRow row = measured(task.fits[i / parts.size()], task.sizes[i / parts.size()], part, task, context);
    const std::lock_guard lock(mutex);
    if (!task.folder.empty()) save_row(file_of(task, row.model, row.size, row.seed), row, digests[i]);
    ++finished;
    if (context.progress) {
      context.progress(
          {concat(row.model, row.size > 0 ? concat(" K = ", row.size) : "", " (", finished, " of ", rows.size(), ")"),
           static_cast<double>(finished) / static_cast<double>(rows.size())});
    }
    rows[i] = std::move(row);
  };
  // Side by side where the memory bears it; else one by one, with all threads inside each.
  const double bound = task.memory > 0 ? task.memory : 0.8 * available_memory();
  try {
    if (bound <= 0 || largest * context.executor.threads() <= bound) {
      context.executor.for_each(std::ssize(missing), run);
    } else {
      for (std::int64_t number = 0; number < std::ssize(missing); ++number)
        run(number);
    }
  } catch (const Interrupted&) {
    throw Interrupted(task.folder.empty() ? "interrupted; no fit is kept"
                                          : concat("interrupted; ", setting_name("resume"), " goes on from ", finished,
                                                   " of ", counted(count, "fit", "fits")));
  }
  for (std::optional<EvaluationRow>& row : rows)
    evaluation.rows.push_back(std::move(*row));
  evaluation.summaries = summarised(evaluation.rows);
  if (std::ranges::any_of(task.fits, climbs_density)) {
    evaluation.remarks.push_back(
        concat("models with Gaussian states take long to score: their held-out likelihood is that of the first ",
               task.full_scored, " held-out students"));
  }
  if (std::ranges::any_of(evaluation.summaries, [](const auto& one) { return one.kind == "lower_bound"; })) {
    evaluation.remarks.emplace_back(
        "held-out likelihoods of kind lower_bound are too low, by how much is not known: do not rank a model by them "
        "against one of another kind");
  }
  return evaluation;
}

Table Evaluation::table() const {
  const auto over = [](const std::string& name, const std::string& floor) {
    return [=](const EvaluationSummary& one) {
      const double least = one.found.at(floor).mean;
      return value_if(least > 0, one.found.at(name).mean / least);
    };
  };
  const auto spread_of = [](const std::string& name) { return mean_of(name, &MeanAndSpread::spread); };
  const bool has_clocks =
      std::ranges::any_of(summaries, [](const auto& one) { return one.found.contains("fit_seconds"); });
  const Look two{.decimals = 2}, four{.decimals = 4}, nats{.unit = "nats"};
  return {summaries,
          {{"model", &EvaluationSummary::model},
           {"K", size_of<EvaluationSummary>},
           {"error_by_course", mean_of("error_by_course"), four},
           {"error_spread", spread_of("error_by_course"), four},
           {"over_floor", over("error_by_course", "floor_by_course"), two},
           {"error_by_period", mean_of("error_by_period_and_course"), four},
           {"period_over_floor", over("error_by_period_and_course", "floor_by_period_and_course"), two},
           {"error_of_pairs", mean_of("error_of_pairs"), four},
           {"pairs_over_floor", over("error_of_pairs", "floor_of_pairs"), two},
           {"accuracy", mean_of("accuracy"), share(4)},
           {"accuracy_spread", spread_of("accuracy"), share(4)},
           {"cross_entropy", mean_of("cross_entropy"), nats},
           {"held_out", mean_of("held_out"), nats},
           {"held_out_spread", spread_of("held_out"), nats},
           {"kind", &EvaluationSummary::kind},
           {"courses_off", mean_of("courses_distance"), {.unit = "courses"}},
           {"repeats", mean_of("repeats"), share(4)},
           {"fit_seconds", mean_of("fit_seconds"), {.unit = "s", .decimals = 1, .is_there = has_clocks}}}};
}

Table Evaluation::best_table() const {
  struct Row {
    std::string model;
    BestOf error, accuracy, held_out;
    std::string kind;
  };
  std::vector<Row> rows_of_models;
  for (const auto& [model, kind, size, found] : summaries) {
    if (std::ranges::find(rows_of_models, model, &Row::model) != rows_of_models.end()) continue;
    rows_of_models.push_back({model, best_of(summaries, model, "error_by_course", -1),
                              best_of(summaries, model, "accuracy", 1), best_of(summaries, model, "held_out", 1),
                              kind});
  }
  const auto value_of = [](BestOf Row::*best) { return [=](const Row& row) { return (row.*best).value; }; };
  const auto size_at = [](BestOf Row::*best) { return [=](const Row& row) { return (row.*best).size; }; };
  return {std::move(rows_of_models),
          {{"model", &Row::model},
           {"sample_error", value_of(&Row::error), {.decimals = 4}},
           {"K", size_at(&Row::error)},
           {"inference_accuracy", value_of(&Row::accuracy), share(4)},
           {"K_of_accuracy", size_at(&Row::accuracy)},
           {"held_out", value_of(&Row::held_out), {.unit = "nats"}},
           {"K_of_held_out", size_at(&Row::held_out)},
           {"kind", &Row::kind}}};
}

Table Evaluation::fits_table() const {
  std::set<std::string> names;
  for (const EvaluationRow& row : rows) {
    for (const auto& [name, value] : row.found)
      names.insert(name);
  }
  std::vector<ColumnOf<EvaluationRow>> columns = {{"model", &EvaluationRow::model},
                                                  {"size", size_of<EvaluationRow>},
                                                  {"seed", &EvaluationRow::seed},
                                                  {"likelihood_kind", &EvaluationRow::kind}};
  for (const std::string& name : names)
    columns.push_back({name, [name](const EvaluationRow& row) {
                         const auto at = row.found.find(name);
                         return at == row.found.end() ? std::nullopt : std::optional(at->second);
                       }});
  return {rows, std::move(columns)};
}

Evaluation Evaluation::repeatable() const {
  Evaluation same = *this;
  same.taken_up.clear();
  for (EvaluationRow& row : same.rows)
    row.found = only(row.found, false);
  for (EvaluationSummary& summary : same.summaries)
    std::erase_if(summary.found, [](const auto& found) { return is_of_run(found.first); });
  return same;
}

Table Evaluation::timings() const {
  Evaluation took = *this;
  for (EvaluationRow& row : took.rows)
    row.found = only(row.found, true);
  return took.fits_table();
}

Answer Evaluation::answer() const {
  Answer answer;
  if (!taken_up.empty()) answer.note(taken_up);
  for (const std::string& remark : remarks)
    answer.note(remark);
  answer.set({{"training_students", training_students}, {"held_out_students", held_out_students}, {"seeds", seeds}});
  answer.add_table("evaluation", table());
  answer.add("best", best_table());
  const auto found_json = [](const EvaluationSummary& one) {
    ordered_json found;
    for (const auto& [name, all] : one.found)
      found[name] = {{"mean", all.mean}, {"spread", all.spread}};
    return found;
  };
  answer.set("summaries", Table(summaries, {{"model", &EvaluationSummary::model},
                                            {"size", size_of<EvaluationSummary>},
                                            {"likelihood_kind", &EvaluationSummary::kind},
                                            {"found", found_json}}));
  answer.add("fits", fits_table());
  answer.set("notes", answer.notes());

  const auto& found = summaries.front().found;
  const auto mean = [&](const std::string& name) { return found.contains(name) ? found.at(name).mean : 0; };
  const std::string by_answers =
      !found.contains("most_frequent")
          ? ""
          : concat("; the most frequent answer is right ", fixed(mean("most_frequent"), 4),
                   " of the times, shares alone have a cross-entropy of ", fixed(mean("marginal_entropy"), 3));
  answer.show(table());
  answer.say("\nmeans over ", counted(std::ssize(seeds), "split", "splits"),
             " of the students: ", with_separators(training_students), " train, ", with_separators(held_out_students),
             " are held out; a floor is the error of the training students themselves\nfloors: by course ",
             fixed(mean("floor_by_course"), 4), ", by period and course ", fixed(mean("floor_by_period_and_course"), 4),
             ", of pairs ", fixed(mean("floor_of_pairs"), 4), ", courses a student ", fixed(mean("courses_floor"), 3),
             "; students held out repeat ", fixed(100 * mean("repeats_held_out"), 1), " % of their courses",
             by_answers);
  answer.say("\nEach model where it is best");
  answer.show(best_table());
  return answer;
}

}  // namespace desirepath::inline evaluation
