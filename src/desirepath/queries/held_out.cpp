#include "desirepath/queries/held_out.h"

#include <algorithm>
#include <numeric>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/models/training.h"
#include "desirepath/queries/student_groups.h"

namespace desirepath::inline queries {

namespace {

constexpr std::size_t fold_count = 5;
constexpr std::int64_t fold_iterations = 50;  // a model that stands near its end is there sooner
constexpr double most_fold_seconds = 60;

/// That the model took, all its trees together; of each tree no more than `most`.
double iterations_of(const StoredModel& stored, std::int64_t most) {
  const std::int64_t iterations = std::max<std::int64_t>(1, stored.training.iterations.value_or(1));
  return static_cast<double>(std::min(iterations, most) * stored.training.trees.value_or(1));
}

FitOptions fold_options(const StoredModel& stored) {
  FitOptions options = stored.training.trained_with();
  return options.limit("restarts", 1).limit("iterations", fold_iterations);
}

Vector fold_scores(const StoredModel& stored, const Cohort& cohort, LikelihoodKind kind, const RandomStream& stream,
                   const Executor& executor, const ProgressSink& progress) {
  const FitOptions options = fold_options(stored);
  std::vector<std::int64_t> order(static_cast<std::size_t>(cohort.student_count()));
  std::iota(order.begin(), order.end(), 0);
  RandomStream draws = stream;
  shuffle(order, draws);
  Vector result(cohort.student_count());
  for (std::size_t fold = 0; fold < fold_count; ++fold) {
    std::vector<std::int64_t> inside, outside;
    for (std::size_t i = 0; i < order.size(); ++i)
      (i % fold_count == fold ? inside : outside).push_back(order[i]);
    std::ranges::sort(inside);
    std::ranges::sort(outside);
    TrainingContext context{executor};
    context.warm = stored.model.get();
    if (progress) {
      context.progress = [&](const ProgressEvent& event) {
        progress({concat("fold ", fold + 1, "/", fold_count), event.fraction});
      };
    }
    const FitResult fitted = fit_model(cohort.select(outside), options, context);
    const Vector scores =
        fitted.model->log_likelihood(EvidenceBatch::of(cohort.select(inside)), kind, executor).value.col(0);
    for (std::size_t i = 0; i < inside.size(); ++i)
      result[inside[i]] = scores[static_cast<Index>(i)];
  }
  return result;
}

/// Empty, or why there are no folds of this model.
std::string folds_refused(const StoredModel& stored, const Cohort& cohort, const Executor& executor) {
  if (!stored.training.options) return "the model file does not say how the model was trained";
  if (cohort.student_count() < 2 * static_cast<std::int64_t>(fold_count)) return "the students are too few for folds";
  const FitOptions options = fold_options(stored);
  TrainingContext context{executor};
  context.warm = stored.model.get();
  const double seconds = prepare_training({cohort, options, context})->estimate().seconds_per_iteration *
                         iterations_of(stored, fold_iterations) * static_cast<double>(fold_count);
  if (seconds <= most_fold_seconds) return {};
  return concat("fits without a part of the students would take about ", fixed(seconds / 60, 0),
                " minutes: ", setting_name("leave-one-out"), " on makes them");
}

}  // namespace

std::optional<LeftOutScores> left_out_scores(const StoredModel& stored, const Cohort& cohort, LikelihoodKind kind,
                                             LeaveOut leave_out, const RandomStream& stream, const Executor& executor,
                                             const ProgressSink& progress, std::string& why) {
  if (leave_out == LeaveOut::off) return std::nullopt;
  if (stored.training.published) {
    if (leave_out == LeaveOut::on)
      throw OptionError("leave-one-out: a published model does not say which students it was trained on");
    return std::nullopt;
  }
  if (stored.training.data_fingerprint != cohort.fingerprint()) {
    if (leave_out == LeaveOut::on)
      throw OptionError("leave-one-out: the model was trained on another cohort than this one");
    return std::nullopt;
  }
  // Which models have such scores is theirs to say; they refuse before any work.
  if (kind == stored.model->likelihood_kinds().front()) {
    try {
      return LeftOutScores{leave_one_out(stored, cohort, executor), LeftOutBy::one_step};
    } catch (const OptionError& error) {
      why = error.what();
    }
  }
  if (leave_out == LeaveOut::automatic) {
    why = folds_refused(stored, cohort, executor);
    if (!why.empty()) return std::nullopt;
  }
  why.clear();
  return LeftOutScores{fold_scores(stored, cohort, kind, stream, executor, progress), LeftOutBy::folds};
}

std::optional<double> seconds_to_train_alike(const StoredModel& stored, const Cohort& students,
                                             const Executor& executor) {
  if (!stored.training.options) return std::nullopt;
  constexpr std::int64_t most_iterations = 1'000'000;
  const TrainingContext context{executor};
  return prepare_training({students, *stored.training.options, context})->estimate().seconds_per_iteration *
         iterations_of(stored, most_iterations);
}

std::unique_ptr<Model> train_alike(const StoredModel& stored, const Cohort& students, const Executor& executor,
                                   const ProgressSink& progress) {
  TrainingContext context{executor};
  if (progress) {
    context.progress = [&](const ProgressEvent& event) {
      progress({"a model without the students asked about", event.fraction});
    };
  }
  return fit_model(students, stored.training.trained_with(), context).model;
}

}  // namespace desirepath::inline queries
