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
#include "queue/messages.hpp"
#include "view/gpu_text.hpp"
#include "view/run_status.hpp"
#include "wallheat/plan_result.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {

/// What plans took, in s: the time of solver threads, and for how much of it they had a core.
class SolverTime {
 public:
  void add(const PlanResult& result);
  /// Wall time of all threads.
  [[nodiscard]] double seconds() const { return seconds_; }
  /// Less than seconds() if threads waited: for a core, a disk or a GPU. NaN if it is not known.
  [[nodiscard]] double cpu_seconds() const;
  /// True if threads that solve on a CPU had their cores for less than four fifths of the time, so
  /// that wall times say little about the solver.
  [[nodiscard]] bool cores_were_shared() const;
  /// "17 s of CPU time", or all that is known.
  [[nodiscard]] std::string text() const;

 private:
  double seconds_ = 0;
  double known_s_ = 0;  ///< of these, of results whose CPU time is known
  double cpu_s_ = 0;
  double on_cpus_s_ = 0;  ///< of known_s_, if a CPU solved
  double of_cpus_s_ = 0;  ///< of cpu_s_, the same
};

/// What has become of the plans of a run so far.
struct RunTally {
  std::size_t total = 0;
  std::size_t restored = 0;  ///< answers of earlier sessions
  std::size_t given_up = 0;  ///< failed too often in earlier sessions, and not tried again
  std::size_t solved = 0;
  std::size_t failed = 0;
  std::size_t retried_failures = 0;  ///< failures that were not the last word
  SolverTime spent;                  ///< on this session's plans
  double failed_seconds = 0;         ///< of these, spent on failures
  double duplicate_seconds = 0;      ///< spent on answers that another worker had given before
  double aborted_seconds = 0;        ///< spent on plans that the end cut short
  /// The resource that ran out, for each failed plan; each may still be answered.
  std::map<std::uint32_t, ExhaustedResource> failed_plans{};

  [[nodiscard]] std::size_t remaining() const {
    return total - restored - given_up - solved - failed;
  }
};

/// What has become of a run's plans and what its workers are at, by the events of the run.
class RunProgress {
 public:
  using Clock = std::chrono::steady_clock;
  using IdOf = std::function<std::string(std::uint32_t plan)>;
  struct Worker {
    WorkerStatus status;
    SolverTime spent;
    double aborted_seconds = 0;  ///< spent on plans that the end of the run cut short
    Clock::time_point has_reported;
    GpuUsage gpu;
  };

  /// `id_of` knows the plans of the queue. A run of one process has workers, but no ranks that
  /// anybody knows of.
  RunProgress(const RunTally& start, IdOf id_of, bool has_ranks,
              std::function<Clock::time_point()> now);

  void on_event(const Event& event, const PlanResult& row);
  /// The run has ended, so its time stands still.
  void end() { ended_ = now_(); }

  [[nodiscard]] const RunTally& tally() const { return tally_; }
  /// The plans that were at hand when the run had to stop.
  [[nodiscard]] const std::vector<Event>& aborted() const { return aborted_; }
  /// By rank.
  [[nodiscard]] const std::map<int, Worker>& workers() const { return workers_; }
  /// In the order in which they got ready; one may do so again, with another device.
  [[nodiscard]] const std::vector<WorkerInfo>& ready() const { return ready_; }
  [[nodiscard]] std::string id_of(std::uint32_t plan) const { return id_of_(plan); }
  [[nodiscard]] const char* worker_label() const { return has_ranks_ ? "rank" : "worker"; }
  [[nodiscard]] bool has_ranks() const { return has_ranks_; }

  /// Wall seconds since the run began, until it ended: what the last line, the session and `status`
  /// count plans by.
  [[nodiscard]] double elapsed_s() const { return seconds_since(began_, ended_.value_or(now_())); }
  [[nodiscard]] double plans_per_s() const {
    return static_cast<double>(tally_.solved) / elapsed_s();
  }
  /// % of the time that its threads had plans.
  [[nodiscard]] double busy_pct(const Worker& worker) const;
  /// Fills in what a status says of plans and workers.
  void fill_status(RunStatus& status) const;
  /// What the session's attributes say of plans and workers, and of rank 0 the most memory that its
  /// process has held, in bytes; 0: unknown.
  [[nodiscard]] Attributes session_attributes(std::int64_t peak_memory) const;

  // Tables, as lines of text; empty if there is nothing to tell.
  [[nodiscard]] std::vector<std::string> worker_table(const std::vector<WorkerInfo>& workers) const;
  /// What each worker did.
  [[nodiscard]] std::vector<std::string> work_table() const;
  [[nodiscard]] std::vector<std::string> gpu_table() const;
  [[nodiscard]] std::vector<std::string> kernel_table() const {
    return wallheat::kernel_table(kernel_s_);
  }
  /// What threads spent on plans on GPUs.
  [[nodiscard]] const GpuTimeTotals& gpu_times() const { return gpu_times_; }

 private:
  [[nodiscard]] static double seconds_since(Clock::time_point then, Clock::time_point now) {
    return std::chrono::duration<double>(now - then).count();
  }
  /// The worker of a rank, which is added if it was not known yet.
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
  std::map<std::string, SampleStats> kernel_s_;  ///< of a plan, by the kernel's name
  GpuTimeTotals gpu_times_;
};

/// "0-3,8": a list of numbers with its runs folded.
[[nodiscard]] std::string compress_ranges(std::vector<int> numbers);
/// The CPUs that a worker uses, and its GPU.
[[nodiscard]] std::string binding_text(const WorkerProperties& worker);

}  // namespace wallheat
