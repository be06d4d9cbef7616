#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/file_descriptor.hpp"
#include "isolation/child_process.hpp"
#include "isolation/message_channel.hpp"
#include "isolation/solver_process.hpp"

struct pollfd;

namespace wallheat {

/// The program that solves for an isolated job: it calls serve_plans.
struct SolverProgram {
  std::filesystem::path file = "/proc/self/exe";
  std::vector<std::string> arguments = {"solver-process"};
};

constexpr std::chrono::duration<double> for_ever{0};

/// Can be waited for together with a socket.
class Wake {
 public:
  /// Throws RunError.
  Wake();
  void set() const;
  void clear() const;
  /// Returns whether it was set within that time.
  [[nodiscard]] bool wait(std::chrono::milliseconds limit) const;
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  FileDescriptor fd_;
};

/// Time spent waiting since it was broken last. A machine that was suspended, or a job that was
/// stopped and continued, wakes up hours later: only the time that was asked for counts.
class IdleTimer {
 public:
  explicit IdleTimer(std::chrono::duration<double> limit) : limit_(limit) {}

  void restart() { length_ = {}; }
  [[nodiscard]] bool expired() const { return limit_ != for_ever && length_ >= limit_; }
  /// Calls poll for a while. Returns whether there is anything to read.
  bool poll(std::span<pollfd> files);

 private:
  std::chrono::duration<double> limit_;
  std::chrono::duration<double> length_{0};
};

/// What a wait for a solver process ends with, where it is no message.
struct Stopped {};
struct TimedOut {};
struct Died {
  std::string how;  ///< goes on after "the process"
};
using SolverEvent = std::variant<FromWorker, Stopped, TimedOut, Died>;

/// A solver process, from its start to its end, and this side of its lanes. Several threads may use
/// it at once, each its own lane.
class SolverHandle {
 public:
  /// Throws RunError.
  SolverHandle(const SolverProgram& program, const SolverSetup& setup);

  /// Hands over the other lanes once it is ready; the first is there from the start.
  void open_lanes(std::size_t lanes);

  /// Where nobody listens, that is found out by the next wait.
  void send(std::size_t lane, const Bytes& message);
  [[nodiscard]] SolverEvent wait(std::size_t lane, const Wake& wake, IdleTimer& idle_timer);

  /// Kills it. Returns whether the kernel has ended it within a second.
  bool kill_and_reap();
  /// Returns whether it has ended.
  [[nodiscard]] bool is_gone();

 private:
  std::string ending();

  std::vector<MessageChannel> lanes_;
  std::mutex process_mutex_;
  ChildProcess process_;
  std::string ending_;
};

}  // namespace wallheat
