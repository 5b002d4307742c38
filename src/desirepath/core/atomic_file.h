// A file that appears whole or not at all: written beside its target, synced, renamed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace desirepath::inline core {

enum class Overwrite { refuse, allow };
/// Who may read a new file: whoever the system's mask lets, or its owner alone.
enum class FileAccess { usual, owner };

/// Throws FileError when the target exists and may not be replaced: to be asked before long work, not after it.
void check_target(const std::filesystem::path& target, Overwrite overwrite);

class AtomicFile {
 public:
  AtomicFile(std::filesystem::path target, Overwrite overwrite, FileAccess access = FileAccess::usual);
  /// Without commit() nothing is left behind and an old file stays as it was.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();
  /// Under another name of the same file system, which must be free, in place of commit(): for files that appear
  /// together (file_set.h).
  void place(const std::filesystem::path& name);

 private:
  void flush();
  /// Everything that can fail but the last renaming.
  void prepare(const std::filesystem::path& name);
  [[noreturn]] void fail(const char* action) const;

  std::filesystem::path target_;
  std::filesystem::path temporary_;  // has a name only where the file system has no nameless files
  Overwrite overwrite_;
  int descriptor_ = -1;
  std::vector<std::byte> buffer_;
};

/// The whole file; FileError when it cannot be read, or goes on without an end (a device, a pipe beyond 1 GiB).
std::vector<std::byte> read_file(const std::filesystem::path& path);
std::string read_text_file(const std::filesystem::path& path);
void write_text_file(const std::filesystem::path& path, std::string_view text, Overwrite overwrite);
/// Makes the folder and those above it.
void make_folder(const std::filesystem::path& folder);

}  // namespace desirepath::inline core
