// The command line as a list of verbs, and what all of them share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "console.h"

namespace desirepath::app {

/// A verb: how it is called and what it does. The options live in the closure that run() holds.
struct Verb {
  CLI::App* app = nullptr;
  Console* console = nullptr;
  std::function<void()> run;

  /// For a verb that writes files: Console::overwrite() says what was asked for.
  void add_force() const { app->add_flag("--force", console->force, "replace files that exist"); }
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
  int fail(const std::string& message, int code) const;

  CLI::App app_;
  Console console_;
  std::vector<std::unique_ptr<Verb>> verbs_;
};

/// The verbs, in the order --help lists them.
void add_demo(Program& program);
void add_simulate(Program& program);
void add_check(Program& program);
void add_prepare(Program& program);
void add_inspect(Program& program);
void add_describe(Program& program);
void add_fit(Program& program);
void add_select(Program& program);
void add_queries(Program& program);
void add_orthant(Program& program);
void add_split(Program& program);

}  // namespace desirepath::app
