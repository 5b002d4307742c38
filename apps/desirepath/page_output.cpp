#include "page_output.h"

#include <nlohmann/json.hpp>

#include "desirepath/core/file_set.h"
#include "desirepath/core/text.h"
#include "desirepath/reports/report.h"

namespace desirepath::app {

void write_page(const Page& page, const std::filesystem::path& file, const std::filesystem::path& figures,
                const Console& console, const std::string& verb) {
  nlohmann::ordered_json written = {{"report", file.string()}};
  written["sections"] = nlohmann::ordered_json::array();
  for (const PageSection& section : page.sections)
    written["sections"].push_back(section.id);
  if (!figures.empty()) {
    FileSet files(figures, console.overwrite());
    for (const Figure& figure : figures_of(page)) {
      files.add(figure.name + ".svg").write(standalone_svg(figure));
      written["figures"].push_back((figures / (figure.name + ".svg")).string());
    }
    files.commit();
  }
  write_text_file(file, render_html(page), console.overwrite());
  if (console.json) return console.print_json(verb, std::move(written));
  for (const PageSection& section : page.sections) {
    for (std::size_t i = 0; section.id == "missing" && i < section.notes.size(); ++i)
      console.say(section.notes[i].text());
  }
  console.say(concat("wrote ", file.string()));
}

}  // namespace desirepath::app
