#include "desirepath/emissions/bernoulli.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "desirepath/core/error.h"
#include "desirepath/emissions/carried_bernoulli.h"
#include "desirepath/emissions/hidden_tree.h"

namespace desirepath::inline emissions {

BernoulliEmission::BernoulliEmission(RowMatrix probability) : probability_(std::move(probability)) {
  const Index bits = probability_.rows(), states = probability_.cols();
  taken_.resize(bits, states);
  not_taken_.resize(bits, states);
  base_.resize(1, states);
  for (Index j = 0; j < bits; ++j) {
    for (Index k = 0; k < states; ++k) {
      const double p = probability_(j, k);
      if (!(p >= 0 && p <= 1)) throw NumericalError("Bernoulli: a probability outside 0 .. 1");
      const LogScore no = LogScore::of(1 - p);
      taken_.set(j, k, LogScore::of(p) - no);
      not_taken_.set(j, k, no);
      base_.set(0, k, base_.get(0, k) + no);
    }
  }
  base_.drop_empty_counts();
  taken_.drop_empty_counts();
  not_taken_.drop_empty_counts();
}

std::unique_ptr<BernoulliEmission> BernoulliEmission::load(const ArchiveReader& archive, const std::string& prefix) {
  RowMatrix probability = archive.read_matrix(prefix + ".probability");
  if (!((probability.array() >= 0) && (probability.array() <= 1)).all())
    archive.refuse("damaged: a probability outside 0 .. 1");
  return std::make_unique<BernoulliEmission>(std::move(probability));
}

std::span<const LikelihoodKind> BernoulliEmission::likelihood_kinds() const {
  static constexpr std::array kinds = {LikelihoodKind::mass};
  return kinds;
}

RowScores summed_scores(const StepRows& rows, const LogScoreTable& base, const LogScoreTable& taken,
                        const Executor& executor) {
  const Index states = base.finite.cols();
  const bool zeros = taken.has_zeros() || base.has_zeros();
  RowScores scores;
  scores.log_likelihood.resize(rows.row_count(), states);
  executor.for_blocks(rows.row_count(), 512, [&](Range range) {
    Eigen::RowVectorXd counts(states);
    for (std::int64_t row = range.first; row < range.last; ++row) {
      auto target = scores.log_likelihood.row(row);
      target = base.finite.row(rows.pattern_of(row));
      for (const Id bit : rows.taken(row))
        target += taken.finite.row(bit);
      if (!zeros) continue;
      counts.setZero();
      if (base.has_zeros()) counts = base.zeros.row(rows.pattern_of(row));
      if (taken.has_zeros()) {
        for (const Id bit : rows.taken(row))
          counts += taken.zeros.row(bit);
      }
      for (Index k = 0; k < states; ++k) {
        if (counts[k] > 0.5) target[k] = -infinity;
      }
    }
  });
  return scores;
}

RowScores BernoulliEmission::score(const StepRows& rows, LikelihoodKind, Precision, const Executor& executor) const {
  if (rows.all_known()) return summed_scores(rows, base_, taken_, executor);
  // The base of a pattern lacks its unknown bits. Where one of them counts a zero, so does the base.
  LogScoreTable base{base_.finite.replicate(rows.pattern_count(), 1), {}};
  if (base_.has_zeros()) base.zeros = base_.zeros.replicate(rows.pattern_count(), 1);
  for (Id p = 1; p < rows.pattern_count(); ++p) {
    for (const Id bit : rows.unknown(p).bits) {
      base.finite.row(p) -= not_taken_.finite.row(bit);
      if (not_taken_.has_zeros()) base.zeros.row(p) -= not_taken_.zeros.row(bit);
    }
  }
  return summed_scores(rows, base, taken_, executor);
}

namespace {

class BernoulliGiven : public GivenPattern {
 public:
  BernoulliGiven(const RowMatrix& probability, const UnknownBits& unknown)
      : probability_(probability), unknown_(unknown) {}

  void marginals(std::span<const Id> taken, std::span<const Id> asked, Eigen::Ref<RowMatrix> out) const override {
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const auto column = static_cast<Index>(i);
      if (unknown_.contains(asked[i])) {
        out.col(column) = probability_.row(asked[i]).transpose();
      } else {
        out.col(column).setConstant(std::ranges::binary_search(taken, asked[i]) ? 1 : 0);
      }
    }
  }
  void complete(std::span<const Id> taken, Id state, RandomStream& stream, std::vector<Id>& result) const override {
    result.assign(taken.begin(), taken.end());
    for (const Id bit : unknown_.bits) {
      if (stream.bernoulli(probability_(bit, state))) result.push_back(bit);
    }
    std::ranges::sort(result);
  }

 private:
  const RowMatrix& probability_;
  const UnknownBits& unknown_;
};

}  // namespace

std::unique_ptr<GivenPattern> BernoulliEmission::given(const UnknownBits& unknown) const {
  return std::make_unique<BernoulliGiven>(probability_, unknown);
}

