#include "run/signals.hpp"

#include <atomic>
#include <csignal>

namespace wallheat {
namespace {

// A handler may touch it, and the threads of a worker read it.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a handler has nothing else
std::atomic<bool> stop_flag = false;
static_assert(std::atomic<bool>::is_always_lock_free);

/// As `nohup` starts a program that is to outlive its terminal.
bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

void catch_stop_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_flag = true; };
  sigemptyset(&action.sa_mask);
  // Schedulers and mpirun may both pass a SIGTERM on: a second one must not kill.
  sigaction(SIGUSR1, &action, nullptr);
  sigaction(SIGUSR2, &action, nullptr);  // LSF's warning at the run limit
  sigaction(SIGXCPU, &action, nullptr);  // at a limit of processor time
  if (!is_ignored(SIGHUP)) sigaction(SIGHUP, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
}

bool stop_requested() { return stop_flag; }

}  // namespace wallheat
