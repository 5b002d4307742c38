// What the bits of a model mean: courses, periods, and the bit of each (period, course).
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "desirepath/core/table.h"
#include "desirepath/core/types.h"
#include "desirepath/transcripts/traits.h"

namespace desirepath::inline transcripts {

/// A course as the catalog knows it; every text but the name may be empty.
struct Course {
  std::string name;
  std::string label;
  std::string subject;
  std::string school;
  std::string concentration;
  std::vector<std::string> prerequisites;         // names, as declared
  std::map<std::string, std::string> attributes;  // further columns of the course file
  bool operator==(const Course&) const = default;
};
/// Its name; for people with its label, where it has one.
Named named(const Course& course);
/// As people read it.
std::string full_name(const Course& course);
/// Name, label and subject: the nodes of a graph of courses.
Table course_table(std::vector<Course> courses);

class Schema {
 public:
  Schema() = default;
  /// Names must be unique and not empty; throws InputError otherwise.
  Schema(std::vector<Course> courses, std::vector<std::string> periods, std::vector<Trait> traits = {});

  Id course_count() const { return static_cast<Id>(courses_.size()); }
  Id period_count() const { return static_cast<Id>(periods_.size()); }
  Id bit_count() const { return course_count() * period_count(); }

  Id bit(Id period, Id course) const { return period * course_count() + course; }
  Id period_of(Id bit) const { return bit / course_count(); }
  Id course_of(Id bit) const { return bit % course_count(); }

  const std::vector<Course>& courses() const { return courses_; }
  const Course& course(Id number) const { return courses_[static_cast<std::size_t>(number)]; }
  /// Labels of the periods, "1" .. "T" where the input names none.
  const std::vector<std::string>& periods() const { return periods_; }
  const std::string& period(Id number) const { return periods_[static_cast<std::size_t>(number)]; }

  /// What a model knows about students beside courses; their values have the bits after those of the courses.
  const std::vector<Trait>& traits() const { return traits_; }
  Id trait_count() const { return static_cast<Id>(traits_.size()); }
  Id trait_bit(Id trait, Id value) const { return trait_begin_[static_cast<std::size_t>(trait)] + value; }
  /// Bits of courses and traits together.
  Id all_bit_count() const { return trait_begin_.empty() ? bit_count() : trait_begin_.back(); }
  /// Throws InputError that names the traits there are.
  Id require_trait(std::string_view name) const;
  Schema with_traits(std::vector<Trait> traits) const { return {courses_, periods_, std::move(traits)}; }

  std::optional<Id> find_course(std::string_view name) const;
  std::optional<Id> find_period(std::string_view label) const;
  /// The same for names a user typed: throws InputError that names the nearest known one.
  Id require_course(std::string_view name) const;
  Id require_period(std::string_view label) const;

  nlohmann::ordered_json to_json() const;
  static Schema from_json(const nlohmann::json& json);
  /// The same courses and periods by name, in order; labels, groups and traits may differ.
  bool has_same_bits(const Schema& other) const;
  bool operator==(const Schema& other) const {
    return courses_ == other.courses_ && periods_ == other.periods_ && traits_ == other.traits_;
  }

 private:
  std::vector<Course> courses_;
  std::vector<std::string> periods_;
  std::vector<Trait> traits_;
  std::vector<Id> trait_begin_;  // bit of each one's first value, and the one past the last; empty without traits
  std::unordered_map<std::string, Id> course_numbers_;
};

}  // namespace desirepath::inline transcripts
