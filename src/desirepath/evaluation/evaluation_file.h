// What `evaluate` found as a file, and read back for figures and pages.
#pragma once

#include <filesystem>
#include <string>

#include "desirepath/evaluation/model_evaluation.h"

namespace desirepath::inline evaluation {

/// As evaluation.json holds it: the same bytes for the same data, options and seed.
std::string evaluation_text(const Evaluation& evaluation);
/// As timings.json holds it: what the fits took in this run.
std::string timings_text(const Evaluation& evaluation);

/// Of evaluation.json: the summaries and what they rest on, not the single fits. Throws InputError for a file that is
/// not one, FileError for one that cannot be read.
Evaluation read_evaluation(const std::filesystem::path& path);

}  // namespace desirepath::inline evaluation
