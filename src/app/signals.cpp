#include "app/signals.hpp"

#include <csignal>

namespace wallheat {
namespace {

volatile std::sig_atomic_t stop_flag = 0;

}  // namespace

void catch_stop_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_flag = 1; };
  sigemptyset(&action.sa_mask);
  // Schedulers and mpirun may both pass a SIGTERM on: a second one must not kill.
  sigaction(SIGUSR1, &action, nullptr);
  sigaction(SIGUSR2, &action, nullptr);  // LSF's warning at the run limit
  sigaction(SIGHUP, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
}

bool stop_requested() { return stop_flag != 0; }

}  // namespace wallheat
