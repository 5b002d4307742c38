// Many fits in one run: what is done is kept in a file, so that a run that is stopped loses one fit.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "desirepath/models/training.h"
#include "desirepath/transcripts/split.h"

namespace desirepath::inline evaluation {

/// Where finished fits are kept.
struct FitsFile {
  std::filesystem::path path;  // empty: nowhere
  bool resume = false;
};

/// What is kept of a fit: facts that a reader checks, numbers of which none is NaN.
struct FinishedFit {
  nlohmann::json facts;
  std::vector<double> numbers;
};

class FinishedFits {
 public:
  /// `digest`: of all that the results depend on; `fits`: how many there will be. Reads the file where the run goes on
  /// from one; throws ArchiveError where it is damaged, OptionError where it belongs to another run.
  FinishedFits(FitsFile file, std::string digest, std::size_t fits);
  std::size_t size() const { return fits_.size(); }
  /// Numbers must be `count`; `read` is given them and throws json::exception where facts are missing.
  template <class Read>
  void read(std::size_t fit, std::size_t count, const Read& read) const {
    if (fits_[fit].numbers.size() != count) refuse();
    try {
      read(fits_[fit]);
    } catch (const nlohmann::json::exception&) {
      refuse();
    }
  }
  /// Saves what is done.
  void add(FinishedFit fit);
  [[noreturn]] void refuse() const;

 private:
  FitsFile file_;
  std::string digest_;
  std::vector<FinishedFit> fits_;
};

/// Training and validation alone. Throws OptionError where the share leaves nothing of either, and as require_parts.
Split held_out_split(const Cohort& cohort, double share, std::uint64_t seed, const std::string& weights);
/// Throws PrivacyError where few students would train or be held out: what is told of a fit is told of them. Hold-out
/// may be empty. weights: the attribute they are weighed by, or nothing. Does not say how many there are.
void require_parts(const Cohort& cohort, const Split& split, const std::string& weights);

/// Fits of a model by its sizes; of one whose size is not asked for (hct's is its trees') the one of its own size.
struct SizedFits {
  std::vector<FitOptions> fits;
  std::vector<Id> sizes;  // of each; 0: the model's own

  /// `values` go to the model where it has such a setting.
  void add(FitOptions options, const std::vector<Id>& asked, const SettingValues& values);
};

/// Memory of the largest of them, time of one iteration of every restart of all.
FitEstimate estimate_fits(const Cohort& training, const std::vector<FitOptions>& fits, const TrainingContext& context);

}  // namespace desirepath::inline evaluation
