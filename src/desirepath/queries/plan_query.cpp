// The question: which courses next, on the way to a goal.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/queries/known.h"
#include "desirepath/queries/plan.h"

namespace desirepath::inline queries {

namespace {

constexpr std::size_t shown_steps = 10;

struct PlanSettings {
  KnownSettings known;
  std::vector<std::string> goal;
  std::string period;
  double min_probability = 0.01;
  std::int64_t draws = 1000;
  Id ways = 3;
  Conditioning method = Conditioning::linear;

  void declare(SettingVisitor& visit) {
    visit(Setting("goal",
                  "a course to be taken, COURSE@PERIOD, or COURSE for any period not yet known; may be given again: "
                  "all of them")
              .taking("COURSE[@PERIOD]")
              .undivided(),
          goal);
    known.declare(visit);
    visit(Setting("period", "the period to plan (the first of which not all is known)").taking("PERIOD"), period);
    visit(Setting("min-probability", "only courses that such a student takes at least this likely")
              .at_least(0)
              .at_most(1),
          min_probability);
    visit(Setting("draws", "pathways drawn to find the ways").at_least(10).at_most(1'000'000).taking("N"), draws);
    visit(Setting("ways", "groups the pathways to the goal are put in").at_least(1).at_most(20), ways);
    visit(Setting("method", "how Gaussian models take what is known: linear or exact"), method);
  }
};

bool is_open(const EvidenceBatch& known, Id period) {
  return known.presence(0, period) == Presence::unknown || !known.exceptions(0, period).empty();
}

class PlanAnswer : public Answer {
 public:
  explicit PlanAnswer(const Schema& its_schema) : schema(its_schema) {}

  nlohmann::ordered_json to_json() const override {
    nlohmann::ordered_json json;
    json["model"] = model;
    json["goal"] = goal;
    json["period"] = schema.period(period);
    json["probability"] = plan.chance;
    json["probability_of_anyone"] = anyone;
    json["courses"] = table().to_json();
    json["ways"] = nlohmann::ordered_json::array();
    for (const PlanWay& way : ways) {
      nlohmann::ordered_json courses = nlohmann::ordered_json::array();
      for (const PlanWay::Entry& entry : way.courses) {
        courses.push_back({{"period", schema.period(schema.period_of(entry.bit))},
                           {"course", schema.course(schema.course_of(entry.bit)).name},
                           {"share", entry.share}});
      }
      json["ways"].push_back({{"share", way.share}, {"courses", courses}});
    }
    return json;
  }
  Table table() const override {
    Table rows({{"course"}, {"goal_with", 3}, {"goal_without", 3}, {"raises", 3}, {"probability", 3}});
    for (const PlanStep& step : plan.steps)
      rows.add_row({schema.course(step.course).name, step.with, step.without, step.raises(), step.chance});
    return rows;
  }
  void print(std::ostream& out) const override {
    out << join(goal, " and ") << ": probability " << fixed(plan.chance, 3)
        << " given what is known (anyone: " << fixed(anyone, 3) << ")\n\nin period " << schema.period(period)
        << ", what raises it most:\n";
    Table rows({{"course"}, {"with it", 3}, {"without", 3}, {"taken by such students", 3}});
    for (std::size_t i = 0; i < std::min(shown_steps, plan.steps.size()); ++i) {
      const PlanStep& step = plan.steps[i];
      rows.add_row({full_name(schema.course(step.course)), step.with, step.without, step.chance});
    }
    rows.print_text(out, "  ");
    for (std::size_t w = 0; w < ways.size(); ++w) {
      out << "\nway " << w + 1 << ", " << fixed(100 * ways[w].share, 0) << " % of the pathways that reach it\n";
      Id at = -1;
      for (const PlanWay::Entry& entry : ways[w].courses) {
        const Id now = schema.period_of(entry.bit);
        out << (now != at ? concat(at >= 0 ? "\n" : "", "  period ", schema.period(now), ": ") : std::string(", "))
            << full_name(schema.course(schema.course_of(entry.bit)));
        at = now;
      }
      out << (at >= 0 ? "\n" : "  nothing that most of them share\n");
    }
  }
  std::vector<std::string> notes() const override {
    return {
        concat("what students like this one did, not what taking a course would cause; ways: ", with_separators(draws),
               " pathways drawn given what is known and the goal, grouped; a way lists what "
               "most of its pathways have")};
  }

