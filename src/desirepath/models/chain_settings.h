// The settings of training that every hidden chain has, whatever its emissions.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "desirepath/core/settings.h"
#include "desirepath/learning/em.h"
#include "desirepath/models/refinement.h"

namespace desirepath::inline models {

enum class StartKind { kmeans, random };
inline std::span<const std::string_view> value_names(StartKind) {
  static constexpr std::array<std::string_view, 2> names = {"kmeans", "random"};
  return names;
}

struct ChainSettings {
  Id states = 8;
  double state_pseudocount = 0.1;
  std::string weights;  // student attribute; empty: all one
  StartKind start = StartKind::kmeans;
  int restarts = 3;
  EmOptions em;
  std::optional<double> validation;  // share of the students
  Refinement refine = Refinement::none;
  PolicyGradientOptions policy_gradient;

  void declare(SettingVisitor& visit) {
    visit(
        {.name = "states", .what = "hidden states; 'desirepath select' helps to choose", .least = 1, .group = "Model"},
        states);
    visit({.name = "state-pseudocount",
           .what = "students added to each state and transition",
           .least = 0,
           .group = "Model"},
          state_pseudocount);
    visit(
        {.name = "weights", .what = "student attribute that weighs each student", .takes = "COLUMN", .group = "Model"},
        weights);
    visit({.name = "refine", .what = "after EM: on the probabilities of the enrollments", .group = "Model"}, refine);
    policy_gradient.declare(visit);
    visit({.name = "start",
           .what = "or a file student,period,state[,weight] (states from 0), as 'states --csv' writes it",
           .group = "Training"},
          start);
    visit({.name = "restarts",
           .what = "starts to try; the best is kept, all scores are told",
           .least = 1,
           .group = "Training"},
          restarts);
    em.declare(visit);
    visit({.name = "validation",
           .what = "a cohort, or a share of the students: the best iterate and restart by their likelihood",
           .least = 0,
           .most = 1,
           .above_least = true,
           .takes = "FILE|SHARE",
           .group = "Training"},
          validation);
  }
};

}  // namespace desirepath::inline models
