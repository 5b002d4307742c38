#include "program.h"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <new>
#include <utility>

#include <CLI/CLI.hpp>

#include "desirepath/core/error.h"
#include "desirepath/core/nearest_name.h"
#include "desirepath/core/printable.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"
#include "desirepath/core/version.h"
#include "desirepath/ingest/source.h"

namespace desirepath::app {

namespace {

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames())
      names.push_back("--" + name);
  }
  return names;
}

/// The words of the command line; an option that may stand alone, and does, gets the value that then means.
std::vector<std::string> with_values(int count, char** arguments, const std::vector<std::unique_ptr<Verb>>& verbs) {
  std::vector<std::string> words(arguments + 1, arguments + count);
  const auto verb = std::ranges::find_if(
      verbs, [&](const auto& one) { return !words.empty() && one->app->get_name() == words.front(); });
  if (verb == verbs.end()) return words;
  for (std::size_t i = 1; i < words.size() && words[i] != "--"; ++i) {
    if (!words[i].starts_with("--")) continue;
    const CLI::Option* option = std::as_const(*(*verb)->app).get_option_no_throw(words[i]);
    if (option == nullptr || option->get_expected_min() != 0 || option->get_expected_max() != 1) continue;
    const std::vector<std::string> choices = split(option->get_type_name(), '|');
    if (i + 1 < words.size() && std::ranges::find(choices, words[i + 1]) != choices.end()) continue;
    if (std::ranges::find(choices, "on") != choices.end()) words[i] += "=on";
  }
  return words;
}

}  // namespace

Program::Program() : app_("desirepath: the paths students really take", "desirepath") {
  app_.set_version_flag("--version", std::string("desirepath ") + version);
  app_.set_help_flag("--help", "this text");
  app_.require_subcommand(0, 1);
  app_.footer(
      "Start with 'desirepath demo', or with your own file: 'desirepath check enrollments.csv'.\n"
      "Every command has --help with examples.\n\n"
      "Exit codes: 0 done; 1 failure; 2 usage; 3 bad input data; 4 a required quality missed;\n"
      "5 refused for privacy; 6 disk or I/O; 130 interrupted.");
}

Verb& Program::add(const VerbDescription& description) {
  verbs_.push_back(std::make_unique<Verb>());
  Verb& verb = *verbs_.back();
  verb.console = &console_;
  verb.app = app_.add_subcommand(description.name, description.summary);
  verb.app->set_help_flag("--help", "this text");
  verb.app->allow_extras();  // they are answered by parse(), with the nearest name
  std::string footer = "Examples:";
  for (const std::string& example : description.examples)
    footer += "\n  " + example;
  verb.app->footer(footer);
  const std::string group = "Everywhere";
  verb.app->add_flag("--json", console_.json, "one JSON object on stdout, nothing else")->group(group);
  if (description.prints_table) {
    verb.app->add_flag("--csv", console_.csv, "the table as CSV on stdout")->group(group);
    verb.app
        ->add_flag_callback(
            "--csv-safe", [this] { console_.csv = console_.csv_safe = true; },
            "the same for spreadsheets: cells that would be formulas begin with an apostrophe")
        ->group(group);
  }
  verb.app
      ->add_option_function<std::string>(
          "--seed",
          [this](const std::string& text) {
            const auto seed = number_in<std::uint64_t>(text);
            if (!seed) throw OptionError("--seed: a whole number from 0 to 18446744073709551615 is needed");
            console_.seed = *seed;
          },
          "same input, options and seed: same bytes")
      ->type_name("UINT")
      ->default_str("1")
      ->group(group);
  verb.app->add_option("--threads", console_.threads, "threads (0: all cores); results do not depend on it")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str()
      ->group(group);
  verb.app->add_flag("--quiet", console_.quiet, "say nothing but warnings and errors")->group(group);
  verb.app->add_flag("--verbose", console_.verbose, "messages name what files hold: courses, not students")
      ->group(group);
  verb.app->add_option("--progress", console_.progress, "auto (on a terminal), json (lines on stderr), off")
      ->check(CLI::IsMember({"auto", "json", "off"}))
      ->capture_default_str()
      ->group(group);
  return verb;
}

CLI::Option* Verb::add_output(const std::string& name, std::string& value, const std::string& help, FileKind kind) {
  CLI::Option* option = app->add_option(name, value, help)->type_name("FILE");
  outputs.push_back({option, &value, {{"", kind}}});
  return option;
}

CLI::Option* Verb::add_output_folder(const std::string& name, std::string& value, const std::string& help,
                                     std::vector<std::pair<std::string, FileKind>> parts) {
  CLI::Option* option = app->add_option(name, value, help)->type_name("FOLDER");
  outputs.push_back({option, &value, std::move(parts)});
  return option;
}

std::vector<std::unique_ptr<FolderLock>> Verb::lock_folders() const {
  std::vector<std::unique_ptr<FolderLock>> locks;
  for (const Output& output : outputs) {
    const bool is_folder = std::ranges::any_of(output.parts, [](const auto& part) { return !part.first.empty(); });
    if (is_folder && !output.value->empty()) locks.push_back(std::make_unique<FolderLock>(*output.value));
  }
  return locks;
}

