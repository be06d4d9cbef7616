#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <string_view>

// A library to preload: a file system on which a signal interrupts every second system call of the
// program for a file (EINTR). Calls of shared libraries are not interrupted; HDF5 may be part of
// the program. The names of the interrupted calls are appended to $INTERRUPTED_LOG.

namespace {

/// Returns true if `caller` is an instruction of wallheat itself.
bool is_in_program(const void* caller) {
  Dl_info found{};
  if (::dladdr(caller, &found) == 0 || found.dli_fname == nullptr) return false;
  const std::string_view path = found.dli_fname;
  return path.substr(path.rfind('/') + 1) == "wallheat";
}

template <class Call>
Call next_of(const char* name) {
  return reinterpret_cast<Call>(::dlsym(RTLD_NEXT, name));
}

/// Returns true, and sets errno, if this call must be interrupted.
bool must_interrupt(const char* name, const void* caller) {
  thread_local const char* last = nullptr;
  if (!is_in_program(caller)) return false;
  const bool is_second = last == name;
  last = is_second ? nullptr : name;
  if (is_second) return false;
  if (const char* const log = ::getenv("INTERRUPTED_LOG")) {
    const int file = next_of<int (*)(const char*, int, ...)>("open")(
        log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    const auto write_next = next_of<ssize_t (*)(int, const void*, size_t)>("write");
    (void)!write_next(file, name, ::strlen(name));
    (void)!write_next(file, "\n", 1);
    ::close(file);
  }
  errno = EINTR;
  return true;
}

}  // namespace

#define INTERRUPT(name) \
  if (must_interrupt(name, __builtin_return_address(0))) return -1

extern "C" {

int open(const char* path, int flags, ...) {
  INTERRUPT("open");
  va_list more;
  va_start(more, flags);
  const auto mode = va_arg(more, mode_t);
  va_end(more);
  return next_of<int (*)(const char*, int, ...)>("open")(path, flags, mode);
}
int fcntl(int file, int command, ...) {
  va_list more;
  va_start(more, command);
  void* const argument = va_arg(more, void*);
  va_end(more);
  if (command == F_OFD_SETLK || command == F_OFD_GETLK) INTERRUPT("fcntl");
  return next_of<int (*)(int, int, ...)>("fcntl")(file, command, argument);
}
int fsync(int file) {
  INTERRUPT("fsync");
  return next_of<int (*)(int)>("fsync")(file);
}
int fdatasync(int file) {
  INTERRUPT("fdatasync");
  return next_of<int (*)(int)>("fdatasync")(file);
}
int ftruncate(int file, off_t size) {
  // Other sizes are those of files in memory, and of HDF5, which does not repeat this call.
  if (size == 0) INTERRUPT("ftruncate");
  return next_of<int (*)(int, off_t)>("ftruncate")(file, size);
}
ssize_t write(int file, const void* bytes, size_t size) {
  INTERRUPT("write");
  return next_of<ssize_t (*)(int, const void*, size_t)>("write")(file, bytes, size);
}
ssize_t pread(int file, void* bytes, size_t size, off_t offset) {
  INTERRUPT("pread");
  return next_of<ssize_t (*)(int, void*, size_t, off_t)>("pread")(file, bytes, size, offset);
}
ssize_t pwrite(int file, const void* bytes, size_t size, off_t offset) {
  INTERRUPT("pwrite");
  return next_of<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite")(file, bytes, size, offset);
}

}  // extern "C"
