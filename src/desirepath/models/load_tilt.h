// Loads as students have them: how many courses they take in a period.
//
// Real loads are narrower than those of any mixture, and another mixture on top only adds variance. So the model is
// tilted as a whole: P'(x) = P(x) prod_t g_t(n_t) / Z, n_t the number of courses in period t, over the periods S in
// which the student is enrolled; Z, the mean of the product over the model's own draws, makes every pattern of enrolled
// periods and of departure as probable as before. docs/models/hidden_tree.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "desirepath/core/archive.h"
#include "desirepath/core/types.h"

namespace desirepath::inline models {

/// What is known of students whose loads count alike: the periods that are tilted, and when they may have left.
struct LoadPattern {
  std::uint32_t enrolled = 0;  // bit t: period t
  std::uint32_t last = 0;      // bit d: the last period of enrollment may be d (from 0)
  auto operator<=>(const LoadPattern&) const = default;
};

/// Loads of one student or draw; those of other periods than the pattern's do not count.
struct Loads {
  LoadPattern pattern;
  std::vector<Id> courses;  // by period
};

class LoadTilt {
 public:
  /// log g, by period: of 0, 1 .. courses; the last holds for more. draws: of the model itself, whose last period is
  /// known.
  LoadTilt(std::vector<Vector> log_factors, const std::vector<Loads>& draws);
  /// Factors with which tilted draws have the loads of these students: smooth, by how well they describe students left
  /// out of the fit. Nothing where too few are known.
  static std::optional<LoadTilt> fit(std::span<const Loads> students, const std::vector<Loads>& draws, Id periods);

  Id period_count() const { return static_cast<Id>(log_factors_.size()); }
  double log_factor(Id period, Id courses) const {
    const Vector& factors = log_factors_[static_cast<std::size_t>(period)];
    return factors[std::min<Index>(courses, factors.size() - 1)];
  }
  /// Of the product over the pattern's periods.
  double log_normaliser(const LoadPattern& pattern) const;
  /// What tilting adds to log P.
  double log_weight(const Loads& loads) const;
  /// The largest product there can be over these periods.
  double log_bound(std::uint32_t periods) const;

  void save(ArchiveWriter& archive, const std::string& prefix) const;
  static LoadTilt load(const ArchiveReader& archive, const std::string& prefix);

 private:
  /// Draws that are alike.
  struct Drawn {
    Id last = 0;
    std::vector<Id> courses;
    double count = 0;
  };
  LoadTilt() = default;

  std::vector<Vector> log_factors_;
  std::vector<Drawn> draws_;
};

}  // namespace desirepath::inline models
