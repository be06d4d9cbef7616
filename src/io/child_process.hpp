#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "wallheat/error.hpp"

namespace wallheat {

/// What a program is started with.
struct ProgramStart {
  std::string program;             ///< looked up in PATH if it has no slash
  std::vector<std::string> words;  ///< its name for itself and others, and its arguments
  int in = -1;                     ///< a file for its stdin; -1: there is nothing to read
  int out = -1;                    ///< for its stdout; -1: nobody reads it
  int messages = -1;               ///< for its stderr; -1: this process's
  std::vector<int> files{};        ///< it has these, too, under the numbers that they have here
  /// NAME=VALUE, set anew in this process's environment.
  std::vector<std::string> environment{};
  /// It never hears the signals by which launchers and schedulers stop a job: they go to whole
  /// groups of processes, and its parent decides.
  bool hears_no_stop = false;
  /// It has a process group of its own, with all that it starts, and hears every signal.
  bool own_group = false;
};

struct NoSuchProgram : RunError {
  using RunError::RunError;
};

/// A program that was started by this thread, whose binding to cpus it inherits; killed and reaped
/// at the end.
class ChildProcess {
 public:
  /// Safe in a process with threads and MPI. Throws NoSuchProgram, or RunError.
  explicit ChildProcess(const ProgramStart& start);
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
  [[nodiscard]] std::string ending() const;

 private:
  pid_t pid_ = -1;
  bool own_group_ = false;
  std::optional<int> status_;  // as of waitpid, once it has ended
};

}  // namespace wallheat
