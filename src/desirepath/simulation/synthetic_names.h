// The words of the synthetic catalog: schools, subjects and what their courses are about.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace desirepath::inline simulation {

struct SubjectWords {
  std::string_view code;
  std::string_view name;
  std::string_view school;
  int appeal;                // 1 .. 9: how many choose it as a major, and how many courses it has
  int growth_percent;        // its appeal in the last entry cohort, in percent of that in the first: the slow drift
  std::string_view support;  // "MATH:3 PHYS:2": the major requires the first core courses of these subjects
  std::array<std::string_view, 4> foundations;     // what its introductory and core courses are about
  std::array<std::string_view, 4> concentrations;  // its concentrations, in order of appeal
};

/// Smaller universities have the first few: the order mixes the schools and puts first what planted facts need.
std::span<const SubjectWords> all_subject_words();
/// In the order of the catalog.
std::span<const std::string_view> all_school_names();
/// Title of the nth course (from 0) of a level (1 .. 4) about a topic: "Introduction to Programming".
std::string course_title(std::string_view topic, int level, int nth);

}  // namespace desirepath::inline simulation
