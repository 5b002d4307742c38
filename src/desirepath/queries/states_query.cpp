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
#include "desirepath/queries/state_names.h"
#include "desirepath/queries/state_stability.h"

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

std::string state_number(Id state, bool left) {
  return left ? "left" : std::to_string(state);
}

/// The same courses, equally likely, in every period: hmm.
bool is_tied(const HiddenStates& states) {
  if (states.step_count() < 2) return false;
  const RowMatrix first = states.course_probabilities(0);
  for (Id step = 1; step < states.step_count(); ++step) {
    if (states.course_probabilities(states.step_periods(step).first) != first) return false;
  }
  return true;
}

class StatesAnswer : public Answer {
 public:
  StatesAnswer(const StoredModel& stored, const StatesSettings& settings, std::vector<StateStability> stability)
      : schema_(stored.model->schema()),
        states_(*stored.model->hidden_states()),
        model_(stored.model->name()),
        disclosure_(settings.disclosure),
        disclosed_(disclosed_states(stored, static_cast<std::size_t>(settings.courses_listed), disclosure_)),
        names_(given_names(*stored.model, settings.names)),
        refits_(settings.refits),
        stability_(std::move(stability)) {
    std::vector<StateProfile> profiles;
    for (const DisclosedState& state : disclosed_.states) {
      if (state.merged == 0) profiles.push_back(state.profile);
    }
    all_names_ = names_of_states(profiles, schema_, names_);
  }

  nlohmann::ordered_json to_json() const override {
    nlohmann::ordered_json json;
    json["model"] = model_;
    json["states"] = nlohmann::ordered_json::array();
    for (const DisclosedState& state : disclosed_.states) {
      const StateProfile& profile = state.profile;
      nlohmann::ordered_json entry;
      entry["period"] = period_of(states_, schema_, profile.step);
      if (state.merged > 0) {
        entry["state"] = "other";
        entry["merged_states"] = state.merged;
      } else {
        entry["state"] = profile.left ? nlohmann::ordered_json("left") : nlohmann::ordered_json(profile.state);
        entry["name"] = all_names_.at({profile.step, profile.state});
      }
      if (state.students) entry["students"] = *state.students;
      entry["share"] = profile.share;
      if (const StateStability* stability = stability_of(state)) {
        entry["overlap"] = stability->overlap;
        entry["found"] = stability->found;
      }
      entry["likely"] = course_list(state, profile.likely);
      entry["marking"] = course_list(state, profile.marking);
      json["states"].push_back(std::move(entry));
    }
    json["min_cell"] = disclosure_.least();
    json["withheld_states"] = disclosed_.withheld;
    if (refits_ > 0) json["refits"] = refits_;
    if (states_.step_count() == 1) return json;
    json["transitions"] = nlohmann::ordered_json::array();
    for (Id t = 0; t + 1 < states_.step_count(); ++t) {
      nlohmann::ordered_json matrix;
      const Matrix& transition = states_.transition(t);
      const HiddenTable hidden = hidden_transitions(states_, disclosed_, t, disclosure_);
      for (Index k = 0; k < transition.rows(); ++k)
        matrix.push_back(row_json(transition.row(k), hidden[static_cast<std::size_t>(k)]));
      json["transitions"].push_back(std::move(matrix));
    }
    return json;
  }

  Table table() const override {
    std::vector<TableColumn> columns = {{"period"},     {"state"},     {"students"}, {"share", 3},
                                        {"most taken"}, {"marked by"}, {"name"}};
    if (refits_ > 0) {
      columns.push_back({"overlap", 3});
      columns.push_back({"found", 3});
    }
    Table rows(std::move(columns));
    for (const DisclosedState& state : disclosed_.states) {
      std::vector<Cell> row = {period_of(states_, schema_, state.profile.step),
                               number_of(state),
                               state.students ? Cell(*state.students) : Cell(),
                               state.profile.share,
                               most_taken(state, /*titles=*/false),
                               marked_by(state, /*titles=*/false),
                               state.merged > 0 ? "other" : all_names_.at({state.profile.step, state.profile.state})};
      if (refits_ > 0) {
        const StateStability* stability = stability_of(state);
        row.push_back(stability != nullptr ? Cell(stability->overlap) : Cell());
        row.push_back(stability != nullptr ? Cell(stability->found) : Cell());
      }
      rows.add_row(std::move(row));
    }
    return rows;
  }

