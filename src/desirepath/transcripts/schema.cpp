#include "desirepath/transcripts/schema.h"

#include <algorithm>
#include <limits>
#include <set>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/nearest_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline transcripts {

Schema::Schema(std::vector<Course> courses, std::vector<std::string> periods, std::vector<Trait> traits)
    : courses_(std::move(courses)), periods_(std::move(periods)), traits_(std::move(traits)) {
  if (periods_.size() * courses_.size() > static_cast<std::size_t>(std::numeric_limits<Id>::max())) {
    throw InputError("too many courses and periods");
  }
  course_numbers_.reserve(courses_.size());
  for (std::size_t i = 0; i < courses_.size(); ++i) {
    if (courses_[i].name.empty()) throw InputError("a course without a name");
    if (!course_numbers_.emplace(courses_[i].name, static_cast<Id>(i)).second) {
      throw InputError(concat("course '", courses_[i].name, "' is listed twice"));
    }
  }
  if (std::set<std::string>(periods_.begin(), periods_.end()).size() != periods_.size()) {
    throw InputError("a period is listed twice");
  }
  std::set<std::string> trait_names;
  for (const Trait& trait : traits_) {
    if (trait_begin_.empty()) trait_begin_.push_back(bit_count());
    trait_begin_.push_back(trait_begin_.back() + trait.value_count());
    if (!trait_names.insert(trait.name).second) throw InputError(concat("'", trait.name, "' is named twice"));
  }
}

Id Schema::require_trait(std::string_view name) const {
  std::vector<std::string> names;
  for (const Trait& trait : traits_) {
    if (trait.name == name) return static_cast<Id>(names.size());
    names.push_back(trait.name);
  }
  throw InputError(names.empty() ? concat("the model knows nothing about students but courses, and so no '", name, "'")
                                 : concat("the model knows no '", name, "'", did_you_mean(name, names), " (it knows ",
                                          join(names, ", "), ")"));
}

std::optional<Id> Schema::find_course(std::string_view name) const {
  const auto found = course_numbers_.find(std::string(name));
  if (found == course_numbers_.end()) return std::nullopt;
  return found->second;
}

std::optional<Id> Schema::find_period(std::string_view label) const {
  const auto found = std::ranges::find(periods_, label);
  if (found == periods_.end()) return std::nullopt;
  return static_cast<Id>(found - periods_.begin());
}

Id Schema::require_course(std::string_view name) const {
  if (const auto found = find_course(name)) return *found;
  std::vector<std::string> names;
  for (const Course& course : courses_)
    names.push_back(course.name);
  throw InputError(concat("no course '", name, "'", did_you_mean(name, names)));
}

Id Schema::require_period(std::string_view label) const {
  if (const auto found = find_period(label)) return *found;
  throw InputError(concat("no period '", label, "' (there are ", join(periods_, ", "), ")"));
}

bool Schema::has_same_bits(const Schema& other) const {
  return periods_ == other.periods_ && std::ranges::equal(courses_, other.courses_, {}, &Course::name, &Course::name);
}

Named named(const Course& course) {
  return {course.name, full_name(course)};
}

Table course_table(std::vector<Course> courses) {
  return {std::move(courses), {{"course", &Course::name}, {"label", &Course::label}, {"subject", &Course::subject}}};
}

std::string full_name(const Course& course) {
  return course.label.empty() ? course.name : concat(course.name, " ", course.label);
}

nlohmann::ordered_json Schema::to_json() const {
  nlohmann::ordered_json json;
  json["periods"] = periods_;
  json["courses"] = nlohmann::ordered_json::array();
  for (const Course& course : courses_) {
    nlohmann::ordered_json entry;
    entry["name"] = course.name;
    if (!course.label.empty()) entry["label"] = course.label;
    if (!course.subject.empty()) entry["subject"] = course.subject;
    if (!course.school.empty()) entry["school"] = course.school;
    if (!course.concentration.empty()) entry["concentration"] = course.concentration;
    if (!course.prerequisites.empty()) entry["prerequisites"] = course.prerequisites;
    if (!course.attributes.empty()) entry["attributes"] = course.attributes;
    json["courses"].push_back(std::move(entry));
  }
  for (const Trait& trait : traits_)
    json["traits"].push_back(trait.to_json());
  return json;
}

Schema Schema::from_json(const nlohmann::json& json) {
  try {
    std::vector<Course> courses;
    for (const auto& entry : json.at("courses")) {
      Course course;
      course.name = entry.at("name").get<std::string>();
      course.label = entry.value("label", "");
      course.subject = entry.value("subject", "");
      course.school = entry.value("school", "");
      course.concentration = entry.value("concentration", "");
      course.prerequisites = entry.value("prerequisites", std::vector<std::string>{});
      course.attributes = entry.value("attributes", std::map<std::string, std::string>{});
      courses.push_back(std::move(course));
    }
    std::vector<Trait> traits;
    for (const auto& entry : json.value("traits", nlohmann::json::array()))
      traits.push_back(Trait::from_json(entry));
    return {std::move(courses), json.at("periods").get<std::vector<std::string>>(), std::move(traits)};
  } catch (const nlohmann::json::exception&) {
    throw InputError("damaged list of courses and periods");
  }
}

}  // namespace desirepath::inline transcripts
