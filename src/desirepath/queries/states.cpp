#include "desirepath/queries/states.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/queries/min_cell.h"
#include "desirepath/queries/shown_states.h"

namespace desirepath::inline queries {

std::vector<StateProfile> profile_states(const Model& model, std::size_t count, double least_probability) {
  const HiddenStates* states = &require_states(model, "states");
  const Id courses = model.schema().course_count();
  const Id emitting = states->state_count() - (states->has_left_state() ? 1 : 0);
  std::vector<StateProfile> profiles;
  for (Id step = 0; step < states->step_count(); ++step) {
    const Vector share = states->share(step);
    std::vector<std::vector<StateCourse>> lists(static_cast<std::size_t>(emitting));
    const PeriodRange periods = states->step_periods(step);
    for (Id t = periods.first; t < periods.last; ++t) {
      const RowMatrix probability = states->course_probabilities(t);
      const double present = share.head(emitting).sum();
      const Vector average =
          present > 0 ? Vector(probability * share.head(emitting) / present) : Vector(Vector::Zero(courses));
      for (Id c = 0; c < courses; ++c) {
        for (Id k = 0; k < emitting; ++k) {
          const double p = probability(c, k);
          lists[static_cast<std::size_t>(k)].push_back({c, t, p, average[c] > 0 ? p / average[c] : 0});
        }
      }
    }
    for (Id k = 0; k < states->state_count(); ++k) {
      StateProfile profile{step, k, k >= emitting, share[k], {}, {}};
      if (k < emitting) {
        std::vector<StateCourse>& list = lists[static_cast<std::size_t>(k)];
        std::ranges::stable_sort(list, std::ranges::greater(), &StateCourse::probability);
        profile.likely.assign(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(std::min(count, list.size())));
        std::erase_if(list, [&](const StateCourse& course) { return course.probability < least_probability; });
        std::ranges::stable_sort(list, std::ranges::greater(), &StateCourse::lift);
        profile.marking.assign(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(std::min(count, list.size())));
      }
      profiles.push_back(std::move(profile));
    }
  }
  return profiles;
}

std::string state_name(const StateProfile& profile, const Schema& schema) {
  if (profile.left) return "left";
  std::vector<std::string> words;
  for (const StateCourse& entry : profile.marking) {
    const Course& course = schema.course(entry.course);
    const std::string& word = course.label.empty() ? course.name : course.label;
    if (words.size() < 2 && std::ranges::find(words, word) == words.end()) words.push_back(word);
  }
  return words.empty() ? concat("state ", profile.state) : join(words, ", ");
}

namespace {

struct StatesSettings {
  Id courses_shown = 8;
  MinCell min_cell;
  void declare(SettingVisitor& visit) {
    visit(Setting("courses-shown", "courses listed for a state").at_least(0), courses_shown);
    min_cell.declare(visit);
  }
};

std::string state_number(Id state, bool left) {
  return left ? "left" : std::to_string(state);
}

class StatesAnswer : public Answer {
 public:
  StatesAnswer(const StoredModel& stored, const StatesSettings& settings)
      : schema_(stored.model->schema()),
        model_(stored.model->name()),
        min_cell_(settings.min_cell.count),
        shown_(shown_states(stored, static_cast<std::size_t>(settings.courses_shown), min_cell_)) {
    const HiddenStates& states = *stored.model->hidden_states();
    one_step_ = states.step_count() == 1;
    for (Id t = 0; t + 1 < states.step_count(); ++t)
      transitions_.push_back(states.transition(t));
  }

  nlohmann::ordered_json to_json() const override {
    nlohmann::ordered_json json;
    json["model"] = model_;
    json["states"] = nlohmann::ordered_json::array();
    for (const ShownState& state : shown_.states) {
      const StateProfile& profile = state.profile;
      nlohmann::ordered_json entry;
      entry["period"] = period_of(profile);
      if (state.merged > 0) {
        entry["state"] = "other";
        entry["merged_states"] = state.merged;
      } else {
        entry["state"] = profile.left ? nlohmann::ordered_json("left") : nlohmann::ordered_json(profile.state);
      }
      if (state.students) entry["students"] = *state.students;
      entry["share"] = profile.share;
      entry["likely"] = course_list(profile.likely);
      entry["marking"] = course_list(profile.marking);
      json["states"].push_back(std::move(entry));
    }
    json["min_cell"] = min_cell_;
    json["withheld_states"] = shown_.withheld;
    if (one_step_) return json;
    json["transitions"] = nlohmann::ordered_json::array();
    for (std::size_t t = 0; t < transitions_.size(); ++t) {
      nlohmann::ordered_json matrix;
      for (Index k = 0; k < transitions_[t].rows(); ++k)
        matrix.push_back(row_json(transitions_[t].row(k), shown_.counts(static_cast<Index>(t), k)));
      json["transitions"].push_back(std::move(matrix));
    }
    return json;
  }

  Table table() const override {
    Table rows({{"period"}, {"state"}, {"students"}, {"share", 3}, {"most taken"}, {"marked by"}});
    for (const ShownState& state : shown_.states)
      rows.add_row({period_of(state.profile), name_of(state), state.students ? Cell(*state.students) : Cell(),
                    state.profile.share, most_taken(state.profile), marked_by(state.profile)});
    return rows;
  }

