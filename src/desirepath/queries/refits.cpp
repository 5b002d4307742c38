#include "desirepath/queries/refits.h"

#include <algorithm>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/models/training.h"

namespace desirepath::inline queries {

namespace {

constexpr std::int64_t most_iterations = 50;  // a model that stands near its end is there sooner

}  // namespace

std::vector<std::unique_ptr<Model>> refit_models(const StoredModel& stored, const Cohort& students, Id count,
                                                 const RandomStream& stream, const Executor& executor,
                                                 const ProgressSink& progress, RefitStart start) {
  if (count == 1) throw OptionError(concat(setting_name("refits"), " 1: a spread needs two or more"));
  FitOptions options = stored.training.trained_with();
  if (start == RefitStart::model) options.limit("restarts", 1).limit("iterations", most_iterations);
  // Refits answer with marginals, which tilted loads leave alone.
  const bool may_tilt = std::ranges::count(options.known(), std::string("load"), &Setting::name) > 0;
  if (may_tilt) options.set("load", "none");
  const std::uint64_t seed = options.seed;
  std::vector<std::unique_ptr<Model>> models;
  for (Id b = 0; b < count; ++b) {
    RandomStream draw = stream.child(static_cast<std::uint64_t>(b));
    std::vector<std::int64_t> chosen(static_cast<std::size_t>(students.student_count()));
    for (std::int64_t& student : chosen)
      student = static_cast<std::int64_t>(draw.below(chosen.size()));
    const Cohort drawn = students.select(chosen);
    TrainingContext context{executor};
    if (start == RefitStart::model)
      context.warm = stored.model.get();
    else
      options.seed = RandomStream(seed).child("refit").child(static_cast<std::uint64_t>(b)).bits() >> 1;
    if (progress) {
      context.progress = [&](const ProgressEvent& event) {
        progress({concat("refit ", b + 1, "/", count), event.fraction});
      };
    }
    models.push_back(fit_model(drawn, options, context).model);
  }
  return models;
}

void RefitSpread::add(const RowMatrix& answer) {
  if (count_ == 0) mean_ = squares_ = RowMatrix::Zero(answer.rows(), answer.cols());
  const RowMatrix difference = answer - mean_;
  mean_ += difference / static_cast<double>(++count_);
  squares_.array() += difference.array() * (answer - mean_).array();
}

RowMatrix RefitSpread::variance() const {
  return squares_ / std::max<double>(1, static_cast<double>(count_ - 1));
}

}  // namespace desirepath::inline queries
