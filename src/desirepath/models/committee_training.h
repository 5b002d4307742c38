// How a committee is trained: members are one-step chains of one state, trained from the same rows.
#pragma once

#include "desirepath/learning/em.h"
#include "desirepath/models/committee_trial.h"
#include "desirepath/models/training.h"

namespace desirepath::inline models {

struct CommitteeSettings {
  std::optional<Id> trees;
  EmOptions em{200, 1e-7};
  std::optional<double> validation;
  Trial trial = Trial::on;
  std::string weights;

  void declare(SettingVisitor& visit) {
    visit(Setting("trees", "members of the committee (16; 8 from 3,000 students, 4 from 20,000)")
              .at_least(1)
              .at_most(1000)
              .in("Model"),
          trees);
    em.declare(visit);
    visit(Setting("validation", "a cohort, or a share of the students: members stop where these are best expected")
              .above(0)
              .at_most(1)
              .taking("FILE|SHARE")
              .in("Training"),
          validation);
    visit(Setting("trial",
                  "whether one tree, judged by students set aside, chooses those of link-prior, timing-prior and "
                  "tree-states that are not given, and may train past 200 iterations")
              .in("Training"),
          trial);
    visit(Setting("weights", "student attribute that weighs each student").taking("COLUMN").in("Model"), weights);
  }
};

std::unique_ptr<Training> prepare_committee(const TrainingTask& task);

}  // namespace desirepath::inline models
