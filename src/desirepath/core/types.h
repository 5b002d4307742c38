// The number and matrix types every module shares.
#pragma once

#include <cstdint>
#include <limits>

#include <Eigen/Core>

namespace desirepath::inline core {

using Index = Eigen::Index;
using Vector = Eigen::VectorXd;
/// Column-major; square things (covariances, transitions) live here.
using Matrix = Eigen::MatrixXd;
/// Row-major; "students by states" and everything else that is walked a row at a time.
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Number of a course, a bit, a state or a period. Student numbers and enrollment counts are std::int64_t.
using Id = std::int32_t;

inline constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace desirepath::inline core
