#include "fit_arguments.h"

#include <charconv>

#include <CLI/CLI.hpp>

#include "model_input.h"

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/ingest/source.h"
#include "desirepath/models/catalog.h"
#include "desirepath/models/model_file.h"
#include "desirepath/transcripts/align.h"

namespace desirepath::app {

namespace {

template <class Number>
Number number_in(const SmallTable& table, std::size_t row, std::size_t column) {
  const std::string& text = table.rows[row][column];
  Number value{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
    throw InputError({table.file, table.records[row], static_cast<std::int64_t>(column) + 1},
                     concat(table.columns[column], " is not a number"));
  }
  return value;
}

std::vector<LabelRow> read_labels(const std::string& file) {
  const SmallTable table = read_small_table(file);
  const std::size_t student = table.require("student"), period = table.require("period"),
                    state = table.require("state");
  auto weight = table.find("weight");
  if (!weight) weight = table.find("probability");  // as `states --csv` writes them
  std::vector<LabelRow> rows;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    rows.push_back({table.rows[r][student], table.rows[r][period], number_in<Id>(table, r, state),
                    weight ? number_in<double>(table, r, *weight) : 1, table.records[r]});
  }
  return rows;
}

std::vector<TransitionRow> read_transitions(const std::string& file) {
  const SmallTable table = read_small_table(file);
  const std::size_t period = table.require("period"), from = table.require("from"), to = table.require("to"),
                    probability = table.require("probability");
  std::vector<TransitionRow> rows;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    rows.push_back({table.rows[r][period], number_in<Id>(table, r, from), number_in<Id>(table, r, to),
                    number_in<double>(table, r, probability), table.records[r]});
  }
  return rows;
}

const HiddenChain& as_chain(const Model& model, const char* option) {
  const auto* chain = dynamic_cast<const HiddenChain*>(&model);
  if (chain == nullptr) throw OptionError(concat(option, ": the model has no hidden states"));
  return *chain;
}

}  // namespace

std::shared_ptr<FitArguments> add_fit_options(CLI::App& app, bool single) {
  auto a = std::make_shared<FitArguments>();
  std::vector<std::string> models, families;
  for (const CatalogEntry& entry : model_catalog())
    models.push_back(concat(entry.name, " (", entry.what, ")"));
  for (const std::string_view family : emission_catalog())
    families.emplace_back(family);
  const std::string model = "Model", training = "Training";
  app.add_option("--model", a->model, join(models, "; "))->capture_default_str()->group(model);
  app.add_option("--emission", a->emission, concat(join(families, "|"), "; default by model"))->group(model);
  app.add_option("--tree", a->tree, "shared|per-state: one dependency tree or one a state (shared, the paper's)")
      ->check(CLI::IsMember({"shared", "per-state"}))
      ->group(model);
  app.add_option(
         "--pseudocount", a->pseudocount,
         "students added to each cell of a course's table (0.1; trees 0.05): rare courses stay possible in every state")
      ->group(model);
  app.add_option(
         "--covariance", a->covariance,
         "full|tied|diagonal|factor:Q, of Gaussian states (full; factor:8 over 2,000 course-periods a step); probit: "
         "factor:Q (factor:4)")
      ->group(model);
  app.add_option("--covariance-prior", a->covariance_prior,
                 "students of the pooled variances added to every state's covariance (a full one: as many as bits)")
      ->group(model);
  app.add_option("--ridge", a->ridge, "added to the diagonal of every covariance instead of the prior")->group(model);
  app.add_option("--calibrate", a->calibrate,
                 "marginals|none: set each state's shares of courses to the true ones after training (marginals)")
      ->check(CLI::IsMember({"marginals", "none"}))
      ->group(model);
  app.add_option("--slope-variance", a->probit.slope_variance, "probit: prior variance of a course's slopes")
      ->capture_default_str()
      ->group(model);
  app.add_option("--slope-correlation", a->probit.slope_correlation,
                 "probit: prior correlation of a course's slopes between states, 0 .. 1")
      ->capture_default_str()
      ->group(model);
  app.add_option("--nodes", a->probit.nodes,
                 "probit: nodes that stand for the factors, a multiple of 32 (0: by factors)")
      ->capture_default_str()
      ->group(model);
  app.add_option("--refine", a->refine,
                 "none|policy-gradient|orthant-em, after EM: on the probabilities of the enrollments (none)")
      ->check(CLI::IsMember({"none", "policy-gradient", "orthant-em"}))
      ->group(model);
  app.add_option("--reward", a->reward, "surrogate|exact, of the policy gradient (surrogate, the paper's)")
      ->check(CLI::IsMember({"surrogate", "exact"}))
      ->group(model);
  app.add_option("--state-pseudocount", a->state_pseudocount, "students added to each state and transition")
      ->capture_default_str()
      ->group(model);
  app.add_option("--transitions", a->transitions,
                 "fixed transitions: period,from,to,probability (states from 0; 0 = forbidden; no period = all)")
      ->group(model);
  app.add_option("--weights", a->weights, "student attribute that weighs each student")->group(model);

  app.add_option("--start", a->start,
                 "kmeans, random, or a file student,period,state[,weight] (states from 0), as 'states --csv' writes it")
      ->capture_default_str()
      ->group(training);
  app.add_option("--warm", a->warm, "start from this model")->group(training);
  app.add_option("--restarts", a->restarts, "starts to try; the best is kept, all scores are told")
      ->capture_default_str()
      ->group(training);
  app.add_option("--iterations", a->iterations, "at most")->capture_default_str()->group(training);
  app.add_option("--tolerance", a->tolerance, "stop when an iteration gains less, relative, per student (0: run all)")
      ->capture_default_str()
      ->group(training);
  if (!single) return a;
  app.add_option("--match", a->match, "number the states like this model's")->group(training);
  app.add_option("--validation", a->validation,
                 "a cohort, or a share of the students: the best iterate and restart by their likelihood")
      ->group(training);
  app.add_option("--checkpoint", a->checkpoint, "file to keep the state of training in")->group(training);
  app.add_option("--checkpoint-every", a->checkpoint_every, "seconds between checkpoints")
      ->capture_default_str()
      ->group(training);
  app.add_flag("--resume", a->resume, "continue from --checkpoint where it exists")->group(training);
  return a;
}

