#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/input_file.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

/// Thrown if a solver command fails for a plan. The message is a clause without the plan ID.
struct CommandFailure : RunError {
  using RunError::RunError;
};

/// Thrown if the program has ended or has broken the protocol, so that it must be started again.
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

/// How the program of a solver command is started.
struct CommandLaunch {
  std::vector<std::string> words;          ///< argv; words[0] is looked up in PATH
  std::vector<std::string> environment{};  ///< NAME=VALUE, in addition to that of this process
  std::uint64_t open_files = 0;            ///< soft limit of open files; 0: that of this process
};

/// Forwards the output of a program to the log, line by line, with the ID of the plan that it
/// solves. Limits the length and the rate of the lines. Thread-safe.
class OutputForwarder {
 public:
  void begin_plan(const std::string& id);
  /// Logs the lines that are complete. `stream` is 0 for stdout, 1 for stderr.
  void add(std::size_t stream, std::string_view bytes);
  /// Logs the lines that are incomplete at the end of the program, and the last lines of stderr, as
  /// far as they were omitted. Returns the last line of stderr; an empty string if there is none.
  std::string finish();

 private:
  void log(std::string_view line, bool is_stderr);
  std::mutex mutex_;
  std::string prefix_ = "solver command";
  std::array<std::string, 2> partial_lines_{};
  std::string last_stderr_line_;
  std::deque<std::string> omitted_stderr_lines_;  // the last ones, since a line was logged
  std::size_t omitted_lines_ = 0;
  double tokens_ = 0;  // lines that may be logged now
  std::chrono::steady_clock::time_point last_refill_{};
};

/// The running program of a slot. A supervisor, which is a child process of this process, starts
/// the program in a separate process group, and adopts all of its descendants whose parent ends.
/// When the program ends, or the thread that started it, the supervisor kills all that remain. The
/// supervisor itself lasts as long as this object or that thread. Another thread reads the output
/// of the program all the time.
class CommandProcess {
 public:
  /// Starts the program. Throws RunError if that fails. Call this in a thread that outlives the
  /// object.
  explicit CommandProcess(const CommandLaunch& launch);
  /// Closes the requests. A program that has not ended after a second gets SIGTERM, and after
  /// another second SIGKILL.
  ~CommandProcess();
  CommandProcess(const CommandProcess&) = delete;
  CommandProcess& operator=(const CommandProcess&) = delete;

  /// Sends a line. Does not fail if the program has ended; receive() reports that.
  void send(const std::string& line) const;
  /// Returns the next line that the program sends: on the descriptor for replies, or on stdout if
  /// its first line was there. Throws BrokenProgram if the program has ended, or if the line is too
  /// long; ProgramNotStartable if it could not be started.
  [[nodiscard]] std::string receive();
  [[nodiscard]] OutputForwarder& output() { return output_; }
  /// Returns the folder in memory through which arrays are passed to the program. The supervisor
  /// creates, locks and removes it. If it is killed, the destructor removes it; if this process is
  /// killed, too, the next CommandProcess of the user does, a minute later or more.
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  void end_supervisor();
  void read_output(const std::stop_token& stop);
  void take_bytes(std::size_t stream, std::string_view bytes);
  void put(std::string line);
  void end(const std::string& reason);

  std::string program_;
  OutputForwarder output_;
  std::filesystem::path folder_;
  pid_t supervisor_ = -1;
  FileDescriptor requests_;
  /// stdout and stderr of the program, its replies, and the message of the supervisor on its end.
  std::array<FileDescriptor, 4> inputs_;
  std::array<std::string, 2> reply_buffers_;  // incomplete lines on stdout and among the replies
  std::optional<bool> replies_on_stdout_;     // nullopt: no line has arrived yet
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> replies_;
  std::string end_reason_;  // why no more replies arrive; empty while they may
  bool is_not_startable_ = false;
  std::jthread reader_;
};

}  // namespace wallheat
