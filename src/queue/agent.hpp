#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/members.hpp"
#include "queue/messages.hpp"

namespace wallheat {

// Messages from a solver process to its worker, and the ways in which it ends. Solver processes are
// numbered; a process that replaces one that died has the same number.

/// The process has loaded and accepts plans.
struct ProcessReady {
  std::uint32_t slots = 1;  ///< plans that it solves at the same time
  std::vector<int> cpus{};  ///< CPUs that it may use, read back from the system
  /// Why these are not the CPUs that were requested; empty if they are.
  std::string binding_error{};
};
WALLHEAT_MEMBERS(ProcessReady, slots, cpus, binding_error);
/// A plan was not solved, because the plan source cannot be read for now.
struct SourceOutage {
  QueueIndex plan{};
  std::string reason;
};
WALLHEAT_MEMBERS(SourceOutage, plan, reason);
/// The end of a solver process.
struct ProcessExit {
  enum class Cause : std::uint8_t {
    crashed,         ///< `reason` is a predicate, such as "was killed by signal 9"
    failed,          ///< `reason` is a complete message
    device_timeout,  ///< its device does not answer, independently of the plans in progress
    source_outage,   ///< it could not open the plan source
    not_startable    ///< `reason` is a complete message; another attempt would fail, too
  };
  Cause cause = Cause::crashed;
  std::string reason;
};
WALLHEAT_MEMBERS(ProcessExit, cause, reason);

/// A worker's state machine: starts solver processes, assigns tasks to them, reports to rank 0, and
/// decides which plan or device is the cause when a process fails.
///
/// The agent does no I/O and has no clock. Its driver passes in events and the time, and executes
/// what `outbox` contains. See isolation/worker_loop.hpp; tests/simulation has another driver. Not
/// thread-safe.
///
/// A solver process is replaced if it dies, if it reports that its device or the program of a
/// solver command failed, or if one of its plans makes no progress for too long. The plans in
/// progress are treated as follows:
///   - a plan without progress fails, and may be retried; the others are returned to rank 0;
///   - the device timed out: all plans are returned;
///   - otherwise, one plan in progress: that plan fails;
///   - otherwise, several plans in progress: all are returned as suspects, and rank 0 assigns each
///   of
///     them alone.
/// A GPU is given up if several different plans in a row fail on it, or if it fails repeatedly with
/// several plans in progress. Then the agent switches to the next device.
class Agent {
 public:
  /// A solver process must be ready within this time. A program may take long to load from a busy
  /// file system.
  static constexpr std::chrono::seconds start_timeout{120};

  /// Where plans are solved: a GPU, or cores.
  struct Device {
    std::size_t processes = 1;  ///< number of solver processes
    /// Without slots, shares_process and bound_cpus, which the solver processes report.
    WorkerProperties properties;
    double progress_timeout_s = 0;    ///< longest time without progress of a plan; 0: unlimited
    bool has_solver_command = false;  ///< a program of the user solves the plans
  };
  /// Command for the solver process with number `process`.
  struct ProcessCommand {
    enum class Kind : std::uint8_t { start, assign, kill };
    Kind kind = Kind::start;
    std::size_t process = 0;
    Task task{};  ///< set for `assign`
  };
  /// Output since the driver last emptied it.
  struct Outbox {
    std::vector<FromWorker> messages;  ///< to rank 0, in this order
    std::vector<ProcessCommand> orders;
    std::vector<std::string> warnings;  ///< messages for the log
  };

  /// Sends a message to rank 0 at least once per `heartbeat_interval_s`.
  explicit Agent(double heartbeat_interval_s) : heartbeat_interval_s_(heartbeat_interval_s) {}

  /// Starts the solver processes of the first device. If a device is given up, the next one is
  /// used. The solver processes of all devices are numbered consecutively.
  void open_devices(std::vector<Device> devices);
  void on_assignment(const Assignment& assignment);
  void on_stop();
  /// Aborts all tasks, kills all solver processes and sends a Bye. Later calls have no effect.
  void leave(Bye::Cause why, const std::string& reason);
  [[nodiscard]] bool has_left() const { return bye_.has_value(); }
  /// Returns the index of the device in use in the list passed to open_devices().
  [[nodiscard]] std::size_t device_in_use() const { return device_; }
  /// Returns true if no solver process is starting, and none has a plan in progress.
  [[nodiscard]] bool has_no_active_process() const;

