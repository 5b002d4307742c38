#include "desirepath/emissions/published_numbers.h"

#include <algorithm>
#include <cmath>

namespace desirepath::inline emissions {

namespace {
constexpr double least_sum = 1e-9;  // of a distribution
}  // namespace

double rounded_probability(double probability, double students) {
  const bool common = probability > 0.5;
  const double rare = common ? 1 - probability : probability;
  if (!(rare > 0) || !(students > 0)) return probability;
  const double error = std::sqrt(rare * (1 - rare) / students);
  // Digits of the smaller of p and 1 - p; a last one of the standard error's size, but never none.
  const double unit = std::pow(10.0, std::floor(std::log10(std::min(error, rare))));
  const double near = std::max(unit, std::round(rare / unit) * unit);
  return common ? 1 - near : near;
}

void round_distribution(Eigen::Ref<Vector> distribution, double students) {
  for (double& probability : distribution)
    probability = rounded_probability(probability, students);
  const double sum = distribution.sum();
  if (sum > 0) distribution /= sum;
}

namespace {

/// One of several distributions: what its outcomes of few students have together.
struct FewOutcomes {
  double students = 0;               // behind the distribution
  double count = 0;                  // of them, with such an outcome
  double disclosed = 0, pooled = 0;  // what the model gives to the others, and to these
  double usual = 0;                  // what is usual of these
  bool any = false, others = false;  // such outcomes, and others
};

template <class Row, class Counts>
FewOutcomes few_outcomes(const Row& distribution, const Counts& counts, const Vector& usual, double least) {
  FewOutcomes few;
  few.students = counts.sum();
  for (Index i = 0; i < distribution.size(); ++i) {
    if (!(distribution[i] > 0)) continue;
    if (counts[i] >= least) {
      few.disclosed += distribution[i];
      few.others = true;
      continue;
    }
    few.any = true;
    few.pooled += distribution[i];
    few.count += counts[i];
    few.usual += usual[i];
  }
  return few;
}

}  // namespace

Index publish_distributions(Eigen::Ref<RowMatrix> rows, const RowMatrix& counts, const Vector& usual, double least) {
  std::vector<FewOutcomes> found;
  double together = 0, among = 0;  // where they are few even together
  for (Index row = 0; row < rows.rows(); ++row) {
    found.push_back(few_outcomes(rows.row(row), counts.row(row), usual, least));
    const FewOutcomes& few = found.back();
    if (!few.any || !few.others || few.count >= least) continue;
    together += few.count;
    among += few.students;
  }
  const double few_mass =
      !(among > 0) ? 0 : std::min(0.5, (together >= least ? together : standing_for_few(least)) / among);
  Index replaced = 0;
  for (Index row = 0; row < rows.rows(); ++row) {
    const FewOutcomes& few = found[static_cast<std::size_t>(row)];
    Vector result = rows.row(row).transpose();
    if (few.any) {
      const double mass = !few.others ? 1 : few.count >= least ? few.pooled / (few.pooled + few.disclosed) : few_mass;
      for (Index i = 0; i < result.size(); ++i) {
        if (!(result[i] > 0)) continue;
        if (counts(row, i) >= least)
          result[i] *= (1 - mass) / few.disclosed;
        else
          result[i] = few.usual > 0 ? mass * usual[i] / few.usual : mass * result[i] / few.pooled;
      }
      if (!few.others) ++replaced;
    }
    if (few.others)
      round_distribution(result, few.students);
    else
      result /= std::max(result.sum(), least_sum);  // rounded as it is
    rows.row(row) = result.transpose();
  }
  return replaced;
}

Vector published_distribution(const Vector& distribution, const Vector& counts, double least) {
  Vector alike = Vector::Zero(distribution.size());
  for (Index i = 0; i < distribution.size(); ++i)
    alike[i] = distribution[i] > 0 ? 1 : 0;
  RowMatrix row = distribution.transpose();
  const bool is_usual = publish_distributions(row, counts.transpose(), alike, least) > 0;
  Vector result = row.row(0).transpose();
  if (is_usual) round_distribution(result, std::max(least, counts.sum()));
  return result;
}

}  // namespace desirepath::inline emissions
