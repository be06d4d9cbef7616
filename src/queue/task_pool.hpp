#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "core/runtime.hpp"
#include "queue/messages.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

/// Solves one plan. What goes wrong with the plan is a result with status failed; a result with
/// status pending means that it was stopped before the end. Throws only where it cannot solve any
/// plan any more, SourceUnavailable where the plans cannot be read for the time being.
using PlanJob = std::function<PlanResult(const Task&, const SolveControl&)>;

/// The solver threads of a worker, each with one plan at a time.
class TaskPool {
 public:
  /// Starts the threads; each first calls `make_job` with its number, in the thread itself, so that
  /// it can bind itself and make its own solver. Returns when all are ready; throws what one of
  /// them threw.
  TaskPool(std::size_t threads, const std::function<PlanJob(std::size_t thread)>& make_job,
           Runtime& runtime = system_runtime());
  /// Abandons what is running.
  ~TaskPool();
  TaskPool(const TaskPool&) = delete;
  TaskPool& operator=(const TaskPool&) = delete;

  void add(std::vector<Task> tasks);
  /// Takes up to `count` tasks back that no thread has started, the last first.
  [[nodiscard]] std::vector<std::uint32_t> take_back(std::size_t count);
  /// Stops the running plans; they turn up among the abandoned ones. To be called once, at the end.
  void abandon_running();

  /// What happened since the last call.
  struct News {
    std::vector<std::uint32_t> started;
    std::vector<PlanResult> results;
    std::vector<std::uint32_t> abandoned;
    std::string broken;        ///< why a thread cannot go on; empty while all can
    bool source_away = false;  ///< that is why: a later run may go on
  };
  [[nodiscard]] News news();
  /// True while a thread is at work or a task waits.
  [[nodiscard]] bool busy();
  /// How far the running plans are.
  [[nodiscard]] std::vector<PlanProgress> progress();

 private:
  void work(std::size_t thread, const PlanJob& job, const std::stop_token& closing);

  Runtime& runtime_;
  std::mutex mutex_;
  std::unique_ptr<Runtime::Condition> changed_;
  std::deque<Task> waiting_;
  struct Running {
    Runtime::Clock::time_point start;
    PlanProgress progress;
  };
  std::map<std::uint32_t, Running> running_;  // by the plans' numbers
  News news_;
  std::vector<Runtime::Clock::time_point> finished_;  // news_.results
  std::stop_source abandon_;
  std::vector<std::unique_ptr<Runtime::Thread>>
      threads_;  // last: joined before anything they use is gone
};

}  // namespace wallheat