  void on_process_ready(std::size_t process, const ProcessReady& ready);
  void on_result(std::size_t process, TaskResult result);
  void on_source_outage(std::size_t process, const SourceOutage& outage);
  /// Call on_progress() with the last progress of the process before this.
  void on_process_exit(std::size_t process, const ProcessExit& exit);
  /// Records the progress of a plan, as the shared memory of the solver process contains it.
  void on_progress(std::size_t process, const PlanProgress& progress);

  /// Checks timeouts, assigns tasks and sends a report if one is due. Call this after all pending
  /// events were passed in. `awake_s` is the time on a clock that stands still while this process
  /// is stopped or sleeps longer than it intended, because it could not receive progress in that
  /// time.
  void tick(double awake_s);

  Outbox outbox;

 private:
  /// A task that was assigned to a solver process.
  struct HeldTask {
    Task task{};
    double active_since_s = 0;   ///< time at which a slot became free for it
    double last_progress_s = 0;  ///< time of its last new iteration
    bool started = false;        ///< the process has reported progress or a result of it
    PlanProgress progress{};
  };
  struct Process {
    enum class Stage : std::uint8_t { stopped, backing_off, starting, ready };
    Stage stage = Stage::stopped;
    double since_s = 0;     ///< start time while starting; end of the pause while backing off
    int failed_starts = 0;  ///< consecutive
    std::size_t slots = 0;  ///< plans that it solves at the same time; 0 unless it is ready
    std::size_t prefetch_per_slot = 0;  ///< tasks that it has in addition, per slot
    std::vector<int> cpus{};
    std::vector<HeldTask> plans{};  ///< in the order in which it solves them
    [[nodiscard]] bool is_running() const {
      return stage == Stage::starting || stage == Stage::ready;
    }
    /// Returns the tasks that have a slot.
    [[nodiscard]] std::span<const HeldTask> active_tasks() const {
      return std::span(plans).first(std::min(slots, plans.size()));
    }
    [[nodiscard]] std::vector<HeldTask>::iterator find(QueueIndex plan) {
      return std::ranges::find(plans, plan, [](const HeldTask& held) { return held.task.plan; });
    }
  };
  /// A source outage.
  struct Outage {
    double since_s = 0;
    double next_try_s = 0;
  };

  [[nodiscard]] const Device& device() const { return devices_[device_]; }
  [[nodiscard]] std::vector<HeldTask> take_started_tasks(std::size_t process);
  [[nodiscard]] bool has_idle_slot() const;
  [[nodiscard]] std::vector<PlanProgress> running() const;
  void start_device();
  void start(std::size_t process, double pause_s = 0);
  void on_start_failure(std::size_t process, const std::string& problem);
  void on_process_failure(std::size_t process, const std::string& reason);
  void on_device_timeout(std::size_t process, const std::string& reason);
  void on_progress_timeout(std::size_t process, QueueIndex plan);
  void record_plan_failure(const HeldTask& held, const std::string& what);
  void give_up_device(const std::string& reason);
  void switch_device(const std::string& reason);
  void stop_processes();
  void on_outage(const std::string& reason);
  void check_process(std::size_t process);
  Task remove_task(Process& process, std::vector<HeldTask>::iterator held);
  void assign_tasks();
  void send_report();
  void send_command(ProcessCommand::Kind kind, std::size_t process) {
    outbox.orders.push_back({kind, process});
  }
  void warn(const std::string& message);
  void count_command_failure(QueueIndex plan, const std::string& reason);

  double heartbeat_interval_s_;
  double now_s_ = 0;
  std::vector<Device> devices_{};
  std::size_t device_ = 0;
  std::vector<Process> processes_{};  ///< of all devices so far, by number
  std::deque<Task> backlog_{};        ///< tasks that no solver process has
  WorkerReport pending_report_{};
  double last_report_s_ = -std::numeric_limits<double>::infinity();
  bool reported_ready_ = false;  ///< rank 0 knows the properties of this device
  std::optional<Outage> outage_{};
  std::optional<Bye> bye_{};
  // Failures of the device in use.
  int consecutive_failures_ = 0;
  QueueIndex last_failed_plan_{};
  int multi_plan_failures_ = 0;
  int device_timeouts_ = 0;
  // Failures of a solver command before its first success.
  bool command_has_solved_ = false;
  std::set<QueueIndex> plans_failed_alike_{};
  std::string command_failure_{};  ///< their reason, without numbers
};

}  // namespace wallheat
