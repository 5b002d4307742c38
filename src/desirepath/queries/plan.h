// Which courses next, on the way to a goal; and the ways there are.
#pragma once

#include <optional>
#include <vector>

#include "desirepath/queries/query.h"
#include "desirepath/queries/trait_conditions.h"

namespace desirepath::inline queries {

/// All of the bits, one at least of each of the groups (a course in any of its open periods), and all of the outcomes.
struct PlanGoal {
  std::vector<Id> all;
  std::vector<std::vector<Id>> any;
  std::vector<TraitCondition> outcomes = {};
};

/// A course of the next period: the chance of the goal for who takes it and who does not.
struct PlanStep {
  Id course = 0;
  double chance = 0;  // to take it, given what is known
  double with = 0, without = 0;
  Named name = {};

  double raises() const { return with - without; }
};

/// Drawn pathways that are alike.
struct PlanWay {
  struct Entry {
    Id bit;
    double share;  // of the pathways of this way
    Named course = {};
    std::string period = {};
  };
  double share = 0;            // of all drawn
  std::vector<Entry> courses;  // in most of its pathways; by period, then share
};

struct Plan {
  double chance = 0;            // of the goal, given what is known
  std::vector<PlanStep> steps;  // what raises it most first
};

struct PlanTask {
  const EvidenceBatch& known;  // of one student
  PlanGoal goal;
  Id period = 0;  // the next one
  Conditioning conditioning = Conditioning::linear;
};

/// P(goal | known) alone. Throws OptionError where the goal has too many courses without a period.
double goal_chance(const Model& model, const PlanTask& task, const Executor& executor);
Plan make_plan(const Model& model, const PlanTask& task, const Executor& executor);

/// `draws` completions of what is known and the goal, in at most `ways` groups; the largest first.
std::vector<PlanWay> find_ways(const Model& model, const PlanTask& task, std::int64_t draws, std::size_t ways,
                               const RandomStream& stream, const Executor& executor);

}  // namespace desirepath::inline queries
