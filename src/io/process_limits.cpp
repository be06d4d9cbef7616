#include "io/process_limits.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <csignal>

namespace wallheat {

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
