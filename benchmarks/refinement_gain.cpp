// What the policy gradient gains and costs, on students that neither EM nor the refinement has seen:
//   refinement_gain TRAINING.cohort VALIDATION.cohort HOLD-OUT.cohort MODEL STATES [CALIBRATE]
#include <chrono>
#include <cmath>
#include <iostream>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/models/training.h"

using namespace desirepath;

namespace {

struct HeldOut {
  Vector mass;
  double density = 0;
};

HeldOut score(const Model& model, const Cohort& cohort, const Executor& executor) {
  const EvidenceBatch evidence = EvidenceBatch::of(cohort);
  return {model.log_likelihood(evidence, LikelihoodKind::mass, executor).value.col(0),
          model.log_likelihood(evidence, LikelihoodKind::density, executor).value.mean()};
}

/// Squared error of the model's shares of (period, course), nothing known, against the students held out.
double share_error(const HiddenStates& model, const Cohort& cohort) {
  double sum = 0;
  for (Id t = 0; t < cohort.schema().period_count(); ++t) {
    const Vector shares = model.course_probabilities(t) * model.share(model.step_count() == 1 ? 0 : t);
    Vector counts = Vector::Zero(shares.size());
    double present = 0;
    for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
      if (!cohort.enrolled(s, t)) continue;
      ++present;
      for (const Id bit : cohort.bits(s, t))
        counts[cohort.schema().course_of(bit)] += 1;
    }
    sum += (shares - counts / std::max(1.0, present)).squaredNorm();
  }
  return sum;
}

void print(const std::string& name, const FitResult& fit, const HeldOut& found, const HeldOut& start,
           const Cohort& hold_out) {
  const Vector gain = found.mass - start.mass;
  const double n = static_cast<double>(gain.size());
  std::cout << name << ": mass " << fixed(found.mass.mean(), 3) << " gain " << fixed(gain.mean(), 4) << " s.e. "
            << fixed(std::sqrt((gain.array() - gain.mean()).square().sum() / (n - 1) / n), 4) << " density "
            << fixed(found.density, 2) << " share error "
            << fixed(share_error(*fit.model->hidden_states(), hold_out), 5) << " seconds " << fixed(fit.seconds, 1);
  if (fit.refinement) {
    std::cout << " kept round " << fit.refinement->kept_round << " of " << fit.refinement->trace.size() - 1
              << " validation gain " << fixed(fit.refinement->gain, 4) << "\n  rewarded share by courses taken:";
    for (const RewardSignal& row : fit.refinement->signal)
      std::cout << ' ' << row.courses << ": " << fixed(row.rewarded / row.weight, 4) << " (" << fixed(row.weight, 0)
                << ')';
  }
  std::cout << std::endl;
}

}  // namespace

int main(int count, char** arguments) try {
  if (count < 6) throw OptionError("refinement_gain TRAINING VALIDATION HOLD-OUT MODEL STATES [none]");
  const Cohort training = Cohort::load(arguments[1]), validation = Cohort::load(arguments[2]),
               hold_out = Cohort::load(arguments[3]);
  FitOptions options(arguments[4]);
  options.set("states", std::stoi(arguments[5])).set("calibrate", count < 7 ? "marginals" : "none");
  const Executor executor(2);
  TrainingContext context{executor};
  context.validation = &validation;
  const FitResult plain = fit_model(training, options, context);
  const HeldOut start = score(*plain.model, hold_out, executor);
  print("EM", plain, start, start, hold_out);
  options.set("refine", "policy-gradient");
  for (const std::string reward : {"surrogate", "exact"}) {
    options.set("reward", reward);
    const FitResult refined = fit_model(training, options, context);
    print(reward, refined, score(*refined.model, hold_out, executor), start, hold_out);
  }
  return 0;
} catch (const Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
