#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/codec.hpp"
#include "core/gpu_stats.hpp"
#include "core/machine.hpp"
#include "core/members.hpp"
#include "core/plan_files.hpp"
#include "queue/queue_index.hpp"
#include "wallheat/plan_result.hpp"

namespace wallheat {

// Messages between the coordinator (rank 0) and the workers, and the events that the coordinator
// emits for the rest of rank 0.
//
//   rank 0                         worker
//   Setup             ----->       checks version, settings and plans; starts its processes
//                     <-----       WorkerReport with `ready`
//   Assignment        ----->       solves the tasks
//                     <-----       WorkerReport with `results`; answered with an Assignment
//   Stop              ----->       aborts all tasks
//                     <-----       Bye; sent without a Stop if the worker cannot continue
//   Shutdown          ----->       exits
//
// MPI does not report that a rank has died. So each side sends a message at least once per
// heartbeat interval, an empty WorkerReport or Assignment if there is nothing else to send, and
// treats a peer as lost after the heartbeat timeout.

/// A plan assigned to a worker.
struct Task {
  QueueIndex plan{};
  std::string id;
  std::optional<EntryOffsets> entry_offsets{};  ///< see PlanSource::entry_offsets()
  friend bool operator==(const Task&, const Task&) = default;
};
WALLHEAT_MEMBERS(Task, plan, id, entry_offsets);

/// Progress of a plan that is being solved.
struct PlanProgress {
  QueueIndex plan{};
  std::int64_t iterations = 0;
  double delta = std::numeric_limits<double>::quiet_NaN();  ///< °C, at the last convergence check
  double seconds = 0;                                       ///< wall time since the plan started
};
WALLHEAT_MEMBERS(PlanProgress, plan, iterations, delta, seconds);

/// Outcome of one attempt to solve a plan.
struct TaskResult {
  enum class Kind : std::uint8_t {
    solved,
    failed,      ///< permanently: a retry would fail in the same way
    retryable,   ///< a retry may succeed, most likely on another worker
    host_error,  ///< retryable; a system error, so this worker's host may be bad
  };
  QueueIndex plan{};
  Kind kind = Kind::solved;
  double seconds = 0;             ///< wall time of the attempt
  std::uint64_t result_hash = 0;  ///< equal for equal results; see hash_result()
  Bytes encoded_result{};         ///< a PlanResult, as the solver process encoded it
  GpuPlanTimes gpu_times{};
  /// Message of a failure that is not permanent. It replaces `encoded_result` if the solver process
  /// died.
  std::string error{};
  double program_start_s = 0;  ///< start of the program of a solver command before this attempt
};
WALLHEAT_MEMBERS(TaskResult, plan, kind, seconds, result_hash, encoded_result, gpu_times, error,
                 program_start_s);

/// Properties of a worker, known once its solver processes are ready.
struct WorkerProperties {
  std::string host;
  std::string device;               ///< device type; devices of equal name have equal speed
  std::uint32_t slots = 1;          ///< plans that it solves at the same time
  bool shares_process = false;      ///< slots share one solver process, and die with it
  std::vector<int> bound_cpus{};    ///< union over its solver processes, read back from the system
  bool shares_cores = false;        ///< with another worker, because there are too few cores
  std::optional<Gpu> gpu{};         ///< nullopt: solves on the CPU
  std::string no_gpu_reason{};      ///< one clause; empty if it has a GPU or none was wanted
  std::string core_limit_reason{};  ///< one clause: what keeps it from using more cores
  std::string thread_count_source{};  ///< one clause: the scheduler's job limits its threads
};
WALLHEAT_MEMBERS(WorkerProperties, host, device, slots, shares_process, bound_cpus, shares_cores,
                 gpu, no_gpu_reason, core_limit_reason, thread_count_source);

// Messages from a worker.

/// State of a worker since its previous report. Without a payload it is a heartbeat.
struct WorkerReport {
  /// Set once when the worker becomes ready, and again when it switches to another device.
  std::optional<WorkerProperties> ready{};
  std::vector<PlanProgress> running{};  ///< all plans in progress
  std::vector<TaskResult> results{};
  /// Plans that were in progress together in a process that died. They come back unsolved, and any
  /// of them may have caused the crash.
  std::vector<QueueIndex> suspects{};
  /// Unsolved plans that the worker returns for a reason other than the plan itself.
  std::vector<QueueIndex> returned{};
  std::optional<GpuSample> gpu_sample{};
  std::int64_t peak_memory = 0;  ///< bytes, of the worker's own process; 0: unknown
  /// Returns false if the report is only a heartbeat.
  [[nodiscard]] bool has_payload() const {
    return ready || !results.empty() || !suspects.empty() || !returned.empty();
  }
};
WALLHEAT_MEMBERS(WorkerReport, ready, running, results, suspects, returned, gpu_sample,
                 peak_memory);

/// Announces that the worker stops solving. All results that it had are sent before, so the
/// coordinator can queue its remaining plans again at once.
struct Bye {
  enum class Cause : std::uint8_t {
    stop_requested,  ///< it received Stop
    interrupted,     ///< it received a signal; the whole run stops
    source_outage,   ///< it cannot read the plans for now; a later run may succeed
    incompatible,    ///< its version, settings or plans differ from rank 0's
    failed,          ///< it cannot solve any plan any more
    solver_failed    ///< the solver command fails in the same way for every plan; the run stops
  };
  Cause cause = Cause::stop_requested;
  std::string reason;                   ///< message for the log
  std::vector<PlanProgress> aborted{};  ///< plans that were in progress
  std::string host{};
};
WALLHEAT_MEMBERS(Bye, cause, reason, aborted, host);

// Messages from rank 0.

/// Description of one plan, by which a worker checks that it reads the same plans as rank 0.
struct PlanProbe {
  Task task;
  std::string description;  ///< as describe_plan() returns it
};
WALLHEAT_MEMBERS(PlanProbe, task, description);
/// Stamp of one plan, by which a worker that reads a copy of the plans finds stale files.
struct PlanStamp {
  Task task;
  std::optional<std::uint64_t> stamp{};  ///< see PlanSource::copy_stamp(); nullopt: unknown
};
WALLHEAT_MEMBERS(PlanStamp, task, stamp);
/// Description of the plan source of rank 0: a worker must read the same plans.
struct SourceDescription {
  std::uint64_t identity = 0;       ///< see source_identity()
  std::vector<PlanProbe> probes{};  ///< compared by every worker
  std::vector<PlanStamp> stamps{};  ///< compared by workers whose source has another identity
};
WALLHEAT_MEMBERS(SourceDescription, identity, probes, stamps);
/// First message to a worker: what must agree before it may solve.
struct Setup {
  std::string version;                          ///< of wallheat
  std::map<std::string, std::string> settings;  ///< options that must be equal in all ranks
  SourceDescription source{};
};
WALLHEAT_MEMBERS(Setup, version, settings, source);
/// Tasks for a worker, added to those that it already has. Without tasks it is a heartbeat.
struct Assignment {
  std::vector<Task> tasks{};
};
WALLHEAT_MEMBERS(Assignment, tasks);
/// Requests that the worker abort all its tasks. Each Stop is answered with a Bye.
struct Stop {};
WALLHEAT_MEMBERS(Stop);
/// Last message to a worker: it exits.
struct Shutdown {
  bool all_ranks_present = false;  ///< no rank is lost, so that MPI_Finalize() can succeed
};
WALLHEAT_MEMBERS(Shutdown, all_ranks_present);

using FromWorker = std::variant<WorkerReport, Bye>;
using ToWorker = std::variant<Setup, Assignment, Stop, Shutdown>;

[[nodiscard]] Bytes encode(const FromWorker& message);
[[nodiscard]] Bytes encode(const ToWorker& message);
/// Throw DecodeError if `bytes` is not exactly one encoded message of that type.
[[nodiscard]] FromWorker decode_from_worker(std::span<const std::byte> bytes);
[[nodiscard]] ToWorker decode_to_worker(std::span<const std::byte> bytes);

[[nodiscard]] Bytes encode_result(const PlanResult& result);
/// Throws DecodeError if `encoded_result` is not exactly one encoded PlanResult.
[[nodiscard]] PlanResult decode_result(std::span<const std::byte> encoded_result);
/// Returns a hash of the columns with ColumnUse::deterministic and of `field_hash`, the hash of the
/// uncompressed field (0 if there is no field). All NaNs hash alike, as in same_value().
[[nodiscard]] std::uint64_t hash_result(const PlanResult& result, std::uint64_t field_hash);

/// A worker as rank 0 knows it.
struct WorkerInfo {
  int rank = 0;
  WorkerProperties properties;  ///< default values until the worker is ready
  /// Returns "rank 3 on node1", or "rank 3" while the host is unknown.
  [[nodiscard]] std::string name() const {
    return "rank " + std::to_string(rank) +
           (properties.host.empty() ? "" : " on " + properties.host);
  }
};
/// Immutable, and shared by all events about the worker until its properties change.
using WorkerPointer = std::shared_ptr<const WorkerInfo>;

/// Something that happened in a run. The coordinator emits events in the order in which they
/// happened.
///
/// Every event has `time_s`. The kinds up to `started` concern a plan, and also set `worker`,
/// `plan`, `attempts`, `failures` and `predicted_s`; those up to `aborted` are written to the
/// result file. A kind also sets the members that its comment names. A failure without
/// `encoded_result` sets `reason` and `seconds`.
struct Event {
  enum class Kind : std::uint8_t {
    finished,          ///< `encoded_result` of a solved plan, or of a plan's last allowed failure
    attempt_failed,    ///< `encoded_result`; the plan is retried
    plan_given_up,     ///< the plan failed: too many workers were lost while they solved it
    conflict,          ///< the result of `worker` differs from that of `first_worker`, so one of
                       ///< their devices is faulty; the plan, finished before, has failed now
    aborted,           ///< the plan was at `progress` when the run stopped; stores attempts only
    duplicate_result,  ///< `encoded_result` of a speculative copy, equal to the first result
    started,           ///< `worker` started `plan`
    worker_ready,
    worker_departed,   ///< with `reason`; its plans are queued again
    worker_lost,       ///< with `reason`; not ready or no message for `seconds`; its plans are
                       ///< queued again
    worker_recovered,  ///< a lost worker sent a message
    worker_excluded,   ///< with `reason`; several plans in a row met system errors on its host; it
                       ///< gets no more plans, and its plans are queued again
    worker_report,     ///< `report`, without its results
    stopping           ///< with `reason`; plans in progress are being aborted
  };
  Kind kind = Kind::stopping;
  WorkerPointer worker{};
  WorkerPointer first_worker{};
  QueueIndex plan{};
  std::int32_t attempts = 0;  ///< over all sessions
  std::int32_t failures = 0;  ///< over all sessions
  float predicted_s = std::numeric_limits<float>::quiet_NaN();
  Bytes encoded_result{};
  GpuPlanTimes gpu_times{};    ///< of a solved plan
  double program_start_s = 0;  ///< as in TaskResult
  PlanProgress progress{};
  std::shared_ptr<const WorkerReport> report{};
  std::string reason{};
  double seconds = 0;
  double time_s = 0;  ///< since the run began
};

}  // namespace wallheat