  void print(std::ostream& out) const override {
    if (is_tied(states_)) return print_tied(out);
    for (const DisclosedState& state : disclosed_.states) {
      out << (states_.step_count() == 1 ? "" : concat("period ", period_of(states_, schema_, state.profile.step), ", "))
          << title(state) << ": " << size(state) << found_again(state) << '\n';
      print_courses(out, state);
    }
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> lines;
    if (disclosed_.withheld > 0) {
      lines.push_back(concat(counted(disclosed_.withheld, "state", "states"), " shown as other: resting on ",
                             disclosure_.few(), " expected students, or shown apart telling of one that does"));
    }
    if (refits_ > 0) {
      lines.push_back(concat("found again: the share of ", refits_,
                             " fits to as many students drawn anew from these that have a state of mostly the same "
                             "students (over half of those in either are in both); in brackets the mean share in both; "
                             "a state seldom found again may be chance"));
    }
    return lines;
  }

 private:
  /// The states stand for the same in every period: once each, with its size in all of them.
  void print_tied(std::ostream& out) const {
    std::map<Id, std::vector<const DisclosedState*>> by_state;  // -1: several together
    for (const DisclosedState& state : disclosed_.states)
      by_state[state.merged > 0 ? -1 : state.profile.state].push_back(&state);
    for (const auto& [number, entries] : by_state) {
      if (number < 0) continue;
      out << title(*entries.front()) << '\n';
      for (const DisclosedState* state : entries)
        out << "  period " << period_of(states_, schema_, state->profile.step) << ": " << size(*state)
            << found_again(*state) << '\n';
      const auto most =
          std::ranges::max_element(entries, {}, [](const DisclosedState* s) { return s->students.value_or(0); });
      print_courses(out, **most);
    }
    for (const DisclosedState* state : by_state[-1])
      out << "period " << period_of(states_, schema_, state->profile.step) << ", " << title(*state) << ": "
          << size(*state) << '\n';
  }
  void print_courses(std::ostream& out, const DisclosedState& state) const {
    if (state.profile.likely.empty()) return;
    out << "  most taken  " << most_taken(state, /*titles=*/true) << "\n  marked by   "
        << marked_by(state, /*titles=*/true) << '\n';
  }

