#include "desirepath/queries/enrollment_chances.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::inline queries {

namespace {

constexpr double certain_beyond = 1e-12;

std::optional<Id> departure_of(const Schema& schema) {
  const auto found = std::ranges::find(schema.traits(), TraitKind::departure, &Trait::kind);
  if (found == schema.traits().end()) return std::nullopt;
  return static_cast<Id>(found - schema.traits().begin());
}

/// Through the marginals of the last period of enrollment.
RowMatrix enrolled_by_departure(const Model& model, const EvidenceBatch& evidence, std::span<const Id> periods,
                                Id departure, const Executor& executor) {
  const Schema& schema = model.schema();
  std::vector<Id> last;
  for (Id t = 0; t < schema.period_count(); ++t)
    last.push_back(schema.trait_bit(departure, t));
  const RowMatrix share = model.marginals(evidence, last, executor).value;
  RowMatrix enrolled = RowMatrix::Zero(evidence.student_count(), std::ssize(periods));
  for (std::size_t i = 0; i < periods.size(); ++i)
    enrolled.col(static_cast<Index>(i)) = share.rightCols(share.cols() - periods[i]).rowwise().sum();
  // What is certain is so beside rounding, too: nobody is expected to be missing.
  enrolled = enrolled.unaryExpr([](double chance) { return chance > 1 - certain_beyond ? 1.0 : chance; });
  return enrolled;
}

/// Through the likelihood of having left, of models whose states know it.
RowMatrix enrolled_by_likelihood(const Model& model, const EvidenceBatch& evidence, std::span<const Id> periods,
                                 const Executor& executor) {
  const LikelihoodKind kind = model.likelihood_kinds().front();
  const RowMatrix before = model.log_likelihood(evidence, kind, executor).value;
  RowMatrix enrolled = RowMatrix::Ones(evidence.student_count(), std::ssize(periods));
  for (std::size_t i = 0; i < periods.size(); ++i) {
    const Id period = periods[i];
    EvidenceBuilder gone(evidence);
    std::vector<std::int64_t> open;
    for (std::int64_t s = 0; s < evidence.student_count(); ++s) {
      if (evidence.seen(s, period) == Presence::left) enrolled(s, static_cast<Index>(i)) = 0;
      bool is_unknown = true;
      for (Id t = period; t < evidence.period_count(); ++t)
        is_unknown = is_unknown && evidence.is_unknown(s, t);
      if (!is_unknown) continue;
      open.push_back(s);
      gone.begin_student(evidence, s);
      for (Id t = 0; t < evidence.period_count(); ++t)
        gone.add(t < period ? PeriodEvidence::of(evidence, s, t) : PeriodEvidence{Presence::left, {}, {}});
    }
    if (open.empty()) continue;
    const RowMatrix after = model.log_likelihood(std::move(gone).build(), kind, executor).value;
    for (std::size_t o = 0; o < open.size(); ++o) {
      const double left = std::exp(after(static_cast<Index>(o), 0) - before(open[o], 0));
      enrolled(open[o], static_cast<Index>(i)) = std::clamp(1 - left, 0.0, 1.0);
    }
  }
  return enrolled;
}

}  // namespace

bool knows_leaving(const Model& model) {
  return model.models_leaving() || departure_of(model.schema()).has_value();
}

RowMatrix enrollment_chances(const Model& model, const EvidenceBatch& evidence, std::span<const Id> periods,
                             const Executor& executor) {
  if (const auto departure = departure_of(model.schema()))
    return enrolled_by_departure(model, evidence, periods, *departure, executor);
  if (!model.models_leaving())
    throw OptionError(
        concat(model.name(), " does not know which students leave: train it on students of whom that is known"));
  return enrolled_by_likelihood(model, evidence, periods, executor);
}

std::vector<Leaving> find_leaving(const Model& model, const EvidenceBatch& evidence, const std::vector<Id>& periods,
                                  const Executor& executor) {
  std::vector<Leaving> leaving;
  if (!knows_leaving(model)) return leaving;
  const RowMatrix enrolled = enrollment_chances(model, evidence, periods, executor);
  for (std::int64_t s = 0; s < evidence.student_count(); ++s) {
    for (std::size_t i = 0; i < periods.size(); ++i) {
      bool is_open = true;
      for (Id t = periods[i]; t < evidence.period_count(); ++t)
        is_open = is_open && evidence.is_unknown(s, t);
      if (is_open) leaving.emplace_back(s, periods[i], 1 - enrolled(s, static_cast<Index>(i)));
    }
  }
  return leaving;
}

}  // namespace desirepath::inline queries
