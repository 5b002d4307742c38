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

/// best: of several candidates, tried for a few iterations each.
enum class StartKind { best, kmeans, random };
inline std::span<const std::string_view> value_names(StartKind) {
  static constexpr std::array<std::string_view, 3> names = {"best", "kmeans", "random"};
  return names;
}

struct ChainSettings {
  Id states = 8;
  double state_pseudocount = 0.1;
  std::string weights;  // student attribute; empty: all one
  StartKind start = StartKind::best;
  int restarts = 3;
  EmOptions em;
  std::optional<double> validation;  // share of the students
  Refinement refine = Refinement::none;
  PolicyGradientOptions policy_gradient;

  void declare(SettingVisitor& visit) {
    visit(Setting("states", "hidden states; 'desirepath select' helps to choose").at_least(1).in("Model"), states);
    visit(Setting("state-pseudocount", "students added to each state and transition").at_least(0).in("Model"),
          state_pseudocount);
    visit(Setting("weights", "student attribute that weighs each student").taking("COLUMN").in("Model"), weights);
    visit(Setting("refine", "after EM: on the probabilities of the enrollments").in("Model"), refine);
    policy_gradient.declare(visit);
    visit(Setting("start",
                  "best: of several candidates, tried for a few iterations each; or a file "
                  "student,period,state[,weight] (states from 0), as 'states --csv' writes it")
              .in("Training"),
          start);
    visit(Setting("restarts", "starts to climb from; the best is kept, all scores are told").at_least(1).in("Training"),
          restarts);
    em.declare(visit);
    visit(
        Setting("validation", "a cohort, or a share of the students: the best iterate and restart by their likelihood")
            .above(0)
            .at_most(1)
            .taking("FILE|SHARE")
            .in("Training"),
        validation);
  }
};

}  // namespace desirepath::inline models
