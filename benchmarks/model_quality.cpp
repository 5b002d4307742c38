// How good models are on students they have not seen: probability of their enrollments, sampled marginals, the middle
// period from the first and last.
//
//   model_quality COHORT SPEC... [--seed S]
//
// SPEC is MODEL[+EMISSION][,SETTING=VALUE...], settings as `desirepath fit --help` names them. Training 70 %,
// validation 15 % (picks the iterate where the training kind is the mass), hold-out 15 %.
#include <chrono>
#include <cmath>
#include <iostream>

#include "desirepath/core/error.h"
#include "desirepath/core/table.h"
#include "desirepath/core/text.h"
#include "desirepath/evaluation/inference_accuracy.h"
#include "desirepath/evaluation/sample_error.h"
#include "desirepath/models/training.h"
#include "desirepath/queries/student_scores.h"
#include "desirepath/transcripts/split.h"

namespace desirepath {
namespace {

FitOptions parse_spec(const std::string& spec) {
  const std::vector<std::string> parts = split(spec, ',');
  FitOptions options(parts[0]);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::vector<std::string> pair = split(parts[i], '=');
    if (pair.size() != 2) throw OptionError(concat("'", parts[i], "' is not SETTING=VALUE"));
    for (const Setting& known : options.known()) {
      if (known.name == pair[0]) options.set(pair[0], parse_setting(known, pair[1]));
    }
    if (!options.values().contains(pair[0])) throw OptionError(concat(parts[0], " has no setting '", pair[0], "'"));
  }
  return options;
}

/// Squared distance of the model's exact shares of every (period, course) to the students', for students present as
/// they are.
double exact_error(const Model& model, const EnrollmentShares& truth, const Compute& compute) {
  const Schema& schema = model.schema();
  const EvidenceBatch nobody(
      schema.period_count(), schema.course_count(), {"anyone"},
      std::vector<Presence>(static_cast<std::size_t>(schema.period_count()), Presence::unknown),
      BinaryMatrix(std::vector<std::int64_t>(static_cast<std::size_t>(schema.period_count()) + 1, 0), {},
                   schema.bit_count()),
      BinaryMatrix(std::vector<std::int64_t>(static_cast<std::size_t>(schema.period_count()) + 1, 0), {},
                   schema.bit_count()));
  std::vector<Id> all;
  for (Id bit = 0; bit < schema.bit_count(); ++bit)
    all.push_back(bit);
  const RowMatrix shares = model.marginals(nobody, all, compute).value;
  return (shares.row(0).transpose() - truth.bit).squaredNorm();
}

void run(int count, char** arguments) {
  std::vector<std::string> specs;
  std::uint64_t seed = 1;
  for (int i = 2; i < count; ++i) {
    if (std::string(arguments[i]) == "--seed")
      seed = std::stoull(arguments[++i]);
    else
      specs.emplace_back(arguments[i]);
  }
  const Cohort cohort = Cohort::load(arguments[1]);
  const Split parts = split_by_share(cohort, {0.15, 0.15}, RandomStream(seed).child("quality"));
  const Cohort training = cohort.select(parts.training), validation = cohort.select(parts.validation),
               held_out = cohort.select(parts.hold_out);
  const Compute compute(2);
  const EnrollmentShares truth = enrollment_shares(held_out), training_shares = enrollment_shares(training);
  const SampleError floor = squared_distance(training_shares, truth);
  std::cout << training.student_count() << " training, " << validation.student_count() << " validation, "
            << held_out.student_count() << " held-out students; " << cohort.schema().course_count() << " courses, "
            << cohort.schema().period_count() << " periods\n"
            << "floor of the sample error: " << shortest(floor.by_course) << " by course, " << shortest(floor.by_bit)
            << " by period and course\n";
  Table table({{"model"},
               {"held-out mass", 3},
               {"s.e.", 3},
               {"error/floor", 3},
               {"exact error/floor", 3},
               {"accuracy", 4},
               {"cross-entropy", 3},
               {"fit s", 1},
               {"iterations"}});
  for (const std::string& spec : specs) {
    FitOptions options = parse_spec(spec);
    options.seed = seed;
    TrainingContext context{compute};
    if (options.choice().emission->name != "gaussian") context.validation = &validation;
    const FitResult fit = fit_model(training, options, context);
    const StudentScores score =
        score_students(*fit.model, EvidenceBatch::of(held_out), fit.model->likelihood_kinds().front(), compute);
    const SampleError error =
        squared_distance(model_shares(*fit.model, held_out, 1 + static_cast<int>(100'000 / held_out.student_count()),
                                      RandomStream(seed), compute),
                         truth);
    const bool has_middle = cohort.schema().period_count() > 2;
    const InferenceScore inference =
        has_middle ? infer_period(*fit.model, training, held_out, {}, compute) : InferenceScore{};
    table.add_row({spec, score.mean(), score.standard_error_of_mean, error.by_course / floor.by_course,
                   exact_error(*fit.model, truth, compute) / floor.by_bit, inference.accuracy, inference.cross_entropy,
                   fit.seconds, static_cast<std::int64_t>(fit.iterations)});
    std::cerr << spec << ": " << fixed(score.mean(), 3) << "\n";
    if (&spec == &specs.back() && has_middle) {
      std::cout << "middle period: most frequent answer " << fixed(inference.most_frequent, 4)
                << ", entropy of training shares " << fixed(inference.marginal_entropy, 3) << ", " << inference.students
                << " students\n";
    }
  }
  table.print_text(std::cout, "");
}

}  // namespace
}  // namespace desirepath

int main(int count, char** arguments) {
  if (count < 3) {
    std::cerr << "model_quality COHORT SPEC...\n";
    return 2;
  }
  try {
    desirepath::run(count, arguments);
  } catch (const desirepath::Error& error) {
    std::cerr << "model_quality: " << error.what() << '\n';
    return error.exit_code();
  }
}