  static std::string number_of(const DisclosedState& state) {
    return state.merged > 0 ? concat("other (", counted(state.merged, "state", "states"), ")")
                            : state_number(state.profile.state, state.profile.left);
  }
  std::string title(const DisclosedState& state) const {
    if (state.merged > 0) return number_of(state);
    const auto given = names_.find({state.profile.step, state.profile.state});
    return concat("state ", number_of(state), given != names_.end() ? concat(" (", given->second, ")") : "");
  }
  static std::string size(const DisclosedState& state) {
    return concat(state.students ? concat(counted(*state.students, "student", "students"), ", ") : "",
                  fixed(100 * state.profile.share, 1), " % of students");
  }
  const StateStability* stability_of(const DisclosedState& state) const {
    if (state.merged > 0) return nullptr;
    const auto found = std::ranges::find_if(stability_, [&](const StateStability& entry) {
      return entry.step == state.profile.step && entry.state == state.profile.state;
    });
    return found == stability_.end() ? nullptr : &*found;
  }
  std::string found_again(const DisclosedState& state) const {
    const StateStability* stability = stability_of(state);
    return stability == nullptr
               ? ""
               : concat(", found again ", fixed(100 * stability->found, 0), " % (", fixed(stability->overlap, 2), ")");
  }
  /// Where students go from a state: what may not be told is null.
  static nlohmann::ordered_json row_json(const Eigen::RowVectorXd& row, const Hidden& hidden) {
    auto json = nlohmann::ordered_json::array();
    for (Index to = 0; to < row.size(); ++to)
      json.push_back(hidden[static_cast<std::size_t>(to)] != 0 ? nlohmann::ordered_json()
                                                               : nlohmann::ordered_json(row[to]));
    return json;
  }
  std::string course_name(const StateCourse& entry, bool titles) const {
    const Course& course = schema_.course(entry.course);
    const std::string name = titles ? full_name(course) : course.name;
    return states_.step_count() == 1 && schema_.period_count() > 1 ? concat(name, "@", schema_.period(entry.period))
                                                                   : name;
  }
  /// Expected; nothing where the state's size is withheld.
  static std::optional<std::int64_t> takers(const DisclosedState& state, const StateCourse& entry) {
    if (!state.students) return std::nullopt;
    return std::llround(static_cast<double>(*state.students) * entry.probability);
  }
  std::string most_taken(const DisclosedState& state, bool titles) const {
    std::vector<std::string> words;
    for (const StateCourse& entry : state.profile.likely)
      words.push_back(concat(course_name(entry, titles), " ", fixed(100 * entry.probability, 0), "%"));
    return join(words, ", ");
  }
  std::string marked_by(const DisclosedState& state, bool titles) const {
    std::vector<std::string> words;
    for (const StateCourse& entry : state.profile.marking) {
      const std::optional<std::int64_t> taking = takers(state, entry);
      words.push_back(concat(course_name(entry, titles), " x", fixed(entry.lift, 1),
                             taking ? concat(" (", with_separators(*taking), ")") : ""));
    }
    return join(words, ", ");
  }
  nlohmann::ordered_json course_list(const DisclosedState& state, const std::vector<StateCourse>& courses) const {
    auto list = nlohmann::ordered_json::array();
    for (const StateCourse& entry : courses) {
      const std::optional<std::int64_t> taking = takers(state, entry);
      list.push_back({{"course", schema_.course(entry.course).name},
                      {"label", schema_.course(entry.course).label},
                      {"period", schema_.period(entry.period)},
                      {"probability", entry.probability},
                      {"takers", taking ? nlohmann::ordered_json(*taking) : nlohmann::ordered_json()},
                      {"lift", entry.lift},
                      {"information", entry.information}});
    }
    return list;
  }

  const Schema& schema_;
  const HiddenStates& states_;
  std::string model_;
  Disclosure disclosure_;
  DisclosedStates disclosed_;
  StateNames names_;      // as they were given
  StateNames all_names_;  // of every state that is shown by itself
  Id refits_;
  std::vector<StateStability> stability_;
};

/// Posterior states of every student: one row a (student, period, state).
class StudentStatesAnswer : public Answer {
 public:
  StudentStatesAnswer(const Model& model, const Cohort& cohort, const Executor& executor)
      : states_(require_states(model, "states")),
        cohort_(cohort),
        posterior_(states_.posterior(EvidenceBatch::of(cohort), executor)) {}

  nlohmann::ordered_json to_json() const override { return {{"students", table().to_json()}}; }
  Table table() const override {
    Table rows({{"student"}, {"period"}, {"state"}, {"probability"}, {"present"}});
    for_each([&](const std::string& student, const std::string& period, std::string state, double probability,
                 bool present) {
      rows.add_row({student, period, std::move(state), probability, std::int64_t{present}});
    });
    return rows;
  }
  /// Row by row: there may be millions.
  void print_csv(std::ostream& out) const override {
    out << "student,period,state,probability,present\n";
    for_each([&](const std::string& student, const std::string& period, const std::string& state, double probability,
                 bool present) {
      out << csv_field(student) << ',' << csv_field(period) << ',' << state << ',' << shortest(probability) << ','
          << (present ? 1 : 0) << '\n';
    });
  }

