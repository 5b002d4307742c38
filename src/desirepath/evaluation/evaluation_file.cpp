#include "desirepath/evaluation/evaluation_file.h"

#include <array>
#include <cmath>
#include <fstream>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/json_number.h"
#include "desirepath/core/text.h"

namespace desirepath::inline evaluation {

namespace {

using nlohmann::json;

/// What every figure of an evaluation asks for.
constexpr const char* needed[] = {
    "error_by_course", "floor_by_course", "error_by_period_and_course", "floor_by_period_and_course",
    "error_of_pairs",  "floor_of_pairs"};

double number(const json& object, const char* name) {
  const double value = object.at(name).get<double>();
  if (!std::isfinite(value)) throw json::other_error::create(501, "a number that is none", nullptr);
  return value;
}

template <class Whole>
Whole whole(const json& value) {
  const std::optional<Whole> number = whole_number_in<Whole>(value);
  if (!number) throw json::other_error::create(501, "no whole number", nullptr);
  return *number;
}

EvaluationSummary summary_from(const json& entry) {
  EvaluationSummary summary;
  summary.model = entry.at("model").get<std::string>();
  summary.kind = entry.at("likelihood_kind").get<std::string>();
  summary.size = entry.at("size").is_null() ? 0 : whole<Id>(entry.at("size"));
  for (const auto& [name, found] : entry.at("found").items()) {
    if (found.at("mean").is_null()) continue;
    summary.found[name] = {number(found, "mean"), number(found, "spread"), 0};
  }
  for (const char* name : needed)
    static_cast<void>(summary.found.at(name));
  return summary;
}

}  // namespace

std::string evaluation_text(const Evaluation& evaluation) {
  nlohmann::ordered_json json = {{"schema", "desirepath/evaluate/1"}};
  json.update(evaluation.repeatable().answer().to_json());
  return json.dump(2) + "\n";
}

std::string timings_text(const Evaluation& evaluation) {
  return nlohmann::ordered_json{{"schema", "desirepath/timings/1"}, {"fits", evaluation.timings().to_json()}}.dump(2) +
         "\n";
}

Evaluation read_evaluation(const std::filesystem::path& path) {
  constexpr std::uintmax_t most_bytes = 64 << 20;
  std::error_code failed;
  const std::uintmax_t bytes = std::filesystem::file_size(path, failed);
  std::ifstream file(path, std::ios::binary);
  if (failed || !file) throw FileError(concat(path.string(), " cannot be read"));
  const auto refusal = [&] {
    return InputError(concat(path.string(), " is not the evaluation.json that 'evaluate' writes; give that file"));
  };
  if (bytes > most_bytes) throw refusal();
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (is_nested_too_deep(text)) throw refusal();
  try {
    const json read = json::parse(text);
    if (read.at("schema").get<std::string>() != "desirepath/evaluate/1") throw refusal();
    Evaluation evaluation;
    evaluation.training_students = whole<std::int64_t>(read.at("training_students"));
    evaluation.held_out_students = whole<std::int64_t>(read.at("held_out_students"));
    for (const json& seed : read.at("seeds"))
      evaluation.seeds.push_back(whole<std::uint64_t>(seed));
    evaluation.remarks = read.at("notes").get<std::vector<std::string>>();
    for (const json& entry : read.at("summaries"))
      evaluation.summaries.push_back(summary_from(entry));
    if (evaluation.summaries.empty() || evaluation.seeds.empty()) throw refusal();
    return evaluation;
  } catch (const json::exception&) {
    throw refusal();
  } catch (const std::out_of_range&) {
    throw refusal();
  }
}

}  // namespace desirepath::inline evaluation
