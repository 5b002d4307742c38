#include "desirepath/core/atomic_file.h"

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "desirepath/core/error.h"
#include "desirepath/core/setting_name.h"
#include "desirepath/core/text.h"

namespace desirepath::inline core {

namespace {

constexpr std::size_t buffer_size = std::size_t{1} << 20;

std::string reason(int error) {
  return std::generic_category().message(error);
}

[[noreturn]] void refuse_existing(const std::filesystem::path& target) {
  throw FileError(concat(target.string(), " exists already; give ", setting_name("force"), " to replace it"));
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
  if (overwrite == Overwrite::refuse && std::filesystem::exists(target, ignored)) {
    refuse_existing(target);
  }
  const std::filesystem::path folder = folder_of(target);
  if (!std::filesystem::is_directory(folder, ignored)) {
    throw FileError(concat("cannot write ", target.string(), ": there is no folder ", folder.string()));
  }
  if (::access(folder.c_str(), W_OK) != 0) {
    throw FileError(concat("cannot write ", target.string(), ": ", reason(errno)));
  }
}

void check_target(const std::filesystem::path& target, Overwrite overwrite, std::span<const std::string> sources) {
  check_target(target, overwrite);
  for (const std::string& source : sources) {
    std::error_code ignored;
    if (std::filesystem::equivalent(source, target, ignored))
      throw OptionError(concat(target.string(), " is the input itself; write to another file"));
  }
}

AtomicFile::AtomicFile(std::filesystem::path target, Overwrite overwrite)
    : target_(std::move(target)), overwrite_(overwrite) {
  check_target(target_, overwrite_);
  // A nameless file leaves nothing behind even when the process is killed.
  descriptor_ = ::open(folder_of(target_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    temporary_ = target_;
    temporary_ += concat(".partial-", ::getpid());
    descriptor_ = ::open(temporary_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
  }
  if (descriptor_ < 0) fail("create");
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

void AtomicFile::commit() {
  flush();
  if (::fsync(descriptor_) != 0) fail("sync");
  if (temporary_.empty()) {
    std::filesystem::path named = target_;
    named += concat(".partial-", ::getpid());
    ::unlink(named.c_str());
    const std::string link = concat("/proc/self/fd/", descriptor_);
    if (::linkat(AT_FDCWD, link.c_str(), AT_FDCWD, named.c_str(), AT_SYMLINK_FOLLOW) != 0) fail("name");
    temporary_ = named;
  }
  const int closed = ::close(std::exchange(descriptor_, -1));
  if (closed != 0) fail("close");
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
  const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);  // best effort: some file systems cannot sync a folder
    ::close(folder);
  }
}

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw FileError(concat("cannot read ", path.string(), ": ", reason(errno)));
  std::vector<std::byte> bytes;
  struct stat status {};
  if (::fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode)) {
    ::close(descriptor);
    throw FileError(concat("cannot read ", path.string(), ": it is a folder"));
  }
  if (S_ISREG(status.st_mode)) bytes.reserve(static_cast<std::size_t>(status.st_size) + 1);
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
