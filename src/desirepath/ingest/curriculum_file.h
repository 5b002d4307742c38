// Course files as Curricular Analytics writes them: a block of metadata, a line "Courses", and the courses with their
// prerequisites by number.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "desirepath/transcripts/schema.h"

namespace desirepath::inline ingest {

/// The courses of such a file, named "PREFIX NUMBER", and of a degree plan the additional ones too; nothing where the
/// text is of another kind. Places for electives, which have no number, are left out. Corequisites are kept as an
/// attribute. Throws InputError for a course that names one the file does not have.
std::optional<std::vector<Course>> courses_from_curriculum(const std::string& text, const std::string& file);

}  // namespace desirepath::inline ingest
