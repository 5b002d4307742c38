// Where output goes: data on stdout, everything else on stderr; progress on a terminal or as JSON lines.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "desirepath/compute/executor.h"
#include "desirepath/core/answer.h"
#include "desirepath/core/atomic_file.h"
#include "desirepath/core/progress.h"

namespace desirepath::app {

/// Set by the options every verb has.
struct Console {
  bool json = false;
  bool csv = false;
  bool csv_safe = false;  // for spreadsheets
  bool quiet = false;
  bool force = false;
  bool verbose = false;
  std::string progress = "auto";  // auto, json, off
  std::uint64_t seed = 1;
  int threads = 0;  // 0: all cores

  int thread_count() const;
  Overwrite overwrite() const { return force ? Overwrite::allow : Overwrite::refuse; }
  /// A line for people on stderr; nothing with --quiet.
  void say(const std::string& line) const;
  void warn(const std::string& line) const;
  /// As the user asked for it: JSON, CSV or text on stdout; notes and warnings on stderr.
  void show(const std::string& verb, const Answer& answer) const;
  /// Of a command whose result is files: JSON on stdout, or words on stderr; nothing with --quiet.
  void tell(const std::string& verb, const Answer& answer) const;
  /// With --json, what went wrong as an object on stdout, unless one that says so is there.
  void tell_failure(const std::string& message, int code) const;
  /// A sink for the library; empty when nobody would see it.
  ProgressSink progress_sink();
  /// The threads of a command that stops at Ctrl-C. Long work that tells nothing itself is told of as `what`.
  Executor executor(const std::string& what);
  /// Set by the first Ctrl-C from now on; a second one ends the program at once.
  const std::atomic<bool>* interrupt_flag() const;
  /// Wipes a progress line that is still on the terminal.
  void end_progress();

 private:
  /// One object with a `schema` field on stdout.
  void print_json(const std::string& verb, const Answer& answer) const;
  void show_progress(const ProgressEvent& event, bool as_json);

  std::chrono::steady_clock::time_point phase_started_;
  bool told_ = false;  // the work itself has told of its progress
  std::string phase_;
  std::chrono::steady_clock::time_point last_shown_;
  bool line_open_ = false;
  mutable bool has_printed_json_ = false;
};

}  // namespace desirepath::app
