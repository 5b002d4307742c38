// Grades at the synthetic university.
#pragma once

#include <cstdint>
#include <string_view>

#include "desirepath/core/random_stream.h"

namespace desirepath::inline simulation {

/// The last is that of a term that is not over.
enum class SyntheticGrade : std::uint8_t { a, a_minus, b_plus, b, b_minus, c_plus, c, d, f, w, none_yet };
/// "A-"; empty where there is none yet.
std::string_view to_string(SyntheticGrade grade);
inline bool is_pass(SyntheticGrade grade) {
  return grade < SyntheticGrade::f;
}

/// W and F with their chances; other grades follow ambition.
SyntheticGrade draw_synthetic_grade(double withdrawal, double failure, double ambition, RandomStream& stream);

}  // namespace desirepath::inline simulation