void Verb::check_files() const {
  for (const CLI::Option* option : app->get_options()) {
    const std::string type = option->get_type_name();
    const bool is_file = type.find("FILE") != std::string::npos;
    for (const std::string& value : is_file || type == "FOLDER" ? option->results() : CLI::results_t()) {
      const std::filesystem::path path = value;
      finish_file_set(is_file ? path.parent_path() : path);
    }
  }
  std::vector<OutputFile> files;
  for (const Output& output : outputs) {
    if (output.value->empty()) continue;
    const std::filesystem::path path = *output.value;
    for (const auto& [name, kind] : output.parts)
      files.push_back({name.empty() ? path : path / name, kind, !name.empty(), output.continues && *output.continues});
  }
  if (files.empty()) return;
  std::vector<std::string> inputs;
  for (const CLI::Option* option : app->get_options()) {
    if (option->get_type_name().find("FILE") == std::string::npos) continue;
    if (std::ranges::find(outputs, option, &Output::option) != outputs.end()) continue;
    for (const std::string& value : option->results()) {
      const bool pattern = value.find_first_of("*?[") != std::string::npos;
      std::ranges::copy(pattern ? expand_sources({value}) : std::vector{value}, std::back_inserter(inputs));
      if (!option->check_lname("mapping")) continue;
      const TableOptions mapped = read_mapping_file(value);
      for (const auto& file : {mapped.courses_file, mapped.labels_file, mapped.aliases_file, mapped.terms_file}) {
        if (!file.empty()) inputs.push_back(file.string());
      }
      std::ranges::copy(mapped.joins, std::back_inserter(inputs));
    }
  }
  check_outputs(files, inputs, console->overwrite());
}

void Program::parse(int count, char** arguments) {
  if (count > 1 && arguments[1][0] != '-') {
    std::vector<std::string> names;
    for (const auto& verb : verbs_)
      names.push_back(verb->app->get_name());
    const std::string given = arguments[1];
    if (std::find(names.begin(), names.end(), given) == names.end()) {
      throw OptionError(
          concat("no command '", given, "'", did_you_mean(given, names), "; 'desirepath --help' lists them"));
    }
  }
  try {
    std::vector<std::string> words = with_values(count, arguments, verbs_);
    std::ranges::reverse(words);  // as the parser takes them
    app_.parse(std::move(words));
  } catch (const CLI::RequiredError&) {
    refuse_extras();  // a typo in an option's name is why it is missing
    throw;
  }
  refuse_extras();
  refuse_infinite();
}

void Program::refuse_infinite() const {
  for (const auto& verb : verbs_) {
    for (const CLI::Option* option : verb->app->get_options()) {
      if (!option->get_type_name().starts_with("FLOAT")) continue;
      for (const std::string& given : option->results()) {
        if (!number_in<double>(given.starts_with("+") ? given.substr(1) : given))
          throw OptionError(concat(option->get_name(), " must be a number"));
      }
    }
  }
}

void Program::refuse_extras() const {
  for (const auto& verb : verbs_) {
    if (!verb->app->parsed()) continue;
    std::vector<std::string> extras = verb->app->remaining();
    std::erase(extras, "--");  // what follows it is no option, whatever it begins with
    for (const std::string& extra : extras) {
      if (!extra.starts_with("-")) continue;
      const std::string name = split(extra, '=').front();
      const std::string hint = did_you_mean(name, option_names(*verb->app));
      throw OptionError(
          concat("no option '", name, "'", hint, "; see 'desirepath ", verb->app->get_name(), " --help'"));
    }
    if (!extras.empty())
      throw OptionError(
          concat("unexpected argument '", extras.front(), "'; see 'desirepath ", verb->app->get_name(), " --help'"));
  }
}

int Program::fail(const std::string& message, int code) const {
  const std::string line = printable(render_settings(message, "--"));
  std::cerr << "desirepath: " << line << '\n';
  console_.tell_failure(line, code);
  return code;
}

int Program::done(int code) const {
  std::cout.flush();
  return std::cout ? code : fail("cannot write to standard output", 6);
}

int Program::run(int count, char** arguments) {
  // Before the arguments are understood: whoever reads JSON reads it when they are not.
  console_.json = std::any_of(arguments, arguments + count, [](std::string_view word) { return word == "--json"; });
  try {
    parse(count, arguments);
    for (const auto& verb : verbs_) {
      if (!verb->app->parsed()) continue;
      verb->check_files();
      const auto locks = verb->lock_folders();
      verb->run();
      console_.end_progress();
      return done(0);
    }
    std::cout << app_.help();
    return done(count > 1 ? 2 : 0);
  } catch (const CLI::CallForHelp&) {
    for (const auto& verb : verbs_) {
      if (verb->app->parsed()) {
        std::cout << verb->app->help(app_.get_name());
        return done(0);
      }
    }
    std::cout << app_.help();
    return done(0);
  } catch (const CLI::CallForVersion&) {
    std::cout << "desirepath " << version << '\n';
    return done(0);
  } catch (const CLI::ParseError& error) {
    return fail(concat(error.what(), "; see --help"), 2);
  } catch (const Error& error) {
    console_.end_progress();
    return fail(error.marked(), error.exit_code());
  } catch (const std::bad_alloc&) {
    console_.end_progress();
    return fail("not enough memory", 1);
  } catch (const std::exception& error) {
    // Not one of ours: a fault of the program. Its text is withheld, for it may quote data.
    console_.end_progress();
    return fail("internal fault; please report the command that led here", 1);
  }
}

}  // namespace desirepath::app
