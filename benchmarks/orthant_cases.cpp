// Errors of every orthant estimator on a folder of cases with known answers, and whether they stay within bounds.
//
//   orthant_cases FOLDER [SEED]
//
// A case is a JSON file as orthant_problem_json.h reads it, with log_p, log_p_err and family. Exits 1 where a bound is
// missed. The bounds are on |error| - 3 log_p_err: what is left after the reference's own uncertainty.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <time.h>

#include "benchmark_table.h"

#include "desirepath/core/error.h"
#include "desirepath/core/table.h"
#include "desirepath/core/text.h"
#include "desirepath/probability/orthant.h"
#include "desirepath/probability/orthant_problem_json.h"

namespace {

using namespace desirepath;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Check {
  std::string name;
  OrthantEstimator estimator;
  std::int64_t samples;
  // Bound for a case, none where the check does not concern it.
  std::optional<double> (*bound)(const OrthantCase& one);
};

bool has_factors(const OrthantCase& one) {
  return factor_covariance(one.problem).has_value();
}

const std::vector<Check>& checks() {
  static const std::vector<Check> all = {
      {"ep", OrthantEstimator::ep, 0,
       [](const OrthantCase& one) -> std::optional<double> {
         if (!has_factors(one)) return std::nullopt;
         return one.family == "nest" ? 0.18 : 0.12;
       }},
      {"factor 256", OrthantEstimator::factor, 256,
       [](const OrthantCase& one) -> std::optional<double> {
         if (!has_factors(one)) return std::nullopt;
         return 0.05;
       }},
      {"factor 16384", OrthantEstimator::factor, 16384,
       [](const OrthantCase& one) -> std::optional<double> {
         if (!has_factors(one)) return std::nullopt;
         return one.family == "nest" ? 0.03 : 0.005;
       }},
      {"tilted 16384", OrthantEstimator::tilted, 16384,
       [](const OrthantCase& one) -> std::optional<double> {
         if (one.problem.course_count() > 1000) return std::nullopt;
         return one.family == "tri+" && one.problem.course_count() == 100 ? 0.15 : 0.03;
       }},
  };
  return all;
}

int run(const std::filesystem::path& folder, std::uint64_t seed) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Heading> columns = {{"case"}, {"d"}, {"log P", 5}};
  for (const Check& check : checks()) {
    columns.push_back({check.name, 6});
    columns.push_back({"s.e.", 6});
    columns.push_back({"seconds", 3});
  }
  columns.push_back({"chosen"});
  columns.push_back({"error / s.e.", 2});
  columns.push_back({"bound - log P", 3});
  std::vector<CellRow> rows;
  std::map<std::string, std::pair<int, double>> outcome;  // misses and the largest share of the bound used
  int covered = 0, total = 0, above_bound = 0;
  for (const std::filesystem::path& file : files) {
    const OrthantCase one = read_orthant_case(file);
    if (!one.log_p) continue;
    ++total;
    const double slack = 3 * one.log_p_err.value_or(0);
    CellRow row = {one.name, std::int64_t{one.problem.course_count()}, *one.log_p};
    std::optional<double> upper;
    for (const Check& check : checks()) {
      const std::optional<double> bound = check.bound(one);
      if (!bound) {
        row.insert(row.end(), 3, Cell{});
        continue;
      }
      OrthantOptions options;
      options.estimator = check.estimator;
      if (check.samples > 0) options.samples = check.samples;
      const double begin = cpu_seconds();
      const OrthantEstimate found = estimate_orthant(one.problem, options, RandomStream(seed));
      const double seconds = cpu_seconds() - begin;
      const double error = found.log_probability - *one.log_p;
      auto& [misses, share] = outcome[check.name];
      const double excess = std::max(0.0, std::abs(error) - slack);
      if (!(excess <= *bound)) ++misses;
      share = std::max(share, excess / *bound);
      row.emplace_back(error);
      row.push_back(found.standard_error ? Cell{*found.standard_error} : Cell{});
      row.emplace_back(seconds);
      if (found.log_upper_bound) upper = found.log_upper_bound;
    }
    const OrthantEstimate chosen = estimate_orthant(one.problem, {}, RandomStream(seed));
    const double error = std::max(0.0, std::abs(chosen.log_probability - *one.log_p) - slack);
    if (error <= 4 * chosen.standard_error.value_or(0)) ++covered;
    row.emplace_back(std::string(to_string(chosen.estimator)));
    row.emplace_back(error / chosen.standard_error.value_or(infinity));
    if (upper) {
      row.emplace_back(*upper - *one.log_p);
      if (*upper < *one.log_p - slack) ++above_bound;
    } else {
      row.emplace_back();
    }
    rows.push_back(std::move(row));
  }
  table_of(columns, std::move(rows)).print_text(std::cout);
  int missed = 0;
  for (const auto& [name, result] : outcome) {
    std::cout << (result.first == 0 ? "pass " : "MISS ") << name << ": " << result.first << " outside, the worst uses "
              << fixed(100 * result.second, 1) << " % of its bound\n";
    missed += result.first;
  }
  const bool enough = covered >= total - 3;
  std::cout << (enough ? "pass " : "MISS ") << "chosen estimator: error within 4 standard errors in " << covered
            << " of " << total << '\n'
            << (above_bound == 0 ? "pass " : "MISS ") << "upper bound: below the answer in " << above_bound << '\n';
  return missed == 0 && enough && above_bound == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: orthant_cases FOLDER [SEED]\n";
    return 2;
  }
  try {
    return run(argv[1], argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
  } catch (const desirepath::Error& error) {
    std::cerr << error.what() << '\n';
    return error.exit_code();
  }
}
