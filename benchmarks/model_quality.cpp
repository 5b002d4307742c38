// How good models are on students they have not seen: probability of their enrollments, sampled marginals, the middle
// period from the first and last.
//
//   model_quality COHORT SPEC... [--seeds 1,2,3] [--conditioning exact]
//
// SPEC is MODEL[+EMISSION][,SETTING=VALUE]..., settings as `fit` has them, such as gmm,states=4,calibrate=none. Each
// seed is a split of its own: training 70 %, validation 15 % (picks the iterate where learning climbs the mass),
// hold-out 15 %. Differences are to the first SPEC, student by student.
#include <cmath>
#include <ctime>
#include <iostream>

#include "benchmark_table.h"

#include "desirepath/core/error.h"
#include "desirepath/core/table.h"
#include "desirepath/core/text.h"
#include "desirepath/models/training.h"
#include "desirepath/queries/inference_accuracy.h"
#include "desirepath/queries/sample_error.h"
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

double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/// Squared distance of the model's exact shares of every (period, course) to the students', for students present as
/// they are.
double exact_error(const Model& model, const Cohort& like, const EnrollmentShares& truth, const Executor& executor) {
  const Schema& schema = model.schema();
  std::vector<Id> all;
  for (Id bit = 0; bit < schema.bit_count(); ++bit)
    all.push_back(bit);
  const RowMatrix shares = model.marginals(presence_of(like), all, executor).value;
  double error = 0;
  for (Id bit = 0; bit < schema.bit_count(); ++bit) {
    double sum = 0, count = 0;
    for (std::int64_t s = 0; s < like.student_count(); ++s) {
      if (!like.enrolled(s, schema.period_of(bit))) continue;
      sum += shares(s, bit);
      ++count;
    }
    error += std::pow(sum / std::max(1.0, count) - truth.bit[bit], 2);
  }
  return error;
}

/// Of the enrollments after the first period: those in a course the student had before.
double repeats(const EvidenceBatch& students) {
  double again = 0, all = 0;
  for (std::int64_t s = 0; s < students.student_count(); ++s) {
    std::vector<bool> had(static_cast<std::size_t>(students.course_count()), false);
    for (Id t = 0; t < students.period_count(); ++t) {
      for (const Id bit : students.taken(s, t)) {
        auto before = had[static_cast<std::size_t>(bit % students.course_count())];
        all += 1;
        again += before ? 1 : 0;
        before = true;
      }
    }
  }
  return again / std::max(1.0, all);
}

/// One model on one split.
struct Quality {
  double log_p = 0, by_course = 0, by_bit = 0, accuracy = 0, cross_entropy = 0, repeated = 0, fit_cpu = 0,
         score_cpu = 0;
  std::vector<double> student_log_p, student_entropy;
};

struct Moments {
  double mean = 0, standard_error = 0;
};
Moments moments_of(const std::vector<double>& values) {
  Moments found;
  const auto count = static_cast<double>(values.size());
  for (const double value : values)
    found.mean += value / count;
  for (const double value : values)
    found.standard_error += std::pow(value - found.mean, 2) / std::max(1.0, count - 1) / count;
  found.standard_error = std::sqrt(found.standard_error);
  return found;
}

