// What is known of some students: any bits taken, any bits not taken, the rest unknown.
//
// Whole periods unknown, single courses unknown, early leavers, late entrants: the same thing. Every query is
// evidence -> answer.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "desirepath/core/binary_matrix.h"
#include "desirepath/core/kept_forms.h"
#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline transcripts {

/// What holds for the bits of a period that no list names, which is all that a model is told about enrollment: they are
/// unknown, not taken, or there are none because the student has left or finished.
enum class Presence : std::uint8_t { unknown = 0, present = 1, left = 2 };

/// Only those who are gone for good are known not to be there: periods before entry, away and not yet are unknown.
constexpr Presence presence_of(EnrollmentStatus status) {
  return status == EnrollmentStatus::enrolled ? Presence::present
         : has_departed(status)               ? Presence::left
                                              : Presence::unknown;
}

/// A status that says no more than the presence.
constexpr EnrollmentStatus status_for(Presence presence) {
  return presence == Presence::present ? EnrollmentStatus::enrolled
         : presence == Presence::left  ? EnrollmentStatus::left
                                       : EnrollmentStatus::unknown;
}

/// Periods (from 0; their number: never) in which a student may have left, both included.
struct DepartureRange {
  Id earliest = 0;
  Id latest = 0;
};

/// Immutable; copies share the same memory.
class EvidenceBatch {
 public:
  /// presence says what holds for the bits of a period that no list names: unknown, and then `exceptions` are known not
  /// to be taken; present: not taken, and `exceptions` are unknown; left: there are none.
  EvidenceBatch(Id periods, Id courses, std::vector<std::string> students, const std::vector<Presence>& presence,
                BinaryMatrix taken, BinaryMatrix exceptions);

  /// Everything a cohort knows. Nothing is copied.
  static EvidenceBatch of(const Cohort& cohort);

  std::int64_t student_count() const { return static_cast<std::int64_t>(students_->size()); }
  const std::vector<std::string>& students() const { return *students_; }
  Id period_count() const { return periods_; }
  Id course_count() const { return courses_; }

  /// Of the bits no list names; see seen() for the student.
  Presence presence(std::int64_t student, Id period) const { return presence_of((*status_)[row(student, period)]); }
  /// Bits known to be taken; ascending bit numbers of the schema, as are the exceptions.
  std::span<const Id> taken(std::int64_t student, Id period) const {
    return taken_.row(static_cast<std::int64_t>(row(student, period)));
  }
  std::span<const Id> exceptions(std::int64_t student, Id period) const {
    return exceptions_.row(static_cast<std::int64_t>(row(student, period)));
  }
  DepartureRange departure(std::int64_t student) const;

  Id trait_count() const { return static_cast<Id>(traits_.size()); }
  const Trait& trait(Id number) const { return traits_[static_cast<std::size_t>(number)]; }
  const std::vector<Trait>& traits() const { return traits_; }
  /// What is possible of a trait, whether it is one of those or not. That of departure follows from the periods.
  TraitValues possible(std::int64_t student, const Trait& trait) const;
  /// The same evidence, with what is known about these traits: students by traits.
  EvidenceBatch with_traits(std::vector<Trait> traits, std::vector<TraitValues> known) const;
  /// Nothing at all is known of the period.
  bool is_unknown(std::int64_t student, Id period) const {
    return presence(student, period) == Presence::unknown && taken(student, period).empty() &&
           exceptions(student, period).empty();
  }
  /// Whether the student was enrolled: anyone known to have taken or left out a single course was.
  Presence seen(std::int64_t student, Id period) const {
    const Presence here = presence(student, period);
    return here != Presence::unknown || is_unknown(student, period) ? here : Presence::present;
  }
  /// The same evidence with whole periods forgotten.
  EvidenceBatch without_periods(std::span<const Id> periods) const;
  /// Students first .. last-1.
  EvidenceBatch slice(std::int64_t first, std::int64_t last) const;
  /// What models make of the evidence before they answer, once for all that is asked of it.
  const KeptForms& forms() const { return forms_; }

 private:
  EvidenceBatch(Id periods, Id courses, std::shared_ptr<const std::vector<std::string>> students,
                std::shared_ptr<const std::vector<EnrollmentStatus>> status, BinaryMatrix taken,
                BinaryMatrix exceptions);
  std::size_t row(std::int64_t student, Id period) const {
    return static_cast<std::size_t>(student * periods_ + period);
  }

  Id periods_;
  Id courses_;
  std::shared_ptr<const std::vector<std::string>> students_;
  std::shared_ptr<const std::vector<EnrollmentStatus>> status_;  // a cohort's own, or what stands for a presence
  BinaryMatrix taken_;
  BinaryMatrix exceptions_;
  std::vector<Trait> traits_;
  std::shared_ptr<const std::vector<TraitValues>> known_traits_;  // students by traits; null without any
  KeptForms forms_;
};

/// What is known of one student in one period.
struct PeriodEvidence {
  Presence presence = Presence::unknown;
  std::vector<Id> taken, exceptions;  // as EvidenceBatch has them, in any order

  static PeriodEvidence of(const EvidenceBatch& evidence, std::int64_t student, Id period);
  /// 1, 0, or nothing where it is not known.
  std::optional<bool> known(Id bit) const;
  void set(Id bit, std::optional<bool> taken_or_not);
};

/// Evidence made student by student, period by period.
class EvidenceBuilder {
 public:
  EvidenceBuilder(Id periods, Id courses)
      : periods_(periods), courses_(courses), taken_(periods * courses), exceptions_(periods * courses) {}
  explicit EvidenceBuilder(const EvidenceBatch& like) : EvidenceBuilder(like.period_count(), like.course_count()) {
    traits_ = like.traits();
  }
  /// Of whose attributes and outcomes nothing is known.
  void begin_student(std::string name);
  /// Under the same name, with the attributes and outcomes that are known there.
  void begin_student(const EvidenceBatch& from, std::int64_t student);
  /// Of the student just begun.
  void forget(Id trait);
  void add(const PeriodEvidence& period);
  EvidenceBatch build() &&;

 private:
  Id periods_, courses_;
  std::vector<std::string> students_;
  std::vector<Presence> presence_;
  BinaryMatrixBuilder taken_, exceptions_;
  std::vector<Trait> traits_;
  std::vector<TraitValues> known_traits_;  // students by traits
};

/// One row of the evidence table `student,period,course,taken`.
struct EvidenceRow {
  std::string student;
  std::string period;
  std::string course;  // "*" with taken = 0 closes the period
  std::optional<bool> taken;
  std::int64_t record = 0;  // for messages
};

/// Students in the order they first appear. Names must exist in the schema: an InputError names the nearest one.
EvidenceBatch evidence_from_rows(const Schema& schema, std::span<const EvidenceRow> rows, const std::string& file);

}  // namespace desirepath::inline transcripts
