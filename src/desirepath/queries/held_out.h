// How a model does on students it was not trained on: scores of its own students without their own records, and a model
// trained in the same way on others.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "desirepath/core/progress.h"
#include "desirepath/core/random_stream.h"
#include "desirepath/core/settings.h"
#include "desirepath/models/model_file.h"

namespace desirepath::inline queries {

/// Automatic: where the cohort is the one the model was trained on.
enum class LeaveOut { automatic, on, off };
inline std::span<const std::string_view> value_names(LeaveOut) {
  static constexpr std::array<std::string_view, 3> names = {"auto", "on", "off"};
  return names;
}

enum class LeftOutBy { one_step, folds };

struct LeftOutScores {
  Vector log_likelihood;  // of each student by a model without the student's record
  LeftOutBy by = LeftOutBy::one_step;
};

/// One EM step towards the model without the student where the model has that, else fits to four fifths of the students
/// that go on from the model. Nothing where none is asked for, or, where it is automatic, the cohort is another one or
/// the fits would take long; `why` then says so if it matters. Throws OptionError where it is on and the cohort is
/// another one.
std::optional<LeftOutScores> left_out_scores(const StoredModel& stored, const Cohort& cohort, LikelihoodKind kind,
                                             LeaveOut leave_out, const RandomStream& stream, const Executor& executor,
                                             const ProgressSink& progress, std::string& why);

/// Of a fit with the settings of the model's record, from scratch: a rough time, nothing where there is no record of
/// it.
std::optional<double> seconds_to_train_alike(const StoredModel& stored, const Cohort& students,
                                             const Executor& executor);
/// That fit. Throws ArchiveError where the file does not say how the model was trained.
std::unique_ptr<Model> train_alike(const StoredModel& stored, const Cohort& students, const Executor& executor,
                                   const ProgressSink& progress = {});

}  // namespace desirepath::inline queries
