// The command line as a list of verbs, and what all of them share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "console.h"
#include "output_files.h"

#include "desirepath/core/file_set.h"

namespace desirepath::app {

/// A verb: how it is called and what it does. The options live in the closure that run() holds.
struct Verb {
  CLI::App* app = nullptr;
  Console* console = nullptr;
  std::function<void()> run;

  /// An option that names a file to write, or with `parts` a folder of files. All of them are checked before run();
  /// the inputs are the options whose type names a FILE. `value` must live as long as the verb.
  CLI::Option* add_output(const std::string& name, std::string& value, const std::string& help, FileKind kind);
  CLI::Option* add_output_folder(const std::string& name, std::string& value, const std::string& help,
                                 std::vector<std::pair<std::string, FileKind>> parts);
  void add_force() const { app->add_flag("--force", console->force, "replace files that exist"); }
  void check_files() const;
  /// One folder, one writer: those that are written into, until the verb is done.
  std::vector<std::unique_ptr<FolderLock>> lock_folders() const;

  struct Output {
    CLI::Option* option;
    const std::string* value;
    std::vector<std::pair<std::string, FileKind>> parts;  // of a folder; else one without a name
    const bool* continues = nullptr;                      // set: a file that is there is taken up, not replaced
  };
  std::vector<Output> outputs;
};

struct VerbDescription {
  std::string name;
  std::string summary;
  std::vector<std::string> examples;  // runnable as they stand
  bool prints_table = false;          // has --csv
};

class Program {
 public:
  Program();
  /// The returned verb has the shared options already (--json, --seed, --threads, --quiet, --progress).
  Verb& add(const VerbDescription& description);
  /// Parses, runs, reports; returns the exit code. One of the three places that catch exceptions.
  int run(int count, char** arguments);

 private:
  void parse(int count, char** arguments);
  /// Arguments no option took: the nearest name is named.
  void refuse_extras() const;
  /// NaN and infinity are no numbers; settings (core/settings.h) see to their own.
  void refuse_infinite() const;
  /// Exit code of a run whose text is on standard output, if it is.
  int done(int code) const;
  int fail(const std::string& message, int code) const;

  CLI::App app_;
  Console console_;
  std::vector<std::unique_ptr<Verb>> verbs_;
};

}  // namespace desirepath::app
