// Courses and what is required for them, as a file that Curricular Analytics reads.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "desirepath/transcripts/schema.h"

namespace desirepath::inline queries {

struct Curriculum {
  std::string text;
  std::int64_t left_out = 0;  // links that would close a circle
};

/// links: (before, course), the surest first; one that would close a circle with those before it is left out.
/// is_listed: of each course, whether it may be named.
Curriculum curriculum_of(const Schema& schema, const std::vector<std::uint8_t>& is_listed,
                         const std::vector<std::pair<Id, Id>>& links, const std::string& name);

}  // namespace desirepath::inline queries
