#include "desirepath/models/fit_options.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/json_number.h"
#include "desirepath/core/text.h"

namespace desirepath::inline models {

namespace {

std::string record_key(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

void append_new(std::vector<Setting>& known, const SettingDeclaration& declaration) {
  for (Setting& info : list_settings(declaration)) {
    if (std::ranges::find(known, info.name, &Setting::name) == known.end()) known.push_back(std::move(info));
  }
}

}  // namespace

FitOptions::FitOptions(std::string_view choice, const Catalog& catalog)
    : choice_(catalog.choice(choice)), catalog_(&catalog) {}

std::vector<Setting> FitOptions::known() const {
  std::vector<Setting> known;
  append_new(known, choice_.model->settings);
  if (choice_.emission != nullptr) append_new(known, choice_.emission->settings);
  return known;
}

FitOptions& FitOptions::set(std::string_view name, SettingValue value) {
  return set(SettingValues{{std::string(name), std::move(value)}});
}

FitOptions& FitOptions::set(const SettingValues& values) {
  require_known(values, known(), choice_.name());
  // Read once to have the bounds checked.
  read_settings(choice_.model->settings, values);
  if (choice_.emission != nullptr) read_settings(choice_.emission->settings, values);
  for (const auto& [name, value] : values)
    values_[name] = value;
  return *this;
}

FitOptions& FitOptions::limit(std::string_view name, std::int64_t most) {
  const std::vector<Setting> all = known();
  if (std::ranges::find(all, name, &Setting::name) == all.end()) return *this;
  const auto given = values_.find(name);
  const auto* number = given == values_.end() ? nullptr : std::get_if<std::int64_t>(&given->second);
  return number == nullptr || *number > most ? set(name, most) : *this;
}

FitOptions& FitOptions::unset(std::string_view name) {
  const auto found = values_.find(name);
  if (found != values_.end()) values_.erase(found);
  return *this;
}

FitOptions FitOptions::with_emission(std::string_view family) const {
  FitOptions other = *this;
  other.choice_.emission = &catalog_->emission(family);
  const std::vector<Setting> known = other.known();
  std::erase_if(other.values_, [&](const auto& entry) {
    return std::ranges::find(known, entry.first, &Setting::name) == known.end();
  });
  return other;
}

nlohmann::ordered_json FitOptions::describe() const {
  nlohmann::ordered_json json;
  json["model"] = choice_.model->name;
  if (choice_.emission != nullptr) json["emission"] = choice_.emission->name;
  for (const Setting& info : known()) {
    const auto given = values_.find(info.name);
    const SettingValue& value = given != values_.end() ? given->second : info.standard;
    if (!std::holds_alternative<std::monostate>(value)) json[record_key(info.name)] = setting_json(value);
  }
  json["seed"] = seed;
  return json;
}

FitOptions FitOptions::from_record(const nlohmann::ordered_json& record, const Catalog& catalog) {
  try {
    std::string choice = record.at("model").get<std::string>();
    if (record.contains("emission")) choice += "+" + record.at("emission").get<std::string>();
    FitOptions options(choice, catalog);
    for (const Setting& info : options.known()) {
      const auto found = record.find(record_key(info.name));
      if (found != record.end()) options.set(info.name, setting_from_json(*found));
    }
    // As the first version recorded it.
    if (record.contains("validation_share"))
      options.set("validation", setting_from_json(record.at("validation_share")));
    // Before there were trials, what was not given was that of the number of students.
    if (!record.contains("trial")) {
      const std::vector<Setting> all = options.known();
      if (std::ranges::find(all, "trial", &Setting::name) != all.end()) options.set("trial", "off");
    }
    const std::optional<std::uint64_t> seed = whole_number_in<std::uint64_t>(record.at("seed"));
    if (!seed) throw ArchiveError("the model file does not say from which seed the model was trained");
    options.seed = *seed;
    return options;
  } catch (const nlohmann::json::exception&) {
    throw ArchiveError("the model file does not say how the model was trained");
  } catch (const OptionError& error) {
    throw ArchiveError(concat("the model file's record of its training: ", error.marked()));
  }
}

std::vector<Setting> all_fit_settings(const Catalog& catalog) {
  std::vector<Setting> all;
  // What most models say of a setting needs no name before it; a family's words always have one.
  const auto add = [&](const SettingDeclaration& declaration, const std::string& whose, bool named_first) {
    for (Setting& info : list_settings(declaration)) {
      const auto found = std::ranges::find(all, info.name, &Setting::name);
      if (found == all.end()) {
        if (named_first) info.what = concat(whose, ": ", info.what);
        all.push_back(std::move(info));
        continue;
      }
      if (found->standard != info.standard) found->standard = {};
      if (!found->what.ends_with(info.what)) found->what += concat("; ", whose, ": ", info.what);
    }
  };
  for (const ModelEntry& entry : catalog.models)
    add(entry.settings, entry.name, false);
  for (const EmissionFamily& family : catalog.emissions)
    add(family.settings, family.name, true);
  return all;
}

}  // namespace desirepath::inline models
