// A page and its figures as files.
#pragma once

#include <filesystem>
#include <string>

#include "console.h"

#include "desirepath/reports/html_page.h"

namespace desirepath::app {

/// The page, and each of its figures as SVG where a folder is named; says so.
void write_page(const Page& page, const std::filesystem::path& file, const std::filesystem::path& figures,
                const Console& console, const std::string& verb);

}  // namespace desirepath::app
