// Whether groups of students differ by more than chance: their labels are permuted among students of the same entry
// year, which keeps everything else about the students, and about the years, as it is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "desirepath/compute/executor.h"
#include "desirepath/core/random_stream.h"
#include "desirepath/queries/chance.h"
#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline queries {

/// What is compared between groups, in students of one population: who is in a state in a period, how late each took a
/// course.
struct GroupMeasure {
  struct Value {
    std::int64_t student = 0;
    double value = 0;
  };
  std::size_t population = 0;
  std::vector<Value> values;  // of the students whose value is not 0
  bool is_share = false;      // values are 0 and 1: both must be expected in a group and outside it
};

/// The students compared, and how their labels may be permuted.
struct LabelledStudents {
  std::vector<Id> group, stratum;  // of each student, from 0
  std::vector<std::string> names;  // of the groups
};

/// One stratum per entry year; one for all where the cohort knows no years, or where they are what is compared.
std::vector<Id> label_strata(const Cohort& cohort, const std::string& by);

/// How chance is drawn.
struct LabelNull {
  std::vector<Id> strata;  // of each student, as label_strata()
  RandomStream stream;
  const Executor& executor;
};

class GroupDifferences {
 public:
  /// Populations: students with a value, 0 included.
  GroupDifferences(LabelledStudents students, std::vector<std::vector<std::int64_t>> populations,
                   std::vector<GroupMeasure> measures);

  /// How far a group differs from all others: the sum of its values less what permuted labels give on average, over the
  /// standard deviation that they give (that of Cochran, Mantel and Haenszel where values are 0 and 1). 0 where the
  /// plain difference of means points the other way; minus infinity where too few are expected to judge.
  double score(std::size_t measure, std::size_t group) const;

  struct Cell {
    std::size_t measure = 0, group = 0;
  };
  struct Chance {
    std::vector<double> q;      // one per cell asked about
    ChanceOfFindings findings;  // of two groups, both cells of a measure are one finding
  };
  Chance chance(const std::vector<Cell>& cells, const LabelNull& null) const;

  static constexpr std::int64_t null_sets = 999;

 private:
  struct Spread {
    double mean = 0, variance = 0;  // of one stratum's values; variance per (inside x outside)
  };
  std::vector<double> scores(const std::vector<Id>& group) const;
  std::vector<Id> permuted(RandomStream stream) const;
  std::size_t index(std::size_t measure, std::size_t group) const;

  LabelledStudents students_;
  std::size_t groups_, disclosed_groups_, strata_ = 1;  // told: of two groups one, which says all
  std::vector<std::vector<std::int64_t>> populations_, by_stratum_;
  std::vector<GroupMeasure> measures_;
  std::vector<std::int64_t> sizes_;  // populations by strata
  std::vector<Spread> spreads_;      // measures by strata
  std::vector<char> is_judged_;      // measures by told groups
  std::vector<double> scores_;
};

}  // namespace desirepath::inline queries
