#include "desirepath/simulation/synthetic_grades.h"

#include <algorithm>
#include <array>

#include "desirepath/simulation/weight_table.h"

namespace desirepath::inline simulation {

std::string_view to_string(SyntheticGrade grade) {
  static constexpr std::array<std::string_view, 11> letters = {"A", "A-", "B+", "B", "B-", "C+",
                                                               "C", "D",  "F",  "W", ""};
  return letters.at(static_cast<std::size_t>(grade));
}

SyntheticGrade draw_synthetic_grade(double withdrawal, double failure, double ambition, RandomStream& stream) {
  const double fate = stream.uniform();
  if (fate < withdrawal) return SyntheticGrade::w;
  if (fate < withdrawal + failure) return SyntheticGrade::f;
  static constexpr std::array<double, 7> least = {0.55, 0.1, -0.2, -0.6, -0.95, -1.25, -1.65};
  const double score = 0.7 * bell(stream) + 0.45 * ambition;
  const auto reached = std::ranges::find_if(least, [&](double bound) { return score > bound; });
  return static_cast<SyntheticGrade>(reached - least.begin());
}

}  // namespace desirepath::inline simulation
