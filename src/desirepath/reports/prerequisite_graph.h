// Courses that open others, as a graph: tacit, declared or both.
#pragma once

#include <optional>

#include "desirepath/reports/figure.h"
#include "desirepath/transcripts/schema.h"

namespace desirepath::inline reports {

enum class PrerequisiteKind {
  tacit,     // found, and not on the list
  both,      // listed and found
  declared,  // listed, but not followed
  found      // where there is no list
};

struct PrerequisiteLink {
  Id prerequisite = 0, course = 0;
  std::optional<double> score;  // nothing: withheld
  PrerequisiteKind kind = PrerequisiteKind::tacit;
};

/// The best `most` links are drawn; all are in the table.
Figure prerequisite_graph(std::vector<PrerequisiteLink> links, const Schema& schema, std::int64_t students,
                          std::size_t most = 40);

}  // namespace desirepath::inline reports
