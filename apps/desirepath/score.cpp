#include <algorithm>
#include <cmath>
#include <iostream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "model_input.h"
#include "program.h"

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/evaluation/held_out.h"
#include "desirepath/models/fit.h"
#include "desirepath/models/model_file.h"

namespace desirepath::app {

namespace {

/// Share of the students at or under each one's value, in percent.
std::vector<double> percentiles(const std::vector<double>& values) {
  std::vector<double> sorted = values;
  std::ranges::sort(sorted);
  std::vector<double> result;
  for (const double value : values) {
    const auto at_or_under = std::ranges::upper_bound(sorted, value) - sorted.begin();
    result.push_back(100 * static_cast<double>(at_or_under) / static_cast<double>(sorted.size()));
  }
  return result;
}

}  // namespace

void add_score(Program& program) {
  Verb& verb = program.add(
      {"score",
       "log-likelihood and typicality of each student",
       {"desirepath score all.desirepath all.cohort --csv", "desirepath score all.desirepath new.csv --json",
        "desirepath score all.desirepath all.cohort --leave-one-out"},
       /*prints_table=*/true});
  struct Options {
    std::string model, cohort, likelihood, weights;
    bool ignore_unseen = false, leave_one_out = false;
  };
  auto options = std::make_shared<Options>();
  verb.app->add_option("MODEL", options->model, "a .desirepath file")->required();
  verb.app->add_option("COHORT", options->cohort, "a cohort file or a raw table")->required();
  verb.app->add_option("--likelihood", options->likelihood, "mass|density|lower_bound (mass where the model has it)")
      ->check(CLI::IsMember({"mass", "density", "lower_bound"}));
  verb.app->add_flag(
      "--leave-one-out", options->leave_one_out,
      "each student by a model of all others: one EM step from the model towards the one trained without "
      "the student, not all the way. COHORT is the one the model was trained on; for the emission "
      "bernoulli (tree, gaussian and probit have none yet)");
  verb.app->add_flag("--ignore-unseen", options->ignore_unseen, "leave out courses the model does not know");
  verb.app->add_option("--weights", options->weights, "student attribute that weighs each student in the mean");
  auto table = add_raw_table_options(*verb.app);
  verb.run = [&verb, options, table] {
    Console& console = *verb.console;
    const StoredModel stored = load_model(options->model);
    const LikelihoodKind kind = choose_kind(options->likelihood, *stored.model);
    const Cohort cohort = open_aligned_cohort(options->cohort, *stored.model, options->ignore_unseen, *table, console);
    const Compute compute(console.thread_count(), console.interrupt_flag());
    const std::vector<double> weights =
        options->weights.empty() ? std::vector<double>() : student_weights(cohort, options->weights);
    const EvidenceBatch evidence = EvidenceBatch::of(cohort);
    const HeldOutScore with_student = score_students(*stored.model, evidence, kind, compute, weights);
    HeldOutScore score = with_student;
    const std::string left_out = "one EM step towards the optimum without the student";
    if (options->leave_one_out) {
      const auto* chain = dynamic_cast<const HiddenChain*>(stored.model.get());
      if (chain == nullptr) throw OptionError("--leave-one-out: the model has no hidden states");
      score = summarize_scores({leave_one_out(*chain, stored.training, cohort, compute), {}}, kind, weights);
    }
    const std::string note = stored.model->likelihood_note(evidence, kind, compute);
    if (!note.empty()) console.say(note);
    if (score.impossible > 0) {
      console.warn(concat(counted(score.impossible, "student is", "students are"),
                          " impossible under the model (probability 0, shown empty): there is no mean over all"));
    }
    if (console.csv) {
      const std::vector<double> percentile = percentiles(score.log_likelihood);
      std::vector<TableColumn> columns = {{"student"}, {"log_likelihood"}, {"percentile"}};
      if (!score.standard_error.empty()) columns.push_back({"standard_error"});
      if (options->leave_one_out) columns.push_back({"with_student"});
      Table rows(std::move(columns));
      for (std::size_t s = 0; s < percentile.size(); ++s) {
        std::vector<Cell> row = {cohort.students()[s], score.log_likelihood[s], percentile[s]};
        if (!score.standard_error.empty()) row.emplace_back(score.standard_error[s]);
        if (options->leave_one_out) row.emplace_back(with_student.log_likelihood[s]);
        rows.add_row(std::move(row));
      }
      rows.print_csv(std::cout);
      return;
    }
    std::vector<double> sorted = score.log_likelihood;
    std::ranges::sort(sorted);
    const auto at = [&](double share) {
      return sorted.empty() ? 0.0 : sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
    };
    if (console.json) {
      nlohmann::ordered_json json;
      json["students"] = cohort.student_count();
      json["mean_log_likelihood"] = score.mean();  // null where one is impossible
      json["standard_error"] = score.standard_error_of_mean;
      json["likelihood_kind"] = std::string(name_of(kind));
      if (options->leave_one_out) {
        json["leave_one_out"] = left_out;
        json["mean_with_student"] = with_student.mean();
      }
      json["impossible_students"] = score.impossible;
      if (!note.empty()) json["note"] = note;
      if (score.impossible > 0) {
        json["mean_of_possible_students"] = score.mean_of_possible;
        json["reason"] = "some students' evidence has probability 0 under the model";
      }
      console.print_json("score", json);
      return;
    }
    std::cout << counted(cohort.student_count(), "student", "students") << ", mean log-likelihood (" << name_of(kind)
              << ") " << (score.impossible > 0 ? "of those that are possible " : "") << fixed(score.mean_of_possible, 4)
              << ", standard error " << fixed(score.standard_error_of_mean, 4) << "\n";
    Table quantiles({{"least typical of"}, {"log_likelihood", 3}});
    for (const auto& [name, share] :
         {std::pair<const char*, double>{"1 in 100", 0.01}, {"1 in 10", 0.1}, {"half", 0.5}, {"9 in 10", 0.9}})
      quantiles.add_row({std::string(name), at(share)});
    quantiles.print_text(std::cout, "  ");
    if (options->leave_one_out) {
      std::cout << "each student left out (" << left_out << "); with the student the mean is "
                << fixed(with_student.mean_of_possible, 4) << '\n';
    }
    std::cout << "--csv lists every student\n";
  };
}

}  // namespace desirepath::app
