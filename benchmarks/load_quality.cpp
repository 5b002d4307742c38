// What tilting does to the loads that hidden course trees draw, and to how likely they find students they have not
// seen.
//
//   load_quality COHORT [--seeds 1,2] [--published]
//
// Each seed is a split of its own: 70 % training, 30 % held out. Draws are for students enrolled when the held-out ones
// are. Distances are total variation between distributions of loads, by period; floor: training against held-out. The
// error is that of the difference to the floor, by drawing training and held-out students anew. log P is of the
// held-out students, its gain over the untilted trees student by student.
#include <cmath>
#include <ctime>
#include <iostream>

#include "benchmark_table.h"

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/models/publication.h"
#include "desirepath/models/tilts_loads.h"
#include "desirepath/models/training.h"
#include "desirepath/queries/sample_error.h"
#include "desirepath/transcripts/split.h"

namespace desirepath {
namespace {

/// The loads of one period, student by student.
using PeriodLoads = std::vector<std::size_t>;

PeriodLoads loads_of(const EvidenceBatch& students, const Cohort& like, Id period) {
  PeriodLoads loads;
  for (std::int64_t s = 0; s < students.student_count(); ++s) {
    if (like.enrolled(s, period)) loads.push_back(students.taken(s, period).size());
  }
  return loads;
}

double total_variation(const PeriodLoads& one, const PeriodLoads& other) {
  std::vector<double> difference(512, 0);
  for (const std::size_t load : one)
    difference[std::min<std::size_t>(load, 511)] += 1 / static_cast<double>(one.size());
  for (const std::size_t load : other)
    difference[std::min<std::size_t>(load, 511)] -= 1 / static_cast<double>(other.size());
  double sum = 0;
  for (const double value : difference)
    sum += std::abs(value) / 2;
  return sum;
}

double spread_of(const PeriodLoads& loads) {
  double mean = 0, squares = 0;
  for (const std::size_t load : loads)
    mean += static_cast<double>(load) / static_cast<double>(loads.size());
  for (const std::size_t load : loads)
    squares += std::pow(static_cast<double>(load) - mean, 2) / static_cast<double>(loads.size());
  return std::sqrt(squares);
}

PeriodLoads drawn_anew(const PeriodLoads& loads, RandomStream& stream) {
  PeriodLoads result;
  for (std::size_t i = 0; i < loads.size(); ++i)
    result.push_back(loads[stream.below(loads.size())]);
  return result;
}

/// Of the difference between a distance to the held-out students and the floor.
double bootstrap_error(const PeriodLoads& drawn, const PeriodLoads& training, const PeriodLoads& held_out,
                       RandomStream stream) {
  constexpr int times = 200;
  double mean = 0, squares = 0;
  for (int i = 0; i < times; ++i) {
    const PeriodLoads others = drawn_anew(held_out, stream), learned = drawn_anew(training, stream);
    const double value = total_variation(drawn, others) - total_variation(learned, others);
    mean += value / times;
    squares += value * value / times;
  }
  return std::sqrt(std::max(0.0, squares - mean * mean));
}

double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

std::vector<PeriodLoads> drawn_loads(const Model& model, const Cohort& like, int times, const Executor& executor) {
  std::vector<PeriodLoads> loads(static_cast<std::size_t>(like.schema().period_count()));
  const EvidenceBatch known = presence_of(like);
  for (int i = 0; i < times; ++i) {
    const EvidenceBatch drawn = model.complete(known, RandomStream(1).child(static_cast<std::uint64_t>(i)), executor);
    for (std::size_t t = 0; t < loads.size(); ++t) {
      const PeriodLoads own = loads_of(drawn, like, static_cast<Id>(t));
      loads[t].insert(loads[t].end(), own.begin(), own.end());
    }
  }
  return loads;
}

void run(int count, char** arguments) {
  std::vector<std::uint64_t> seeds = {1};
  bool is_published = false;
  for (int i = 2; i < count; ++i) {
    const std::string word = arguments[i];
    if (word == "--published") is_published = true;
    if (word == "--seeds" && i + 1 < count) {
      seeds.clear();
      for (const std::string& seed : split(arguments[++i], ','))
        seeds.push_back(std::stoull(seed));
    }
  }
  const Cohort cohort = Cohort::load(arguments[1]);
  const Executor executor(2);
  std::vector<CellRow> rows;
  for (const std::uint64_t seed : seeds) {
    const Split parts = split_by_share(cohort, {0, 0.3}, RandomStream(seed).child("loads"));
    const Cohort training = cohort.select(parts.training), held_out = cohort.select(parts.hold_out);
    FitOptions options("hct");
    options.seed = seed;
    const TrainingContext context{executor};
    double begin = cpu_seconds();
    FitResult fit = fit_model(training, options, context);
    const double fit_cpu = cpu_seconds() - begin;
    if (is_published) publish(fit, {training, options, context});
    const auto* tilts = dynamic_cast<const TiltsLoads*>(fit.model.get());
    const Model& trees = untilted(*fit.model);
    const EvidenceBatch learned = EvidenceBatch::of(training), others = EvidenceBatch::of(held_out);
    begin = cpu_seconds();
    const std::unique_ptr<Model> again = tilts->tilted({learned}, RandomStream(seed), executor);
    const double tilt_cpu = cpu_seconds() - begin;
    begin = cpu_seconds();
    const Vector before = trees.log_likelihood(others, LikelihoodKind::mass, executor).value.col(0);
    const double score_cpu = cpu_seconds() - begin;
    begin = cpu_seconds();
    const Estimates after = fit.model->log_likelihood(others, LikelihoodKind::mass, executor);
    const double tilted_score_cpu = cpu_seconds() - begin;
    const Vector gain = after.value.col(0) - before;
    const double error = std::sqrt((gain.array() - gain.mean()).square().sum()) / static_cast<double>(gain.size());
    const int times = 1 + static_cast<int>(20'000 / held_out.student_count());
    begin = cpu_seconds();
    const std::vector<PeriodLoads> plain = drawn_loads(trees, held_out, times, executor);
    const double draw_cpu = cpu_seconds() - begin;
    begin = cpu_seconds();
    const std::vector<PeriodLoads> tilted = drawn_loads(*fit.model, held_out, times, executor);
    const double tilted_draw_cpu = cpu_seconds() - begin;
    std::cout << "split " << seed << ": " << training.student_count() << " training, " << held_out.student_count()
              << " held out; " << (tilts->is_tilted() ? "tilted" : "not tilted") << "; log P per student "
              << fixed(before.mean(), 3) << " to " << fixed(after.value.mean(), 3) << ", gain " << fixed(gain.mean(), 3)
              << " +- " << fixed(error, 3) << "\n  CPU s: fit " << fixed(fit_cpu, 1) << ", of it the tilt about "
              << fixed(tilt_cpu, 1) << "; score " << fixed(score_cpu, 2) << ", tilted " << fixed(tilted_score_cpu, 2)
              << "; " << times * held_out.student_count() << " draws " << fixed(draw_cpu, 1) << ", tilted "
              << fixed(tilted_draw_cpu, 1) << std::endl;
    for (Id t = 0; t < cohort.schema().period_count(); ++t) {
      const auto at = static_cast<std::size_t>(t);
      const PeriodLoads seen = loads_of(learned, training, t), real = loads_of(others, held_out, t);
      if (seen.empty() || real.empty()) continue;
      const double floor = total_variation(seen, real), distance = total_variation(tilted[at], real);
      const double bootstrap =
          bootstrap_error(tilted[at], seen, real, RandomStream(seed).child(static_cast<std::uint64_t>(t)));
      rows.push_back({static_cast<std::int64_t>(seed), cohort.schema().period(t), spread_of(real), spread_of(plain[at]),
                      spread_of(tilted[at]), floor, total_variation(plain[at], real), distance, bootstrap,
                      std::string(distance <= floor + std::max(0.03, 2 * bootstrap) ? "yes" : "no")});
    }
  }
  table_of({{"seed", 0},
            {"period"},
            {"s.d.", 2},
            {"trees s.d.", 2},
            {"tilted s.d.", 2},
            {"floor"},
            {"trees"},
            {"tilted"},
            {"error"},
            {"within"}},
           std::move(rows))
      .print_text(std::cout);
}

}  // namespace
}  // namespace desirepath

int main(int count, char** arguments) {
  if (count < 2) {
    std::cerr << "load_quality COHORT [--seeds 1,2] [--published]\n";
    return 2;
  }
  try {
    desirepath::run(count, arguments);
  } catch (const desirepath::Error& error) {
    std::cerr << "load_quality: " << error.what() << '\n';
    return error.exit_code();
  }
}
