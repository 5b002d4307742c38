// Options of a command made from declared settings.
#pragma once

#include <span>
#include <string>

#include <CLI/App.hpp>

#include "desirepath/core/settings.h"

namespace desirepath::app {

/// What the user gives goes into `values`, which must live as long as the command. Settings without a group of their
/// own go under `group`.
void add_settings(CLI::App& app, std::span<const Setting> settings, SettingValues& values,
                  const std::string& group = "Options");

}  // namespace desirepath::app
