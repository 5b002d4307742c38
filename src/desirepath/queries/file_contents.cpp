#include "desirepath/queries/file_contents.h"

#include <limits>

#include <nlohmann/json.hpp>

#include "desirepath/core/text.h"
#include "desirepath/disclosure/disclosure.h"
#include "desirepath/models/checkpoint.h"
#include "desirepath/models/model_file.h"
#include "desirepath/models/tilts_loads.h"
#include "desirepath/transcripts/cohort.h"

namespace desirepath::inline queries {

namespace {

/// How few students a state rests on is for `states` to tell or to withhold; nor is it told that the model itself rests
/// on few, and how few.
nlohmann::ordered_json without_sizes(const TrainingRecord& training) {
  auto json = nlohmann::ordered_json::parse(training.text);
  if (!json.contains("result")) return json;
  nlohmann::ordered_json& result = json["result"];
  for (const char* counts : {"state_students", "state_behind"})
    result.erase(counts);
  const Disclosure disclosure = Disclosure().bound_to(training.min_cell);
  if (!training.students || disclosure.allows(static_cast<double>(*training.students))) return json;
  result["students"] = disclosure.few();
  for (const char* field : {"student_weight", "warnings"})
    result.erase(field);
  return json;
}

nlohmann::ordered_json describe_archive(const ArchiveReader& archive) {
  nlohmann::ordered_json json;
  json["kind"] = archive.kind();
  json["format_version"] = std::stoi(archive.metadata("format_version"));
  json["program_version"] = archive.metadata("program_version");
  json["bytes"] = archive.byte_count();
  json["digest"] = archive.metadata("digest");
  if (archive.kind() == "cohort") {
    const Cohort cohort = Cohort::load(archive);
    json["students"] = cohort.student_count();
    json["courses"] = cohort.schema().course_count();
    json["periods"] = cohort.schema().periods();
    json["enrollments"] = cohort.enrollments().one_count();
    json["calendar"] = cohort.has_calendar();
    json["left"] = cohort.has_departures();
    json["statuses"] = name_of_value(cohort.status_basis());
    json["period_is"] = name_of_value(cohort.calendar().step);
    json["terms"] = cohort.calendar().terms.size();
    if (cohort.calendar().data_end >= 0)
      json["data_end"] = cohort.calendar().terms[static_cast<std::size_t>(cohort.calendar().data_end)].label;
    json["attributes"] = nlohmann::ordered_json::array();
    for (const Attribute& attribute : cohort.attributes()) {
      json["attributes"].push_back({{"name", attribute.name}, {"values", attribute.values.size()}});
    }
    json["fingerprint"] = cohort.fingerprint();
    if (!cohort.provenance().empty()) json["made_by"] = nlohmann::ordered_json::parse(cohort.provenance());
  }
  if (archive.kind() == "model") {
    const StoredModel stored = load_model(archive);
    json["model"] = stored.model->name();
    if (stored.model->hidden_states() != nullptr) json["states"] = stored.model->hidden_states()->state_count();
    json["courses"] = stored.model->schema().course_count();
    json["periods"] = stored.model->schema().periods();
    for (const Trait& trait : stored.model->schema().traits())
      json["traits"].push_back({{"name", trait.name}, {"kind", name_of(trait.kind)}, {"values", trait.values}});
    json["parameters"] = stored.model->parameter_count();
    if (const auto* loads = dynamic_cast<const TiltsLoads*>(stored.model.get()))
      json["loads"] = loads->is_tilted() ? "tilted" : "of the trees";
    const std::vector<CourseLink> links = stored.model->links();
    for (std::size_t i = 0; i < std::min<std::size_t>(10, links.size()); ++i) {
      const Schema& schema = stored.model->schema();
      json["strongest_links"].push_back({{"course", schema.course(links[i].first).name},
                                         {"linked_to", schema.course(links[i].second).name},
                                         {"information", links[i].information}});
    }
    const auto kinds = stored.model->likelihood_kinds();
    json["likelihood_kinds"] = nlohmann::ordered_json::array();
    for (const LikelihoodKind kind : kinds)
      json["likelihood_kinds"].push_back(std::string(name_of(kind)));
    json["training"] = without_sizes(stored.training);
  }
  if (archive.kind() == "checkpoint") {
    const auto header = nlohmann::json::parse(archive.metadata("checkpoint"), nullptr, false);
    const auto em = nlohmann::json::parse(archive.metadata("em"), nullptr, false);
    const auto count_in = [&](const nlohmann::json& from, const char* key) {
      return from.contains(key) ? whole_number(archive, from, key, 0, std::numeric_limits<int>::max()) : 0;
    };
    json["restart"] = count_in(header, "restart") + 1;
    json["finished_restarts"] = header.contains("finished") ? header["finished"].size() : 0;
    json["iteration"] = count_in(em, "iteration");
    json["holds"] = header.value("payload", "");
  }
  return json;
}

std::string text_of(const nlohmann::ordered_json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void say_nested(Answer& answer, const nlohmann::ordered_json& json, const std::string& indent) {
  for (const auto& [key, value] : json.items()) {
    if (value.is_object()) {
      answer.say(indent, key, ":");
      say_nested(answer, value, indent + "  ");
    } else if (value.is_array() && !value.empty() && value.front().is_object()) {
      answer.say(indent, key, ":");
      for (const auto& element : value) {
        std::vector<std::string> parts;
        for (const auto& [name, cell] : element.items())
          parts.push_back(concat(name, " ", text_of(cell)));
        answer.say(indent, "  ", join(parts, ", "));
      }
    } else {
      answer.say(indent, key, ": ", text_of(value));
    }
  }
}

}  // namespace

Answer describe_contents(const ArchiveReader& archive) {
  Answer answer;
  try {
    const nlohmann::ordered_json contents = describe_archive(archive);
    answer.set(contents);
    say_nested(answer, contents, "");
  } catch (const nlohmann::json::exception&) {
    archive.refuse("damaged: the description of its contents");
  }
  return answer;
}

}  // namespace desirepath::inline queries
