#include "desirepath/models/chain_candidates.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/learning/kmeans.h"
#include "desirepath/models/hidden_chain.h"

namespace desirepath::inline models {

namespace {

constexpr const char* mixture_choice = "nb";  // what a start by a mixture is
constexpr int trial_iterations = 10;
constexpr double impossible_trial = -1e300;  // finite: it goes through files
/// Of every row of transitions, when those of kept states are freed.
constexpr double released_share = 0.01;

}  // namespace

std::string_view name_of(Origin origin) {
  static constexpr std::array<std::string_view, 7> names = {
      "given", "k-means", "random", "k-means of pathways", "mixture", "kept states", "released states"};
  return names[static_cast<std::size_t>(origin)];
}

ChainCandidates::ChainCandidates(const Cohort& students, ChainEvidence& evidence, const ChainTask& task,
                                 const EmissionLearner& learner, const FitOptions& options,
                                 const TrainingContext& context)
    : students_(students),
      evidence_(evidence),
      task_(task),
      learner_(learner),
      options_(options),
      context_(context),
      settings_(options.read<ChainSettings>()),
      kept_task_(task) {
  const bool given = !context.labels.empty() || context.warm != nullptr;
  climbs_ = given ? 1 : settings_.restarts;
  // One state has one start; what its emissions draw differs from restart to restart as it is.
  if (given || settings_.start != StartKind::best || settings_.states == 1) return;
  const TimeStructure structure = evidence.layout->structure;
  const Id steps = evidence.layout->step_count();
  // Where users fix transitions, states that stay may not be among what they allow.
  has_kept_ = structure == TimeStructure::per_period && steps > 1 && task.fixed.empty();
  if (has_kept_) kept_task_.fixed.keep_states(task.states);
  const bool is_mixture = steps == 1 && learner.family() == FitOptions(mixture_choice).choice().emission->name;
  if (!has_kept_ && !is_mixture) candidates_.push_back({Origin::mixture, 0});
  const int draws = 1 + settings_.restarts / 2;
  for (int number = 0; number < draws; ++number) {
    candidates_.push_back({Origin::kmeans, number});
    if (steps > 1) candidates_.push_back({Origin::pathways, number});
    candidates_.push_back({Origin::random, number});
  }
}

bool ChainCandidates::needs_mixture() const {
  return has_kept_ || (is_search() && candidates_.front().origin == Origin::mixture);
}

RandomStream ChainCandidates::stream_of(const ClimbStart& start) const {
  const auto number = static_cast<std::uint64_t>(start.number);
  if (!is_search()) return RandomStream(options_.seed).child("restart").child(number);
  return RandomStream(options_.seed).child("start").child(name_of(start.origin)).child(number);
}

RowMatrix ChainCandidates::fit_mixture() const {
  FitOptions options(mixture_choice);
  options.seed = options_.seed;
  for (const auto& [name, value] : options_.values()) {
    const std::vector<Setting> known = options.known();
    const bool of_the_climb = name != "validation" && name != "refine" && name != "start" && name != "carry-over";
    if (of_the_climb && std::ranges::find(known, name, &Setting::name) != known.end()) options.set(name, value);
  }
  TrainingContext context{context_.executor};
  if (context_.progress) {
    context.progress = [this](ProgressEvent event) {
      event.phase = "starts: a mixture";
      context_.progress(event);
    };
  }
  context.checkpoint = context_.checkpoint;
  context.checkpoint_interval = context_.checkpoint_interval;
  context.resume = context_.resume;
  const FitResult mixture = fit_model(students_, options, context);
  return mixture.model->hidden_states()->posterior(EvidenceBatch::of(students_), context_.executor);
}

void ChainCandidates::find(StartFindings& found, bool side_by_side, const std::function<void()>& after_each) const {
  if (needs_mixture() && found.mixture.size() == 0) {
    found.mixture = fit_mixture();
    after_each();
  }
  // Where there is one climb and it is from kept states, nothing is to be chosen.
  if (has_kept_ && climbs_ == 1) return;
  const auto report = [&] {
    if (!context_.progress) return;
    const double done = static_cast<double>(found.trials.size());
    context_.progress({"starts", done / static_cast<double>(candidates_.size())});
  };
  if (side_by_side) {
    found.trials.resize(candidates_.size());
    context_.executor.for_each(std::ssize(candidates_), [&](std::int64_t c) {
      found.trials[static_cast<std::size_t>(c)] = try_out(candidates_[static_cast<std::size_t>(c)], found);
    });
    report();
    return;
  }
  while (found.trials.size() < candidates_.size()) {
    found.trials.push_back(try_out(candidates_[found.trials.size()], found));
    after_each();
    report();
  }
}

std::vector<ClimbStart> ChainCandidates::plan(const StartFindings& found) const {
  std::vector<ClimbStart> plan;
  if (!is_search()) {
    const Origin origin = settings_.start == StartKind::random ? Origin::random : Origin::kmeans;
    const bool given = !context_.labels.empty() || context_.warm != nullptr;
    for (int number = 0; number < climbs_; ++number)
      plan.push_back({given ? Origin::given : origin, number});
    return plan;
  }
  if (has_kept_) plan = {{Origin::kept, 0}, {Origin::released, 0}};
  std::vector<std::size_t> order(found.trials.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t c) { return found.trials[c]; });
  std::vector<ClimbStart> drawn;
  for (const std::size_t c : order) {
    if (candidates_[c].origin == Origin::random) drawn.push_back(candidates_[c]);
  }
  for (std::size_t i = 0; i < order.size() && std::ssize(plan) < climb_count(); ++i)
    plan.push_back(candidates_[order[i]]);
  // Random starts begin near the saddle of equal states and have come a shorter way when the trial ends: one of three
  // climbs is theirs.
  if (climbs_ >= 3 && !drawn.empty() && std::ranges::find(plan, Origin::random, &ClimbStart::origin) == plan.end())
    plan.back() = drawn.front();
  return plan;
}

