#include "desirepath/probability/thresholded_factors.h"

#include <cmath>
#include <utility>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::inline probability {

namespace {

/// A whole number of packs of any width.
constexpr Index padding = 8;
constexpr double largest = 1e8;

}  // namespace

ThresholdedFactors::ThresholdedFactors(Vector thresholds, RowMatrix slopes)
    : thresholds_(std::move(thresholds)), slopes_(std::move(slopes)) {
  if (slopes_.rows() != thresholds_.size()) {
    throw InputError(
        concat("thresholded factors: ", thresholds_.size(), " thresholds but slopes of ", slopes_.rows(), " courses"));
  }
  // Written so that what is not a number is refused too.
  if (!((thresholds_.array().abs() <= largest).all() && (slopes_.array().abs() <= largest).all())) {
    throw InputError(
        "thresholded factors: a mean or loading is not finite, or above 1e8 standard deviations of its course's noise");
  }
  const Index padded = (course_count() + padding - 1) / padding * padding;
  padded_thresholds_ = Vector::Zero(padded);
  padded_thresholds_.head(course_count()) = thresholds_;
  padded_slopes_ = Matrix::Zero(padded, factor_count());
  padded_slopes_.topRows(course_count()) = slopes_;
}

ThresholdedFactors ThresholdedFactors::from_loadings(const Vector& mean, const RowMatrix& loadings,
                                                     const Vector& noise) {
  if (loadings.rows() != mean.size() || noise.size() != mean.size()) {
    throw InputError(concat("thresholded factors: mean, Lambda and D are of ", mean.size(), ", ", loadings.rows(),
                            " and ", noise.size(), " courses"));
  }
  for (Index j = 0; j < noise.size(); ++j) {
    if (!(noise[j] > 0)) {
      throw InputError(concat("thresholded factors: D[", j, "] is ", noise[j], "; a variance must be positive"));
    }
  }
  const Vector scale = noise.array().rsqrt();
  return {mean.cwiseProduct(scale), scale.asDiagonal() * loadings};
}

void check_signs(const KnownSigns& signs, Index course_count) {
  std::vector<bool> seen(static_cast<std::size_t>(course_count), false);
  for (const std::span<const Id> list : {signs.taken, signs.unknown}) {
    for (const Id course : list) {
      if (course < 0 || course >= course_count) {
        throw InputError(concat("course ", course, " is out of range: there are ", course_count));
      }
      if (seen[static_cast<std::size_t>(course)]) throw InputError(concat("course ", course, " is named twice"));
      seen[static_cast<std::size_t>(course)] = true;
    }
  }
}

}  // namespace desirepath::inline probability
