#include "console.h"

#include <cmath>
#include <iostream>
#include <sstream>
#include <thread>

#include <nlohmann/json.hpp>
#include <signal.h>
#include <unistd.h>

#include "desirepath/core/printable.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/spreadsheet_csv.h"
#include "desirepath/core/text.h"

namespace desirepath::app {

namespace {
using Clock = std::chrono::steady_clock;
double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}
std::string in_words(const Answer& answer) {
  std::ostringstream text;
  answer.print(text);
  return printable(render_settings(text.str(), "--"));
}
}  // namespace

int Console::thread_count() const {
  if (threads > 0) return threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void Console::say(const std::string& line) const {
  if (!quiet) std::cerr << printable(render_settings(line, "--")) << '\n';
}

void Console::warn(const std::string& line) const {
  std::cerr << "desirepath: warning: " << printable(render_settings(line, "--")) << '\n';
}

void Console::print_json(const std::string& verb, const Answer& answer) const {
  has_printed_json_ = true;
  answer.write_json("desirepath/" + verb + "/1", [](const std::string& marked) {
    const std::string text = render_settings(marked, "--");
    const std::string_view whole = text;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (!is_turn(text, i)) continue;
      // The same text to a program, and no command to a terminal.
      std::cout << whole.substr(begin, i - begin) << "\\u" << turn_digits(text, i);
      i += 2;
      begin = i + 1;
    }
    std::cout << whole.substr(begin);
  });
}

void Console::tell_failure(const std::string& message, int code) const {
  if (json && !has_printed_json_) {
    Answer failure;
    failure.set("error", message);
    failure.set("exit_code", code);
    print_json("error", failure);
  }
  std::cout.flush();
}

void Console::show(const std::string& verb, const Answer& answer) const {
  for (const std::string& warning : answer.warnings())
    warn(warning);
  for (const std::string& note : answer.notes())
    say(note);
  if (json) return print_json(verb, answer);
  const auto print_csv = [&](std::ostream& out) {
    if (!csv_safe) return answer.chosen_table().print_csv(out);
    SpreadsheetCsv filter(out);
    std::ostream filtered(&filter);
    answer.chosen_table().print_csv(filtered);
  };
  if (csv && ::isatty(STDOUT_FILENO) == 0) return print_csv(std::cout);
  if (csv) {
    std::ostringstream text;
    print_csv(text);
    std::cout << printable(text.str());
    return;
  }
  std::cout << in_words(answer);
}

void Console::tell(const std::string& verb, const Answer& answer) const {
  if (json) return print_json(verb, answer);
  if (!quiet) std::cerr << in_words(answer);
}

ProgressSink Console::progress_sink() {
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  const bool as_json = progress == "json";
  if (progress == "off" || (!as_json && (quiet || !terminal))) return {};
  return [this, as_json](const ProgressEvent& event) {
    told_ = true;
    show_progress(event, as_json);
  };
}

Executor Console::executor(const std::string& what) {
  Executor::Watch watch;
  if (const ProgressSink shown = progress_sink()) {
    watch = [this, what](double fraction) {
      if (!told_) show_progress({what, fraction}, progress == "json");
    };
  }
  return Executor(thread_count(), interrupt_flag(), std::move(watch));
}

void Console::show_progress(const ProgressEvent& event, bool as_json) {
  const auto now = Clock::now();
  if (event.phase != phase_) {
    phase_ = event.phase;
    phase_started_ = now;
    last_shown_ = {};
  }
  if (as_json) {
    nlohmann::ordered_json line;
    line["phase"] = event.phase;
    line["fraction"] = event.fraction;
    line["seconds"] = seconds_between(phase_started_, now);
    if (event.iteration >= 0) line["iteration"] = event.iteration;
    if (std::isfinite(event.objective)) line["objective"] = event.objective;
    if (std::isfinite(event.change)) line["change"] = event.change;
    std::cerr << line.dump() << '\n';
    return;
  }
  if (seconds_between(last_shown_, now) < 0.1 && event.fraction < 1) return;
  last_shown_ = now;
  constexpr int width = 24;
  const int done = static_cast<int>(std::lround(width * std::min(1.0, event.fraction)));
  const double elapsed = seconds_between(phase_started_, now);
  std::string line =
      concat("\r\033[K", event.phase, " [", std::string(static_cast<std::size_t>(done), '#'),
             std::string(static_cast<std::size_t>(width - done), '.'), "] ", fixed(100 * event.fraction, 0), " %");
  if (event.iteration >= 0) line += concat("  iteration ", event.iteration);
  if (std::isfinite(event.objective)) line += concat("  objective ", fixed(event.objective, 5));
  if (event.fraction > 0.02 && event.fraction < 1) {
    line += concat("  ", as_duration(elapsed * (1 - event.fraction) / event.fraction), " left");
  }
  std::cerr << line << std::flush;
  line_open_ = true;
}

namespace {
std::atomic<bool> interrupted = false;  // the one thing a signal handler may reach
static_assert(std::atomic<bool>::is_always_lock_free);
}  // namespace

const std::atomic<bool>* Console::interrupt_flag() const {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  return &interrupted;
}

void Console::end_progress() {
  if (line_open_) std::cerr << "\r\033[K" << std::flush;
  line_open_ = false;
  told_ = false;
}

}  // namespace desirepath::app
