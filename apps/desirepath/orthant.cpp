#include <chrono>
#include <cmath>
#include <iostream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "program.h"

#include "desirepath/compute/executor.h"
#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/probability/orthant_problem_json.h"

namespace desirepath::app {

namespace {

/// Empty where the number is not finite: neither JSON nor CSV has infinities.
Cell finite_cell(std::optional<double> value) {
  return value && std::isfinite(*value) ? Cell(*value) : Cell();
}

nlohmann::ordered_json finite_json(std::optional<double> value) {
  return value && std::isfinite(*value) ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

}  // namespace

void add_orthant(Program& program) {
  Verb& verb = program.add({"orthant",
                            "probability of an orthant under a Gaussian",
                            {"desirepath orthant case.json", "desirepath orthant case.json --estimator tilted --json"},
                            /*prints_table=*/true});
  struct Options {
    std::string problem, estimator;
    std::optional<std::int64_t> samples;
  };
  auto options = std::make_shared<Options>();
  verb.app
      ->add_option("PROBLEM", options->problem,
                   "JSON: x (0 or 1 a course) with mu, Lambda, D; or mu, Sigma; or mean, rho; or mean, neighbour_corr")
      ->required();
  verb.app->add_option("--estimator", options->estimator,
                       "paper|sov|tilted|ep|factor; by default the best for the structure of the covariance");
  verb.app->add_option("--samples", options->samples, "points in each of 8 independent scrambles");
  verb.run = [&verb, options] {
    Console& console = *verb.console;
    OrthantOptions estimation;
    if (!options->estimator.empty()) estimation.estimator = parse_orthant_estimator(options->estimator);
    if (options->samples && *options->samples < 1) throw OptionError("--samples must be at least 1");
    estimation.samples = options->samples;
    const OrthantCase given = read_orthant_case(options->problem);
    const Compute compute(console.thread_count(), console.interrupt_flag());
    estimation.parallel_for = [&](std::int64_t count, const std::function<void(std::int64_t)>& body) {
      compute.for_each(count, body);
    };
    const auto begin = std::chrono::steady_clock::now();
    OrthantEstimate found;
    try {
      found = estimate_orthant(given.problem, estimation, RandomStream(console.seed).child("orthant"));
    } catch (const InputError& error) {
      throw InputError(SourcePosition{options->problem}, error.what());
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const std::string estimator(to_string(found.estimator));
    if (console.json) {
      nlohmann::ordered_json json;
      json["log_probability"] = finite_json(found.log_probability);
      json["standard_error"] = finite_json(found.standard_error);
      if (found.log_upper_bound) json["upper_bound"] = finite_json(found.log_upper_bound);
      json["estimator"] = estimator;
      json["samples"] = found.samples;
      json["scrambles"] = found.scrambles;
      json["courses"] = given.problem.course_count();
      json["seconds"] = seconds;
      if (!found.note.empty()) json["note"] = found.note;
      console.print_json("orthant", std::move(json));
      return;
    }
    if (!found.note.empty()) console.warn(found.note);
    if (console.csv) {
      Table table({{"log_probability"}, {"standard_error"}, {"upper_bound"}, {"estimator"}, {"samples"}});
      table.add_row({finite_cell(found.log_probability), finite_cell(found.standard_error),
                     finite_cell(found.log_upper_bound), estimator, found.samples});
      table.print_csv(std::cout);
      return;
    }
    const auto course_count = static_cast<std::int64_t>(given.problem.course_count());
    const auto taken_count = static_cast<std::int64_t>(courses_taken(given.problem).size());
    std::cout << "log-probability " << fixed(found.log_probability, 5);
    if (found.standard_error && std::isfinite(*found.standard_error))
      std::cout << ", standard error " << fixed(*found.standard_error, 5);
    if (found.log_upper_bound) std::cout << ", certainly at most " << fixed(*found.log_upper_bound, 5);
    std::cout << "\n"
              << counted(course_count, "course", "courses") << ", " << taken_count << " taken; estimator " << estimator;
    if (found.samples > 0) std::cout << ", " << found.scrambles << " x " << with_separators(found.samples) << " points";
    std::cout << ", " << as_duration(seconds) << '\n';
  };
}

}  // namespace desirepath::app
