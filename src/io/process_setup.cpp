#include "io/process_setup.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "wallheat/error.hpp"

namespace wallheat {

void prepare_standard_streams() {
  (void)std::signal(SIGPIPE, SIG_IGN);
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    // The lowest number is free. What is open for reading alone cannot be written.
    (void)::open("/dev/null", descriptor == STDOUT_FILENO ? O_RDONLY : O_RDWR);
  }
}

bool stdout_failed() { return std::ferror(stdout) != 0; }

void flush_stdout() {
  if (std::fflush(stdout) != 0 || stdout_failed()) throw RunError(of_stdout);
}

void end_if_stdout_was_left() {
  pollfd out{STDOUT_FILENO, 0, 0};
  if (::poll(&out, 1, 0) < 1 || (out.revents & POLLERR) == 0) return;
  (void)std::signal(SIGPIPE, SIG_DFL);
  (void)std::raise(SIGPIPE);
}

void survive_size_limit() { (void)std::signal(SIGXFSZ, SIG_IGN); }

void raise_file_limit() {
  constexpr rlim_t enough =
      65536;  // the hard one may be so large that programs count to it in vain
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= enough) return;
  files.rlim_cur = std::min(files.rlim_max, enough);
  (void)::setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace wallheat