  const Schema& schema;
  std::string model;
  std::vector<std::string> goal;
  Id period = 0;
  double anyone = 0;
  std::int64_t draws = 0;
  Plan plan;
  std::vector<PlanWay> ways;
};

/// Adds what the words ask for to the goal; false where it is reached already.
bool add_goal(const Schema& schema, const EvidenceBatch& known, const std::string& words, PlanGoal& goal) {
  const auto taken = [&](Id bit) { return PeriodEvidence::of(known, 0, schema.period_of(bit)).known(bit); };
  if (words.find('@') != std::string::npos || schema.period_count() == 1) {
    const Id bit = parse_bit(schema, words);
    if (taken(bit) == true) return false;
    if (taken(bit) == false) throw InputError(concat("goal '", words, "': known not to be taken then"));
    goal.all.push_back(bit);
    return true;
  }
  const Id course = schema.require_course(words);
  if (!goal.any.empty())
    throw OptionError(concat(setting_name("goal"), ": one course without a period at most; say @PERIOD of the others"));
  for (Id t = 0; t < schema.period_count(); ++t) {
    const Id bit = schema.bit(t, course);
    if (taken(bit) == true) return false;
    if (!taken(bit)) goal.any.push_back(bit);
  }
  if (goal.any.empty()) throw InputError(concat("goal '", words, "': known not to be taken in any period"));
  return true;
}

std::unique_ptr<Answer> answer_plan(const QueryInput& input) {
  const auto settings = input.read<PlanSettings>();
  const Model& model = input.model();
  const Schema& schema = model.schema();
  if (settings.goal.empty()) throw OptionError(concat("plan: say what to reach with ", setting_name("goal")));
  const EvidenceBatch known = what_is_known(input, settings.known);
  if (known.student_count() != 1)
    throw OptionError(concat("plan is for one student: choose with ", setting_name("student")));
  require_possible(model, known, input.compute);
  PlanTask task{known, {}, 0, settings.method};
  std::vector<std::string> open;
  for (const std::string& words : settings.goal) {
    if (add_goal(schema, known, words, task.goal)) open.push_back(words);
  }
  if (open.empty()) throw InputError(concat(join(settings.goal, " and "), ": the goal is reached already"));
  if (settings.period.empty()) {
    while (task.period < schema.period_count() && !is_open(known, task.period))
      ++task.period;
    if (task.period == schema.period_count()) throw InputError("plan: everything is known of every period");
  } else {
    task.period = schema.require_period(settings.period);
    if (!is_open(known, task.period))
      throw OptionError(concat(setting_name("period"), " ", settings.period, ": everything is known of it"));
  }
  auto answer = std::make_unique<PlanAnswer>(schema);
  answer->model = model.name();
  answer->goal = open;
  answer->period = task.period;
  answer->draws = settings.draws;
  answer->plan = make_plan(model, task, input.compute);
  if (answer->plan.chance <= 0) throw InputError(concat(join(open, " and "), ": impossible given what is known"));
  std::erase_if(answer->plan.steps, [&](const PlanStep& step) { return step.chance < settings.min_probability; });
  const EvidenceBatch nothing = nothing_known(schema, 1);
  answer->anyone = goal_chance(model, {nothing, task.goal, task.period, settings.method}, input.compute);
  answer->ways = find_ways(model, task, settings.draws, static_cast<std::size_t>(settings.ways),
                           RandomStream(input.seed).child("plan"), input.compute);
  return answer;
}

}  // namespace

Query plan_query() {
  return {"plan",
          "which courses next, on the way to a goal",
          {"desirepath plan answers.desirepath --took \"CS 101@1\" --known-periods 1 --goal \"CS 301\"",
           "desirepath plan answers.desirepath all.cohort --student S00000042 --known-periods 1 --goal \"CS 301@3\""},
          CohortUse::optional,
          "where the student is: a cohort file or a raw table",
          declaration_of<PlanSettings>(),
          answer_plan,
          /*takes_evidence=*/true};
}

}  // namespace desirepath::inline queries