void run(int count, char** arguments) {
  std::vector<std::string> specs;
  std::vector<std::uint64_t> seeds = {1};
  Conditioning conditioning = Conditioning::linear;
  for (int i = 2; i < count; ++i) {
    const std::string word = arguments[i];
    if (word == "--seeds") {
      seeds.clear();
      for (const std::string& seed : split(arguments[++i], ','))
        seeds.push_back(std::stoull(seed));
    } else if (word == "--conditioning") {
      conditioning = std::string(arguments[++i]) == "exact" ? Conditioning::exact : Conditioning::linear;
    } else {
      specs.push_back(word);
    }
  }
  const Cohort cohort = Cohort::load(arguments[1]);
  const bool has_middle = cohort.schema().period_count() > 2;
  const Executor executor(2);
  std::vector<std::vector<Quality>> found(specs.size());  // by spec and seed
  for (const std::uint64_t seed : seeds) {
    const Split parts = split_by_share(cohort, {0.15, 0.15}, RandomStream(seed).child("quality"));
    const Cohort training = cohort.select(parts.training), validation = cohort.select(parts.validation),
                 held_out = cohort.select(parts.hold_out);
    const EvidenceBatch evidence = EvidenceBatch::of(held_out);
    const EnrollmentShares truth = enrollment_shares(held_out);
    const SampleError floor = squared_distance(enrollment_shares(training), truth);
    std::cout << "split " << seed << ": " << training.student_count() << " training, " << validation.student_count()
              << " validation, " << held_out.student_count() << " held-out students; repeats among their enrollments "
              << fixed(repeats(evidence), 4) << '\n';
    for (std::size_t i = 0; i < specs.size(); ++i) {
      FitOptions options = parse_spec(specs[i]);
      options.seed = seed;
      TrainingContext context{executor};
      // A density picks no iterate for the mass.
      const EmissionFamily* emission = options.choice().emission;
      if (emission == nullptr || emission->name != "gaussian") context.validation = &validation;
      Quality& quality = found[i].emplace_back();
      double begin = cpu_seconds();
      const FitResult fit = fit_model(training, options, context);
      quality.fit_cpu = cpu_seconds() - begin;
      begin = cpu_seconds();
      const StudentScores score = score_students(*fit.model, evidence, fit.model->likelihood_kinds().front(), executor);
      quality.score_cpu = cpu_seconds() - begin;
      quality.log_p = score.mean();
      quality.student_log_p = score.log_likelihood;
      const int draws = 1 + static_cast<int>(100'000 / held_out.student_count());
      const SampleError error =
          squared_distance(model_shares(*fit.model, held_out, draws, RandomStream(seed), executor), truth);
      quality.by_course = error.by_course / floor.by_course;
      quality.by_bit = exact_error(*fit.model, held_out, truth, executor) / floor.by_bit;
      quality.repeated =
          repeats(fit.model->complete(presence_of(held_out), RandomStream(seed).child("repeats"), executor));
      if (has_middle) {
        const InferenceScore inference = infer_period(*fit.model, training, held_out, {}, executor, conditioning);
        quality.accuracy = inference.accuracy;
        quality.cross_entropy = inference.cross_entropy;
        quality.student_entropy = inference.student_entropy;
        if (i == 0)
          std::cout << "  middle period of " << inference.students << ": most frequent answer "
                    << fixed(inference.most_frequent, 4) << ", entropy of training shares "
                    << fixed(inference.marginal_entropy, 3) << "; an answer's probability counts as at least "
                    << shortest(inference.least_probability) << '\n';
      }
      std::cout << "  " << specs[i] << ": log P " << fixed(quality.log_p, 3) << ", by course "
                << fixed(quality.by_course, 2) << ", by bit " << fixed(quality.by_bit, 3) << ", accuracy "
                << fixed(quality.accuracy, 4) << ", cross-entropy " << fixed(quality.cross_entropy, 3) << ", repeats "
                << fixed(quality.repeated, 4) << "; CPU s " << fixed(quality.fit_cpu, 1) << " + "
                << fixed(quality.score_cpu, 1) << std::endl;
    }
  }
  const std::vector<Heading> columns = {{"model"},         {"log P", 2},  {"difference", 2}, {"s.e.", 2},
                                        {"by course", 1},  {"by bit", 2}, {"accuracy", 3},   {"cross-entropy", 2},
                                        {"difference", 2}, {"s.e.", 2},   {"repeats", 3},    {"fit CPU s", 1},
                                        {"score CPU s", 1}};
  std::vector<CellRow> rows;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    Quality mean;
    std::vector<double> log_p, entropy;
    const auto splits = static_cast<double>(seeds.size());
    for (std::size_t split = 0; split < seeds.size(); ++split) {
      const Quality& one = found[i][split];
      for (double Quality::*const field :
           {&Quality::log_p, &Quality::by_course, &Quality::by_bit, &Quality::accuracy, &Quality::cross_entropy,
            &Quality::repeated, &Quality::fit_cpu, &Quality::score_cpu})
        mean.*field += one.*field / splits;
      for (std::size_t s = 0; s < one.student_log_p.size(); ++s)
        log_p.push_back(one.student_log_p[s] - found[0][split].student_log_p[s]);
      for (std::size_t s = 0; s < one.student_entropy.size(); ++s)
        entropy.push_back(one.student_entropy[s] - found[0][split].student_entropy[s]);
    }
    const Moments by_log_p = moments_of(log_p), by_entropy = moments_of(entropy);
    rows.push_back({specs[i], mean.log_p, by_log_p.mean, by_log_p.standard_error, mean.by_course, mean.by_bit,
                    mean.accuracy, mean.cross_entropy, by_entropy.mean, by_entropy.standard_error, mean.repeated,
                    mean.fit_cpu, mean.score_cpu});
  }
  table_of(columns, std::move(rows)).print_text(std::cout);
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
