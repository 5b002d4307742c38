// The question: what each hidden state stands for, who is in it, and how sure it is.
#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/disclosure/disclosure.h"
#include "desirepath/queries/disclosed_states.h"
#include "desirepath/queries/evidence_settings.h"
#include "desirepath/queries/refits.h"
#include "desirepath/queries/state_grid.h"
#include "desirepath/queries/state_groups.h"
#include "desirepath/queries/states.h"

namespace desirepath::inline queries {

namespace {

struct StatesSettings {
  Id courses_listed = 8;
  std::string by;
  bool grid = false;
  std::string grid_period;
  Id refits = 0;
  StateNameSettings names;
  ChanceSettings chance;
  Disclosure disclosure;

  void declare(SettingVisitor& visit) {
    visit(Setting("courses-shown", "courses listed for a state").at_least(0), courses_listed);
    visit(Setting("by", "student attribute of COHORT, or entry: who is in each state, by its groups").taking("COLUMN"),
          by);
    visit(Setting("grid", "courses by concentration, each with the state whose students take it most"), grid);
    visit(Setting("grid-period", "the period whose states the grid has (the one that tells courses apart best)")
              .taking("PERIOD"),
          grid_period);
    visit(
        Setting("refits",
                "fit the model anew to this many draws of the students of COHORT, with replacement, and say how often "
                "each state is found again")
            .at_least(0)
            .at_most(1000)
            .taking("B"),
        refits);
    names.declare(visit);
    chance.declare(visit);
    disclosure.declare(visit);
  }
};

/// The same courses, equally likely, in every period: hmm.
bool is_tied(const HiddenStates& states) {
  if (states.step_count() < 2) return false;
  const RowMatrix first = states.course_probabilities(0);
  for (Id step = 1; step < states.step_count(); ++step) {
    if (states.course_probabilities(states.step_periods(step).first) != first) return false;
  }
  return true;
}

std::string title_of(const DisclosedState& state, const StateNames& given) {
  if (state.merged > 0) return state.number();
  const auto name = given.find({state.profile.step, state.profile.state});
  return concat("state ", state.number(), name != given.end() ? concat(" (", name->second, ")") : "");
}

std::string size_of(const DisclosedState& state) {
  const auto& stability = state.stability;
  return concat(
      state.students ? concat(counted(*state.students, "student", "students"), ", ") : "",
      fixed(100 * state.profile.share, 1), " % of students",
      stability ? concat(", found again ", fixed(100 * stability->found, 0), " % (", fixed(stability->overlap, 2), ")")
                : "");
}

void say_courses(Answer& answer, const DisclosedState& state) {
  if (state.profile.likely.empty()) return;
  std::vector<std::string> likely, marking;
  for (const StateCourse& entry : state.profile.likely)
    likely.push_back(share_words(entry, full_name(entry.listed)));
  for (const StateCourse& entry : state.profile.marking)
    marking.push_back(lift_words(entry, full_name(entry.listed)));
  answer.say("  most taken  " + join(likely, ", "));
  answer.say("  marked by   " + join(marking, ", "));
}

/// The states stand for the same in every period: once each, with its size in all of them.
void say_tied(Answer& answer, const std::vector<DisclosedState>& states, const StateNames& given) {
  std::map<Id, std::vector<const DisclosedState*>> by_state;  // -1: several together
  for (const DisclosedState& state : states)
    by_state[state.merged > 0 ? -1 : state.profile.state].push_back(&state);
  for (const auto& [number, entries] : by_state) {
    if (number < 0) continue;
    answer.say(title_of(*entries.front(), given));
    for (const DisclosedState* state : entries)
      answer.say("  period ", state->period, ": ", size_of(*state));
    say_courses(answer, **std::ranges::max_element(entries, {},
                                                   [](const DisclosedState* s) { return s->students.value_or(0); }));
  }
  for (const DisclosedState* state : by_state[-1])
    answer.say("period ", state->period, ", ", title_of(*state, given), ": ", size_of(*state));
}

/// Where students go from each state of a step: what may not be told is null.
nlohmann::ordered_json transition_json(const HiddenStates& states, const DisclosedStates& disclosed, Id step,
                                       const Disclosure& disclosure) {
  const Matrix& transition = states.transition(step);
  const HiddenTable hidden = hidden_transitions(states, disclosed, step, disclosure);
  nlohmann::ordered_json matrix;
  for (Index from = 0; from < transition.rows(); ++from) {
    auto row = nlohmann::ordered_json::array();
    for (Index to = 0; to < transition.cols(); ++to) {
      const bool is_hidden = hidden[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)] != 0;
      row.push_back(is_hidden ? nlohmann::ordered_json() : nlohmann::ordered_json(transition(from, to)));
    }
    matrix.push_back(std::move(row));
  }
  return matrix;
}

std::vector<StateStability> stability_of(const QueryInput& input, Id count) {
  if (count == 0) return {};
  if (input.cohort == nullptr)
    throw OptionError(concat(setting_name("refits"), " needs a COHORT: the students the model was trained on"));
  const auto refits = refit_models(input.stored, *input.cohort, count, input.stream.child("refits"), input.executor,
                                   input.progress, RefitStart::anew);
  return state_stability(*input.model().hidden_states(), refits, *input.cohort, input.executor);
}

Answer answer_profiles(const QueryInput& input, const StatesSettings& settings) {
  const Model& model = input.model();
  const HiddenStates& states = *model.hidden_states();
  const Disclosure& disclosure = settings.disclosure;
  const std::vector<StateStability> stability = stability_of(input, settings.refits);
  const DisclosedStates disclosed =
      disclosed_states(input.stored, static_cast<std::size_t>(settings.courses_listed), disclosure);
  const StateNames given = given_names(model, settings.names);
  std::vector<StateProfile> profiles;
  for (const DisclosedState& state : disclosed.states) {
    if (state.merged == 0) profiles.push_back(state.profile);
  }
  std::vector<DisclosedState> listed = disclosed.states;
  name_states(listed, names_of_states(profiles, model.schema(), given));
  for (DisclosedState& state : listed) {
    const auto found = std::ranges::find_if(stability, [&](const StateStability& entry) {
      return entry.step == state.profile.step && entry.state == state.profile.state && state.merged == 0;
    });
    if (found != stability.end()) state.stability = *found;
  }
  Answer answer;
  answer.set("model", model.name());
  answer.add("states", state_table(listed, settings.refits > 0));
  answer.set({{"min_cell", disclosure.least()}, {"withheld_states", disclosed.withheld}});
  if (settings.refits > 0) answer.set("refits", settings.refits);
  auto transitions = nlohmann::ordered_json::array();
  for (Id t = 0; t + 1 < states.step_count(); ++t)
    transitions.push_back(transition_json(states, disclosed, t, disclosure));
  if (states.step_count() > 1) answer.set("transitions", transitions);

  if (is_tied(states)) say_tied(answer, listed, given);
  for (std::size_t i = 0; i < listed.size() && !is_tied(states); ++i) {
    answer.say(states.step_count() == 1 ? "" : concat("period ", listed[i].period, ", "), title_of(listed[i], given),
               ": ", size_of(listed[i]));
    say_courses(answer, listed[i]);
  }
  if (disclosed.withheld > 0) {
    answer.note(counted(disclosed.withheld, "state", "states"), " shown as other: resting on ", disclosure.few(),
                " expected students, or shown apart telling of one that does");
  }
  if (settings.refits > 0) {
    answer.note("found again: the share of ", settings.refits,
                " fits to as many students drawn anew from these that have a state of mostly the same students "
                "(over half of those in either are in both); in brackets the mean share in both; a state seldom "
                "found again may be chance");
  }
  return answer;
}

/// Posterior states of every student: one row a (student, period, state), made when it is asked for.
struct StudentStates {
  struct Row {
    const StudentStates* of;
    std::size_t student, step, state;
    double probability;
  };
  Cohort cohort;
  RowMatrix posterior;  // students by (step, state)
  std::size_t states;
  bool has_left;
  std::vector<PeriodRange> steps = {};
  std::vector<std::string> periods = {};

