#include <CLI/CLI.hpp>

#include "program.h"

#include "desirepath/core/archive.h"
#include "desirepath/core/error.h"
#include "desirepath/core/text.h"
#include "desirepath/queries/file_contents.h"

namespace desirepath::app {

void add_inspect(Program& program) {
  Verb& verb = program.add({"inspect",
                            "what a cohort, model or checkpoint file holds",
                            {"desirepath inspect all.cohort", "desirepath inspect all.cohort --json"}});
  auto file = std::make_shared<std::string>();
  verb.app->add_option("FILE", *file, "a file this program wrote")->type_name("FILE")->required();
  verb.run = [&verb, file] {
    if (std::filesystem::is_regular_file(*file) && !ArchiveReader::looks_like_archive(*file)) {
      throw InputError(concat(*file, ": not a file this program wrote; 'desirepath check' looks at tables"));
    }
    verb.console->show("inspect", describe_contents(ArchiveReader::open(*file)));
  };
}

}  // namespace desirepath::app
