#include "desirepath/models/earlier_periods.h"

namespace desirepath::inline models {

EvidenceBatch known_before(const Model& model, const EvidenceBatch& record, std::span<const std::int64_t> students,
                           Id period) {
  const Schema& schema = model.schema();
  PeriodEvidence enrolled;
  if (model.models_leaving()) {
    enrolled.presence = Presence::present;
    for (Id c = 0; c < schema.course_count(); ++c)
      enrolled.set(schema.bit(period, c), std::nullopt);
  }
  EvidenceBuilder rows(record);
  for (const std::int64_t s : students) {
    rows.begin_student(record, s);
    for (Id t = 0; t < schema.period_count(); ++t)
      rows.add(t < period ? PeriodEvidence::of(record, s, t) : t == period ? enrolled : PeriodEvidence());
  }
  return std::move(rows).build();
}

}  // namespace desirepath::inline models
