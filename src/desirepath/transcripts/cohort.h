// The students of one extract: who was enrolled when, and what they took. The one form every later step works on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "desirepath/core/archive.h"
#include "desirepath/core/binary_matrix.h"
#include "desirepath/transcripts/calendar.h"
#include "desirepath/transcripts/enrollment_status.h"
#include "desirepath/transcripts/schema.h"

namespace desirepath::inline transcripts {

/// A property of students (major, group, entry year ...): one value each, coded.
struct Attribute {
  std::string name;
  std::vector<std::string> values;  // sorted
  std::vector<Id> codes;            // student -> index into values, -1 = not known
  bool operator==(const Attribute&) const = default;
};

/// What a Cohort is made of; checked when one is built from it.
struct CohortParts {
  Schema schema;
  std::vector<std::string> students;     // ids, in the cohort's order
  std::vector<EnrollmentStatus> status;  // students by periods
  StatusBasis status_basis = StatusBasis::stated;
  BinaryMatrix enrollments;  // rows (student, period), empty unless enrolled; columns bits of the schema
  Calendar calendar;
  std::vector<Attribute> attributes;
  std::string provenance = "{}";         // JSON: how it was made (sources, options, counts at each filter)
  std::optional<std::int64_t> min_cell;  // the fewest students that anything shown of it may rest on
};

/// Immutable; copies share the same memory.
class Cohort {
 public:
  /// Throws InputError when the parts do not fit together.
  explicit Cohort(CohortParts parts);

  const Schema& schema() const { return parts_->schema; }
  std::int64_t student_count() const { return static_cast<std::int64_t>(parts_->students.size()); }
  const std::vector<std::string>& students() const { return parts_->students; }
  const std::string& provenance() const { return parts_->provenance; }
  /// The fewest students that anything shown of it may rest on; nothing where that is not settled.
  std::optional<std::int64_t> min_cell() const { return parts_->min_cell; }

  EnrollmentStatus status(std::int64_t student, Id period) const { return parts_->status[row(student, period)]; }
  bool enrolled(std::int64_t student, Id period) const { return status(student, period) == EnrollmentStatus::enrolled; }
  /// Of all students; one pass over them.
  StatusCounts status_counts(Id period) const;
  StatusBasis status_basis() const { return parts_->status_basis; }
  /// Somebody left or finished.
  bool has_departures() const { return has_departures_; }
  /// Taken bits in all periods, ascending.
  std::span<const Id> bits(std::int64_t student) const {
    const auto first = static_cast<std::int64_t>(row(student, 0));
    return parts_->enrollments.rows(first, first + schema().period_count());
  }
  /// Taken bits of one period: bit numbers of the schema, not course numbers.
  std::span<const Id> bits(std::int64_t student, Id period) const {
    return parts_->enrollments.row(static_cast<std::int64_t>(row(student, period)));
  }
  const BinaryMatrix& enrollments() const { return parts_->enrollments; }
  /// Whether the terms of enrolled periods are known.
  bool has_calendar() const { return !parts_->calendar.term_of.empty(); }
  const Calendar& calendar() const { return parts_->calendar; }
  /// The first term in which the student was enrolled in that period: a number in calendar().terms, or -1.
  std::int32_t term(std::int64_t student, Id period) const {
    return has_calendar() ? parts_->calendar.term_of[row(student, period)] : -1;
  }
  /// Whether it is known which of a period's courses came first.
  bool has_enrollment_terms() const { return !parts_->calendar.term_of_enrollment.empty(); }
  /// The terms of bits(student, period), one by one; only where they are known.
  std::span<const std::int16_t> enrollment_terms(std::int64_t student, Id period) const {
    const auto begin = parts_->enrollments.row_begin();
    const std::size_t at = row(student, period);
    return std::span(parts_->calendar.term_of_enrollment)
        .subspan(static_cast<std::size_t>(begin[at]), static_cast<std::size_t>(begin[at + 1] - begin[at]));
  }
  /// Its academic year, -1 where it is not known.
  std::int32_t academic_year(std::int64_t student, Id period) const {
    const std::int32_t number = term(student, period);
    return number < 0 ? -1 : parts_->calendar.terms[static_cast<std::size_t>(number)].academic_year;
  }
  /// Academic year of the first enrolled period whose year is known, else -1.
  std::int32_t entry_year(std::int64_t student) const;
  const std::vector<Attribute>& attributes() const { return parts_->attributes; }
  /// Throws OptionError that names the nearest attribute there is.
  const Attribute& attribute(std::string_view name) const;

  Cohort with_min_cell(std::int64_t min_cell) const;
  /// The same students, of whom these traits are known as far as attributes and periods tell.
  Cohort with_traits(std::vector<Trait> traits) const;
  /// The students with these numbers, in this order.
  Cohort select(std::span<const std::int64_t> students) const;
  /// Digest of everything but provenance: equal cohorts, equal fingerprints.
  std::string fingerprint() const;

  ArchiveWriter to_archive() const;
  void save(const std::filesystem::path& path, Overwrite overwrite) const { to_archive().write(path, overwrite); }
  static Cohort load(const ArchiveReader& archive);
  static Cohort load(const std::filesystem::path& path) { return load(ArchiveReader::open(path)); }
  const CohortParts& parts() const { return *parts_; }
  const std::shared_ptr<const CohortParts>& shared_parts() const { return parts_; }

 private:
  std::size_t row(std::int64_t student, Id period) const {
    return static_cast<std::size_t>(student * schema().period_count() + period);
  }

  std::shared_ptr<const CohortParts> parts_;
  bool has_departures_ = false;
};

/// Numeric values of an attribute, one a student; throws InputError when one is missing or not a number.
std::vector<double> numeric_attribute(const Cohort& cohort, std::string_view name);
/// The same as weights: none negative, none infinite, not all 0.
std::vector<double> student_weights(const Cohort& cohort, std::string_view name);

}  // namespace desirepath::inline transcripts
