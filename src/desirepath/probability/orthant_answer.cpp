#include "desirepath/probability/orthant_answer.h"

#include <chrono>
#include <cmath>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::inline probability {

namespace {

/// Empty where the number is not finite: neither JSON nor CSV has infinities.
Cell finite_cell(std::optional<double> value) {
  return value && std::isfinite(*value) ? Cell(*value) : Cell();
}

nlohmann::ordered_json finite_json(std::optional<double> value) {
  return value && std::isfinite(*value) ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

}  // namespace

OrthantAnswer::OrthantAnswer(const OrthantProblem& problem, const std::string& source, const OrthantOptions& options,
                             const RandomStream& stream, const Executor& executor)
    : courses_(problem.course_count()), taken_(std::ssize(courses_taken(problem))) {
  const auto begin = std::chrono::steady_clock::now();
  try {
    found_ = estimate_orthant(problem, options, stream, executor);
  } catch (const InputError& error) {
    throw InputError(SourcePosition{source}, error.what());
  }
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

nlohmann::ordered_json OrthantAnswer::to_json() const {
  nlohmann::ordered_json json;
  json["log_probability"] = finite_json(found_.log_probability);
  json["standard_error"] = finite_json(found_.standard_error);
  if (found_.log_upper_bound) json["upper_bound"] = finite_json(found_.log_upper_bound);
  json["estimator"] = to_string(found_.estimator);
  json["samples"] = found_.samples;
  json["scrambles"] = found_.scrambles;
  json["courses"] = courses_;
  json["seconds"] = seconds_;
  if (!found_.note.empty()) json["note"] = found_.note;
  return json;
}

Table OrthantAnswer::table() const {
  Table table({{"log_probability"}, {"standard_error"}, {"upper_bound"}, {"estimator"}, {"samples"}});
  table.add_row({finite_cell(found_.log_probability), finite_cell(found_.standard_error),
                 finite_cell(found_.log_upper_bound), std::string(to_string(found_.estimator)), found_.samples});
  return table;
}

void OrthantAnswer::print(std::ostream& out) const {
  out << "log-probability " << fixed(found_.log_probability, 5);
  if (found_.standard_error && std::isfinite(*found_.standard_error))
    out << ", standard error " << fixed(*found_.standard_error, 5);
  if (found_.log_upper_bound) out << ", certainly at most " << fixed(*found_.log_upper_bound, 5);
  out << "\n"
      << counted(courses_, "course", "courses") << ", " << taken_ << " taken; estimator "
      << to_string(found_.estimator);
  if (found_.samples > 0) out << ", " << found_.scrambles << " x " << with_separators(found_.samples) << " points";
  out << ", " << as_duration(seconds_) << '\n';
}

std::vector<std::string> OrthantAnswer::warnings() const {
  return found_.note.empty() ? std::vector<std::string>() : std::vector<std::string>{found_.note};
}

}  // namespace desirepath::inline probability