 private:
  template <class Body>
  void for_each(const Body& body) const {
    const Id states = states_.state_count();
    for (Index s = 0; s < posterior_.rows(); ++s) {
      for (Id step = 0; step < states_.step_count(); ++step) {
        const std::string period = states_.step_count() > 1 ? cohort_.schema().period(step) : std::string("all");
        const bool present = is_present(cohort_, s, states_.step_periods(step));
        for (Id k = 0; k < states; ++k)
          body(cohort_.students()[static_cast<std::size_t>(s)], period,
               state_number(k, states_.has_left_state() && k + 1 == states), posterior_(s, step * states + k), present);
      }
    }
  }

  const HiddenStates& states_;
  Cohort cohort_;
  RowMatrix posterior_;
};

/// What can be said of a model that ties courses to each other and has no states.
class LinksAnswer : public Answer {
 public:
  explicit LinksAnswer(const Model& model) : schema_(model.schema()), model_(model.name()), links_(model.links()) {}

  /// A graph: nodes and edges.
  nlohmann::ordered_json to_json() const override {
    nlohmann::ordered_json json;
    json["model"] = model_;
    json["nodes"] = nlohmann::ordered_json::array();
    for (const Course& course : schema_.courses())
      json["nodes"].push_back({{"course", course.name}, {"label", course.label}, {"subject", course.subject}});
    json["links"] = table().to_json();
    return json;
  }
  Table table() const override {
    Table rows({{"course"}, {"linked to"}, {"information", 4}, {"share of trees", 2}});
    for (const CourseLink& link : links_)
      rows.add_row({schema_.course(link.first).name, schema_.course(link.second).name, link.information, link.share});
    return rows;
  }
  void print(std::ostream& out) const override {
    constexpr std::size_t listed = 20;
    out << model_ << " has no hidden states: it ties courses to each other. The strongest of "
        << with_separators(std::ssize(links_))
        << " ties, by what the timing of one course says of the other's (nats):\n";
    Table rows({{"course"}, {"linked to"}, {"information", 3}, {"share of trees", 2}});
    for (std::size_t i = 0; i < std::min(listed, links_.size()); ++i)
      rows.add_row({full_name(schema_.course(links_[i].first)), full_name(schema_.course(links_[i].second)),
                    links_[i].information, links_[i].share});
    rows.print_text(out, "  ");
    if (links_.size() > listed) out << setting_name("csv") << " lists all\n";
  }

 private:
  const Schema& schema_;
  std::string model_;
  std::vector<CourseLink> links_;
};

std::unique_ptr<Answer> answer_states(const QueryInput& input) {
  const Model& model = input.model();
  if (model.hidden_states() == nullptr && !model.links().empty()) return std::make_unique<LinksAnswer>(model);
  const auto settings = input.read<StatesSettings>();
  require_states(model, "states");
  if (settings.grid) return answer_grid(input, settings.grid_period, settings.names, settings.disclosure);
  if (!settings.by.empty())
    return answer_state_groups(input, settings.by, settings.names, settings.chance, settings.disclosure);
  if (input.students_wanted) return std::make_unique<StudentStatesAnswer>(model, *input.cohort, input.executor);
  std::vector<StateStability> stability;
  if (settings.refits > 0) {
    if (input.cohort == nullptr)
      throw OptionError(concat(setting_name("refits"), " needs a COHORT: the students the model was trained on"));
    const auto refits =
        refit_models(input.stored, *input.cohort, settings.refits, RandomStream(input.seed).child("refits"),
                     input.executor, input.progress, RefitStart::anew);
    stability = state_stability(*model.hidden_states(), refits, *input.cohort, input.executor);
  }
  return std::make_unique<StatesAnswer>(input.stored, settings, std::move(stability));
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
