#include "desirepath/transcripts/evidence.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <unordered_map>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::inline transcripts {

namespace {

std::shared_ptr<const std::vector<EnrollmentStatus>> statuses_for(const std::vector<Presence>& presence) {
  std::vector<EnrollmentStatus> status;
  status.reserve(presence.size());
  for (const Presence here : presence)
    status.push_back(status_for(here));
  return std::make_shared<const std::vector<EnrollmentStatus>>(std::move(status));
}

}  // namespace

EvidenceBatch::EvidenceBatch(Id periods, Id courses, std::vector<std::string> students,
                             const std::vector<Presence>& presence, BinaryMatrix taken, BinaryMatrix exceptions)
    : EvidenceBatch(periods, courses, std::make_shared<const std::vector<std::string>>(std::move(students)),
                    statuses_for(presence), std::move(taken), std::move(exceptions)) {}

EvidenceBatch::EvidenceBatch(Id periods, Id courses, std::shared_ptr<const std::vector<std::string>> students,
                             std::shared_ptr<const std::vector<EnrollmentStatus>> status, BinaryMatrix taken,
                             BinaryMatrix exceptions)
    : periods_(periods),
      courses_(courses),
      students_(std::move(students)),
      status_(std::move(status)),
      taken_(std::move(taken)),
      exceptions_(std::move(exceptions)) {
  const std::size_t rows = students_->size() * static_cast<std::size_t>(periods_);
  [[maybe_unused]] const auto row_count = static_cast<std::int64_t>(rows);
  assert(status_->size() == rows && taken_.row_count() == row_count && exceptions_.row_count() == row_count);
  for (std::size_t r = 0; r < rows; ++r) {
    const Id first = static_cast<Id>(r % static_cast<std::size_t>(periods_)) * courses_;
    for (const BinaryMatrix* lists : {&taken_, &exceptions_}) {
      const auto bits = lists->row(static_cast<std::int64_t>(r));
      const bool inside = bits.empty() || (bits.front() >= first && bits.back() < first + courses_);
      if (!inside) throw InputError("evidence: a bit outside its period");
      if (!bits.empty() && has_departed((*status_)[r]))
        throw InputError("evidence: bits in a period after the student left");
    }
  }
}

EvidenceBatch EvidenceBatch::of(const Cohort& cohort) {
  const std::shared_ptr<const CohortParts>& parts = cohort.shared_parts();
  std::vector<std::int64_t> nothing(parts->status.size() + 1, 0);
  EvidenceBatch result(cohort.schema().period_count(), cohort.schema().course_count(),
                       std::shared_ptr<const std::vector<std::string>>(parts, &parts->students),
                       std::shared_ptr<const std::vector<EnrollmentStatus>>(parts, &parts->status),
                       cohort.enrollments(), BinaryMatrix(std::move(nothing), {}, cohort.schema().bit_count()));
  const std::vector<Trait>& traits = cohort.schema().traits();
  return traits.empty() ? result : result.with_traits(traits, known_traits(cohort, traits));
}

EvidenceBatch EvidenceBatch::with_traits(std::vector<Trait> traits, std::vector<TraitValues> known) const {
  EvidenceBatch result = *this;
  assert(std::ssize(known) == student_count() * std::ssize(traits));
  result.traits_ = std::move(traits);
  result.known_traits_ = std::make_shared<const std::vector<TraitValues>>(std::move(known));
  result.forms_ = KeptForms();
  return result;
}

DepartureRange EvidenceBatch::departure(std::int64_t student) const {
  DepartureRange range{1, periods_};  // nobody leaves before the first period
  for (Id t = 0; t < periods_; ++t) {
    if (seen(student, t) == Presence::present) range.earliest = t + 1;
  }
  for (Id t = periods_; t-- > 0;) {
    if (seen(student, t) == Presence::left) range.latest = t;
  }
  return range;
}

TraitValues EvidenceBatch::possible(std::int64_t student, const Trait& trait) const {
  if (trait.kind == TraitKind::departure) {
    const DepartureRange range = departure(student);
    TraitValues values = 0;
    for (Id last = range.earliest; last <= range.latest; ++last)
      values |= TraitValues{1} << (last - 1);
    return values;
  }
  const auto found = std::ranges::find(traits_, trait.name, &Trait::name);
  if (found == traits_.end() || found->value_count() != trait.value_count()) return trait.all();
  return (*known_traits_)[static_cast<std::size_t>(student * trait_count() + (found - traits_.begin()))];
}

