#include "io/standard_streams.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>

#include "wallheat/error.hpp"

namespace wallheat {

void prepare_standard_streams() {
  (void)std::signal(SIGPIPE, SIG_IGN);
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    // open() uses the lowest free descriptor, which is this one. A descriptor that is open for
    // reading only cannot be written.
    (void)::open("/dev/null", descriptor == STDOUT_FILENO ? O_RDONLY : O_RDWR);
  }
}

bool stdout_failed() { return std::ferror(stdout) != 0; }

void flush_stdout() {
  if (std::fflush(stdout) != 0 || stdout_failed()) throw RunError(stdout_write_error);
}

void exit_if_stdout_closed() {
  pollfd out{STDOUT_FILENO, 0, 0};
  if (::poll(&out, 1, 0) < 1 || (out.revents & POLLERR) == 0) return;
  (void)std::signal(SIGPIPE, SIG_DFL);
  (void)std::raise(SIGPIPE);
}

}  // namespace wallheat
