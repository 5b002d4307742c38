// The question: which courses next, on the way to a goal.
#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/disclosure/disclosure.h"
#include "desirepath/queries/enrollment_chances.h"
#include "desirepath/queries/evidence_settings.h"
#include "desirepath/queries/plan.h"
#include "desirepath/queries/student_groups.h"

namespace desirepath::inline queries {

namespace {

constexpr std::size_t listed_steps = 10;

struct PlanSettings {
  EvidenceSettings known;
  std::vector<std::string> goal;
  std::string core;
  double core_share = 0.8;
  std::string period;
  Disclosure disclosure;
  double min_probability = 0.01;
  std::int64_t draws = 1000;
  Id ways = 3;
  Conditioning method = Conditioning::linear;

  void declare(SettingVisitor& visit) {
    visit(Setting("goal",
                  "a course to be taken, COURSE@PERIOD, or COURSE for any period not yet known; or an outcome that the "
                  "model knows, such as graduated=yes (repeatable: all of them)")
              .taking("COURSE[@PERIOD]|NAME=VALUE")
              .undivided(),
          goal);
    visit(
        Setting("core",
                "the goal is what such students of COHORT have in common: the courses that most of them take, such as "
                "a major's core")
            .taking("COLUMN=VALUE"),
        core);
    visit(Setting("core-share",
                  "share of them who take a course of their core (rounded down to tenths, and further in small groups)")
              .above(0)
              .at_most(1),
          core_share);
    known.declare(visit);
    disclosure.declare(visit);
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

/// By period.
std::vector<std::string> way_words(const PlanWay& way) {
  std::vector<std::string> lines;
  const std::string* period = nullptr;
  for (const PlanWay::Entry& entry : way.courses) {
    const bool is_new = period == nullptr || *period != entry.period;
    if (is_new)
      lines.push_back(concat("  period ", entry.period, ": ", entry.course.title));
    else
      lines.back() += ", " + entry.course.title;
    period = &entry.period;
  }
  if (lines.empty()) lines.emplace_back("  nothing that most of them share");
  return lines;
}

Table way_table(const std::vector<PlanWay>& ways) {
  const auto courses = [](const PlanWay& way) {
    auto list = nlohmann::ordered_json::array();
    for (const PlanWay::Entry& entry : way.courses)
      list.push_back({{"period", entry.period}, {"course", entry.course.name}, {"share", entry.share}});
    return list;
  };
  return {ways, {{"share", &PlanWay::share, {.percent = Percent::whole}}, {"courses", courses}}};
}

Table plan_step_table(const std::vector<PlanStep>& steps) {
  using Row = PlanStep;
  return {steps,
          {{"course", &Row::name},
           {"goal_with", &Row::with, share(3, {.title = "with it"})},
           {"goal_without", &Row::without, share(3, {.title = "without"})},
           {"raises", &Row::raises, share(3, {.shown = Shown::to_programs})},
           {"probability", &Row::chance, share(3, {.title = "taken by such students"})}}};
}

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
  std::vector<Id> open;
  for (Id t = 0; t < schema.period_count(); ++t) {
    const Id bit = schema.bit(t, course);
    if (taken(bit) == true) return false;
    if (!taken(bit)) open.push_back(bit);
  }
  if (open.empty()) throw InputError(concat("goal '", words, "': known not to be taken in any period"));
  goal.any.push_back(std::move(open));
  return true;
}

/// The courses that most students of a group take, the most common first; of more than can be asked for together those.
std::vector<std::string> core_of(const QueryInput& input, const PlanSettings& settings) {
  constexpr std::size_t most = 10;
  const std::size_t equals = settings.core.find('=');
  if (input.cohort == nullptr) throw OptionError(concat(setting_name("core"), " needs a COHORT"));
  if (equals == std::string::npos)
    throw OptionError(concat(setting_name("core"), " ", settings.core, ": COLUMN=VALUE, such as major=Biology"));
  const Cohort& cohort = *input.cohort;
  const std::string value = settings.core.substr(equals + 1);
  const StudentGroups groups = groups_of(cohort, settings.core.substr(0, equals));
  const auto group = std::ranges::find(groups.names, value);
  if (group == groups.names.end()) throw OptionError(concat(setting_name("core"), ": no student has ", settings.core));
  const auto number = static_cast<Id>(group - groups.names.begin());
  std::int64_t students = 0;
  std::vector<std::int64_t> takers(static_cast<std::size_t>(cohort.schema().course_count()), 0);
  for (std::int64_t s = 0; s < cohort.student_count(); ++s) {
    if (groups.of_student[static_cast<std::size_t>(s)] != number) continue;
    ++students;
    std::set<Id> own;
    for (Id t = 0; t < cohort.schema().period_count(); ++t) {
      for (const Id bit : cohort.enrollments().row(s * cohort.schema().period_count() + t))
        own.insert(cohort.schema().course_of(bit));
    }
    for (const Id course : own)
      ++takers[static_cast<std::size_t>(course)];
  }
  settings.disclosure.require(students);
  // By asking for one share after the other every number of takers could be found: all goes by coarse ones.
  std::vector<Id> core;
  const auto share = [&](Id c) {
    return settings.disclosure.coarse_share(static_cast<double>(takers[static_cast<std::size_t>(c)]),
                                            static_cast<double>(students));
  };
  const double group_size = static_cast<double>(students);
  const double least = settings.disclosure.coarse_share(settings.core_share * group_size, group_size);
  for (Id c = 0; c < cohort.schema().course_count(); ++c) {
    if (share(c) > 0 && share(c) >= least) core.push_back(c);
  }
  if (core.empty()) {
    throw InputError(concat("no course is taken by ", fixed(100 * settings.core_share, 0), " % of the students with ",
                            settings.core, " (shares are rounded down to tenths, and further in small groups): lower ",
                            setting_name("core-share"), " or choose a larger group"));
  }
  std::ranges::stable_sort(core, std::ranges::greater(), share);
  core.resize(std::min(core.size(), most));
  std::vector<std::string> names;
  for (const Id c : core)
    names.push_back(cohort.schema().course(c).name);
  return names;
}

/// Of one student: the one chosen, or, where the cohort is there for its core alone, nobody in particular. Of the
/// outcomes that are the goal nothing is known.
EvidenceBatch known_of_one(const QueryInput& input, const PlanSettings& settings, std::span<const Id> outcomes) {
  if (settings.core.empty() || !settings.known.student.empty()) return what_is_known(input, settings.known, outcomes);
  return what_is_known({input.stored, nullptr, input.given, input.settings, false, true, input.stream, input.executor},
                       settings.known, outcomes);
}

/// Whether a goal is NAME=VALUE of a trait, and no course that has = in its name.
bool is_outcome_goal(const Schema& schema, const std::string& words) {
  const std::size_t equals = words.find('=');
  if (equals == std::string::npos || schema.find_course(words.substr(0, words.rfind('@')))) return false;
  const std::string_view name = trimmed(std::string_view(words).substr(0, equals));
  return std::ranges::find(schema.traits(), name, &Trait::name) != schema.traits().end();
}

/// The student is enrolled in the period, though nothing is known of what is taken in it.
EvidenceBatch known_to_be_enrolled(const Schema& schema, const EvidenceBatch& known, Id period) {
  EvidenceBuilder rows(known);
  rows.begin_student(known, 0);
  for (Id t = 0; t < schema.period_count(); ++t) {
    const PeriodEvidence own = PeriodEvidence::of(known, 0, t);
    if (t != period) {
      rows.add(own);
      continue;
    }
    PeriodEvidence enrolled{Presence::present, {}, {}};
    for (Id c = 0; c < schema.course_count(); ++c)
      enrolled.set(schema.bit(t, c), own.known(schema.bit(t, c)));
    rows.add(enrolled);
  }
  return std::move(rows).build();
}

Answer answer_plan(const QueryInput& input) {
  const auto settings = input.read<PlanSettings>();
  const Model& model = input.model();
  const Schema& schema = model.schema();
  std::vector<std::string> goals = settings.goal;
  if (!settings.core.empty()) {
    const std::vector<std::string> core = core_of(input, settings);
    goals.insert(goals.end(), core.begin(), core.end());
  }
  if (goals.empty())
    throw OptionError(concat("plan: say what to reach with ", setting_name("goal"), " or ", setting_name("core")));
  PlanGoal goal;
  std::vector<Id> outcome_traits;
  for (const std::string& words : goals) {
    if (!is_outcome_goal(schema, words)) continue;
    for (const TraitCondition& outcome : parse_conditions(schema, {words})) {
      goal.outcomes.push_back(outcome);
      outcome_traits.push_back(outcome.trait);
    }
  }
  EvidenceBatch known = known_of_one(input, settings, outcome_traits);
  if (known.student_count() != 1)
    throw OptionError(concat("plan is for one student: choose with ", setting_name("student")));
  require_possible(model, known, input.executor);
  std::vector<std::string> open;
  for (const std::string& words : goals) {
    if (is_outcome_goal(schema, words) || add_goal(schema, known, words, goal)) open.push_back(words);
  }
  if (open.empty()) throw InputError(concat(join(goals, " and "), ": the goal is reached already"));
  Id next = 0;
  if (settings.period.empty()) {
    while (next < schema.period_count() && !is_open(known, next))
      ++next;
    if (next == schema.period_count()) throw InputError("plan: everything is known of every period");
  } else {
    next = schema.require_period(settings.period);
    if (!is_open(known, next))
      throw OptionError(concat(setting_name("period"), " ", settings.period, ": everything is known of it"));
  }
  // Whoever leaves takes no course and hardly graduates: without this, every course would seem to help.
  const bool supposes_enrollment = !goal.outcomes.empty() && knows_leaving(model);
  if (supposes_enrollment) {
    known = known_to_be_enrolled(schema, known, next);
    require_possible(model, known, input.executor);
  }
  const PlanTask task{known, goal, next, settings.method};
  Plan plan = make_plan(model, task, input.executor);
  if (plan.chance <= 0) throw InputError(concat(join(open, " and "), ": impossible given what is known"));
  std::erase_if(plan.steps, [&](const PlanStep& step) { return step.chance < settings.min_probability; });
  const EvidenceBatch nothing = nothing_known(schema, 1);
  const double anyone = goal_chance(model, {nothing, task.goal, task.period, settings.method}, input.executor);
  const std::vector<PlanWay> ways = find_ways(model, task, settings.draws, static_cast<std::size_t>(settings.ways),
                                              input.stream.child("plan"), input.executor);
  const Table steps = plan_step_table(plan.steps);

  Answer answer;
  answer.set({{"model", model.name()},
              {"goal", open},
              {"period", schema.period(task.period)},
              {"probability", plan.chance},
              {"probability_of_anyone", anyone}});
  answer.add("courses", steps);
  answer.add("ways", way_table(ways));
  answer.say(join(open, " and "), ": probability ", fixed(plan.chance, 3),
             supposes_enrollment ? " given what is known and enrollment in that period" : " given what is known",
             " (anyone: ", fixed(anyone, 3), ")\n\nin period ", schema.period(task.period), ", what raises it most:");
  answer.show(steps.first(listed_steps), "  ");
  for (std::size_t w = 0; w < ways.size(); ++w) {
    answer.say("\nway ", w + 1, ", ", fixed(100 * ways[w].share, 0), " % of the pathways that reach it");
    for (const std::string& line : way_words(ways[w]))
      answer.say(line);
  }
  answer.note(
      "what students like this one did, not what taking a course would cause; ways: ", with_separators(settings.draws),
      " pathways drawn given what is known and the goal, grouped; a way lists what most of its pathways "
      "have");
  return answer;
}

}  // namespace

Query plan_query() {
  return {"plan",
          "which courses next, on the way to a goal",
          {"desirepath plan answers.desirepath --took \"CS 101@1\" --known-periods 1 --goal \"CS 301\"",
           "desirepath plan answers.desirepath all.cohort --student S00000042 --known-periods 1 --goal \"CS 301@3\"",
           "desirepath plan answers.desirepath all.cohort --took \"CS 101@1\" --core \"major=Computer Science\""},
          CohortUse::optional,
          "where the student is: a cohort file or a raw table",
          declaration_of<PlanSettings>(),
          answer_plan,
          /*takes_evidence=*/true};
}

}  // namespace desirepath::inline queries
