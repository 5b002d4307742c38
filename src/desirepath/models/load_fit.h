// How the factors of loads are fitted: Newton steps on the log-likelihood of the students' loads under the tilted
// model, less a penalty on how the logs of the factors bend, with the model's own draws in place of its distribution.
#pragma once

#include <optional>

#include "desirepath/models/load_tilt.h"

namespace desirepath::inline models {

/// Loads that share a factor: the group of each load, by term. Larger loads than any in the list are in the last group.
class LoadGroups {
 public:
  /// What is behind a group: enough draws to normalise its factor; and where `least` is above 0, so many students, each
  /// of whom counts what `counted` says. The first and the last group of a term may be of fewer: then it is not told
  /// of how many, and they count as half of `least`.
  LoadGroups(std::span<const Loads> students, std::span<const Loads> draws, Id periods, double least = 0,
             std::span<const double> counted = {});
  Id term_count() const { return static_cast<Id>(group_of_.size()); }
  Index load_count(Id term) const { return std::ssize(group_of_[static_cast<std::size_t>(term)]); }
  Index group_count(Id term) const { return group_of_[static_cast<std::size_t>(term)].back() + 1; }
  Index of(Id term, Index courses) const {
    const std::vector<Index>& groups = group_of_[static_cast<std::size_t>(term)];
    return groups[static_cast<std::size_t>(std::min(courses, std::ssize(groups) - 1))];
  }
  /// Students a group counts as, where they are too few to be told of.
  std::optional<double> stands_for(Id term, Index group) const {
    const double own = stands_for_[static_cast<std::size_t>(term)][static_cast<std::size_t>(group)];
    return own > 0 ? std::optional(own) : std::nullopt;
  }

 private:
  std::vector<std::vector<Index>> group_of_;
  std::vector<std::vector<double>> stands_for_;
};

/// The likelihood of loads as a function of the logs of the factors, group by group, term by term.
class LoadProblem {
 public:
  /// What follows from the value at a point.
  struct Slope {
    Vector gradient;
    Matrix curvature;  // the negative second derivatives
  };
  LoadProblem(std::span<const Loads> students, std::span<const Loads> draws, LoadGroups groups);

  Index size() const { return begin_.back(); }
  /// Of the students' loads, in excess of that of the untilted model: 0 where all of them are 0.
  double log_likelihood(const Vector& log_factors) const;
  Slope slope(const Vector& log_factors) const;
  /// Minus half of the quadratic form of this is added to the log-likelihood: second differences, times `bend`.
  Matrix penalty(double bend) const { return penalty(bend, bend); }
  /// The same with another `bend` for the loads of leavers, who are fewer.
  Matrix penalty(double bend, double of_leavers) const;
  /// The best factors, found from these.
  Vector climb(const Matrix& penalty, Vector from) const;
  /// What a fit gains for students like these who were not part of it: the log-likelihood less the number of effective
  /// parameters, an approximation to leaving each student out. It weighs a student of weight 2 as two.
  double expected_gain(const Vector& log_factors, const Matrix& penalty) const;
  /// By load.
  std::vector<Vector> by_load(const Vector& log_factors) const;
  /// Weight of the students in each group.
  const Vector& students() const { return observed_; }
  Index begin(Id term) const { return begin_[static_cast<std::size_t>(term)]; }
  const LoadGroups& groups() const { return groups_; }

 private:
  /// Students whose loads have one normaliser, and the draws that give it.
  struct Part {
    double students = 0;
    std::size_t width = 0;            // terms
    std::vector<std::int32_t> place;  // `width` for each draw, of its groups among the factors
    std::vector<double> weight;       // of each draw; together 1
  };
  /// log of the mean product over the draws; the draws' shares in it, where they are asked for.
  static double log_mean(const Part& part, const Vector& log_factors, std::vector<double>* shares);

  LoadGroups groups_;
  std::vector<Index> begin_;  // of each term's factors
  std::vector<Part> parts_;
  Vector observed_;
};

struct LoadFitSettings {
  double least = 0;                      // students behind every factor, where the model is to be handed out
  std::span<const double> counted = {};  // what each student counts towards that; empty: one
  bool is_rounded = false;               // factors to as many digits as their standard error bears
};

/// Whether the enrolled students weigh as much as a hundred.
bool enough_for_loads(std::span<const Loads> students);
/// Factors with which the draws have the loads of the students. Nothing where the students are too few, or where it
/// would not help.
std::optional<LoadTilt> fit_load_tilt(std::span<const Loads> students, std::span<const Loads> draws, Id periods,
                                      const LoadFitSettings& settings = {});

}  // namespace desirepath::inline models
