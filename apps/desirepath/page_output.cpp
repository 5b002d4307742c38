#include "page_output.h"

#include "desirepath/core/file_set.h"
#include "desirepath/reports/report.h"

namespace desirepath::app {

void write_page(const Page& page, const std::filesystem::path& file, const std::filesystem::path& figures,
                const Console& console, const std::string& verb) {
  std::vector<std::string> sections, pictures;
  for (const PageSection& section : page.sections)
    sections.push_back(section.id);
  if (!figures.empty()) {
    FileSet files(figures, console.overwrite());
    for (const Figure& figure : figures_of(page)) {
      files.add(figure.name + ".svg").write(standalone_svg(figure));
      pictures.push_back((figures / (figure.name + ".svg")).string());
    }
    files.commit();
  }
  write_text_file(file, render_html(page), console.overwrite());
  Answer written;
  written.set("report", file.string());
  written.set("sections", sections);
  if (!pictures.empty()) written.set("figures", pictures);
  for (const PageSection& section : page.sections) {
    for (std::size_t i = 0; section.id == "missing" && i < section.notes.size(); ++i)
      written.say(section.notes[i].text());
  }
  written.say("wrote ", file.string());
  console.tell(verb, written);
}

}  // namespace desirepath::app
