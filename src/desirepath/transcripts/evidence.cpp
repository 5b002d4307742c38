#include "desirepath/transcripts/evidence.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <unordered_map>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::inline transcripts {

EvidenceBatch::EvidenceBatch(Id periods, Id courses, std::vector<std::string> students, std::vector<Presence> presence,
                             BinaryMatrix taken, BinaryMatrix exceptions)
    : EvidenceBatch(periods, courses, std::make_shared<const std::vector<std::string>>(std::move(students)),
                    std::make_shared<const std::vector<Presence>>(std::move(presence)), std::move(taken),
                    std::move(exceptions)) {}

EvidenceBatch::EvidenceBatch(Id periods, Id courses, std::shared_ptr<const std::vector<std::string>> students,
                             std::shared_ptr<const std::vector<Presence>> presence, BinaryMatrix taken,
                             BinaryMatrix exceptions)
    : periods_(periods),
      courses_(courses),
      students_(std::move(students)),
      presence_(std::move(presence)),
      taken_(std::move(taken)),
      exceptions_(std::move(exceptions)) {
  const std::size_t rows = students_->size() * static_cast<std::size_t>(periods_);
  [[maybe_unused]] const auto row_count = static_cast<std::int64_t>(rows);
  assert(presence_->size() == rows && taken_.row_count() == row_count && exceptions_.row_count() == row_count);
  for (std::size_t r = 0; r < rows; ++r) {
    const Id first = static_cast<Id>(r % static_cast<std::size_t>(periods_)) * courses_;
    for (const BinaryMatrix* lists : {&taken_, &exceptions_}) {
      const auto bits = lists->row(static_cast<std::int64_t>(r));
      const bool inside = bits.empty() || (bits.front() >= first && bits.back() < first + courses_);
      if (!inside) throw InputError("evidence: a bit outside its period");
      if (!bits.empty() && (*presence_)[r] == Presence::left)
        throw InputError("evidence: bits in a period after the student left");
    }
  }
}

EvidenceBatch EvidenceBatch::of(const Cohort& cohort) {
  const std::shared_ptr<const CohortParts>& parts = cohort.shared_parts();
  std::vector<std::int64_t> nothing(parts->presence.size() + 1, 0);
  return {cohort.schema().period_count(),
          cohort.schema().course_count(),
          std::shared_ptr<const std::vector<std::string>>(parts, &parts->students),
          std::shared_ptr<const std::vector<Presence>>(parts, &parts->presence),
          cohort.enrollments(),
          BinaryMatrix(std::move(nothing), {}, cohort.schema().bit_count())};
}

EvidenceBatch EvidenceBatch::without_periods(std::span<const Id> periods) const {
  std::vector<Presence> presence = *presence_;
  BinaryMatrixBuilder taken(taken_.column_count()), exceptions(exceptions_.column_count());
  for (std::int64_t student = 0; student < student_count(); ++student) {
    for (Id period = 0; period < periods_; ++period) {
      const bool forgotten = std::ranges::find(periods, period) != periods.end();
      if (forgotten) {
        presence[row(student, period)] = Presence::unknown;
      } else {
        for (const Id bit : this->taken(student, period))
          taken.add(bit);
        for (const Id bit : this->exceptions(student, period))
          exceptions.add(bit);
      }
      taken.finish_row();
      exceptions.finish_row();
    }
  }
  return {periods_,
          courses_,
          students_,
          std::make_shared<const std::vector<Presence>>(std::move(presence)),
          std::move(taken).build(),
          std::move(exceptions).build()};
}

EvidenceBatch evidence_from_rows(const Schema& schema, std::span<const EvidenceRow> rows, const std::string& file) {
  enum class Known { taken, not_taken, unknown };
  struct Period {
    bool closed = false;
    std::map<Id, Known> courses;
  };
  std::vector<std::string> students;
  std::unordered_map<std::string, std::size_t> numbers;
  std::vector<std::vector<Period>> known;
  for (const EvidenceRow& row : rows) {
    const auto refuse = [&](const std::string& reason) { throw InputError({file, row.record, 0}, reason); };
    if (row.student.empty()) refuse("no student");
    const auto [entry, is_new] = numbers.emplace(row.student, students.size());
    if (is_new) {
      students.push_back(row.student);
      known.emplace_back(static_cast<std::size_t>(schema.period_count()));
    }
    Id period = 0, course = 0;
    try {
      period = schema.require_period(row.period);
      if (row.course != "*") course = schema.require_course(row.course);
    } catch (const InputError& error) {
      refuse(error.what());
    }
    Period& target = known[entry->second][static_cast<std::size_t>(period)];
    if (row.course == "*") {
      if (row.taken.value_or(true)) refuse("course * closes a period and needs taken = 0");
      target.closed = true;
      continue;
    }
    const Known state = !row.taken ? Known::unknown : *row.taken ? Known::taken : Known::not_taken;
    const auto [old, added] = target.courses.emplace(schema.bit(period, course), state);
    if (!added && old->second != state) refuse(concat("course '", row.course, "' is given twice, differently"));
  }
  BinaryMatrixBuilder taken(schema.bit_count()), exceptions(schema.bit_count());
  std::vector<Presence> presence;
  for (const auto& periods : known) {
    for (const Period& period : periods) {
      presence.push_back(period.closed ? Presence::present : Presence::unknown);
      for (const auto& [bit, state] : period.courses) {
        if (state == Known::taken) taken.add(bit);
        if (state == (period.closed ? Known::unknown : Known::not_taken)) exceptions.add(bit);
      }
      taken.finish_row();
      exceptions.finish_row();
    }
  }
  return {schema.period_count(), schema.course_count(),    std::move(students),
          std::move(presence),   std::move(taken).build(), std::move(exceptions).build()};
}

}  // namespace desirepath::inline transcripts
