#include "isolation/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "wallheat/error.hpp"

namespace wallheat {
namespace {

// The kernel may be slow to end a process: one with much memory, or one that waits for a file
// server that does not answer and cannot even be killed. Nobody is kept waiting longer than this.
constexpr std::chrono::milliseconds longest_wait{2000};
constexpr int unknown_status = -1;  // somebody else has taken it

class SpawnActions {
 public:
  SpawnActions() { ::posix_spawn_file_actions_init(&actions_); }
  ~SpawnActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

/// Attributes of a process that never hears the signals that stop a job. They are blocked from its
/// first instruction on, which it could not do itself.
class SpawnAttributes {
 public:
  SpawnAttributes() {
    ::posix_spawnattr_init(&attributes_);
    sigset_t blocked;
    sigemptyset(&blocked);
    for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU})
      sigaddset(&blocked, signal);
    ::posix_spawnattr_setsigmask(&attributes_, &blocked);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK);
  }
  ~SpawnAttributes() { ::posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

std::string signal_text(int signal) {
  switch (signal) {
    case SIGKILL:
      return "SIGKILL, perhaps by the kernel's out-of-memory killer";
    case SIGSEGV:
      return "SIGSEGV, a memory error";
    case SIGBUS:
      return "SIGBUS, a memory error or a full disk";
    case SIGABRT:
      return "SIGABRT, a library has given up";
    case SIGILL:
      return "SIGILL, an instruction that this processor lacks";
    case SIGFPE:
      return "SIGFPE, an arithmetic error";
    case SIGXCPU:
      return "SIGXCPU, its limit of processor time";
    default:
      return fmt::format("signal {}", signal);
  }
}

}  // namespace

ChildProcess::ChildProcess(const std::filesystem::path& program,
                           const std::vector<std::string>& arguments, int standard_input) {
  SpawnActions actions;
  ::posix_spawn_file_actions_adddup2(actions.get(), standard_input, STDIN_FILENO);
  ::posix_spawn_file_actions_addopen(actions.get(), STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  const SpawnAttributes attributes;
  std::vector<std::string> words{"wallheat"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> raw;
  raw.reserve(words.size() + 1);
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  const int error =
      ::posix_spawn(&pid_, program.c_str(), actions.get(), attributes.get(), raw.data(), environ);
  if (error != 0)
    throw RunError(fmt::format("the program {} cannot be started: {}", program.string(),
                               std::strerror(error)));
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), status_(other.status_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(status_, other.status_);
  return *this;
}

ChildProcess::~ChildProcess() {
  if (pid_ < 0) return;
  kill();
  wait(longest_wait);
}

void ChildProcess::kill() const {
  if (!status_) ::kill(pid_, SIGKILL);
}

bool ChildProcess::wait(std::chrono::milliseconds limit) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + limit;
  // Not every kernel can wait for a process with a limit, so look again and again, less and less
  // often.
  constexpr std::chrono::microseconds longest_pause{10000};
  for (std::chrono::microseconds pause{50}; !status_; pause = std::min(2 * pause, longest_pause)) {
    int status = 0;
    const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended == pid_) status_ = status;
    if (ended < 0 && errno == ECHILD) status_ = unknown_status;
    if (status_ || Clock::now() >= deadline) break;
    std::this_thread::sleep_for(pause);
  }
  return status_.has_value();
}

std::string ChildProcess::ending() const {
  if (!status_) return "does not end";
  if (*status_ == unknown_status) return "ended for an unknown reason";
  if (WIFSIGNALED(*status_)) return "was killed by " + signal_text(WTERMSIG(*status_));
  return fmt::format("ended with exit status {}", WEXITSTATUS(*status_));
}

}  // namespace wallheat
