#include "desirepath/core/atomic_file.h"

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "desirepath/core/error.h"
#include "desirepath/core/file_set.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline core {

namespace {

constexpr std::size_t buffer_size = std::size_t{1} << 20;
constexpr std::size_t largest_stream = std::size_t{1} << 30;

std::string reason(int error) {
  return std::generic_category().message(error);
}

[[noreturn]] void refuse_existing(const std::filesystem::path& target) {
  throw FileError(concat(target.string(), " exists already; give ", setting_name("force"), " to replace it"));
}

std::filesystem::path partial_name(const std::filesystem::path& target) {
  std::filesystem::path name = target;
  return name += concat(".partial-", ::getpid());
}

/// What killed runs left in a folder: files under a partial name that nobody holds the lock of.
void remove_abandoned(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    const std::size_t at = name.rfind(".partial-");
    if (at == std::string::npos || at == 0) continue;
    const auto pid = number_in<pid_t>(std::string_view(name).substr(at + 9));
    if (!pid || *pid <= 0 || ::kill(*pid, 0) == 0 || !entry.is_regular_file(ignored)) continue;
    const int descriptor = ::open(entry.path().c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0) continue;
    struct stat status {};
    if (::fstat(descriptor, &status) == 0 && status.st_uid == ::geteuid() &&
        ::flock(descriptor, LOCK_EX | LOCK_NB) == 0)
      ::unlink(entry.path().c_str());
    ::close(descriptor);
  }
}

std::filesystem::path folder_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

}  // namespace

void check_target(const std::filesystem::path& target, Overwrite overwrite) {
  std::error_code ignored;
  if (std::filesystem::is_directory(target, ignored)) {
    throw FileError(concat("cannot write ", target.string(), ": it is a folder"));
  }
  const std::filesystem::file_status there = std::filesystem::symlink_status(target, ignored);
  if (overwrite == Overwrite::refuse && std::filesystem::exists(there)) refuse_existing(target);
  const std::filesystem::path folder = folder_of(target);
  if (!std::filesystem::is_directory(folder, ignored)) {
    throw FileError(concat("cannot write ", target.string(), ": there is no folder ", folder.string()));
  }
  if (::access(folder.c_str(), W_OK) != 0) {
    throw FileError(concat("cannot write ", target.string(), ": ", reason(errno)));
  }
}

AtomicFile::AtomicFile(std::filesystem::path target, Overwrite overwrite, FileAccess access)
    : target_(std::move(target)), overwrite_(overwrite) {
  check_target(target_, overwrite_);
  remove_abandoned(folder_of(target_));
  const mode_t mode = access == FileAccess::owner ? 0600 : 0666;
  // A nameless file leaves nothing behind even when the process is killed.
  descriptor_ = ::open(folder_of(target_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
  if (descriptor_ < 0) {
    temporary_ = partial_name(target_);
    descriptor_ = ::open(temporary_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, mode);
  }
  if (descriptor_ < 0) fail("create");
  ::flock(descriptor_, LOCK_EX | LOCK_NB);  // held as long as the file is being made
  buffer_.reserve(buffer_size);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::fail(const char* action) const {
  throw FileError(concat("cannot ", action, " ", target_.string(), ": ", reason(errno)));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > buffer_size) flush();
  if (bytes.size() < buffer_size) {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    return;
  }
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::flush() {
  std::span<const std::byte> left(buffer_);
  while (!left.empty()) {
    const ssize_t written = ::write(descriptor_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write");
    left = left.subspan(static_cast<std::size_t>(written));
  }
  buffer_.clear();
}

void AtomicFile::prepare(const std::filesystem::path& name) {
  flush();
  if (::fsync(descriptor_) != 0) fail("sync");
  if (!temporary_.empty()) {
    if (temporary_ != name && ::rename(temporary_.c_str(), name.c_str()) != 0) fail("name");
  } else {
    ::unlink(name.c_str());
    const std::string link = concat("/proc/self/fd/", descriptor_);
    if (::linkat(AT_FDCWD, link.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) fail("name");
  }
  temporary_ = name;
}

void AtomicFile::place(const std::filesystem::path& name) {
  prepare(name);
  temporary_.clear();
  ::close(std::exchange(descriptor_, -1));
}

void AtomicFile::commit() {
  prepare(partial_name(target_));
  if (overwrite_ == Overwrite::refuse) {
    // link() refuses an existing name in one step; rename() would replace what appeared meanwhile.
    if (::link(temporary_.c_str(), target_.c_str()) != 0) {
      if (errno == EEXIST) refuse_existing(target_);
      // A file system without hard links.
      if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("rename");
    } else {
      ::unlink(temporary_.c_str());
    }
  } else if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    fail("replace");
  }
  temporary_.clear();
  ::close(std::exchange(descriptor_, -1));  // synced already; the lock goes with it
  const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);  // best effort: some file systems cannot sync a folder
    ::close(folder);
  }
}

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  finish_file_set(folder_of(path));
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw FileError(concat("cannot read ", path.string(), ": ", reason(errno)));
  std::vector<std::byte> bytes;
  struct stat status {};
  if (::fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode)) {
    ::close(descriptor);
    throw FileError(concat("cannot read ", path.string(), ": it is a folder"));
  }
  if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) {
    ::close(descriptor);
    throw FileError(concat("cannot read ", path.string(), ": it is a device, not a file"));
  }
  const bool regular = S_ISREG(status.st_mode);
  if (regular) bytes.reserve(static_cast<std::size_t>(status.st_size) + 1);
  std::size_t used = 0;
  while (true) {
    if (used == bytes.size()) bytes.resize(std::max(bytes.capacity(), used + buffer_size));
    const ssize_t got = ::read(descriptor, bytes.data() + used, bytes.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const int error = errno;
      ::close(descriptor);
      throw FileError(concat("cannot read ", path.string(), ": ", reason(error)));
    }
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
    if (!regular && used > largest_stream) {
      ::close(descriptor);
      throw FileError(concat("cannot read ", path.string(), ": more than 1 GiB from what is no file"));
    }
  }
  ::close(descriptor);
  bytes.resize(used);
  return bytes;
}

std::string read_text_file(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void write_text_file(const std::filesystem::path& path, std::string_view text, Overwrite overwrite) {
  AtomicFile file(path, overwrite);
  file.write(text);
  file.commit();
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw FileError(concat("cannot make the folder ", folder.string(), ": ", error.message()));
}

}  // namespace desirepath::inline core
