#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "core/bytes.hpp"
#include "isolation/solver_process.hpp"

namespace wallheat {

constexpr std::chrono::duration<double> for_ever{0};

/// Time spent waiting since it was broken last. A machine that was suspended, or a job that was
/// stopped and continued, wakes up hours later: only the time that was asked for counts.
class IdleTimer {
 public:
  using Seconds = std::chrono::duration<double>;

  explicit IdleTimer(Seconds limit) : limit_(limit) {}

  void restart() { length_ = {}; }
  void add(Seconds waited) { length_ += waited; }
  [[nodiscard]] Seconds limit() const { return limit_; }
  [[nodiscard]] Seconds left() const { return limit_ - length_; }
  [[nodiscard]] bool expired() const { return limit_ != for_ever && length_ >= limit_; }

 private:
  Seconds limit_;
  Seconds length_{0};
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
class SolverChild {
 public:
  virtual ~SolverChild() = default;

  /// Hands over the other lanes once it is ready; the first is there from the start.
  virtual void open_lanes(std::size_t lanes) = 0;

  /// Where nobody listens, that is found out by the next wait.
  virtual void send(std::size_t lane, const Bytes& message) = 0;
  [[nodiscard]] virtual SolverEvent wait(std::size_t lane, const std::stop_token& stop,
                                         IdleTimer& idle_timer) = 0;

  /// Kills it. Returns whether the kernel has ended it within a second.
  virtual bool kill_and_reap() = 0;
  /// Returns whether it has ended.
  [[nodiscard]] virtual bool is_gone() = 0;
};

/// Throws RunError.
using StartSolver = std::function<std::unique_ptr<SolverChild>(const SolverSetup&)>;

/// The program that solves for an isolated job: it calls serve_plans. A StartSolver.
struct SolverProgram {
  std::filesystem::path file = "/proc/self/exe";
  std::vector<std::string> arguments = {"solver-process"};
  [[nodiscard]] std::unique_ptr<SolverChild> operator()(const SolverSetup& setup) const;
};

}  // namespace wallheat