std::unique_ptr<Emission> BernoulliEmission::reordered(std::span<const Id> order) const {
  RowMatrix probability(probability_.rows(), static_cast<Index>(order.size()));
  for (std::size_t k = 0; k < order.size(); ++k)
    probability.col(static_cast<Index>(k)) = probability_.col(order[k]);
  return std::make_unique<BernoulliEmission>(std::move(probability));
}

void BernoulliEmission::save(ArchiveWriter& archive, const std::string& prefix) const {
  archive.add(prefix + ".probability", probability_);
}

RowMatrix weights_by_pattern(const StepRows& rows, const RowMatrix& responsibilities, const Executor& executor) {
  const Index states = responsibilities.cols(), patterns = rows.pattern_count();
  const Vector sums = executor.sum_over(rows.row_count(), patterns * states, [&](Range range, Vector& sum) {
    for (std::int64_t row = range.first; row < range.last; ++row)
      sum.segment(rows.pattern_of(row) * states, states) += responsibilities.row(row).transpose();
  });
  return Eigen::Map<const RowMatrix>(sums.data(), patterns, states);
}

BitCounts count_bits(const StepRows& rows, const RowMatrix& responsibilities, const Executor& executor) {
  const Index bits = rows.bit_count(), states = responsibilities.cols();
  // Weight of each pattern; what a pattern knows, it knows of all bits it does not list.
  const Index patterns = rows.pattern_count();
  const RowMatrix weights = weights_by_pattern(rows, responsibilities, executor);
  const Eigen::RowVectorXd total = weights.colwise().sum();
  BitCounts counts{RowMatrix::Zero(bits, states), total.replicate(bits, 1)};
  for (Index p = 1; p < patterns; ++p) {
    for (const Id bit : rows.unknown(static_cast<Id>(p)).bits)
      counts.known.row(bit) -= weights.row(p);
  }
  counts.known = counts.known.cwiseMax(0);  // rounding of the subtraction
  if (fits_a_block(bits * states)) {
    const Vector sums = executor.sum_over(rows.row_count(), bits * states, [&](Range range, Vector& sum) {
      Eigen::Map<RowMatrix> taken(sum.data(), bits, states);
      for (std::int64_t row = range.first; row < range.last; ++row) {
        for (const Id bit : rows.taken(row))
          taken.row(bit) += responsibilities.row(row);
      }
    });
    counts.taken = Eigen::Map<const RowMatrix>(sums.data(), bits, states);
    return counts;
  }
  executor.for_blocks(bits, 8, [&](Range range) {
    for (auto bit = static_cast<Id>(range.first); bit < range.last; ++bit) {
      auto sum = counts.taken.row(bit);
      for (const ColumnEntry& entry : rows.column(bit))
        sum += responsibilities.row(entry.row);
    }
  });
  return counts;
}

Statistics to_statistics(BitCounts counts) {
  Statistics sums;
  sums.add(std::move(counts.taken));
  sums.add(std::move(counts.known));
  return sums;
}

BitCounts to_bit_counts(Statistics sums) {
  return {std::move(sums.table(0)), std::move(sums.table(1))};
}

RowMatrix bernoulli_shares(BitCounts counts, double a) {
  RowMatrix& probability = counts.taken;
  for (Index j = 0; j < probability.rows(); ++j) {
    for (Index k = 0; k < probability.cols(); ++k) {
      const double weight = counts.known(j, k) + 2 * a;
      // A state without students keeps to even odds until it is re-seeded.
      const double p = weight > 0 ? (probability(j, k) + a) / weight : 0.5;
      probability(j, k) = std::min(1.0, std::max(0.0, p));
    }
  }
  return std::move(probability);
}

std::unique_ptr<EmissionStep> BernoulliLearner::step(const RowSurvey& survey, const Emission&) const {
  return first_step(survey, 0, RandomStream(0));  // which nothing is drawn for
}

std::unique_ptr<EmissionStep> BernoulliLearner::first_step(const RowSurvey&, Id, const RandomStream&) const {
  const auto count = [](const StepRows& rows, const RowMatrix& responsibilities, const Executor& executor) {
    return to_statistics(count_bits(rows, responsibilities, executor));
  };
  const auto maximise = [a = options_.pseudocount](Statistics sums, const Executor&) {
    return std::make_unique<BernoulliEmission>(bernoulli_shares(to_bit_counts(std::move(sums)), a));
  };
  return one_round(count, maximise);
}

namespace {

class BernoulliLeftOut : public LeftOut {
 public:
  BernoulliLeftOut(const StepRows& rows, BitCounts counts, double pseudocount)
      : rows_(rows), counts_(std::move(counts)), pseudocount_(pseudocount) {}

