#include "desirepath/queries/inference_accuracy.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "desirepath/core/error.h"
#include "desirepath/queries/sample_error.h"
#include "desirepath/queries/trait_conditions.h"

namespace desirepath::inline queries {

std::vector<CalibrationBin> merge_calibration_bins(const std::vector<CalibrationBin>& bins,
                                                   const Disclosure& disclosure) {
  const auto is_disclosed = [&](const CalibrationBin& bin) {
    const std::int64_t hits = std::llround(bin.observed * static_cast<double>(bin.answers)),
                       misses = bin.answers - hits;
    return !disclosure.rests(static_cast<double>(bin.students.size())) ||
           !disclosure.allows(static_cast<double>(hits), static_cast<double>(hits + misses));
  };
  const auto join_into = [](CalibrationBin& into, const CalibrationBin& from) {
    const auto a = static_cast<double>(into.answers), b = static_cast<double>(from.answers);
    into.predicted = (into.predicted * a + from.predicted * b) / (a + b);
    into.observed = (into.observed * a + from.observed * b) / (a + b);
    into.answers += from.answers;
    std::vector<std::int64_t> both;
    std::ranges::set_union(into.students, from.students, std::back_inserter(both));
    into.students = std::move(both);
  };
  std::vector<CalibrationBin> disclosed;
  for (const CalibrationBin& bin : bins) {
    if (bin.answers > 0) disclosed.push_back(bin);
  }
  for (auto bad = std::ranges::find_if(disclosed, is_disclosed); bad != disclosed.end();
       bad = std::ranges::find_if(disclosed, is_disclosed)) {
    if (disclosed.size() == 1) return {};
    const auto next = bad + 1 == disclosed.end() ? bad - 1 : bad + 1;
    join_into(*next, *bad);
    disclosed.erase(bad);
  }
  return disclosed;
}

InferenceScore infer_period(const Model& model, const Cohort& training, const Cohort& students,
                            const InferenceTask& task, const Executor& executor, Conditioning conditioning) {
  const Schema& schema = model.schema();
  const Id courses = schema.course_count(), periods = schema.period_count();
  std::vector<Id> known = task.known;
  if (known.empty()) known = {0, static_cast<Id>(periods - 1)};
  if (task.period < 0 || task.period >= periods || std::ranges::find(known, task.period) != known.end())
    throw OptionError("inference: the period asked for must exist and not be among those given");
  std::vector<std::int64_t> chosen;
  for (std::int64_t s = 0; s < students.student_count(); ++s) {
    const bool whole =
        students.enrolled(s, task.period) && std::ranges::all_of(known, [&](Id t) { return students.enrolled(s, t); });
    if (whole) chosen.push_back(s);
  }
  InferenceScore score;
  score.students = static_cast<std::int64_t>(chosen.size());
  if (chosen.empty()) return score;
  const Cohort asked_of = students.select(chosen);
  std::vector<Id> hidden;
  for (Id t = 0; t < periods; ++t) {
    if (std::ranges::find(known, t) == known.end()) hidden.push_back(t);
  }
  std::vector<Id> asked(static_cast<std::size_t>(courses));
  std::iota(asked.begin(), asked.end(), task.period * courses);
  const RowMatrix found = model
                              .marginals(without_outcomes(EvidenceBatch::of(asked_of).without_periods(hidden)), asked,
                                         executor, conditioning)
                              .value;

  const Vector share = enrollment_shares(training).bit.segment(Index{task.period} * courses, courses);
  std::vector<Id> common(static_cast<std::size_t>(courses));
  std::iota(common.begin(), common.end(), 0);
  std::ranges::stable_sort(common, std::ranges::greater(), [&](Id course) { return share[course]; });
  common.resize(std::min(common.size(), task.courses));
  score.least_probability = 0.5 / static_cast<double>(training.student_count() + 1);
  const auto loss = [&](double p, bool taken) {
    return -std::log(std::clamp(taken ? p : 1 - p, score.least_probability, 1.0));
  };
  constexpr int bins = 10;
  score.bins.resize(bins);
  for (std::int64_t s = 0; s < score.students; ++s) {
    std::vector<bool> taken(static_cast<std::size_t>(courses), false);
    for (const Id bit : asked_of.bits(s, task.period))
      taken[static_cast<std::size_t>(schema.course_of(bit))] = true;
    for (const Id course : common) {
      const bool truth = taken[static_cast<std::size_t>(course)];
      score.accuracy += (found(s, course) > 0.5) == truth ? 1 : 0;
      score.most_frequent += (share[course] > 0.5) == truth ? 1 : 0;
    }
    double own = 0;
    for (Id course = 0; course < courses; ++course) {
      own += loss(found(s, course), taken[static_cast<std::size_t>(course)]);
      score.marginal_entropy += loss(share[course], taken[static_cast<std::size_t>(course)]);
      CalibrationBin& bin =
          score.bins[static_cast<std::size_t>(std::clamp(static_cast<int>(bins * found(s, course)), 0, bins - 1))];
      bin.predicted += found(s, course);
      bin.observed += taken[static_cast<std::size_t>(course)] ? 1 : 0;
      ++bin.answers;
      if (bin.students.empty() || bin.students.back() != s) bin.students.push_back(s);
    }
    score.student_entropy.push_back(own);
    score.cross_entropy += own;
  }
  for (CalibrationBin& bin : score.bins) {
    bin.predicted /= std::max(1.0, static_cast<double>(bin.answers));
    bin.observed /= std::max(1.0, static_cast<double>(bin.answers));
  }
  const auto count = static_cast<double>(score.students);
  score.accuracy /= count * static_cast<double>(common.size());
  score.most_frequent /= count * static_cast<double>(common.size());
  score.cross_entropy /= count;
  score.marginal_entropy /= count;
  return score;
}

Table calibration_table(std::vector<CalibrationBin> bins, int decimals) {
  using Row = CalibrationBin;
  const Look if_picked = share(decimals, {.shown = Shown::if_picked});
  return {std::move(bins),
          {{"predicted", &Row::predicted, share(decimals)},
           {"observed", &Row::observed, share(decimals)},
           {"low", [](const Row& row) { return row.interval().low; }, if_picked},
           {"high", [](const Row& row) { return row.interval().high; }, if_picked},
           {"answers", &Row::answers, {.unit = "answers"}}}};
}

}  // namespace desirepath::inline queries
