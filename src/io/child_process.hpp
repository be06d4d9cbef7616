#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wallheat/error.hpp"

namespace wallheat {

/// Settings with which a program is started.
struct SpawnOptions {
  std::string program;               ///< looked up in PATH if it contains no slash
  std::vector<std::string> argv;     ///< including argv[0]
  int stdin_fd = -1;                 ///< file for its stdin; -1: no input
  int stdout_fd = -1;                ///< file for its stdout; -1: its output is discarded
  int stderr_fd = -1;                ///< file for its stderr; -1: stderr of this process
  std::vector<int> inherited_fds{};  ///< further descriptors, which keep their numbers
  /// NAME=VALUE; added to the environment of this process, or replacing variables in it.
  std::vector<std::string> environment{};
  /// Blocks the signals by which launchers and schedulers stop a job: they send them to whole
  /// process groups, and the parent decides when the program ends.
  bool block_stop_signals = false;
  /// Puts the program and its descendants into a separate process group, in which no signal is
  /// blocked.
  bool new_process_group = false;
};

/// Returns the set of these signals.
[[nodiscard]] sigset_t set_of(std::initializer_list<int> signals);

/// Returns the strings as exec() expects them: pointers to them, and a null pointer at the end.
[[nodiscard]] std::vector<char*> pointers_to(std::vector<std::string>& texts);

/// Describes the end of a process by its status from waitpid(), as the continuation of "the
/// process": "was killed by SIGSEGV, ...".
[[nodiscard]] std::string exit_text(int wait_status);

struct NoSuchProgram : RunError {
  using RunError::RunError;
};

/// A child process that runs a program. It inherits the CPU binding of the calling thread. The
/// destructor kills and reaps it.
class ChildProcess {
 public:
  /// Starts the program. Safe in a process with threads and MPI. Throws NoSuchProgram if the
  /// program does not exist, and RunError if it cannot be started.
  explicit ChildProcess(const SpawnOptions& start);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  /// Kills the process; with `new_process_group`, all processes of its group.
  void kill() const;
  /// Waits until the process has ended, at most for `limit`, and reaps it. Returns true if it has
  /// ended.
  bool wait(std::chrono::milliseconds limit);
  /// Returns true if the process has ended with exit status 0.
  [[nodiscard]] bool succeeded() const { return status_ == 0; }
  /// Returns how the process ended, as the continuation of "the process": "was killed by SIGSEGV,
  /// ...".
  [[nodiscard]] std::string exit_description() const;

 private:
  pid_t pid_ = -1;
  bool own_group_ = false;
  std::optional<int> status_;  // from waitpid, after it has ended
  double cpu_s_ = 0;           // CPU time that it used, after it has ended
  /// Number of processes that the kernel's out-of-memory killer had killed before this process was
  /// started; nullopt if the kernel does not report the number.
  std::optional<std::uint64_t> oom_kills_before_;
};

/// Output of a program, and how it ended.
struct ProgramOutput {
  std::string stdout_text;
  std::string stderr_text;
  int status = 0;          ///< 0 if it ended with exit status 0, otherwise 1
  bool timed_out = false;  ///< true if it was killed because it did not end within the limit
};

/// Runs a program to completion and returns its output and exit status; nullopt if there is no such
/// program. `words` is its argv; words[0] is looked up in PATH. `environment` (NAME=VALUE) is added
/// to that of this process. Input and output are in-memory files, so that neither side can block on
/// a full pipe. With a `limit`, the program is in a separate process group, which is killed when
/// the limit has passed. Throws RunError if the program cannot be started.
[[nodiscard]] std::optional<ProgramOutput> run_and_capture(
    const std::vector<std::string>& words, std::string_view input = {},
    const std::vector<std::string>& environment = {},
    std::optional<std::chrono::seconds> limit = std::nullopt);

/// Runs a program in a separate process group, which is killed when `limit` has passed. When the
/// program has ended, writes its output to stderr. Processes that it leaves behind continue, but
/// they do not hold stdout and stderr of this process, whose end mpirun waits for. Returns an empty
/// string if the exit status is 0; otherwise how the program ended, as the continuation of its
/// name. Throws RunError if the program cannot be started or does not exist.
[[nodiscard]] std::string run_with_timeout(const std::vector<std::string>& words,
                                           std::string_view input, std::chrono::seconds limit);

}  // namespace wallheat
