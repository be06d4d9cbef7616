#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <fstream>
#include <string>
#include <string_view>

// A library to preload: a host whose table of open files is full. Solver processes cannot open the
// initial field of any plan (ENFILE), except the first $BAD_HOST_AFTER that each of them opens.
// With $BAD_HOST_RANK, only this rank is on the bad host.

namespace {

bool is_on_bad_host() {
  const char* const bad_rank = ::getenv("BAD_HOST_RANK");
  const char* const rank = ::getenv("OMPI_COMM_WORLD_RANK");
  if (bad_rank != nullptr && (rank == nullptr || std::string_view(rank) != bad_rank)) return false;
  std::string arguments;
  std::getline(std::ifstream("/proc/self/cmdline"), arguments);
  return arguments.find("solver-process") != std::string::npos;
}

bool must_fail(const char* path) {
  static std::atomic<int> opened{0};
  if (!std::string_view(path).ends_with("_domain.npy")) return false;
  static const bool is_bad = is_on_bad_host();
  const char* const after = ::getenv("BAD_HOST_AFTER");
  return is_bad && ++opened > (after == nullptr ? 0 : ::atoi(after));
}

int open_next(const char* name, const char* path, int flags, mode_t mode) {
  if (must_fail(path)) {
    errno = ENFILE;
    return -1;
  }
  using Open = int (*)(const char*, int, ...);
  return reinterpret_cast<Open>(::dlsym(RTLD_NEXT, name))(path, flags, mode);
}

}  // namespace

extern "C" int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const auto mode = va_arg(more, mode_t);
  va_end(more);
  return open_next("open", path, flags, mode);
}

extern "C" int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const auto mode = va_arg(more, mode_t);
  va_end(more);
  return open_next("open64", path, flags, mode);
}