double ChainCandidates::try_out(const ClimbStart& start, const StartFindings& found) const {
  ChainProblem problem(task_, evidence_, learner_, context_.executor);
  EmOptions em = settings_.em;
  em.max_iterations = std::min(em.max_iterations, trial_iterations);
  try {
    begin(problem, start, found);
    return std::max(impossible_trial, run_em(problem, em, {}, {}).best_objective);
  } catch (const NumericalError&) {
    return impossible_trial;  // if all are, the climb says why
  }
}

void ChainCandidates::begin(ChainProblem& problem, const ClimbStart& start, const StartFindings& found) const {
  const RandomStream stream = stream_of(start);
  switch (start.origin) {
    case Origin::kmeans:
      return problem.start_from_kmeans(stream);
    case Origin::random:
      return problem.start_at_random(stream);
    case Origin::pathways:
      return problem.start_from_labels(pathway_labels(stream), stream);
    default:
      return problem.start_from_labels(in_all_periods(found.mixture), stream);
  }
}

ChainParameters ChainCandidates::released(ChainParameters kept) const {
  const Id states = task_.states;
  for (Matrix& transition : kept.prior.transitions) {
    auto between = transition.topLeftCorner(states, states);
    for (Id from = 0; from < states; ++from) {
      const double stays = between.row(from).sum();
      between.row(from) *= 1 - released_share;
      between.row(from).array() += released_share * stays / states;
    }
  }
  return kept;
}

SoftLabels ChainCandidates::in_all_periods(const RowMatrix& by_student) const {
  const Id steps = evidence_.layout->step_count();
  SoftLabels labels;
  labels.weights.resize(by_student.rows() * steps, by_student.cols());
  labels.labelled.assign(static_cast<std::size_t>(by_student.rows() * steps), 1);
  for (Index s = 0; s < by_student.rows(); ++s) {
    for (Id t = 0; t < steps; ++t)
      labels.weights.row(s * steps + t) = by_student.row(s);
  }
  return labels;
}

SoftLabels ChainCandidates::pathway_labels(RandomStream stream) const {
  const StepLayout layout = StepLayout::of(TimeStructure::one_step, students_.schema().period_count());
  ChainEvidence whole(EvidenceBatch::of(students_), layout);
  weigh_rows(whole, task_.weights);
  const RowPool& pool = whole.pools.front();
  const std::vector<Id> clusters =
      kmeans_labels(pool.rows, pool.rows.weights(), task_.states, stream.child("kmeans"), context_.executor);
  RowMatrix by_student = RowMatrix::Constant(whole.student_count(), task_.states, 1.0 / task_.states);
  for (std::int64_t s = 0; s < whole.student_count(); ++s) {
    const std::int32_t row = whole.row(s, 0);
    if (row < 0) continue;  // nothing is known of the student
    by_student.row(s).setZero();
    by_student(s, clusters[static_cast<std::size_t>(row)]) = 1;
  }
  return in_all_periods(by_student);
}

}  // namespace desirepath::inline models
