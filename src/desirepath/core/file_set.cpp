#include "desirepath/core/file_set.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "desirepath/core/error.h"
#include "desirepath/core/text.h"

namespace desirepath::inline core {

namespace {

namespace fs = std::filesystem;

constexpr const char *new_name = ".desirepath-new", *ready_name = ".desirepath-ready";

[[noreturn]] void fail_with(const char* action, const fs::path& path) {
  throw FileError(concat("cannot ", action, " ", path.string(), ": ", std::generic_category().message(errno)));
}

[[noreturn]] void refuse_busy(const fs::path& folder) {
  throw FileError(
      concat("another run is writing into the folder ", folder.string(), "; wait for its end, or name another folder"));
}

/// An open folder, and the lock on it that ends with its descriptor.
class OpenFolder {
 public:
  explicit OpenFolder(const fs::path& folder)
      : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) {}
  ~OpenFolder() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFolder(const OpenFolder&) = delete;
  OpenFolder& operator=(const OpenFolder&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  /// False where somebody else holds it; a file system without locks has nobody who could.
  bool lock(int how) const {
    while (::flock(descriptor_, how) != 0) {
      if (errno == EWOULDBLOCK) return false;
      if (errno != EINTR) return true;
    }
    return true;
  }
  /// Whether the folder still has this name.
  bool is_at(const fs::path& folder) const {
    struct stat mine {
    }, there{};
    return ::fstat(descriptor_, &mine) == 0 && ::lstat(folder.c_str(), &there) == 0 && mine.st_ino == there.st_ino &&
           mine.st_dev == there.st_dev;
  }
  void sync() const { ::fsync(descriptor_); }  // best effort: some file systems cannot sync a folder

 private:
  int descriptor_;
};

void remove_files(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    fs::remove(entry.path(), ignored);
}

/// The folder that a set is made in, empty and locked.
std::unique_ptr<OpenFolder> open_new_folder(const fs::path& folder) {
  const fs::path path = folder / new_name;
  while (true) {
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) fail_with("write into", folder);
    auto opened = std::make_unique<OpenFolder>(path);
    if (!opened->is_open()) {
      if (errno == ENOENT) continue;  // its writer has just finished
      fail_with("write into", path);
    }
    if (!opened->lock(LOCK_EX | LOCK_NB)) refuse_busy(folder);
    if (!opened->is_at(path)) continue;
    remove_files(path);  // nobody holds what is in it
    return opened;
  }
}

void move_into_place(const fs::path& folder) {
  const fs::path ready = folder / ready_name;
  std::vector<fs::path> names;
  std::error_code error;
  for (fs::directory_iterator entry(ready, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename());
  for (const fs::path& name : names) {
    const fs::path from = ready / name, to = folder / name;
    if (::rename(from.c_str(), to.c_str()) != 0 && errno != ENOENT) fail_with("replace", to);
  }
  if (::rmdir(ready.c_str()) != 0 && errno != ENOENT) fail_with("remove", ready);
  OpenFolder(folder).sync();
}

}  // namespace

FolderLock::FolderLock(const fs::path& folder) {
  std::error_code ignored;
  for (fs::path missing = folder; !missing.empty() && !fs::exists(missing, ignored); missing = missing.parent_path()) {
    if (missing.has_filename()) made_.push_back(missing);
  }
  make_folder(folder);
  descriptor_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) return;  // what is to be written there will say why
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(descriptor_);
  refuse_busy(folder);
}

FolderLock::~FolderLock() {
  for (const fs::path& folder : made_)
    ::rmdir(folder.c_str());  // fails where there is something in it
  if (descriptor_ >= 0) ::close(descriptor_);
}

FileSet::FileSet(fs::path folder, Overwrite overwrite) : folder_(std::move(folder)), overwrite_(overwrite) {
  make_folder(folder_);
  finish_file_set(folder_);
}

FileSet::~FileSet() = default;

AtomicFile& FileSet::add(const std::string& name, FileAccess access) {
  names_.push_back(name);
  files_.push_back(std::make_unique<AtomicFile>(folder_ / name, overwrite_, access));
  return *files_.back();
}

void FileSet::commit(const std::atomic<bool>* interrupt) {
  const std::unique_ptr<OpenFolder> held = open_new_folder(folder_);
  const fs::path made = folder_ / new_name, ready = folder_ / ready_name;
  try {
    for (std::size_t i = 0; i < files_.size(); ++i)
      files_[i]->place(made / names_[i]);
    finish_file_set(folder_);
    for (const std::string& name : names_)
      check_target(folder_ / name, overwrite_);
    if (interrupt != nullptr && interrupt->load()) throw Interrupted("interrupted; nothing is written");
    held->sync();
    if (::rename(made.c_str(), ready.c_str()) != 0) fail_with("write into", folder_);
  } catch (...) {
    remove_files(made);
    ::rmdir(made.c_str());
    throw;
  }
  move_into_place(folder_);
}

void finish_file_set(const fs::path& folder) {
  const fs::path ready = (folder.empty() ? fs::path(".") : folder) / ready_name;
  struct stat found {
  }, around{};
  if (::lstat(ready.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) return;
  if (found.st_uid != ::geteuid()) {
    // A stranger's, in a folder that everybody may write into, says nothing of this folder's files.
    if (::stat(ready.parent_path().c_str(), &around) != 0 || around.st_uid != found.st_uid) return;
    throw FileError(
        concat("a run that wrote into the folder ", ready.parent_path().string(),
               " was ended before its files were in place; its owner can finish it with 'desirepath inspect' "
               "of any file there"));
  }
  const OpenFolder opened(ready);
  if (!opened.is_open()) return;  // its writer has just finished
  opened.lock(LOCK_EX);           // its writer, where there still is one, needs a moment
  if (opened.is_at(ready)) move_into_place(ready.parent_path());
}

}  // namespace desirepath::inline core
