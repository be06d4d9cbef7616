#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wallheat/error.hpp"

namespace wallheat {

/// What a program is started with.
struct SpawnOptions {
  std::string program;               ///< looked up in PATH if it has no slash
  std::vector<std::string> argv;     ///< its name for itself and others, and its arguments
  int stdin_fd = -1;                 ///< a file for its stdin; -1: there is nothing to read
  int stdout_fd = -1;                ///< for its stdout; -1: nobody reads it
  int stderr_fd = -1;                ///< for its stderr; -1: this process's
  std::vector<int> inherited_fds{};  ///< it has these, too, under the numbers that they have here
  /// NAME=VALUE, set anew in this process's environment.
  std::vector<std::string> environment{};
  /// It never hears the signals by which launchers and schedulers stop a job: they go to whole
  /// groups of processes, and its parent decides.
  bool block_stop_signals = false;
  /// It has a process group of its own, with all that it starts, and hears every signal.
  bool new_process_group = false;
};

struct NoSuchProgram : RunError {
  using RunError::RunError;
};

/// A program that was started by this thread, whose binding to cpus it inherits; killed and reaped
/// at the end.
class ChildProcess {
 public:
  /// Safe in a process with threads and MPI. Throws NoSuchProgram, or RunError.
  explicit ChildProcess(const SpawnOptions& start);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  /// With its process group, if that is its own.
  void kill() const;
  /// Waits for its end, at most until `limit` is over, and reaps it. Returns whether it has ended.
  bool wait(std::chrono::milliseconds limit);
  /// Whether it has ended with exit status 0.
  [[nodiscard]] bool succeeded() const { return status_ == 0; }
  /// How it ended, in words that go on after "the process": "was killed by SIGSEGV, ...".
  [[nodiscard]] std::string exit_description() const;

 private:
  pid_t pid_ = -1;
  bool own_group_ = false;
  std::optional<int> status_;  // as of waitpid, once it has ended
  double cpu_s_ = 0;           // processor time that it took, once it has ended
  /// Processes that the kernel's out-of-memory killer had killed when this one started; nullopt if
  /// the kernel does not report the number.
  std::optional<std::uint64_t> oom_kills_before_;
};

/// What a program said, and how it ended.
struct ProgramOutput {
  std::string stdout_text;
  std::string stderr_text;  ///< its stderr
  int status = 0;           ///< 0 if it ended with exit status 0, else 1
  bool timed_out = false;   ///< it was killed because it had not ended within the limit
};

/// Runs a program to its end; what it reads, prints and complains of are files in memory, so that
/// nobody waits for a pipe. `words` are its name, which is looked up in PATH, and its arguments;
/// `environment` (NAME=VALUE) is added to this process's. With a `limit`, it has a process group of
/// its own, which is killed when the limit is over. Nothing if there is no such program.
/// Throws RunError.
[[nodiscard]] std::optional<ProgramOutput> run_and_capture(
    const std::vector<std::string>& words, std::string_view input = {},
    const std::vector<std::string>& environment = {},
    std::optional<std::chrono::seconds> limit = std::nullopt);

/// The same for a program of which only its end matters. What it printed goes to stderr then. It
/// has a process group of its own, which is killed after `limit`. What it leaves running goes on,
/// but does not hold this process's stdout and stderr, for whose end mpirun waits. Returns how it
/// ended if that is not with exit status 0, in words that go on after its name; else an empty text.
/// Throws RunError, also if there is no such program.
[[nodiscard]] std::string run_with_timeout(const std::vector<std::string>& words,
                                           std::string_view input, std::chrono::seconds limit);

}  // namespace wallheat
