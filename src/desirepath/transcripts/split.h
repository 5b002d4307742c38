// Training, validation and hold-out: students go to one of them, whole.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "desirepath/core/answer.h"
#include "desirepath/core/random_stream.h"
#include "desirepath/core/settings.h"
#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline transcripts {

struct SplitShares {
  double validation = 0.15;
  double hold_out = 0.15;
};

struct SplitOptions {
  SplitShares shares;  // or, with an attribute, how many of its last values; none: one
  std::string by;      // student attribute, or entry; empty: shares

  void declare(SettingVisitor& visit);
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

Split split_students(const Cohort& cohort, const SplitOptions& options, const RandomStream& stream);

/// Throws FileError where write_split would: to be asked before long work.
void check_split_targets(const std::filesystem::path& folder, Overwrite overwrite);
/// training.cohort, validation.cohort and hold-out.cohort, in a folder that is made where it is missing.
/// All of them or none; none with Interrupted where `interrupt` is set before the last is whole.
Answer write_split(const Cohort& cohort, const Split& split, const std::filesystem::path& folder, Overwrite overwrite,
                   const std::atomic<bool>* interrupt = nullptr);

}  // namespace desirepath::inline transcripts
