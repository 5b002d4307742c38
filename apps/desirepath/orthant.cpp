#include <CLI/CLI.hpp>

#include "program.h"

#include "desirepath/core/error.h"
#include "desirepath/probability/orthant_problem_json.h"

namespace desirepath::app {

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
    const Answer answer = answer_orthant(given.problem, options->problem, estimation,
                                         RandomStream(console.seed).child("orthant"), console.executor("orthant"));
    console.end_progress();
    console.show("orthant", answer);
  };
}

}  // namespace desirepath::app
