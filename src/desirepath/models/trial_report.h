// Which settings a committee's trial tried with one tree, and which it chose, for people and files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "desirepath/core/settings.h"
#include "desirepath/core/types.h"

namespace desirepath::inline models {

/// The settings of a tree that a trial may vary.
struct TrialValues {
  double link_prior = 0, timing_prior = 0;
  Id tree_states = 1;
  bool operator==(const TrialValues&) const = default;
  /// By the names of the settings.
  SettingValues settings() const;
};

/// A mean over the judges and its standard error.
struct TrialGain {
  double mean = 0, error = 0;
};

struct TrialReport {
  struct Tree {
    TrialValues values;
    int iterations = 0;     // after which the judges were described best
    double validation = 0;  // their mean log-likelihood there
    TrialGain gain;         // over the usual values, per judge
  };
  std::int64_t students = 0;  // who judge
  std::vector<Tree> trees;    // the usual values first
  std::size_t chosen = 0;     // of trees
  int iterations = 0;         // of every tree of the committee; at most, where each is judged
  std::optional<int> limit;   // of iterations, where the usual one was too low

  const TrialValues& values() const { return trees[chosen].values; }
  /// What was chosen, by the names of the settings.
  SettingValues settings() const;
  nlohmann::ordered_json to_json() const;
  /// One line.
  std::string text() const;
};

}  // namespace desirepath::inline models
