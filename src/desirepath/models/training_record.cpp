#include "desirepath/models/training_record.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/json_number.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline models {

namespace {

using Json = nlohmann::ordered_json;

/// The object of that name; empty where there is none.
Json part_of(const Json& record, const char* name) {
  Json part = record.value(name, Json::object());
  if (!part.is_object()) throw ArchiveError(name);
  return part;
}

std::optional<std::int64_t> recorded_count(const Json& object, const char* name, std::int64_t least) {
  if (!object.contains(name)) return std::nullopt;
  const auto count = whole_number_in<std::int64_t>(object[name], name);
  if (count < least) throw ArchiveError(concat(name, " is less than ", least));
  return count;
}

/// Students behind states, steps by states.
std::vector<std::vector<double>> recorded_counts(const Json& result, const char* name) {
  auto rows = result.value(name, std::vector<std::vector<double>>());
  for (const std::vector<double>& row : rows) {
    for (const double count : row) {
      if (!(count >= 0) || !std::isfinite(count)) throw ArchiveError(concat(name, " is no number of students"));
    }
  }
  return rows;
}

std::optional<YearSpread> recorded_spread(const Json& record) {
  if (!record.contains("between_years")) return std::nullopt;
  const Json years = part_of(record, "between_years");
  const YearSpread spread{years.at("spread").get<double>(), *recorded_count(years, "forecasts", 1),
                          whole_number_in<std::int32_t>(years.at("last_entry"), "last_entry")};
  if (!(spread.share >= 0) || !std::isfinite(spread.share)) throw ArchiveError("the spread between years");
  return spread;
}

void read_options(const Json& options, const Catalog& catalog, TrainingRecord& record) {
  Json given = options;
  // These two came with the context of the training and are no values of the setting.
  if (given.value("start", Json()) == start_from_model || given.value("start", Json()) == start_from_labels)
    given.erase("start");
  record.options = FitOptions::from_record(given, catalog);
  for (const auto& [name, value] : options.items())
    record.described.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  constexpr const char* state = "a fixed transition's state";
  for (const Json& row : options.value("transitions", Json::array())) {
    record.transitions.push_back({row.at(0).get<std::string>(), whole_number_in<Id>(row.at(1), state),
                                  whole_number_in<Id>(row.at(2), state), row.at(3).get<double>(), 0});
  }
}

void read_result(const Json& result, TrainingRecord& record) {
  record.students = recorded_count(result, "students", 0);
  record.iterations = recorded_count(result, "iterations", 0);
  record.trees = recorded_count(result, "trees", 1);
  // None where students are impossible under the model.
  if (result.contains("log_likelihood") && !result["log_likelihood"].is_null())
    record.log_likelihood = result["log_likelihood"].get<double>();
  if (result.contains("converged")) record.converged = result["converged"].get<bool>();
  record.has_trial = result.contains("trial");
  record.warnings = result.value("warnings", std::vector<std::string>());
  record.state_students = recorded_counts(result, "state_students");
  record.state_behind = recorded_counts(result, "state_behind");
}

}  // namespace

TrainingRecord TrainingRecord::read(std::string text, const Catalog& catalog) {
  TrainingRecord record;
  try {
    const Json json = Json::parse(text);
    if (!json.is_object()) throw ArchiveError("it is no object");
    if (json.contains("options")) read_options(part_of(json, "options"), catalog, record);
    record.data_fingerprint = json.value("data_fingerprint", "");
    record.min_cell = recorded_count(json, "min_cell", Disclosure::fewest);
    record.published = json.value("published", false);
    record.between_years = recorded_spread(json);
    read_result(part_of(json, "result"), record);
  } catch (const nlohmann::json::exception&) {
    throw ArchiveError("the record of the training cannot be read");
  } catch (const ArchiveError& error) {
    throw ArchiveError(concat("the record of the training: ", error.what()));
  }
  record.text = std::move(text);
  return record;
}

const FitOptions& TrainingRecord::trained_with() const {
  if (!options) throw ArchiveError("the model file does not say how the model was trained");
  return *options;
}

void keep_tried(const TrainingRecord& warm, FitOptions& options) {
  if (!warm.has_trial || !warm.options || warm.options->choice().name() != options.choice().name()) return;
  for (const auto& [name, standard] : TrialValues().settings()) {
    const auto chosen = warm.options->values().find(name);
    if (chosen != warm.options->values().end() && !options.values().contains(name)) options.set(name, chosen->second);
  }
}

TrainingRecord training_record(const TrainingTask& task, const FitResult& result) {
  Json json;
  FitOptions used = task.options;
  if (result.trial) used.set(result.trial->settings());  // for whoever trains alike
  json["options"] = TrainingTask{task.cohort, used, task.context}.record();
  json["data_fingerprint"] = task.cohort.fingerprint();
  if (task.cohort.min_cell()) json["min_cell"] = *task.cohort.min_cell();
  Json found = result.answer().to_json();
  found.erase("seconds");
  if (!result.state_students.empty()) found["state_students"] = result.state_students;
  if (!result.state_behind.empty()) found["state_behind"] = result.state_behind;
  json["result"] = std::move(found);
  const auto spread = spread_between_years(task.cohort);
  if (spread) {
    json["between_years"] = {{"spread", std::round(1000 * spread->share) / 1000},
                             {"forecasts", spread->forecasts},
                             {"last_entry", spread->last_entry}};
  }
  return TrainingRecord::read(render_settings(json.dump(), ""), task.options.catalog());
}

}  // namespace desirepath::inline models
