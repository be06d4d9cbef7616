#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "core/input_file.hpp"
#include "solve/solver_options.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

/// Thrown if a solver command fails for a plan. The message is a clause without the plan ID.
struct CommandFailure : RunError {
  using RunError::RunError;
};

/// Thrown if the program has ended or has broken the protocol, so that it must be replaced.
struct BrokenProgram : CommandFailure {
  using CommandFailure::CommandFailure;
};

/// Thrown if the program does not exist or is not executable, so that no attempt can start it.
struct ProgramNotStartable : BrokenProgram {
  using BrokenProgram::BrokenProgram;
};

/// Time after the end of the requests, and again after SIGTERM, in which a program should end.
inline constexpr std::chrono::seconds program_exit_time{1};
/// Longest time that a supervisor needs to end its program and all that this has started.
inline constexpr std::chrono::seconds max_supervisor_exit_time{4 * program_exit_time};

/// Forwards the output of a program to the log, line by line, with the ID of the plan that it
/// solves. Limits the length and the rate of the lines. Not thread-safe.
class OutputForwarder {
 public:
  void begin_plan(const std::string& id);
  void log(std::string_view line, bool is_stderr);
  /// Logs the number of the lines that were omitted since the last line was logged, and the last of
  /// those of stderr. Returns the last line of stderr; an empty string if there is none.
  std::string finish();

 private:
  void log_omission(std::size_t lines);
  void print(std::string_view line) const;
  std::string prefix_ = "solver command";
  std::string last_stderr_line_;
  std::deque<std::string> omitted_stderr_lines_;  // the last ones, since a line was logged
  std::size_t omitted_lines_ = 0;                 // of both streams, since a line was logged
  double tokens_ = 0;                             // lines that may be logged now
  std::chrono::steady_clock::time_point last_refill_{};
};

/// The running program of a slot. A supervisor, which is a child process of this process, starts
/// the program in a separate process group, and adopts all of its descendants whose parent ends.
/// When the program ends, or the thread that started it, the supervisor kills all that remain. The
/// supervisor itself lasts as long as this object or that thread. Another thread reads the output
/// of the program all the time.
class CommandProcess {
 public:
  /// Longer than any run. A clock overflows if the maximum of its type is added to it.
  static constexpr std::chrono::hours no_limit{24 * 365 * 100};

  /// Starts the program. Throws RunError or std::system_error if that fails. Call this in a thread
  /// that outlives the object.
  explicit CommandProcess(const SolverCommand& command);
  /// Closes the requests. A program that has not ended after a second gets SIGTERM, and after
  /// another second SIGKILL. Logs the output that the program prints until it ends.
  ~CommandProcess();
  CommandProcess(const CommandProcess&) = delete;
  CommandProcess& operator=(const CommandProcess&) = delete;

  /// Sends a request for the plan `id`, to which all later output belongs. Does not fail if
  /// the program has ended; receive() reports that. Throws BrokenProgram if a reply is waiting,
  /// because it would be taken for the reply to this request.
  void send(const std::string& id, const std::string& line);
  /// Returns the next line that the program sends: on the descriptor for replies, or on stdout if
  /// its first line was there. Drops the earliest of more than 1000 lines that wait. Throws
  /// BrokenProgram if the program has ended, if the line is too long, or if `start_limit` has
  /// passed; ProgramNotStartable if the program could not be started.
  [[nodiscard]] std::string receive(std::chrono::seconds start_limit = no_limit);
  /// Returns the folder in memory through which arrays are passed to the program. The supervisor
  /// creates, locks and removes it. If it is killed, the destructor removes it; if this process is
  /// killed, too, the next CommandProcess of the user does, a minute later or more.
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  void read_output();
  void take_lines(std::size_t stream);
  void take_line(std::size_t stream, std::string line);
  template <class Error = BrokenProgram>
  void end(const std::string& reason);

  std::filesystem::path folder_;
  pid_t supervisor_ = -1;
  std::array<FileDescriptor, 5> pipes_;    // the ends of this process
  std::array<std::string, 3> incomplete_;  // lines whose ends have not arrived, by stream
  std::optional<std::size_t> reply_stream_ = std::nullopt;  // nullopt: no reply has arrived yet
  std::mutex mutex_;                                        // of the following members
  std::condition_variable changed_;
  OutputForwarder output_;
  std::deque<std::string> replies_;
  std::exception_ptr end_;  // why no more replies arrive; null while they may
  std::jthread reader_;
};

}  // namespace wallheat
