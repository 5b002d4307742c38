// What a verb writes, and the one rule for it: checked before any work begins, so that nothing a user has is lost.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "desirepath/core/atomic_file.h"

namespace desirepath::app {

/// What an existing file must be for --force to replace it: an archive of this kind, or a text that begins so.
struct FileKind {
  std::string_view what;
  std::string_view archive;
  std::string_view begins;
};
inline constexpr FileKind cohort_file = {"a cohort", "cohort", {}};
inline constexpr FileKind model_file = {"a model", "model", {}};
inline constexpr FileKind checkpoint_file = {"a checkpoint", "checkpoint", {}};
inline constexpr FileKind figure_file = {"an SVG figure", {}, "<svg "};
inline constexpr FileKind page_file = {"an HTML page", {}, "<!doctype html>"};
inline constexpr FileKind rejects_file = {"a list of rejects", {}, "file,record,column,reason\n"};
inline constexpr FileKind statuses_file = {"a list of statuses", {}, "student,period,status,term\n"};
inline constexpr FileKind json_file = {"a JSON file", {}, "{"};
inline constexpr FileKind synthetic_enrollments = {"a synthetic university's", {}, "student,period,term,course,grade,"};
inline constexpr FileKind synthetic_courses = {"a synthetic university's", {}, "course,label,subject,school,"};
inline constexpr FileKind synthetic_students = {"a synthetic university's", {}, "student,ambition,pace,"};
inline constexpr FileKind synthetic_status = {"a synthetic university's", {}, "student,period,year,complete,"};

struct OutputFile {
  std::filesystem::path path;
  FileKind kind;
  bool makes_folder = false;  // the folder need not exist yet
  bool continues = false;     // a file that is there is read first, and checked by its reader
};

/// Refuses an output that is an input or another output, under whatever name or link (OptionError); one that exists
/// without --force, and with it one that is not of the kind (FileError).
void check_outputs(std::span<const OutputFile> outputs, std::span<const std::string> inputs, Overwrite overwrite);

}  // namespace desirepath::app
