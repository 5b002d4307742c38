// How a committee is trained: members are one-step chains of one state, trained from the same rows.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "desirepath/learning/em.h"
#include "desirepath/models/committee_trial.h"
#include "desirepath/models/training.h"

namespace desirepath::inline models {

/// Whether draws are given the loads of students (load_tilt.h).
enum class LoadModel { tilt, none };
inline std::span<const std::string_view> value_names(LoadModel) {
  static constexpr std::array<std::string_view, 2> names = {"tilt", "none"};
  return names;
}

struct CommitteeSettings {
  std::optional<Id> trees;
  LoadModel load = LoadModel::tilt;
  EmOptions em{200, 1e-7};
  std::optional<double> validation;
  Trial trial = Trial::on;
  std::string weights, attributes, outcomes;

  void declare(SettingVisitor& visit) {
    visit(Setting("trees", "members of the committee (16; 8 from 3,000 students, 4 from 20,000)")
              .at_least(1)
              .at_most(1000)
              .in("Model"),
          trees);
    visit(Setting("load",
                  "whether numbers of courses per period are fitted to those of the students (tilt; from 100 students)")
              .in("Model"),
          load);
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
    visit(Setting("attributes", "columns known at entry that the model also learns, such as residence or entry major")
              .taking("COLUMN,...")
              .in("Model"),
          attributes);
    visit(Setting(
              "outcomes",
              "columns known later that it also learns, or conditions on columns, such as graduated=degree is not null")
              .taking("COLUMN,...")
              .in("Model"),
          outcomes);
  }
};

/// Of students of whom the cohort's schema says what is known.
std::unique_ptr<Training> prepare_members(const TrainingTask& task);
/// The same, once the traits that the settings name, and when students leave, are part of that.
std::unique_ptr<Training> prepare_committee(const TrainingTask& task);

}  // namespace desirepath::inline models
