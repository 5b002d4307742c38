// What chance alone would give: q-values of a list of findings against null data sets, or from p-values.
//
// A finding has a score; larger is stronger. The same rules decide in real and in null data what gets a score, so that
// with nothing there the real data set is one more of its null data sets.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "desirepath/core/answer.h"
#include "desirepath/core/settings.h"

namespace desirepath::inline queries {

/// The largest q of a finding that is listed.
struct ChanceSettings {
  double q = 0.05;
  /// As the setting q.
  void declare(SettingVisitor& visit);
};

/// A list that is cut at some q.
struct FindingCount {
  std::int64_t findings = 0;
  double by_chance = 0;  // expected number at the same cut with nothing there
};

struct ChanceOfFindings {
  // One per finding, in the order in which their scores were given.
  std::vector<double> q;
  std::vector<double> by_chance;  // expected number as strong as this one with nothing there

  FindingCount cut(double most_q) const;
};

/// Counts how often scores of null data sets reach those of the findings.
class NullCounts {
 public:
  /// Minus infinity: no finding, whatever null data say (q is 1).
  explicit NullCounts(std::vector<double> scores);

  /// All scores of one null data set. May be called from any thread: the counts are the same in any order.
  void add(const std::vector<double>& null_scores);

  /// q(t) = (1 + null scores at or above t) / (1 + null data sets) / (findings at or above t), at most 1, and no more
  /// than that of a weaker finding.
  ChanceOfFindings chance() const;

 private:
  std::vector<double> scores_, ascending_;
  std::vector<std::int64_t> reached_;  // [i]: null scores that reach exactly i of the findings
  std::int64_t sets_ = 0;
  std::mutex mutex_;
};

/// The same from p-values that are known to be nominal, by Benjamini and Hochberg; `tests` of them were made, of which
/// those that are not given are larger.
ChanceOfFindings chance_from_p_values(const std::vector<double>& p_values, std::int64_t tests);

struct Interval {
  double low = 0, high = 0;
};
/// Wilson's, 95 %: never empty, not even of 0 of n.
Interval share_interval(double share, double of);

/// How many times their standard errors estimates are spread, by the middle one: 1 where the model is true; more where
/// it is not quite, for then nearly all of them are off (genomic control, Devlin and Roeder 1999). At least 1.
/// `in_errors`: each estimate in standard errors, 0 expected.
double misfit(std::vector<double> in_errors);

/// The fields findings and by_chance.
void set_findings(Answer& answer, const FindingCount& found);

/// To two digits: more would only tell of single students.
double rounded_chance(double value);

/// "21 pairs; about 2 would appear by chance"
std::string chance_words(const FindingCount& count, std::string_view one, std::string_view many);

}  // namespace desirepath::inline queries