  void score(std::span<const std::int32_t> rows, const RowMatrix& weights, RowMatrix& out) const override {
    // Counts without the rows, bit by bit; a product of up to 16 shares stays far from underflow.
    const Id bits = rows_.bit_count();
    const Index states = weights.cols(), count = weights.rows();
    const double a = pseudocount_;
    out.setZero(count, states);
    RowMatrix product = RowMatrix::Ones(count, states);
    std::vector<std::size_t> next(rows.size(), 0);  // place among the row's taken bits
    std::vector<char> known(rows.size()), takes(rows.size());
    Eigen::ArrayXXd weight(1, states), taken(1, states), not_taken(1, states);
    for (Id bit = 0; bit < bits; ++bit) {
      weight = counts_.known.row(bit).array() + 2 * a;
      taken = counts_.taken.row(bit).array() + a;
      for (std::size_t r = 0; r < rows.size(); ++r) {
        const auto row = static_cast<Index>(r);
        const auto bits_taken = rows_.taken(rows[r]);
        known[r] = rows_.unknown(rows_.pattern_of(rows[r])).contains(bit) ? 0 : 1;
        takes[r] = next[r] < bits_taken.size() && bits_taken[next[r]] == bit ? 1 : 0;
        if (takes[r]) {
          ++next[r];
          taken -= weights.row(row).array();
        }
        if (known[r]) weight -= weights.row(row).array();
      }
      // What is left after subtracting all there was is rounding, not a count; and a state nobody else is in keeps to
      // even odds.
      const double noise = 1e-13;
      taken = (taken - a > noise * counts_.taken.row(bit).array()).select(taken, a);
      not_taken = weight - taken;
      not_taken = (not_taken - a > noise * counts_.known.row(bit).array()).select(not_taken, a);
      weight = taken + not_taken;
      for (Index k = 0; k < states; ++k) {
        if (!(weight(0, k) > 0)) {
          weight(0, k) = 1;
          taken(0, k) = not_taken(0, k) = 0.5;
        }
      }
      for (std::size_t r = 0; r < rows.size(); ++r) {
        if (!known[r]) continue;
        if (takes[r])
          product.row(static_cast<Index>(r)).array() *= taken / weight;
        else
          product.row(static_cast<Index>(r)).array() *= not_taken / weight;
      }
      if (bit % 16 == 15 || bit + 1 == bits) {
        for (Index i = 0; i < product.size(); ++i)
          out.data()[i] += product.data()[i] > 0 ? std::log(product.data()[i]) : -infinity;
        product.setOnes();
      }
    }
  }

 private:
  const StepRows& rows_;
  BitCounts counts_;
  double pseudocount_;
};

}  // namespace

std::unique_ptr<LeftOut> BernoulliLearner::leave_out(const StepRows& rows, Statistics sums, const RowSurvey&,
                                                     const Emission&) const {
  return std::make_unique<BernoulliLeftOut>(rows, to_bit_counts(std::move(sums)), options_.pseudocount);
}

std::optional<std::string> BernoulliLearner::incompatibility(const Emission& emission) const {
  if (dynamic_cast<const BernoulliEmission*>(&emission) != nullptr) return std::nullopt;
  return "carry-over";
}

double BernoulliLearner::log_prior(const RowSurvey&, const Emission& emission) const {
  if (options_.pseudocount == 0) return 0;
  const RowMatrix& p = dynamic_cast<const BernoulliEmission&>(emission).probability();
  double sum = 0;
  for (Index j = 0; j < p.rows(); ++j) {
    for (Index k = 0; k < p.cols(); ++k)
      sum += std::log(p(j, k)) + std::log1p(-p(j, k));
  }
  return options_.pseudocount * sum;
}

double BernoulliLearner::memory_estimate(Id bits, Id states, int) const {
  return 8.0 * bits * states * 8;
}

double BernoulliLearner::work_estimate(const StepRows& rows, Id states) const {
  return 2.0 * static_cast<double>(rows.all_taken().one_count()) * states + 30.0 * rows.bit_count() * states;
}

namespace {

/// In a step of several periods, independent courses whose timings have probabilities, with retakes: a hidden tree
/// without hidden values. Steps of one period are told what was taken before.
std::unique_ptr<EmissionLearner> carry_over_learner(const BernoulliOptions& options, const StepShape& shape) {
  if (shape.periods == 1) return std::make_unique<CarriedBernoulliLearner>(options.pseudocount);
  HiddenTreeOptions timings;
  timings.tree_states = 1;
  timings.link_prior = 1;
  timings.timing_prior = 2 * options.pseudocount * shape.periods;
  timings.retake_prior = 2 * options.pseudocount;
  return std::make_unique<HiddenTreeLearner>(timings, shape);
}

}  // namespace

EmissionFamily bernoulli_family() {
  return {std::string(BernoulliEmission::family_name),
          "courses independent of each other in a state",
          declaration_of<BernoulliOptions>(),
          [](const SettingValues& values, const StepShape& shape) -> std::unique_ptr<EmissionLearner> {
            const auto options = settings_from<BernoulliOptions>(values);
            if (options.carry_over) return carry_over_learner(options, shape);
            return std::make_unique<BernoulliLearner>(options);
          },
          [](const ArchiveReader& archive, const std::string& prefix) -> std::unique_ptr<Emission> {
            if (archive.has(prefix + ".first")) return CarriedBernoulliEmission::load(archive, prefix);
            if (!archive.has(prefix + ".probability")) return HiddenTreeEmission::load(archive, prefix);
            return BernoulliEmission::load(archive, prefix);
          },
          /*can_be_published=*/true};
}

}  // namespace desirepath::inline emissions
