#include "desirepath/ingest/presets.h"

#include <algorithm>

#include "desirepath/core/error.h"
#include "desirepath/core/nearest_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline ingest {

// SQL names of columns are written as normalised() gives them; the reader puts the file's own spelling in their place.
std::span<const Preset> presets() {
  static const std::vector<Preset> list = {
      {"canonical", "student, period or term, course", {"student", "course"}, {}, {}},
      {"registrar",
       "Semester, Student ID, Course, Grade",
       {"semester", "student_id", "course"},
       {{"student", "student_id"}, {"term", "semester"}, {"course", "course"}, {"grade", "grade"}},
       {}},
      {"interactions",
       "user, t, item",
       {"user", "t", "item"},
       {{"student", "user"}, {"period", "t"}, {"course", "item"}},
       {}},
      {"midfield",
       "MIDFIELD course table",
       {"mcid", "abbrev", "number"},
       {{"student", "mcid"},
        {"term", "coalesce(term_course, term)"},
        {"course", "coalesce(institution || ':', '') || abbrev || number"},
        {"grade", "grade"},
        {"units", "hours_course"},
        {"subject", "coalesce(discipline_midfield, abbrev)"}},
       {"4", "5", "6"}},
      {"pdp",
       "NSC Postsecondary Data Partnership course file",
       {"academic_year", "academic_term", "course_prefix", "course_number"},
       {{"student", "coalesce(student_id, student_guid, study_id)"},
        {"term", "academic_year || ' ' || academic_term"},
        {"course", "course_prefix || ' ' || course_number"},
        {"grade", "grade"},
        {"units", "number_of_credits_attempted"},
        {"subject", "course_prefix"},
        {"major", "term_program_of_study"}},
       {}},
      {"banner",
       "Banner registration (SFRSTCR with SSBSECT)",
       {"sfrstcr_term_code", "ssbsect_subj_code", "ssbsect_crse_numb"},
       {{"student", "coalesce(sfrstcr_pidm, spriden_id)"},
        {"term", "sfrstcr_term_code"},
        {"course", "ssbsect_subj_code || ' ' || ssbsect_crse_numb"},
        {"grade", "sfrstcr_grde_code"},
        {"units", "sfrstcr_credit_hr"},
        {"subject", "ssbsect_subj_code"}},
       {}},
      {"banner-short",
       "Banner column names without the table",
       {"pidm", "term_code", "subj_code", "crse_numb"},
       {{"student", "pidm"},
        {"term", "term_code"},
        {"course", "subj_code || ' ' || crse_numb"},
        {"grade", "coalesce(grde_code, grade)"},
        {"units", "credit_hr"},
        {"subject", "subj_code"}},
       {}},
      {"peoplesoft",
       "PeopleSoft Campus Solutions",
       {"emplid", "strm", "subject", "catalog_nbr"},
       {{"student", "emplid"},
        {"term", "strm"},
        {"course", "trim(subject) || ' ' || trim(catalog_nbr)"},
        {"grade", "coalesce(crse_grade_off, crse_grade_input)"},
        {"units", "unt_taken"},
        {"subject", "subject"},
        {"school", "acad_group"},
        {"major", "acad_plan"}},
       {},
       TermCoding::century_year_term},
  };
  return list;
}

const Preset& require_preset(std::string_view name) {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) {
    if (preset.name == name) return preset;
    names.emplace_back(preset.name);
  }
  throw OptionError(concat("no format '", name, "'", did_you_mean(name, names), "; there are: ", join(names, ", ")));
}

const Preset* recognise_preset(const std::vector<std::string>& columns) {
  std::vector<std::string> names;
  for (const std::string& column : columns)
    names.push_back(normalised(column));
  for (const Preset& preset : presets()) {
    const bool fits = std::ranges::all_of(
        preset.signature, [&](std::string_view name) { return std::ranges::find(names, name) != names.end(); });
    if (fits) return &preset;
  }
  return nullptr;
}

std::string normalised(std::string_view column) {
  std::string name;
  for (const char c : lower_case(trimmed(column))) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80;
    if (plain) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (!name.empty() && name.back() == '_')
    name.pop_back();
  return name;
}

}  // namespace desirepath::inline ingest
