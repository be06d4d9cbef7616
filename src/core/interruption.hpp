#pragma once

#include <cerrno>

namespace wallheat {

/// Calls a system call until no signal interrupts it (EINTR), and returns its result. FUSE and
/// network file systems may let a signal interrupt any call for a file.
template <class SystemCall>
auto retry_if_interrupted(SystemCall call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

}  // namespace wallheat
