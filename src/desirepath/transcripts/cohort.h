// The students of one extract: who was there when, and what they took. The one form every later step works on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "desirepath/core/archive.h"
#include "desirepath/core/binary_matrix.h"
#include "desirepath/transcripts/schema.h"

namespace desirepath::inline transcripts {

/// What is known of a student in a period. A period without rows is unknown, not "took nothing"; `left` only where
/// preparation was told so.
enum class Presence : std::uint8_t { unknown = 0, present = 1, left = 2 };

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
  std::vector<std::string> students;   // ids, in the cohort's order
  std::vector<Presence> presence;      // students by periods
  BinaryMatrix enrollments;            // rows (student, period); columns bits of the schema
  std::vector<std::int32_t> calendar;  // academic year of each (student, period), -1 = not known; or empty
  std::vector<Attribute> attributes;
  std::string provenance = "{}";  // JSON: how it was made (sources, options, counts at each filter)
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

  Presence presence(std::int64_t student, Id period) const { return parts_->presence[row(student, period)]; }
  bool is_present(std::int64_t student, Id period) const { return presence(student, period) == Presence::present; }
  bool has_left_students() const { return has_left_; }
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
  bool has_calendar() const { return !parts_->calendar.empty(); }
  /// Academic year in which the student was in that period, -1 where not known.
  std::int32_t calendar(std::int64_t student, Id period) const {
    return has_calendar() ? parts_->calendar[row(student, period)] : -1;
  }
  /// Academic year of the first period the student is present in and whose year is known, else -1.
  std::int32_t entry_year(std::int64_t student) const;
  const std::vector<Attribute>& attributes() const { return parts_->attributes; }
  /// Throws OptionError that names the nearest attribute there is.
  const Attribute& attribute(std::string_view name) const;

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
  bool has_left_ = false;
};

/// Numeric values of an attribute, one a student; throws InputError when one is missing or not a number.
std::vector<double> numeric_attribute(const Cohort& cohort, std::string_view name);
/// The same as weights: none negative, none infinite, not all 0.
std::vector<double> student_weights(const Cohort& cohort, std::string_view name);

}  // namespace desirepath::inline transcripts
