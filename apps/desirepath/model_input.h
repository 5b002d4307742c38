// A model and what is asked of it, from files.
#pragma once

#include <memory>
#include <string>

#include <CLI/App.hpp>

#include "console.h"
#include "raw_table.h"

#include "desirepath/models/model.h"
#include "desirepath/transcripts/align.h"

namespace desirepath::app {

/// A cohort (file or raw table) as the model sees it.
Cohort open_aligned_cohort(const std::string& path, const Model& model, bool ignore_unseen,
                           const RawTableArguments& table, Console& console);
/// Says what aligning left out, where it left something out.
void warn_of_ignored(const Aligned& aligned, const std::string& why, const Console& console);
/// An evidence table as the model sees it.
EvidenceBatch open_evidence(const std::string& path, const Model& model);
/// "mass", "density", "lower_bound" or empty for the model's best; throws OptionError for a kind it does not have.
LikelihoodKind choose_kind(const std::string& name, const Model& model);

}  // namespace desirepath::app
