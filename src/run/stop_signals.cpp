#include "run/stop_signals.hpp"

#include <atomic>
#include <csignal>

namespace wallheat {

namespace {

// The signal handlers write it, and the threads of a worker read it.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a handler has nothing else
std::atomic<bool> stop_flag = false;
static_assert(std::atomic<bool>::is_always_lock_free);

/// Returns true if this process was started with the signal ignored.
bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

void install_stop_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_flag = true; };
  sigemptyset(&action.sa_mask);
  // HDF5 and other libraries do not repeat a system call that a signal interrupts.
  action.sa_flags = SA_RESTART;
  // Signals by which schedulers announce a limit: SIGUSR1; SIGUSR2 of LSF at the run limit; SIGXCPU
  // at a limit of processor time.
  for (const int signal : {SIGUSR1, SIGUSR2, SIGXCPU}) sigaction(signal, &action, nullptr);
  // A signal that is ignored at the start stays ignored: SIGHUP under `nohup`, and SIGINT in the
  // background jobs of a script, which a Ctrl-C for the script does not concern. Schedulers and
  // mpirun may both forward a SIGTERM, so a second one must not kill.
  for (const int signal : {SIGHUP, SIGTERM})
    if (!is_ignored(signal)) sigaction(signal, &action, nullptr);
  action.sa_flags |= static_cast<int>(SA_RESETHAND);
  if (!is_ignored(SIGINT)) sigaction(SIGINT, &action, nullptr);
}

bool stop_requested() { return stop_flag; }

}  // namespace wallheat
