// Loaded before the C library (LD_PRELOAD): the Nth call of one function fails, and all after it.
//
//   FAULT=fsync:1   write, fsync, rename, link, linkat, thread or memory (requests of 64 KiB and more)
//   FAULT=kill:1    the process is killed before its Nth rename
//   FAULT=term:1    it gets SIGTERM before its Nth fsync, once
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/types.h>

namespace {

bool fails(const char* name) {
  static std::atomic<long> calls{0};
  const char* fault = ::getenv("FAULT");
  const std::size_t length = std::strlen(name);
  if (fault == nullptr || std::strncmp(fault, name, length) != 0 || fault[length] != ':') return false;
  return ++calls >= std::strtol(fault + length + 1, nullptr, 10);
}

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* data, std::size_t size) {
  // Standard output and error are not files of ours.
  if (descriptor > 2 && fails("write")) return errno = EIO, -1;
  static const auto next = real<ssize_t (*)(int, const void*, std::size_t)>("write");
  return next(descriptor, data, size);
}

int fsync(int descriptor) {
  if (fails("fsync")) return errno = EIO, -1;
  static std::atomic<bool> has_ended{false};
  if (fails("term") && !has_ended.exchange(true)) ::raise(SIGTERM);
  static const auto next = real<int (*)(int)>("fsync");
  return next(descriptor);
}

int rename(const char* from, const char* to) {
  if (fails("rename")) return errno = EIO, -1;
  if (fails("kill")) ::raise(SIGKILL);
  static const auto next = real<int (*)(const char*, const char*)>("rename");
  return next(from, to);
}

int link(const char* from, const char* to) {
  if (fails("link")) return errno = EIO, -1;
  static const auto next = real<int (*)(const char*, const char*)>("link");
  return next(from, to);
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  if (fails("linkat")) return errno = EIO, -1;
  static const auto next = real<int (*)(int, const char*, int, const char*, int)>("linkat");
  return next(from_folder, from, to_folder, to, flags);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) noexcept {
  if (fails("thread")) return EAGAIN;
  static const auto next = real<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  return next(thread, attributes, start, argument);
}

void* malloc(std::size_t size) noexcept {
  static const auto next = real<void* (*)(std::size_t)>("malloc");
  if (size >= 65536 && fails("memory")) return errno = ENOMEM, nullptr;
  return next(size);
}

}  // extern "C"