  std::size_t size() const { return static_cast<std::size_t>(posterior.size()); }
  Row operator[](std::size_t row) const {
    return {this, row / (states * steps.size()), row / states % steps.size(), row % states, posterior.data()[row]};
  }
  bool is_there(const Row& row) const {
    return is_present(cohort, static_cast<std::int64_t>(row.student), steps[row.step]);
  }
};

Answer answer_students(const QueryInput& input) {
  const HiddenStates& states = *input.model().hidden_states();
  StudentStates rows{*input.cohort, states.posterior(EvidenceBatch::of(*input.cohort), input.executor),
                     static_cast<std::size_t>(states.state_count()), states.has_left_state()};
  for (Id step = 0; step < states.step_count(); ++step) {
    rows.steps.push_back(states.step_periods(step));
    rows.periods.push_back(period_of(states, input.cohort->schema(), step));
  }
  using Row = StudentStates::Row;
  const auto number = [](const Row& row) {
    return row.of->has_left && row.state + 1 == row.of->states ? "left" : std::to_string(row.state);
  };
  Answer answer;
  answer.add("students",
             {std::move(rows),
              {{"student", [](const Row& row) { return row.of->cohort.students()[row.student]; }},
               {"period", [](const Row& row) { return row.of->periods[row.step]; }},
               {"state", number},
               {"probability", &Row::probability, share(3)},
               {"present", [](const Row& row) { return row.of->is_there(row); }, {.flag = FlagForm::digit}}}});
  return answer;
}

/// Of a model that ties courses to each other and has no states: a graph.
Answer answer_links(const Model& model) {
  constexpr std::size_t listed = 20;
  struct Link {
    Named one, other;
    double information, share;
  };
  std::vector<Link> ties;
  for (const CourseLink& link : model.links())
    ties.push_back({named(model.schema().course(link.first)), named(model.schema().course(link.second)),
                    link.information, link.share});
  const Table links(std::move(ties), {{"course", &Link::one},
                                      {"linked to", &Link::other},
                                      {"information", &Link::information, {.unit = "nats"}},
                                      {"share of trees", &Link::share, share(2)}});
  Answer answer;
  answer.set("model", model.name());
  answer.set("nodes", course_table(model.schema().courses()));
  answer.add("links", links);
  answer.say(model.name(), " has no hidden states: it ties courses to each other. The strongest of ",
             with_separators(static_cast<std::int64_t>(links.row_count())),
             " ties, by what the timing of one course says of the other's (nats):");
  answer.show(links.first(listed), "  ");
  if (links.row_count() > listed) answer.say(setting_name("csv"), " lists all");
  return answer;
}

Answer answer_states(const QueryInput& input) {
  const Model& model = input.model();
  if (model.hidden_states() == nullptr && !model.links().empty()) return answer_links(model);
  const auto settings = input.read<StatesSettings>();
  require_states(model, "states");
  if (settings.grid) return answer_grid(input, settings.grid_period, settings.names, settings.disclosure);
  if (!settings.by.empty())
    return answer_state_groups(input, settings.by, settings.names, settings.chance, settings.disclosure);
  return input.students_wanted ? answer_students(input) : answer_profiles(input, settings);
}

}  // namespace

Query states_query() {
  return {"states",
          "what each hidden state stands for and who is in it; with a COHORT and --csv, the states of each student",
          {"desirepath states all.desirepath", "desirepath states all.desirepath all.cohort --csv",
           "desirepath states all.desirepath all.cohort --by residence", "desirepath states all.desirepath --grid"},
          CohortUse::optional,
          "with --csv: student,period,state,probability,present (1, 0)",
          declaration_of<StatesSettings>(),
          answer_states};
}

}  // namespace desirepath::inline queries