  void print(std::ostream& out) const override {
    for (const ShownState& state : shown_.states) {
      const StateProfile& profile = state.profile;
      out << (one_step_ ? "" : concat("period ", period_of(profile), ", ")) << (state.merged > 0 ? "" : "state ")
          << name_of(state) << ": "
          << (state.students ? concat(counted(*state.students, "student", "students"), ", ") : "")
          << fixed(100 * profile.share, 1) << " % of students\n";
      if (!profile.likely.empty())
        out << "  most taken  " << most_taken(profile) << "\n  marked by   " << marked_by(profile) << '\n';
    }
  }

  std::vector<std::string> notes() const override {
    if (shown_.withheld == 0) return {};
    return {concat(counted(shown_.withheld, "state", "states"), " shown as other: resting on fewer than ",
                   setting_name("min-cell"), " ", min_cell_,
                   " expected students, or shown apart telling of one that does")};
  }

 private:
  static std::string name_of(const ShownState& state) {
    return state.merged > 0 ? concat("other (", counted(state.merged, "state", "states"), ")")
                            : state_number(state.profile.state, state.profile.left);
  }
  /// Where students go from a state: what fewer take is null, and with it as much as hides it.
  nlohmann::ordered_json row_json(const Eigen::RowVectorXd& row, double students) const {
    std::vector<double> flows;
    for (const double probability : row)
      flows.push_back(probability * students);
    const std::vector<std::uint8_t> hidden = small_and_company(flows, static_cast<double>(min_cell_));
    auto json = nlohmann::ordered_json::array();
    for (Index to = 0; to < row.size(); ++to)
      json.push_back(hidden[static_cast<std::size_t>(to)] != 0 ? nlohmann::ordered_json()
                                                               : nlohmann::ordered_json(row[to]));
    return json;
  }
  std::string period_of(const StateProfile& profile) const { return one_step_ ? "all" : schema_.period(profile.step); }
  std::string course_name(const StateCourse& entry) const {
    const std::string& name = schema_.course(entry.course).name;
    return one_step_ && schema_.period_count() > 1 ? concat(name, "@", schema_.period(entry.period)) : name;
  }
  std::string most_taken(const StateProfile& profile) const {
    std::vector<std::string> words;
    for (const StateCourse& entry : profile.likely)
      words.push_back(concat(course_name(entry), " ", fixed(100 * entry.probability, 0), "%"));
    return join(words, ", ");
  }
  std::string marked_by(const StateProfile& profile) const {
    std::vector<std::string> words;
    for (const StateCourse& entry : profile.marking)
      words.push_back(concat(course_name(entry), " x", fixed(entry.lift, 1)));
    return join(words, ", ");
  }
  nlohmann::ordered_json course_list(const std::vector<StateCourse>& courses) const {
    auto list = nlohmann::ordered_json::array();
    for (const StateCourse& entry : courses) {
      list.push_back({{"course", schema_.course(entry.course).name},
                      {"period", schema_.period(entry.period)},
                      {"probability", entry.probability},
                      {"lift", entry.lift}});
    }
    return list;
  }

  const Schema& schema_;
  std::string model_;
  std::int64_t min_cell_;
  ShownStates shown_;
  std::vector<Matrix> transitions_;
  bool one_step_ = true;
};

/// Posterior states of every student: one row a (student, period, state).
class StudentStatesAnswer : public Answer {
 public:
  StudentStatesAnswer(const Model& model, const Cohort& cohort, const Compute& compute)
      : states_(require_states(model, "states")),
        cohort_(cohort),
        posterior_(states_.posterior(EvidenceBatch::of(cohort), compute)) {}

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
        const PeriodRange periods = states_.step_periods(step);
        bool present = false;
        for (Id t = periods.first; t < periods.last; ++t)
          present = present || cohort_.presence(s, t) == Presence::present;
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
    constexpr std::size_t shown = 20;
    out << model_ << " has no hidden states: it ties courses to each other. The strongest of "
        << with_separators(std::ssize(links_))
        << " ties, by what the timing of one course says of the other's (nats):\n";
    Table rows({{"course"}, {"linked to"}, {"information", 3}, {"share of trees", 2}});
    for (std::size_t i = 0; i < std::min(shown, links_.size()); ++i)
      rows.add_row(table().rows()[i]);
    rows.print_text(out, "  ");
    if (links_.size() > shown) out << setting_name("csv") << " lists all\n";
  }

 private:
  const Schema& schema_;
  std::string model_;
  std::vector<CourseLink> links_;
};

}  // namespace

Query states_query() {
  return {"states",
          "what each hidden state stands for; with a COHORT and --csv, the states of each student",
          {"desirepath states all.desirepath", "desirepath states all.desirepath all.cohort --csv"},
          CohortUse::optional,
          "with --csv: student,period,state,probability,present (1, 0)",
          declaration_of<StatesSettings>(),
          [](const QueryInput& input) -> std::unique_ptr<Answer> {
            if (input.model().hidden_states() == nullptr && !input.model().links().empty())
              return std::make_unique<LinksAnswer>(input.model());
            if (input.students_wanted)
              return std::make_unique<StudentStatesAnswer>(input.model(), *input.cohort, input.compute);
            const auto settings = input.read<StatesSettings>();
            require_states(input.model(), "states");
            return std::make_unique<StatesAnswer>(input.stored, settings);
          }};
}

}  // namespace desirepath::inline queries
