#include "setting_options.h"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::app {

namespace {

std::string type_of(const Setting& info) {
  if (!info.takes.empty()) return info.takes;
  switch (info.kind) {
    case SettingKind::whole:
    case SettingKind::real:
      return "NUMBER";
    case SettingKind::choice:
      return join(info.choices, "|");
    case SettingKind::file:
      return "FILE";
    case SettingKind::list:
      return "LIST";
    default:
      return "TEXT";
  }
}

/// What is on, off or something else is on where it is named alone.
bool can_stand_alone(const Setting& info) {
  const auto has = [&](const char* word) { return std::ranges::find(info.choices, word) != info.choices.end(); };
  return info.kind == SettingKind::choice && has("on") && has("off");
}

}  // namespace

void add_settings(CLI::App& app, std::span<const Setting> settings, SettingValues& values, const std::string& group) {
  for (const Setting& info : settings) {
    const std::string name = "--" + info.name, help = render_settings(info.what, "--");
    const auto set = [&values, info](const std::string& text) { values[info.name] = parse_setting(info, text); };
    const bool many = info.kind == SettingKind::list || info.kind == SettingKind::pairs;
    CLI::Option* option = nullptr;
    if (info.kind == SettingKind::flag) {
      option = app.add_flag_callback(
          name, [&values, info] { values[info.name] = true; }, help);
    } else if (many) {
      option = app.add_option_function<std::vector<std::string>>(
          name,
          [&values, info](const std::vector<std::string>& texts) {
            if (info.kind == SettingKind::list) {
              values[info.name] = texts;
              return;
            }
            std::map<std::string, std::string> pairs;
            for (const std::string& text : texts)
              pairs.merge(std::get<std::map<std::string, std::string>>(parse_setting(info, text)));
            values[info.name] = std::move(pairs);
          },
          help);
      option->allow_extra_args(false);
      if (info.kind == SettingKind::list && !info.has_commas) option->delimiter(',');
    } else {
      option = app.add_option_function<std::string>(name, set, help);
    }
    if (can_stand_alone(info)) option->expected(0, 1);
    option->group(info.group.empty() ? group : info.group);
    if (info.kind == SettingKind::flag) continue;
    option->type_name(type_of(info));
    const std::string standard = setting_text(info.standard);
    if (!standard.empty()) option->default_str(standard);
  }
}

}  // namespace desirepath::app
