#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace wallheat {

/// A program that was started by this thread; killed and reaped at the end. It inherits the
/// thread's binding to cpus, and does not hear the signals by which launchers and schedulers stop a
/// job: they go to whole groups of processes, and its parent decides.
class ChildProcess {
 public:
  /// Starts `program` with `standard_input` as its stdin, nothing as its stdout, and this process's
  /// stderr. Safe in a process with threads and MPI. Throws RunError.
  ChildProcess(const std::filesystem::path& program, const std::vector<std::string>& arguments,
               int standard_input);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  void kill() const;
  /// Waits at most so long for its end and reaps it. Returns whether it has ended.
  bool wait(std::chrono::milliseconds limit);
  /// Whether it has ended with exit status 0.
  [[nodiscard]] bool succeeded() const { return status_ == 0; }
  /// How it ended, in words that go on after "the process": "was killed by SIGSEGV, ...".
  [[nodiscard]] std::string ending() const;

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;  // as of waitpid, once it has ended
};

}  // namespace wallheat
