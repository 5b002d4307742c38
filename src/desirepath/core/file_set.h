// Several files of one folder that appear together: all of them or none, whatever ends the program meanwhile.
//
// New files are made whole in a hidden folder inside the target, `.desirepath-new`. They count from the moment this
// folder is renamed to `.desirepath-ready`; then each moves to its place. What a killed run left behind is removed
// (new) or finished (ready) by the next run that writes into the folder, and finished before anything in it is read.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "desirepath/core/atomic_file.h"

namespace desirepath::inline core {

/// One folder, one writer, for as long as this lives.
class FolderLock {
 public:
  /// Makes the folder where it is missing. Throws FileError while another run writes into it.
  explicit FolderLock(const std::filesystem::path& folder);
  /// A folder that was made and is still empty goes again.
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  std::vector<std::filesystem::path> made_;  // the deepest first
  int descriptor_ = -1;
};

class FileSet {
 public:
  FileSet(std::filesystem::path folder, Overwrite overwrite);
  /// Without commit() nothing is left behind and old files stay as they were.
  ~FileSet();
  FileSet(const FileSet&) = delete;
  FileSet& operator=(const FileSet&) = delete;

  AtomicFile& add(const std::string& name, FileAccess access = FileAccess::usual);
  /// Throws FileError while another run commits into the folder, and Interrupted where `interrupt` is set by the time
  /// that the files are whole.
  void commit(const std::atomic<bool>* interrupt = nullptr);

 private:
  std::filesystem::path folder_;
  Overwrite overwrite_;
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<AtomicFile>> files_;
};

/// Moves the files of a set that a killed run had finished to their places. Throws FileError where this user may not.
void finish_file_set(const std::filesystem::path& folder);

}  // namespace desirepath::inline core
