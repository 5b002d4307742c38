#include "output_files.h"

#include <fstream>

#include "desirepath/core/archive.h"
#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::app {

namespace {

namespace fs = std::filesystem;

bool is_same_file(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  if (fs::equivalent(a, b, ignored)) return true;
  const fs::path whole = fs::weakly_canonical(fs::absolute(a, ignored), ignored);
  return !whole.empty() && whole == fs::weakly_canonical(fs::absolute(b, ignored), ignored);
}

/// A file where another output needs a folder.
bool is_folder_of(const fs::path& a, const fs::path& b) {
  return b.has_parent_path() && is_same_file(a, b.parent_path());
}

bool is_of_kind(const fs::path& path, const FileKind& kind) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;
  if (fs::file_size(path, ignored) == 0) return true;  // nothing to lose
  if (!kind.archive.empty()) return ArchiveReader::kind_of(path) == kind.archive;
  std::string begin(kind.begins.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  return file.read(begin.data(), std::ssize(begin)) && begin == kind.begins;
}

void check_output(const OutputFile& output, Overwrite overwrite) {
  std::error_code ignored;
  const fs::path folder = output.path.parent_path();
  const bool exists = fs::exists(output.path, ignored);
  if (output.makes_folder && !fs::exists(folder, ignored)) return;
  check_target(output.path, output.continues ? Overwrite::allow : overwrite);
  if (exists && !output.continues && !is_of_kind(output.path, output.kind))
    throw FileError(concat(output.path.string(), " exists and is not ", output.kind.what,
                           " of this program; write to another file"));
}

}  // namespace

void check_outputs(std::span<const OutputFile> outputs, std::span<const std::string> inputs, Overwrite overwrite) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const fs::path& path = outputs[i].path;
    for (const std::string& input : inputs) {
      if (is_same_file(path, input))
        throw OptionError(concat(path.string(), " is the input itself; write to another file"));
    }
    for (std::size_t j = 0; j < i; ++j) {
      const fs::path& other = outputs[j].path;
      if (is_same_file(path, other) || is_folder_of(path, other) || is_folder_of(other, path))
        throw OptionError(concat(path.string(), " would be written twice; name two files"));
    }
  }
  for (const OutputFile& output : outputs)
    check_output(output, overwrite);
}

}  // namespace desirepath::app
