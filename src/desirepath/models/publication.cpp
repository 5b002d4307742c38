#include "desirepath/models/publication.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/emissions/capabilities.h"
#include "desirepath/emissions/published_numbers.h"
#include "desirepath/models/hidden_chain.h"
#include "desirepath/models/tilts_loads.h"
#include "desirepath/transcripts/align.h"
#include "desirepath/transcripts/split.h"

namespace desirepath::inline models {

namespace {

Vector student_likelihoods(const Model& model, const EvidenceBatch& evidence, const Executor& executor) {
  return model.log_likelihood(evidence, model.likelihood_kinds().front(), executor).value.col(0);
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
std::vector<LabelRow> merged_labels(const HiddenChain& chain, const FitResult& fit, const EvidenceBatch& evidence,
                                    const Executor& executor) {
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
  const RowMatrix posterior = chain.posterior(evidence, executor);
  std::vector<LabelRow> rows;
  constexpr double negligible = 1e-6;
  for (Index s = 0; s < posterior.rows(); ++s) {
    for (Id step = 0; step < steps; ++step) {
      const std::string period = steps > 1 ? chain.schema().period(step) : "all";
      for (Id k = 0; k < emitting; ++k) {
        const double weight = posterior(s, step * all + k);
        if (weight > negligible)
          rows.push_back({evidence.students()[static_cast<std::size_t>(s)], period,
                          becomes[static_cast<std::size_t>(step)][static_cast<std::size_t>(k)], weight, 0});
      }
    }
  }
  return rows;
}

/// The students that a fit learned from: those a share of which was set aside to validate it are not among them.
Cohort trained_students(const TrainingTask& task) {
  const auto share = task.options.values().find("validation");
  if (task.context.validation != nullptr || share == task.options.values().end()) return task.cohort;
  const double* part = std::get_if<double>(&share->second);
  if (part == nullptr) return task.cohort;
  const Split split = split_by_share(task.cohort, {*part, 0}, RandomStream(task.options.seed).child("validation"));
  return task.cohort.select(split.training);
}

/// A fit as its students see it: who is in which state, and how many go from state to state.
class Counts {
 public:
  Counts(const Model& model, const TrainingTask& task)
      : students_(trained_students(task)),
        batch_(EvidenceBatch::of(students_.with_traits(model.schema().traits()))),
        chain_(offered<HasChain>(model)->chain()),
        evidence_(cut_evidence(batch_, chain_.layout())),
        counted_(counted_students(students_, task.options)) {
    if (model.hidden_states() != nullptr) posterior_ = chain_.posterior(batch_, task.context.executor);
  }
  const ChainEvidence& evidence() const { return evidence_; }
  double of_student(std::int64_t s) const { return counted_.empty() ? 1 : counted_[static_cast<std::size_t>(s)]; }
  double students() const {
    double sum = 0;
    for (std::int64_t s = 0; s < evidence_.student_count(); ++s)
      sum += of_student(s);
    return sum;
  }
  /// Of a student in a step; every member of a committee has all students.
  double in_state(std::int64_t s, Id step, Index state) const {
    return of_student(s) * (has_kinds() ? posterior_(s, step * Index{chain_.state_count()} + state) : 1);
  }

  /// Of the students' kinds; not so where states are members of a committee.
  bool has_kinds() const { return posterior_.size() > 0; }
  /// By place of a step in the pool.
  StepWeights rows_of(std::size_t pool) const {
    const RowPool& rows = evidence_.pools[pool];
    const std::vector<Id>& steps = chain_.layout().pools[pool];
    const Index states = chain_.parameters().emitting_states();
    StepWeights weights(steps.size(), RowMatrix::Zero(rows.rows.row_count(), states));
    for (std::int64_t row = 0; row < rows.rows.row_count(); ++row) {
      for (const std::int64_t at : rows.occurrences_of(row)) {
        const std::int64_t s = at % evidence_.student_count();
        const auto place = static_cast<std::size_t>(at / evidence_.student_count());
        for (Index k = 0; k < states; ++k)
          weights[place](row, k) += in_state(s, steps[place], k);
      }
    }
    return weights;
  }

  /// From state to state, by step.
  std::vector<Matrix> pairs(const Executor& executor) const {
    const Index all = chain_.state_count();
    std::vector<Matrix> sums(static_cast<std::size_t>(chain_.step_count() - 1), Matrix::Zero(all, all));
    const std::vector<RowScores> scores =
        score_pools(chain_.parameters(), evidence_, chain_.likelihood_kinds().front(), Precision::quick, executor);
    for_each_posterior(chain_.parameters(), evidence_, scores, {0, evidence_.student_count()},
                       [&](std::int64_t s, double, const ChainPosterior& posterior) {
                         for (std::size_t t = 0; t < sums.size(); ++t)
                           posterior.add_pairs(static_cast<Id>(t), of_student(s), sums[t]);
                       });
    return sums;
  }

  /// Of each state by the period of departure.
  Matrix departures() const {
    const Matrix& leaving = chain_.parameters().departures;
    Matrix sums = Matrix::Zero(leaving.rows(), leaving.cols());
    for (std::int64_t s = 0; s < evidence_.student_count() && leaving.size() > 0; ++s) {
      const DepartureRange& allowed = evidence_.departures[static_cast<std::size_t>(s)];
      for (Index k = 0; k < leaving.rows(); ++k) {
        double all = 0;
        for (Id d = allowed.earliest; d <= allowed.latest; ++d)
          all += leaving(k, d - 1);
        for (Id d = allowed.earliest; d <= allowed.latest && all > 0; ++d)
          sums(k, d - 1) += in_state(s, 0, k) * leaving(k, d - 1) / all;
      }
    }
    return sums;
  }

 private:
  Cohort students_;
  EvidenceBatch batch_;
  const HiddenChain& chain_;
  const ChainEvidence& evidence_;
  std::vector<double> counted_;
  RowMatrix posterior_;
};

/// Rows of a matrix of distributions: each drawn to what all of them have together.
void publish_rows(Matrix& rows, const Matrix& counts, Index emitting, double least) {
  RowMatrix own = rows.topRows(emitting);
  const Vector all = counts.topRows(emitting).colwise().sum().transpose();
  const Vector usual = published_distribution(all.cwiseMax(1e-12) / std::max(1.0, all.sum()), all, least);
  publish_distributions(own, counts.topRows(emitting), usual, least);
  rows.topRows(emitting) = own;
}

void publish_dynamics(const HiddenChain& chain, const Counts& counts, ChainParameters& parameters, double least,
                      const Executor& executor) {
  if (counts.has_kinds()) {
    Vector initial = Vector::Zero(parameters.prior.initial.size());
    for (std::int64_t s = 0; s < counts.evidence().student_count(); ++s) {
      for (Index k = 0; k < initial.size(); ++k)
        initial[k] += counts.in_state(s, 0, k);
    }
    parameters.prior.initial = published_distribution(parameters.prior.initial, initial, least);
  }
  if (!parameters.prior.transitions.empty()) {
    std::vector<Matrix> pairs = counts.pairs(executor);
    const bool tied = chain.identity().structure == TimeStructure::tied;
    for (std::size_t t = 1; t < pairs.size() && tied; ++t)
      pairs.front() = pairs.front().cwiseMax(pairs[t]);  // students at least: the same ones may go in every step
    for (std::size_t t = 0; t < pairs.size(); ++t) {
      if (tied && t > 0)
        parameters.prior.transitions[t] = parameters.prior.transitions.front();
      else
        publish_rows(parameters.prior.transitions[t], pairs[t], parameters.emitting_states(), least);
    }
  }
  if (parameters.departures.size() > 0)
    publish_rows(parameters.departures, counts.departures(), parameters.emitting_states(), least);
}

/// The model with the loads of the students, where it had them before: each factor of as many students as may be told
/// of, and rounded. Its draws are those of the published trees.
std::unique_ptr<Model> with_published_loads(std::unique_ptr<Model> model, const TrainingTask& task, double least) {
  const Cohort students = trained_students(task);
  const EvidenceBatch evidence = EvidenceBatch::of(students);
  const auto column = task.options.values().find("weights");
  const std::string weights = column == task.options.values().end() ? "" : setting_text(column->second);
  const std::vector<double> counted = counted_students(students, task.options);
  const LoadStudents loads{evidence,
                           weights.empty() ? std::vector<double>() : student_weights(students, weights),
                           {least, counted, /*is_rounded=*/true}};
  return offered<TiltsLoads>(*model)->tilted(loads, RandomStream(task.options.seed).child("published load"),
                                             task.context.executor);
}

/// Nothing in it rests on few students.
ChainParameters published_parameters(const Model& model, const TrainingTask& task, Publication& report) {
  const Counts counts(model, task);
  const HiddenChain& chain = offered<HasChain>(model)->chain();
  const Executor& executor = task.context.executor;
  ChainParameters parameters = chain.parameters();
  publish_dynamics(chain, counts, parameters, report.least, executor);
  for (std::size_t p = 0; p < parameters.emissions.size(); ++p) {
    const auto* publishable = offered<Publishable>(*chain.parameters().emissions[p]);
    if (publishable == nullptr)
      throw OptionError(concat(setting_name("publish"), ": ", chain.name(), " cannot be published"));
    PublishedEmission published =
        publishable->published(counts.evidence().pools[p].rows, counts.rows_of(p), report.least, executor);
    parameters.emissions[p] = std::move(published.emission);
    report.values += published.values;
    report.values_pooled += published.pooled;
  }
  return parameters;
}

}  // namespace

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
  const EmissionFamily* emission = options.choice().emission;
  if (emission == nullptr) {
    throw OptionError(concat(setting_name("publish"), ": ", model.name,
                             " cannot be published; models with hidden states and hidden trees can"));
  }
  if (emission->can_be_published) return;
  std::vector<std::string> published;
  for (const EmissionFamily& family : options.catalog().emissions) {
    if (family.can_be_published) published.push_back(family.name);
  }
  throw OptionError(concat(setting_name("publish"), ": in states of the emission '", emission->name,
                           "' single students cannot be pooled; ", setting_name("emission"), " ", join(published, ", "),
                           " can be published"));
}

Publication publish(FitResult& fit, const TrainingTask& task) {
  require_publishable(task.options);
  Publication report;
  report.least = least_published(task.cohort);
  const EvidenceBatch evidence = EvidenceBatch::of(task.cohort);
  report.students = fit.students;
  report.states_before = fit.states;
  report.kind = fit.model->likelihood_kinds().front();
  report.log_likelihood_before = student_likelihoods(*fit.model, evidence, task.context.executor).sum();
  FitOptions options = task.options;
  const auto has_small = [&] {
    return std::ranges::any_of(fit.bearing(),
                               [&](const auto& students) { return smallest(students, fit.states, report.least) >= 0; });
  };
  while (fit.states > 1 && has_small()) {
    TrainingContext context{task.context.executor, task.context.progress};
    context.labels = merged_labels(offered<HasChain>(*fit.model)->chain(), fit, evidence, task.context.executor);
    context.labels_file = "merged states";
    options.set("states", std::int64_t{fit.states - 1});
    fit = fit_model(task.cohort, options, context);
  }
  if (has_small()) {
    throw PrivacyError(concat(setting_name("publish"), ": the model rests on fewer than ", shortest(report.least),
                              " students in some period"));
  }
  const auto* loads = offered<TiltsLoads>(*fit.model);
  const bool is_tilted = loads != nullptr && loads->is_tilted();
  fit.model = offered<HasChain>(*fit.model)->with(published_parameters(*fit.model, task, report));
  if (is_tilted) fit.model = with_published_loads(std::move(fit.model), task, report.least);
  report.states = fit.states;
  const Vector likelihoods = student_likelihoods(*fit.model, evidence, task.context.executor);
  report.log_likelihood = likelihoods.sum();
  report.likelihood_error = (likelihoods.array() - likelihoods.mean()).matrix().norm();
  if (fit.kind == report.kind) fit.log_likelihood = report.log_likelihood;
  return report;
}

nlohmann::ordered_json Publication::to_json() const {
  nlohmann::ordered_json json = {{"states_before", states_before},
                                 {"states", states},
                                 {"courses_dropped", courses_dropped},
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
                "what few students did pooled, parameters rounded; that costs ", fixed(cost, 4), " nats a student (",
                name_of(kind), ", ", fixed(log_likelihood_before, 2), " to ", fixed(log_likelihood, 2), ")");
}

}  // namespace desirepath::inline models
