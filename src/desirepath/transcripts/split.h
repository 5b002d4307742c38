// Training, validation and hold-out: students go to one of them, whole.
#pragma once

#include <cstdint>
#include <vector>

#include "desirepath/core/random_stream.h"
#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline transcripts {

struct SplitShares {
  double validation = 0.15;
  double hold_out = 0.15;
};

/// Student numbers, ascending.
struct Split {
  std::vector<std::int64_t> training;
  std::vector<std::int64_t> validation;
  std::vector<std::int64_t> hold_out;
};

/// By share. A student's place is drawn by id, so it does not depend on the order or the other columns of the file.
Split split_by_share(const Cohort& cohort, const SplitShares& shares, const RandomStream& stream);

/// By the value of an attribute: the last values that occur go to hold-out, those before to validation. Students
/// without a value train. `entry`, where no attribute has that name, is the academic year a student was first present.
Split split_by_attribute(const Cohort& cohort, std::string_view attribute, std::size_t validation_values,
                         std::size_t hold_out_values);

}  // namespace desirepath::inline transcripts
