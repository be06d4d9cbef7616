#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "core/bytes.hpp"
#include "isolation/job_settings.hpp"
#include "queue/messages.hpp"

namespace wallheat {

/// What a wait for a solver process ends with, where it is no message.
struct Stopped {};
struct TimedOut {};
struct Died {
  std::string how;  ///< goes on after "the process"
};
using SolverEvent = std::variant<FromWorker, Stopped, TimedOut, Died>;

/// What is left of the time for which a solver process may be silent; infinite: it may for ever. A
/// machine that was suspended, or a job that was stopped and continued, wakes up hours later: only
/// the time that was waited for on purpose counts.
using SilenceLeft = std::chrono::duration<double>;

/// A solver process, from its start to its end, and this side of its lanes. Several threads may use
/// it at once, each its own lane.
class SolverChild {
 public:
  virtual ~SolverChild() = default;

  /// Where nobody listens, that is found out by the next wait.
  virtual void send(std::size_t lane, const Bytes& message) = 0;
  /// Takes the time that it waits off what is left.
  [[nodiscard]] virtual SolverEvent wait(std::size_t lane, const std::stop_token& stop,
                                         SilenceLeft& left) = 0;

  /// Kills it. Returns whether the kernel has ended it within a second.
  virtual bool kill_and_reap() = 0;
  /// Returns whether it has ended.
  [[nodiscard]] virtual bool is_gone() = 0;
};

/// Throws RunError.
using StartSolver = std::function<std::unique_ptr<SolverChild>(const JobSettings&)>;

/// The program that solves for an isolated job: it calls serve_plans. A StartSolver.
struct SolverProgram {
  std::string file = "/proc/self/exe";
  std::vector<std::string> arguments = {"solver-process"};
  [[nodiscard]] std::unique_ptr<SolverChild> operator()(const JobSettings& settings) const;
};

}  // namespace wallheat
