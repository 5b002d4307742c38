#include <iostream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "model_input.h"
#include "program.h"

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/models/model_file.h"
#include "desirepath/queries/state_profiles.h"

namespace desirepath::app {

namespace {

std::string course_name(const Schema& schema, const StateCourse& entry, bool with_period) {
  const Course& course = schema.course(entry.course);
  std::string name = course.name;
  if (with_period) name += concat("@", schema.period(entry.period));
  return name;
}

nlohmann::ordered_json course_list(const Schema& schema, const std::vector<StateCourse>& courses) {
  auto list = nlohmann::ordered_json::array();
  for (const StateCourse& entry : courses) {
    list.push_back({{"course", schema.course(entry.course).name},
                    {"period", schema.period(entry.period)},
                    {"probability", entry.probability},
                    {"lift", entry.lift}});
  }
  return list;
}

/// Posterior states of every student: one row a (student, period, state).
void print_student_states(const StoredModel& stored, const Cohort& cohort, const Compute& compute) {
  const HiddenStates& states = *stored.model->hidden_states();
  const RowMatrix posterior = states.posterior(EvidenceBatch::of(cohort), compute);
  const Id emitting = states.state_count() - (states.has_left_state() ? 1 : 0);
  std::cout << "student,period,state,probability\n";
  for (Index s = 0; s < posterior.rows(); ++s) {
    const std::string student = csv_field(cohort.students()[static_cast<std::size_t>(s)]);
    for (Id step = 0; step < states.step_count(); ++step) {
      const std::string period = states.step_count() > 1 ? cohort.schema().period(step) : std::string("all");
      for (Id k = 0; k < states.state_count(); ++k) {
        std::cout << student << ',' << csv_field(period) << ','
                  << (k >= emitting ? std::string("left") : std::to_string(k)) << ','
                  << shortest(posterior(s, step * states.state_count() + k)) << '\n';
      }
    }
  }
}

}  // namespace

void add_states(Program& program) {
  Verb& verb = program.add({"states",
                            "what each hidden state stands for; with a COHORT and --csv, the states of each student",
                            {"desirepath states all.desirepath", "desirepath states all.desirepath all.cohort --csv"},
                            /*prints_table=*/true});
  struct Options {
    std::string model, cohort;
    std::size_t count = 8;
    bool ignore_unseen = false;
  };
  auto options = std::make_shared<Options>();
  verb.app->add_option("MODEL", options->model, "a .desirepath file")->required();
  verb.app->add_option("COHORT", options->cohort, "with --csv: student,period,state,probability");
  verb.app->add_option("--courses-shown", options->count, "courses listed for a state")->capture_default_str();
  verb.app->add_flag("--ignore-unseen", options->ignore_unseen, "leave out courses the model does not know");
  auto table = add_raw_table_options(*verb.app);
  verb.run = [&verb, options, table] {
    Console& console = *verb.console;
    const StoredModel stored = load_model(options->model);
    const Schema& schema = stored.model->schema();
    const std::vector<StateProfile> profiles = profile_states(*stored.model, options->count);
    const HiddenStates& states = *stored.model->hidden_states();
    const bool one_step = states.step_count() == 1;
    if (console.csv && !options->cohort.empty()) {
      const Cohort cohort =
          open_aligned_cohort(options->cohort, *stored.model, options->ignore_unseen, *table, console);
      print_student_states(stored, cohort, Compute(console.thread_count(), console.interrupt_flag()));
      return;
    }
    if (console.json) {
      nlohmann::ordered_json json;
      json["model"] = stored.model->name();
      json["states"] = nlohmann::ordered_json::array();
      for (const StateProfile& profile : profiles) {
        nlohmann::ordered_json entry;
        entry["period"] = one_step ? "all" : schema.period(profile.step);
        entry["state"] =
            profile.name == "left" ? nlohmann::ordered_json("left") : nlohmann::ordered_json(profile.state);
        entry["share"] = profile.share;
        entry["likely"] = course_list(schema, profile.likely);
        entry["marking"] = course_list(schema, profile.marking);
        json["states"].push_back(std::move(entry));
      }
      if (!one_step) {
        json["transitions"] = nlohmann::ordered_json::array();
        for (Id t = 0; t + 1 < states.step_count(); ++t) {
          nlohmann::ordered_json matrix;
          const Matrix& transition = states.transition(t);
          for (Index k = 0; k < transition.rows(); ++k)
            matrix.push_back(std::vector<double>(transition.row(k).begin(), transition.row(k).end()));
          json["transitions"].push_back(std::move(matrix));
        }
      }
      console.print_json("states", json);
      return;
    }
    Table rows({{"period"}, {"state"}, {"share", 3}, {"most taken"}, {"marked by"}});
    for (const StateProfile& profile : profiles) {
      std::vector<std::string> likely, marking;
      for (const StateCourse& entry : profile.likely)
        likely.push_back(concat(course_name(schema, entry, one_step && schema.period_count() > 1), " ",
                                fixed(100 * entry.probability, 0), "%"));
      for (const StateCourse& entry : profile.marking)
        marking.push_back(
            concat(course_name(schema, entry, one_step && schema.period_count() > 1), " x", fixed(entry.lift, 1)));
      rows.add_row({one_step ? std::string("all") : schema.period(profile.step),
                    profile.name == "left" ? std::string("left") : std::to_string(profile.state), profile.share,
                    join(likely, ", "), join(marking, ", ")});
    }
    if (console.csv)
      rows.print_csv(std::cout);
    else {
      for (std::size_t r = 0; r < profiles.size(); ++r) {
        const auto& cells = rows.rows()[r];
        std::cout << (one_step ? "state " : concat("period ", std::get<std::string>(cells[0]), ", state "))
                  << std::get<std::string>(cells[1]) << ": " << fixed(100 * profiles[r].share, 1) << " % of students\n";
        if (!profiles[r].likely.empty())
          std::cout << "  most taken  " << std::get<std::string>(cells[3]) << "\n  marked by   "
                    << std::get<std::string>(cells[4]) << '\n';
      }
    }
  };
}

}  // namespace desirepath::app
