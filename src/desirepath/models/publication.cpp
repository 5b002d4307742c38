#include "desirepath/models/publication.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/bernoulli.h"
#include "desirepath/emissions/hidden_tree.h"
#include "desirepath/models/hidden_chain.h"
#include "desirepath/models/published_tree.h"
#include "desirepath/transcripts/align.h"

namespace desirepath::inline models {

namespace {

double total_likelihood(const Model& model, const TrainingTask& task) {
  const EvidenceBatch evidence = EvidenceBatch::of(task.cohort);
  return model.log_likelihood(evidence, model.likelihood_kinds().front(), task.context.compute).value.sum();
}

/// The state of least students of a step, where it rests on too few; -1: none does.
Id smallest(const std::vector<double>& students, Id emitting, double least) {
  const auto at = std::min_element(students.begin(), students.begin() + emitting);
  return *at < least ? static_cast<Id>(at - students.begin()) : -1;
}

/// The state most like another in the courses of a step.
Id most_alike(const HiddenChain& chain, Id step, Id state) {
  const PeriodRange periods = chain.step_periods(step);
  const Id states = chain.parameters().emitting_states();
  Vector distance = Vector::Zero(states);
  for (Id t = periods.first; t < periods.last; ++t) {
    const RowMatrix probability = chain.course_probabilities(t);
    distance += (probability.colwise() - probability.col(state)).colwise().squaredNorm().transpose();
  }
  distance[state] = infinity;
  Index nearest = 0;
  distance.minCoeff(&nearest);
  return static_cast<Id>(nearest);
}

/// For every state of a step the one it becomes with one state fewer. Each step gives one up: the smallest, so that all
/// keep the same number.
std::vector<Id> merged_states(const HiddenChain& chain, Id step, Id gone) {
  const Id into = most_alike(chain, step, gone), states = chain.parameters().emitting_states();
  std::vector<Id> becomes;
  for (Id k = 0; k < states; ++k) {
    const Id kept = k == gone ? into : k;
    becomes.push_back(kept - (kept > gone ? 1 : 0));
  }
  return becomes;
}

/// Labels that start a fit of one state fewer.
std::vector<LabelRow> merged_labels(const HiddenChain& chain, const FitResult& fit, const TrainingTask& task) {
  const Id emitting = chain.parameters().emitting_states(), all = chain.state_count(), steps = chain.step_count();
  std::vector<std::vector<Id>> becomes;
  std::vector<double> total(static_cast<std::size_t>(emitting), 0);
  for (const auto& row : fit.bearing()) {
    for (std::size_t k = 0; k < total.size(); ++k)
      total[k] += row[k];
  }
  const bool tied = chain.identity().structure == TimeStructure::tied;
  for (Id step = 0; step < steps; ++step) {
    const auto& students = tied ? total : fit.bearing()[static_cast<std::size_t>(step)];
    const auto least = std::min_element(students.begin(), students.begin() + emitting) - students.begin();
    becomes.push_back(merged_states(chain, tied ? 0 : step, static_cast<Id>(least)));
  }
  const RowMatrix posterior = chain.posterior(EvidenceBatch::of(task.cohort), task.context.compute);
  std::vector<LabelRow> rows;
  constexpr double negligible = 1e-6;
  for (Index s = 0; s < posterior.rows(); ++s) {
    for (Id step = 0; step < steps; ++step) {
      const std::string period = steps > 1 ? chain.schema().period(step) : "all";
      for (Id k = 0; k < emitting; ++k) {
        const double weight = posterior(s, step * all + k);
        if (weight > negligible)
          rows.push_back({task.cohort.students()[static_cast<std::size_t>(s)], period,
                          becomes[static_cast<std::size_t>(step)][static_cast<std::size_t>(k)], weight, 0});
      }
    }
  }
  return rows;
}

/// Students behind each row of a pool, in one state. The members of a committee each learn from all of them. counted:
/// what each student counts.
std::vector<double> row_weights(const RowPool& pool, const RowMatrix& posterior, Id all_states, Id state,
                                const std::vector<double>& counted) {
  std::vector<double> weights;
  for (std::int64_t row = 0; row < pool.rows.row_count(); ++row) {
    double sum = 0;
    for (const std::int64_t at : pool.occurrences_of(row)) {
      const std::int64_t students = std::ssize(pool.row_of.front()), step = at / students;
      const double is_in = posterior.size() > 0 ? posterior(at % students, step * all_states + state) : 1;
      sum += is_in * (counted.empty() ? 1 : counted[static_cast<std::size_t>(at % students)]);
    }
    weights.push_back(sum);
  }
  return weights;
}

/// Trees in which nothing rests on few students.
void publish_trees(const HiddenChain& chain, const TrainingTask& task, ChainParameters& parameters,
                   Publication& report) {
  const std::vector<double> counted = counted_students(task.cohort, task.options);
  const EvidenceBatch students = EvidenceBatch::of(task.cohort);
  const ChainEvidence evidence(students, chain.layout());
  RowMatrix posterior;
  if (chain.identity().has_kinds) posterior = chain.posterior(students, task.context.compute);
  for (std::size_t p = 0; p < parameters.emissions.size(); ++p) {
    const auto* emission = dynamic_cast<const HiddenTreeEmission*>(parameters.emissions[p].get());
    if (emission == nullptr) continue;
    const TimingRows& timings = timings_of(evidence.pools[p].rows, emission->shape(), emission->retakes());
    std::vector<std::shared_ptr<const HiddenTree>> trees;
    for (const auto& tree : emission->trees()) {
      PublishedTree published = published_tree(
          *tree, timings,
          row_weights(evidence.pools[p], posterior, chain.state_count(), static_cast<Id>(trees.size()), counted),
          report.least, task.context.compute);
      report.values += published.values;
      report.values_pooled += published.pooled;
      trees.push_back(std::make_shared<const HiddenTree>(std::move(published.parameters)));
    }
    parameters.emissions[p] = std::make_shared<HiddenTreeEmission>(std::move(trees), emission->retakes());
    report.rounded = true;
  }
}

/// The law of the chain, and Bernoulli states; others stay as they are.
ChainParameters rounded(const HiddenChain& chain, const FitResult& fit, bool& states_rounded) {
  ChainParameters parameters = chain.parameters();
  const auto students = [&](Id step, Index state) {
    return fit.bearing()[static_cast<std::size_t>(step)][static_cast<std::size_t>(state)];
  };
  round_distribution(parameters.prior.initial, static_cast<double>(fit.students));
  for (std::size_t t = 0; t < parameters.prior.transitions.size(); ++t) {
    Matrix& transition = parameters.prior.transitions[t];
    for (Index from = 0; from < transition.rows(); ++from) {
      Vector row = transition.row(from).transpose();
      round_distribution(row, students(static_cast<Id>(t), from));
      transition.row(from) = row.transpose();
    }
  }
  for (Index k = 0; k < parameters.departures.rows(); ++k) {
    Vector row = parameters.departures.row(k).transpose();
    round_distribution(row, students(0, k));
    parameters.departures.row(k) = row.transpose();
  }
  for (std::size_t p = 0; p < parameters.emissions.size(); ++p) {
    const auto* states = dynamic_cast<const BernoulliEmission*>(parameters.emissions[p].get());
    if (states == nullptr) continue;
    RowMatrix probability = states->probability();
    for (Index k = 0; k < probability.cols(); ++k) {
      double behind = 0;
      for (const Id step : chain.layout().pools[p])
        behind += students(step, k);
      for (Index bit = 0; bit < probability.rows(); ++bit)
        probability(bit, k) = rounded_probability(probability(bit, k), behind);
    }
    parameters.emissions[p] = std::make_shared<BernoulliEmission>(std::move(probability));
    states_rounded = true;
  }
  return parameters;
}

/// Members weigh the same; when students leave is learned from all of them.
ChainParameters rounded_committee(const HiddenChain& chain, const FitResult& fit) {
  ChainParameters parameters = chain.parameters();
  for (Index k = 0; k < parameters.departures.rows(); ++k) {
    Vector row = parameters.departures.row(k).transpose();
    round_distribution(row, static_cast<double>(fit.students));
    parameters.departures.row(k) = row.transpose();
  }
  return parameters;
}

}  // namespace

double rounded_probability(double probability, double students) {
  const bool common = probability > 0.5;
  const double rare = common ? 1 - probability : probability;
  if (!(rare > 0) || !(students > 0)) return probability;
  const double error = std::sqrt(rare * (1 - rare) / students);
  // Digits of the smaller of p and 1 - p; a last one of the standard error's size, but never none.
  const double unit = std::pow(10.0, std::floor(std::log10(std::min(error, rare))));
  const double near = std::max(unit, std::round(rare / unit) * unit);
  return common ? 1 - near : near;
}

double least_published(const Cohort& cohort) {
  return static_cast<double>(Disclosure().bound_to(cohort.min_cell()).least());
}

std::vector<double> counted_students(const Cohort& cohort, const FitOptions& options) {
  const auto column = options.values().find("weights");
  if (column == options.values().end() || setting_text(column->second).empty()) return {};
  std::vector<double> weights = student_weights(cohort, setting_text(column->second));
  const double largest = std::ranges::max(weights);
  for (double& weight : weights)
    weight /= largest;
  return weights;
}

Cohort without_rare_courses(const Cohort& cohort, double least, const std::vector<double>& counted) {
  const Schema& schema = cohort.schema();
  std::vector<double> takers(static_cast<std::size_t>(schema.course_count()), 0);
  std::vector<std::int64_t> last(takers.size(), -1);
  for (std::int64_t row = 0; row < cohort.enrollments().row_count(); ++row) {
    const std::int64_t student = row / schema.period_count();
    for (const Id bit : cohort.enrollments().row(row)) {
      const auto course = static_cast<std::size_t>(schema.course_of(bit));
      if (last[course] == student) continue;
      last[course] = student;
      takers[course] += counted.empty() ? 1 : counted[static_cast<std::size_t>(student)];
    }
  }
  std::vector<Course> kept;
  for (Id c = 0; c < schema.course_count(); ++c) {
    if (takers[static_cast<std::size_t>(c)] >= least) kept.push_back(schema.course(c));
  }
  if (kept.empty())
    throw PrivacyError(concat("no course has ", shortest(least), " takers: there is nothing to publish"));
  if (std::ssize(kept) == schema.course_count()) return cohort;
  return align_to(cohort, Schema(std::move(kept), schema.periods()), UnseenCourses::ignore).cohort;
}

void require_publishable(const FitOptions& options) {
  const ModelEntry& model = *options.choice().model;
  const auto carry_over = options.values().find("carry-over");
  if (carry_over != options.values().end() && carry_over->second == SettingValue(true) &&
      model.structure != TimeStructure::one_step) {
    throw OptionError(concat(setting_name("publish"), ": a chain with ", setting_name("carry-over"),
                             " tells of the few who repeat a course, and cannot be published"));
  }
  if (options.choice().emission != nullptr) return;
  throw OptionError(concat(setting_name("publish"), ": ", model.name,
                           " cannot be published; models with hidden states and hidden trees can"));
}

Publication publish(FitResult& fit, const TrainingTask& task) {
  require_publishable(task.options);
  Publication report;
  report.least = least_published(task.cohort);
  report.students = fit.students;
  report.states_before = fit.states;
  report.kind = fit.model->likelihood_kinds().front();
  report.log_likelihood_before = total_likelihood(*fit.model, task);
  FitOptions options = task.options;
  const auto has_small = [&] {
    return std::ranges::any_of(fit.bearing(),
                               [&](const auto& students) { return smallest(students, fit.states, report.least) >= 0; });
  };
  while (fit.states > 1 && has_small()) {
    TrainingContext context{task.context.compute, task.context.progress};
    context.labels = merged_labels(dynamic_cast<const HiddenChain&>(*fit.model), fit, task);
    context.labels_file = "merged states";
    options.set("states", std::int64_t{fit.states - 1});
    fit = fit_model(task.cohort, options, context);
  }
  if (has_small()) {
    throw PrivacyError(concat(setting_name("publish"), ": the model rests on fewer than ", shortest(report.least),
                              " students in some period"));
  }
  const auto& chain = dynamic_cast<const HiddenChain&>(*fit.model);
  ChainParameters parameters =
      chain.identity().has_kinds ? rounded(chain, fit, report.rounded) : rounded_committee(chain, fit);
  publish_trees(chain, task, parameters, report);
  fit.model = std::make_unique<HiddenChain>(chain.identity(), std::move(parameters));
  report.states = fit.states;
  report.log_likelihood = total_likelihood(*fit.model, task);
  if (fit.kind == report.kind) fit.log_likelihood = report.log_likelihood;
  return report;
}

nlohmann::ordered_json Publication::to_json() const {
  nlohmann::ordered_json json = {{"states_before", states_before},
                                 {"states", states},
                                 {"courses_dropped", courses_dropped},
                                 {"states_rounded", rounded},
                                 {"likelihood_kind", std::string(name_of(kind))},
                                 {"log_likelihood_before", log_likelihood_before},
                                 {"log_likelihood", log_likelihood}};
  if (values > 0) {
    json["values"] = values;
    json["values_pooled"] = values_pooled;
  }
  return json;
}

std::string Publication::text() const {
  const double cost =
      (log_likelihood_before - log_likelihood) / static_cast<double>(std::max<std::int64_t>(1, students));
  return concat("published: ", counted(courses_dropped, "course", "courses"), " under ", shortest(least),
                " takers dropped, ", states > 0 ? concat(states_before, " states merged into ", states, ", ") : "",
                values > 0
                    ? concat(with_separators(values_pooled), " of ", with_separators(values), " hidden values under ",
                             shortest(least), " expected students pooled with the course's share, ")
                    : "",
                rounded ? "parameters rounded" : "the chain's parameters rounded, those of its states not",
                "; that costs ", fixed(cost, 4), " nats a student (", name_of(kind), ", ",
                fixed(log_likelihood_before, 2), " to ", fixed(log_likelihood, 2), ")");
}

}  // namespace desirepath::inline models
