#include "desirepath/emissions/carried_bernoulli.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "desirepath/core/error.h"

namespace desirepath::inline emissions {

CarriedBernoulliEmission::CarriedBernoulliEmission(RowMatrix first, RowMatrix again)
    : first_(std::move(first)), again_(std::move(again)) {
  const Index states = first_.cols();
  const CourseMarks marks = this->marks();
  assert(again_.size() == 0 || (again_.rows() == first_.rows() && again_.cols() == states));
  base_.resize(1, states);
  marks_.resize(marks.count(), states);
  for (Id course = 0; course < marks.courses; ++course) {
    for (Index k = 0; k < states; ++k) {
      const double p = first_(course, k), q = this->again()(course, k);
      if (!(p >= 0 && p <= 1 && q >= 0 && q <= 1)) throw NumericalError("Bernoulli: a probability outside 0 .. 1");
      const LogScore no = LogScore::of(1 - p), not_again = LogScore::of(1 - q);
      base_.set(0, k, base_.get(0, k) + no);
      marks_.set(marks.first(course), k, LogScore::of(p) - no);
      marks_.set(marks.had(course), k, not_again - no);
      marks_.set(marks.again(course), k, LogScore::of(q) - not_again);
    }
  }
  base_.drop_empty_counts();
  marks_.drop_empty_counts();
}

std::unique_ptr<CarriedBernoulliEmission> CarriedBernoulliEmission::load(const ArchiveReader& archive,
                                                                         const std::string& prefix) {
  RowMatrix first = archive.read_matrix(prefix + ".first"), again;
  if (archive.has(prefix + ".again")) again = archive.read_matrix(prefix + ".again");
  const auto sound = [](const RowMatrix& shares) { return ((shares.array() >= 0) && (shares.array() <= 1)).all(); };
  if (!sound(first) || !sound(again)) archive.refuse("damaged: a probability outside 0 .. 1");
  if (again.size() > 0 && (again.rows() != first.rows() || again.cols() != first.cols()))
    archive.refuse("damaged: probabilities of other courses or states");
  return std::make_unique<CarriedBernoulliEmission>(std::move(first), std::move(again));
}

std::span<const LikelihoodKind> CarriedBernoulliEmission::likelihood_kinds() const {
  static constexpr std::array kinds = {LikelihoodKind::mass};
  return kinds;
}

RowScores CarriedBernoulliEmission::score(const StepRows& rows, LikelihoodKind, Precision,
                                          const Executor& executor) const {
  assert(rows.all_known() && rows.bit_count() == bit_count());
  return summed_scores(rows, base_, marks_, executor);
}

std::unique_ptr<GivenPattern> CarriedBernoulliEmission::given(const UnknownBits&) const {
  throw InputError("carry-over: what was had before is not known");
}

RowMatrix CarriedBernoulliEmission::bit_probabilities() const {
  RowMatrix both(2 * first_.rows(), first_.cols());
  both << first_, again();
  return both;
}

std::unique_ptr<Emission> CarriedBernoulliEmission::reordered(std::span<const Id> order) const {
  const auto columns = [&](const RowMatrix& shares) {
    RowMatrix result(shares.rows(), static_cast<Index>(order.size()));
    for (std::size_t k = 0; k < order.size() && shares.size() > 0; ++k)
      result.col(static_cast<Index>(k)) = shares.col(order[k]);
    return result;
  };
  return std::make_unique<CarriedBernoulliEmission>(columns(first_), columns(again_));
}

void CarriedBernoulliEmission::save(ArchiveWriter& archive, const std::string& prefix) const {
  archive.add(prefix + ".first", first_);
  if (again_.size() > 0) archive.add(prefix + ".again", again_);
}

namespace {

/// Students added to a state's share of those who take a course again, in pseudocounts: ten times a course's own two,
/// since so much fewer students stand behind it. Measured on held-out students; from 10 to 30 hardly differ.
constexpr double again_weight = 20;

/// How often a course is taken again by those who had it, all students together: where the probability of a state is
/// drawn to, since few of its students had any one course. Courses few had lean on the others.
Vector shares_again(const RowSurvey& survey) {
  const RowMatrix& counts = survey.sums.table(1);
  const Vector had = counts.row(0).transpose(), again = counts.row(1).transpose();
  const double all = (again.sum() + 0.5) / (had.sum() + 1);
  return (again.array() + all) / (had.array() + 1);
}

}  // namespace

RowSurvey CarriedBernoulliLearner::survey(const StepRows& rows) const {
  const CourseMarks marks{rows.bit_count() / 3};
  const std::span<const double> weights = rows.weights();
  const auto weight_of = [&](Id mark) {
    double sum = 0;
    for (const ColumnEntry& entry : rows.column(mark))
      sum += weights.empty() ? 1 : weights[static_cast<std::size_t>(entry.row)];
    return sum;
  };
  RowMatrix counts(3, marks.courses);  // had before, taken again, rows that had it
  for (Id course = 0; course < marks.courses; ++course) {
    counts(0, course) = weight_of(marks.had(course));
    counts(1, course) = weight_of(marks.again(course));
    counts(2, course) = static_cast<double>(rows.column(marks.had(course)).size());
  }
  RowSurvey survey(rows);
  survey.sums.add(std::move(counts));
  return survey;
}

std::unique_ptr<EmissionStep> CarriedBernoulliLearner::step(const RowSurvey& survey, const Emission&) const {
  return first_step(survey, 0, RandomStream(0));  // which nothing is drawn for
}

std::unique_ptr<EmissionStep> CarriedBernoulliLearner::first_step(const RowSurvey& survey, Id,
                                                                  const RandomStream&) const {
  const auto count = [](const StepRows& rows, const RowMatrix& responsibilities, const Executor& executor) {
    return to_statistics(count_bits(rows, responsibilities, executor));
  };
  const auto maximise = [this, &survey](Statistics sums, const Executor&) {
    const BitCounts counts = to_bit_counts(std::move(sums));
    const CourseMarks marks{static_cast<Id>(counts.taken.rows()) / 3};
    const Index states = counts.taken.cols();
    const auto share = [](double taken, double of, double added_taken, double added) {
      const double weight = of + added;
      // A state without students keeps to even odds until it is re-seeded.
      return weight > 0 ? std::clamp((taken + added_taken) / weight, 0.0, 1.0) : 0.5;
    };
    const Vector expected = shares_again(survey);
    const bool has_history = (survey.sums.table(1).row(2).array() > 0).any();
    RowMatrix first(marks.courses, states), again(has_history ? marks.courses : 0, states);
    for (Id course = 0; course < marks.courses; ++course) {
      for (Index k = 0; k < states; ++k) {
        const double had = counts.taken(marks.had(course), k);
        first(course, k) =
            share(counts.taken(marks.first(course), k), std::max(0.0, counts.known(marks.had(course), k) - had),
                  pseudocount_, 2 * pseudocount_);
        if (has_history) {
          const double added = again_weight * pseudocount_;
          again(course, k) = share(counts.taken(marks.again(course), k), had, added * expected[course], added);
        }
      }
    }
    return std::make_unique<CarriedBernoulliEmission>(std::move(first), std::move(again));
  };
  return one_round(count, maximise);
}

std::optional<std::string> CarriedBernoulliLearner::incompatibility(const Emission& emission) const {
  if (offered<ReadsHistory>(emission)) return std::nullopt;
  return "no carry-over";
}

double CarriedBernoulliLearner::log_prior(const RowSurvey& survey, const Emission& emission) const {
  if (pseudocount_ == 0) return 0;
  const auto& carried = dynamic_cast<const CarriedBernoulliEmission&>(emission);
  const RowMatrix& first = carried.first();
  double sum = (first.array().log() + (-first.array()).log1p()).sum();
  // Where nothing comes before there is no second set of numbers.
  if (carried.parameter_count() == first.size()) return pseudocount_ * sum;
  const RowMatrix& again = carried.again();
  const Vector expected = shares_again(survey);
  for (Index course = 0; course < again.rows(); ++course) {
    sum += again_weight * (expected[course] * again.row(course).array().log().sum() +
                           (1 - expected[course]) * (-again.row(course).array()).log1p().sum());
  }
  return pseudocount_ * sum;
}

double CarriedBernoulliLearner::memory_estimate(Id bits, Id states, int) const {
  return 8.0 * 3 * bits * states * 8;
}

double CarriedBernoulliLearner::work_estimate(const StepRows& rows, Id states) const {
  return 2.0 * static_cast<double>(rows.all_taken().one_count()) * states + 30.0 * rows.bit_count() * states;
}

}  // namespace desirepath::inline emissions
