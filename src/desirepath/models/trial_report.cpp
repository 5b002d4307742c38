#include "desirepath/models/trial_report.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "desirepath/core/text.h"

namespace desirepath::inline models {

namespace {

nlohmann::ordered_json json_of(const TrialValues& values) {
  return {
      {"link_prior", values.link_prior}, {"timing_prior", values.timing_prior}, {"tree_states", values.tree_states}};
}

std::string named(const TrialValues& values) {
  return concat("link-prior ", shortest(values.link_prior), ", timing-prior ", shortest(values.timing_prior),
                ", tree-states ", values.tree_states);
}

std::string in_nats(const TrialGain& gain) {
  return concat(fixed(gain.mean, 3), " +- ", fixed(gain.error, 3), " nats per student");
}

}  // namespace

SettingValues TrialValues::settings() const {
  return {{"link-prior", link_prior}, {"timing-prior", timing_prior}, {"tree-states", std::int64_t{tree_states}}};
}

SettingValues TrialReport::settings() const {
  SettingValues settings = values().settings();
  if (limit) settings["iterations"] = std::int64_t{*limit};
  return settings;
}

nlohmann::ordered_json TrialReport::to_json() const {
  nlohmann::ordered_json json;
  json["students"] = students;
  json["trees"] = nlohmann::ordered_json::array();
  for (const Tree& tree : trees) {
    nlohmann::ordered_json row = json_of(tree.values);
    row["iterations"] = tree.iterations;
    row["validation"] = tree.validation;
    row["gain"] = tree.gain.mean;
    row["standard_error"] = tree.gain.error;
    json["trees"].push_back(std::move(row));
  }
  json["chosen"] = json_of(values());
  json["gain"] = trees[chosen].gain.mean;
  json["standard_error"] = trees[chosen].gain.error;
  json["iterations"] = iterations;
  return json;
}

std::string TrialReport::text() const {
  const std::string judges = counted(students, "student", "students");
  if (chosen > 0) {
    return concat("trial: ", named(values()), " chosen from ", trees.size(), " settings by ", judges,
                  " set aside: ", in_nats(trees[chosen].gain), " over the default (", named(trees.front().values), ")");
  }
  const auto best =
      std::ranges::max_element(trees.begin() + 1, trees.end(), {}, [](const Tree& tree) { return tree.gain.mean; });
  return concat("trial: the default (", named(values()), ") kept: by ", judges, " set aside none of ", trees.size() - 1,
                " other settings is better by more than chance (the best of them, ", named(best->values), ": ",
                in_nats(best->gain), ")");
}

}  // namespace desirepath::inline models
