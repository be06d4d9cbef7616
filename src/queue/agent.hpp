#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "queue/messages.hpp"

namespace wallheat {

// What a solver process says to its worker, and how it ends. A seat is its place: a new process
// takes the place of one that died.

/// It has loaded and waits for plans.
struct ProcessReady {
  std::uint32_t slots = 1;  ///< plans that it solves at a time
  std::vector<int> cpus{};  ///< that it may use, read back from the system
  std::string
      binding_error{};  ///< why these are not the cpus that were requested; empty if they are
  static void fields(auto& visit, auto& self) { visit(self.slots, self.cpus, self.binding_error); }
};
/// A plan is not solved: plans cannot be read for the time being.
struct SourceOutage {
  std::uint32_t plan = 0;
  std::string reason;
  static void fields(auto& visit, auto& self) { visit(self.plan, self.reason); }
};
/// The last of a process.
struct ProcessExit {
  enum class Cause : std::uint8_t {
    crashed,         ///< `reason` goes on after "solver process"
    failed,          ///< for a `reason` of its own
    device_timeout,  ///< its device does not answer, whatever plans it had
    source_outage    ///< while it loaded
  };
  Cause cause = Cause::crashed;
  std::string reason;
  static void fields(auto& visit, auto& self) { visit(self.cause, self.reason); }
};

/// A worker without I/O: it starts solver processes, hands them plans, tells rank 0, and judges who
/// is to blame if a process goes wrong. One loop drives it: see worker_loop.hpp.
///
/// A process may die, say that its device failed, or make no progress for too long. Then a new one
/// takes its place. A plan that makes no progress is to blame: it fails and may be tried again,
/// and the others go back. Otherwise the plan that was in the process alone is to blame. If there
/// were several, all go back as shaken, and rank 0 will give each of them alone. A device on which
/// several plans in a row are to blame, or that fails again and again with several plans at once,
/// is given up.
class Agent {
 public:
  /// What plans are solved on.
  struct Device {
    std::size_t processes = 1;
    WorkerProperties
        properties;  ///< but for lanes, shares_process and bound_cpus: those the processes tell
    double progress_timeout_s = 0;  ///< the longest without progress; 0: for ever
  };
  /// To a seat.
  struct ProcessCommand {
    enum class Kind : std::uint8_t { start, assign, kill };
    Kind kind = Kind::start;
    std::size_t process = 0;
    Task task{};  ///< of `assign`
  };
  struct Outbox {                      ///< emptied by whoever drives, in order
    std::vector<FromWorker> messages;  ///< results before the Bye that follows them
    std::vector<ProcessCommand> orders;
    std::vector<std::string> warnings;  ///< sentences for whoever looks at the run
  };

  /// It speaks no less often than each `heartbeat_interval_s`.
  explicit Agent(double heartbeat_interval_s) : heartbeat_interval_s_(heartbeat_interval_s) {}

  /// Begins to load. If the first device is given up, the next one takes its place. The numbers of
  /// seats go on from device to device.
  void open_devices(std::vector<Device> devices);
  void on_assignment(const Assignment& assignment);
  void on_stop();
  /// Abandons everything at hand: kills all seats and says Bye, once.
  void leave(Bye::Cause why, const std::string& reason);
  [[nodiscard]] bool has_left() const { return bye_.has_value(); }
  /// The index of the device in use among those that were opened.
  [[nodiscard]] std::size_t device_in_use() const { return device_; }
  /// No seat has anything to say.
  [[nodiscard]] bool has_no_active_process() const;

  void on_process_ready(std::size_t process, const ProcessReady& ready);
  void on_result(std::size_t process, TaskResult result);
  void on_source_outage(std::size_t process, const SourceOutage& outage);
  /// Its last progress is to be told before this.
  void on_process_exit(std::size_t process, const ProcessExit& exit);
  /// A process is at a plan, as its page says.
  void on_progress(std::size_t process, const PlanProgress& progress);

  /// To be called when everything at hand has been told. `awake_s`: by a clock that stands still
  /// while this process is stopped or sleeps for longer than it meant to, as only time counts in
  /// which it might have heard of progress.
  void tick(double awake_s);

  Outbox outbox;

 private:
  /// A plan that a process has.
  struct HeldTask {
    Task task{};
    double active_since_s = 0;   ///< when it was its turn
    double last_progress_s = 0;  ///< when it was seen to go on
    bool started = false;        ///< the process was seen at it
    PlanProgress progress{};
  };
  struct Process {
    enum class Stage : std::uint8_t { stopped, backing_off, starting, ready };
    Stage stage = Stage::stopped;
    double since_s = 0;                 ///< loads since then; waits until then
    int failed_starts = 0;              ///< in a row
    std::size_t slots = 0;              ///< plans that it solves at a time; 0 unless it is ready
    std::size_t prefetch_per_slot = 0;  ///< plans that it has in advance, for each lane
    std::vector<int> cpus{};
    std::vector<HeldTask> plans{};  ///< it takes them in this order
    [[nodiscard]] bool is_running() const {
      return stage == Stage::starting || stage == Stage::ready;
    }
    /// The plans whose turn it is.
    [[nodiscard]] std::span<const HeldTask> active_tasks() const {
      return std::span(plans).first(std::min(slots, plans.size()));
    }
    [[nodiscard]] std::vector<HeldTask>::iterator find(std::uint32_t plan) {
      return std::ranges::find(plans, plan, [](const HeldTask& held) { return held.task.plan; });
    }
  };
  /// Plans cannot be read.
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
  void on_progress_timeout(std::size_t process, std::uint32_t plan);
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

  double heartbeat_interval_s_;
  double now_s_ = 0;
  std::vector<Device> devices_{};
  std::size_t device_ = 0;
  std::vector<Process> processes_{};  ///< of all devices so far
  std::deque<Task> backlog_{};        ///< what no process has yet
  WorkerReport pending_report_{};
  double last_report_s_ = -std::numeric_limits<double>::infinity();
  bool reported_ready_ = false;  ///< of this device
  std::optional<Outage> outage_{};
  std::optional<Bye> bye_{};
  // The device's record.
  int consecutive_failures_ = 0;
  std::uint32_t last_failed_plan_ = 0;
  int multi_plan_failures_ = 0;
  int device_timeouts_ = 0;
};

}  // namespace wallheat
