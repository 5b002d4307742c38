// What a refinement after EM did, for people and files.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "desirepath/emissions/latent_reward.h"

namespace desirepath::inline models {

enum class Refinement { none, policy_gradient, orthant_em };
inline std::span<const std::string_view> value_names(Refinement) {
  static constexpr std::array<std::string_view, 3> names = {"none", "policy-gradient", "orthant-em"};
  return names;
}

/// What samples of the first round earned, by the number of courses the row takes.
struct RewardSignal {
  std::int64_t courses = 0;
  double weight = 0;    // students' worth of rows
  double rewarded = 0;  // of these, with at least one rewarded sample
};

/// Standard errors that a gain must have to be kept: the best of several rounds flatters itself.
inline constexpr double errors_above = 2;

struct RefinementReport {
  Refinement refinement = Refinement::policy_gradient;
  Reward reward = Reward::surrogate;
  std::int64_t students = 0;  // held out
  std::vector<double> trace;  // mean log-probability a student held out: before, then after every round
  int kept_round = 0;         // 0: as it was
  double gain = 0;            // of the kept round, per student
  double standard_error = 0;  // of the gain of the best round
  std::vector<RewardSignal> signal;

  nlohmann::ordered_json to_json() const;
};

}  // namespace desirepath::inline models