FitOptions FitArguments::to_options(const Console& console, const Cohort& cohort, const RawTableArguments& table) {
  FitOptions options;
  options.choice = parse_model_choice(model);
  if (!emission.empty()) options.choice.emission = require_emission(emission);
  options.pseudocount = pseudocount;
  options.state_pseudocount = state_pseudocount;
  if (!tree.empty()) options.tree = tree == "shared" ? TreeShape::shared : TreeShape::per_state;
  if (!covariance.empty()) options.covariance = CovarianceChoice::parse(covariance);
  options.covariance_prior = covariance_prior;
  options.ridge = ridge;
  options.calibrate = calibrate != "none";
  options.probit = probit;
  if (!refine.empty()) options.refine = parse_refinement(refine);
  if (!reward.empty()) options.policy_gradient.reward = parse_reward(reward);
  options.restarts = restarts;
  options.em.max_iterations = iterations;
  options.em.tolerance = tolerance;
  options.seed = console.seed;
  options.weights = weights;
  options.checkpoint = checkpoint;
  options.checkpoint_interval = checkpoint_every;
  options.resume = resume;
  if (!warm.empty()) {
    warm_model_ = load_model(warm).model;
    options.warm = &as_chain(*warm_model_, "--warm");
    options.start = StartKind::model;
  } else if (start == "random" || start == "kmeans") {
    options.start = start == "random" ? StartKind::random : StartKind::kmeans;
  } else {
    options.start = StartKind::labels;
    options.labels_file = start;
    options.labels = read_labels(start);
  }
  if (!match.empty()) {
    match_model_ = load_model(match).model;
    options.match = &as_chain(*match_model_, "--match");
  }
  if (!transitions.empty()) {
    options.transitions_file = transitions;
    options.transitions = read_transitions(transitions);
  }
  if (!validation.empty()) {
    double share = 0;
    const auto parsed = std::from_chars(validation.data(), validation.data() + validation.size(), share);
    if (parsed.ec == std::errc() && parsed.ptr == validation.data() + validation.size()) {
      options.validation_share = share;
    } else {
      Console own = console;
      Aligned aligned = align_to(open_cohort(validation, table, own), cohort.schema(), UnseenCourses::ignore);
      warn_of_ignored(aligned, "the training cohort does not have", console);
      validation_cohort_ = std::move(aligned.cohort);
      options.validation = &*validation_cohort_;
    }
  }
  return options;
}

}  // namespace desirepath::app
