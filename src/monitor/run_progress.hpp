#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/machine.hpp"
#include "core/system_limits.hpp"
#include "monitor/gpu_text.hpp"
#include "monitor/run_status.hpp"
#include "queue/messages.hpp"
#include "wallheat/plan_result.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {

/// Sum of the times of plans, in s: the wall time of solver threads, and the CPU time that they
/// used.
class SolverTime {
 public:
  void add(const PlanResult& result);
  /// Returns the wall time of all solver threads.
  [[nodiscard]] double seconds() const { return seconds_; }
  /// Returns the CPU time of the results for which it is known. It is less than seconds() if
  /// threads waited for a core, a disk or a GPU. NaN if it is not known for any result.
  [[nodiscard]] double cpu_seconds() const;
  /// Returns true if CPU solvers had a core for less than 80 % of their wall time, so that wall
  /// times are not a measure of the solver's speed.
  [[nodiscard]] bool cores_were_shared() const;
  /// Formats the CPU time as "17 s of CPU time", or the wall time if the CPU time is unknown. Adds
  /// the wall time if cores were shared.
  [[nodiscard]] std::string text() const;

 private:
  double seconds_ = 0;
  double known_s_ = 0;  ///< part of seconds_: results whose CPU time is known
  double cpu_s_ = 0;
  double on_cpus_s_ = 0;  ///< part of known_s_: results of CPU solvers
  double of_cpus_s_ = 0;  ///< part of cpu_s_: results of CPU solvers
};

/// Counts and times of the plans of a run, so far.
struct RunTally {
  std::size_t total = 0;
  std::size_t restored = 0;  ///< solved in earlier sessions
  std::size_t given_up = 0;  ///< given up in earlier sessions, and not retried
  std::size_t solved = 0;
  std::size_t failed = 0;
  std::size_t retried_failures = 0;  ///< failures of attempts after which the plan was retried
  SolverTime spent;                  ///< on the plans of this session
  double failed_seconds = 0;         ///< part of it: failed attempts
  double duplicate_seconds = 0;      ///< part of it: duplicate results
  double aborted_seconds = 0;        ///< on aborted plans; not a part of `spent`
  /// The exhausted resource of each failed plan, by row index. Each of these plans may still be
  /// solved by another worker.
  std::map<std::uint32_t, ExhaustedResource> failed_plans{};

  [[nodiscard]] std::size_t remaining() const {
    return total - restored - given_up - solved - failed;
  }
};

/// Tracks the plans and workers of a run from the events of the coordinator. Not thread-safe.
class RunProgress {
 public:
  using Clock = std::chrono::steady_clock;
  using IdOf = std::function<std::string(QueueIndex plan)>;
  struct Worker {
    WorkerStatus status;
    SolverTime spent;
    double aborted_seconds = 0;  ///< on plans that were aborted at the end of the run
    Clock::time_point has_reported;
    GpuUsage gpu;
  };

  /// `id_of` returns the ID of a plan. A run in one process has no MPI ranks, so
  /// `has_ranks` is false, and worker_label() is "worker".
  RunProgress(const RunTally& start, IdOf id_of, bool has_ranks,
              std::function<Clock::time_point()> now);

  void on_event(const Event& event, const PlanResult& row);
  /// Ends the measurement of elapsed_s(). Call this when the run has ended.
  void end() { ended_ = now_(); }

  [[nodiscard]] const RunTally& tally() const { return tally_; }
  /// Returns the `aborted` events, one for each plan that was in progress when the run stopped.
  [[nodiscard]] const std::vector<Event>& aborted() const { return aborted_; }
  /// Returns the workers by rank.
  [[nodiscard]] const std::map<int, Worker>& workers() const { return workers_; }
  /// Returns the workers in the order in which they became ready. A worker is in the list again if
  /// it switched to another device.
  [[nodiscard]] const std::vector<WorkerInfo>& ready() const { return ready_; }
  [[nodiscard]] std::string id_of(QueueIndex plan) const { return id_of_(plan); }
  [[nodiscard]] const char* worker_label() const { return has_ranks_ ? "rank" : "worker"; }
  [[nodiscard]] bool has_ranks() const { return has_ranks_; }

  /// Returns the wall time from the start of the run to its end, or until now, in s. The last log
  /// line, the attributes of the session and `status` compute the throughput from this time.
  [[nodiscard]] double elapsed_s() const { return seconds_since(began_, ended_.value_or(now_())); }
  [[nodiscard]] double plans_per_s() const {
    return static_cast<double>(tally_.solved) / elapsed_s();
  }
  /// Returns the share of the run, in %, in which the threads of the worker were solving plans.
  [[nodiscard]] double busy_pct(const Worker& worker) const;
  /// Sets the fields of a status that describe plans and workers.
  void fill_status(RunStatus& status) const;
  /// Returns the attributes of the session that describe plans and workers. `peak_memory` is the
  /// maximum memory of the process of rank 0, in bytes; 0: unknown.
  [[nodiscard]] Attributes session_attributes(std::int64_t peak_memory) const;

  // Tables, as lines of text. A table without rows is an empty list.
  [[nodiscard]] std::vector<std::string> worker_table(const std::vector<WorkerInfo>& workers) const;
  /// Returns a table of the work of each worker. Never empty.
  [[nodiscard]] std::vector<std::string> work_table() const;
  [[nodiscard]] std::vector<std::string> gpu_table() const;
  [[nodiscard]] std::vector<std::string> kernel_table() const {
    return wallheat::kernel_table(kernel_s_);
  }
  /// Returns the times that threads spent on plans on GPUs, by category.
  [[nodiscard]] const GpuTimeTotals& gpu_times() const { return gpu_times_; }

 private:
  [[nodiscard]] static double seconds_since(Clock::time_point then, Clock::time_point now) {
    return std::chrono::duration<double>(now - then).count();
  }
  /// Returns the worker of a rank. Adds the worker if it is unknown.
  Worker& worker(int rank);
  void on_report(Worker& worker, const WorkerReport& report);
  void add_time_spent(const PlanResult& row);
  [[nodiscard]] std::vector<int> ranks_to_list() const;

  RunTally tally_;
  IdOf id_of_;
  bool has_ranks_;
  std::function<Clock::time_point()> now_;
  Clock::time_point began_ = now_();
  std::optional<Clock::time_point> ended_;
  std::map<int, Worker> workers_;
  std::vector<WorkerInfo> ready_;
  std::vector<Event> aborted_;
  /// Kernel time per plan, by the name of the kernel.
  std::map<std::string, SampleStats> kernel_s_;
  GpuTimeTotals gpu_times_;
  double program_start_s_ = 0;  ///< sum over all starts of the programs of a solver command
};

/// Formats a list of numbers with its ranges abbreviated: "0-3,8".
[[nodiscard]] std::string compress_ranges(std::vector<int> numbers);
/// Formats the CPUs and the GPU that a worker uses.
[[nodiscard]] std::string binding_text(const WorkerProperties& worker);

}  // namespace wallheat