EvidenceBatch EvidenceBatch::without_periods(std::span<const Id> periods) const {
  EvidenceBuilder result(*this);
  for (std::int64_t student = 0; student < student_count(); ++student) {
    result.begin_student(*this, student);
    for (Id period = 0; period < periods_; ++period) {
      const bool forgotten = std::ranges::find(periods, period) != periods.end();
      result.add(forgotten ? PeriodEvidence() : PeriodEvidence::of(*this, student, period));
    }
  }
  return std::move(result).build();
}

EvidenceBatch EvidenceBatch::slice(std::int64_t first, std::int64_t last) const {
  if (first == 0 && last == student_count()) return *this;
  EvidenceBuilder result(*this);
  for (std::int64_t student = first; student < last; ++student) {
    result.begin_student(*this, student);
    for (Id period = 0; period < periods_; ++period)
      result.add(PeriodEvidence::of(*this, student, period));
  }
  return std::move(result).build();
}

PeriodEvidence PeriodEvidence::of(const EvidenceBatch& evidence, std::int64_t student, Id period) {
  const auto taken = evidence.taken(student, period), exceptions = evidence.exceptions(student, period);
  return {evidence.presence(student, period), {taken.begin(), taken.end()}, {exceptions.begin(), exceptions.end()}};
}

std::optional<bool> PeriodEvidence::known(Id bit) const {
  if (std::ranges::find(taken, bit) != taken.end()) return true;
  const bool excepted = std::ranges::find(exceptions, bit) != exceptions.end();
  if (presence == Presence::left) return false;
  return (presence == Presence::present) == excepted ? std::optional<bool>() : false;
}

void PeriodEvidence::set(Id bit, std::optional<bool> taken_or_not) {
  std::erase(taken, bit);
  std::erase(exceptions, bit);
  if (taken_or_not == true) taken.push_back(bit);
  if (presence == Presence::present ? !taken_or_not : taken_or_not == false) exceptions.push_back(bit);
}

void EvidenceBuilder::begin_student(std::string name) {
  students_.push_back(std::move(name));
  for (const Trait& trait : traits_)
    known_traits_.push_back(trait.all());
}

void EvidenceBuilder::begin_student(const EvidenceBatch& from, std::int64_t student) {
  students_.push_back(from.students()[static_cast<std::size_t>(student)]);
  for (const Trait& trait : traits_)
    known_traits_.push_back(from.possible(student, trait));
}

void EvidenceBuilder::forget(Id trait) {
  const auto number = static_cast<std::size_t>(trait);
  known_traits_[known_traits_.size() - traits_.size() + number] = traits_[number].all();
}

void EvidenceBuilder::add(const PeriodEvidence& period) {
  presence_.push_back(period.presence);
  for (const Id bit : period.taken)
    taken_.add(bit);
  for (const Id bit : period.exceptions)
    exceptions_.add(bit);
  taken_.finish_row();
  exceptions_.finish_row();
}

EvidenceBatch EvidenceBuilder::build() && {
  EvidenceBatch batch(periods_, courses_, std::move(students_), presence_, std::move(taken_).build(),
                      std::move(exceptions_).build());
  return traits_.empty() ? batch : batch.with_traits(std::move(traits_), std::move(known_traits_));
}

EvidenceBatch evidence_from_rows(const Schema& schema, std::span<const EvidenceRow> rows, const std::string& file) {
  struct Period {
    bool closed = false;
    std::map<Id, std::optional<bool>> courses;  // taken or not; nothing: said to be unknown
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
    const auto [old, added] = target.courses.emplace(schema.bit(period, course), row.taken);
    if (!added && old->second != row.taken) refuse(concat("course '", row.course, "' is given twice, differently"));
  }
  EvidenceBuilder result(schema.period_count(), schema.course_count());
  for (std::size_t s = 0; s < students.size(); ++s) {
    result.begin_student(std::move(students[s]));
    for (const Period& period : known[s]) {
      PeriodEvidence evidence{period.closed ? Presence::present : Presence::unknown, {}, {}};
      for (const auto& [bit, taken] : period.courses)
        evidence.set(bit, taken);
      result.add(evidence);
    }
  }
  return std::move(result).build();
}

}  // namespace desirepath::inline transcripts
