#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/codec.hpp"
#include "core/gpu_figures.hpp"
#include "core/machine.hpp"
#include "core/plan_files.hpp"
#include "wallheat/plan_result.hpp"

namespace wallheat {

// What ranks say to each other. Rank 0 begins with Setup. A worker whose own settings are the same
// loads its solvers and then pulls: each WorkerReport is answered with Work, as long as there is
// any. The worker answers Stop with Bye; End is rank 0's last word. Both sides speak at least once
// a second, if need be with a WorkerReport or Work without content: MPI does not tell that a rank
// is gone, so silence must.

/// One plan to solve.
struct Task {
  std::uint32_t plan = 0;  ///< its index in the run's queue
  std::string id;
  std::optional<EntryOffsets> entry_offsets{};  ///< see PlanSource::entry_offsets
  static void fields(auto& visit, auto& self) { visit(self.plan, self.id, self.entry_offsets); }
  friend bool operator==(const Task&, const Task&) = default;
};

/// How far a running plan is.
struct PlanProgress {
  std::uint32_t plan = 0;
  std::int64_t iterations = 0;
  double delta = std::numeric_limits<double>::quiet_NaN();  ///< °C, looked at last
  double seconds = 0;                                       ///< since it was started
  static void fields(auto& visit, auto& self) {
    visit(self.plan, self.iterations, self.delta, self.seconds);
  }
};

/// What has become of a plan.
struct Result {
  enum class Kind : std::uint8_t {
    answered,
    failed,    ///< for what another try would not change
    retryable  ///< failed, but another try, best elsewhere, may do better
  };
  std::uint32_t plan = 0;
  Kind kind = Kind::answered;
  double seconds = 0;        ///< that its worker took
  std::uint64_t digest = 0;  ///< equal for equal answers; see digest_of
  Bytes record{};            ///< the PlanResult, encoded by the process that solved it
  GpuPlanTimes device_times{};
  std::string error{};  ///< in place of a record, if that process died
  static void fields(auto& visit, auto& self) {
    visit(self.plan, self.kind, self.seconds, self.digest, self.record, self.device_times,
          self.error);
  }
};

/// A worker as its process finds it, once its solvers are ready.
struct WorkerFacts {
  std::string host;
  std::string device;             ///< its kind: devices of one name are of one speed
  std::uint32_t lanes = 1;        ///< plans that it solves at a time
  bool shares_process = false;    ///< its lanes do: a plan that kills it takes others along
  std::vector<int> bound_cpus{};  ///< read back from the system: all that its solvers may use
  bool shares_cores = false;      ///< with another worker, for want of cores
  std::optional<Gpu> gpu{};       ///< that it solves on; none: the CPU
  std::string no_gpu{};           ///< why not, if a GPU was not ruled out: one clause
  std::string why_limited{};      ///< what keeps it from more cores: one clause
  static void fields(auto& visit, auto& self) {
    visit(self.host, self.device, self.lanes, self.shares_process, self.bound_cpus,
          self.shares_cores, self.gpu, self.no_gpu, self.why_limited);
  }
};

// From a worker.
struct WorkerReport {
  /// Once its solvers are ready; and again if it goes on with another device.
  std::optional<WorkerFacts> ready{};
  std::vector<PlanProgress> running{};  ///< all that it is at
  std::vector<Result> results{};
  /// Plans that come back unsolved: they were together in a process that died, and each may be why.
  std::vector<std::uint32_t> shaken{};
  /// Plans that come back unsolved, and none is to blame.
  std::vector<std::uint32_t> returned{};
  std::optional<GpuSample> gpu{};
  std::int64_t peak_memory = 0;  ///< bytes that its own process has held at most; 0: unknown
  /// Not only a sign of life.
  [[nodiscard]] bool has_news() const {
    return ready || !results.empty() || !shaken.empty() || !returned.empty();
  }
  static void fields(auto& visit, auto& self) {
    visit(self.ready, self.running, self.results, self.shaken, self.returned, self.gpu,
          self.peak_memory);
  }
};

/// The worker solves nothing any more, so whatever it held is free again. It has sent all that it
/// solved before.
struct Bye {
  enum class Why : std::uint8_t {
    asked_to,     ///< by Stop
    interrupted,  ///< the worker itself was asked to stop, so the run is to end
    source_away,  ///< it cannot read the plans for the time being; a later run may go on
    refused,      ///< it was started for something else than rank 0
    broken        ///< it cannot solve any plan any more
  };
  Why why = Why::asked_to;
  std::string reason;
  std::vector<PlanProgress> abandoned{};  ///< what it was at
  std::string host{};
  static void fields(auto& visit, auto& self) {
    visit(self.why, self.reason, self.abandoned, self.host);
  }
};

// From rank 0.

/// What a plan is. By a few of them a worker finds out whether it reads the same plans as rank 0.
struct Sample {
  Task task;
  std::string content;
  static void fields(auto& visit, auto& self) { visit(self.task, self.content); }
};
struct Setup {
  std::string version;   ///< of the program
  std::string settings;  ///< all options and their values, as a configuration file
  std::vector<Sample> samples{};
  static void fields(auto& visit, auto& self) { visit(self.version, self.settings, self.samples); }
};
/// Without tasks: rank 0 lives.
struct Work {
  std::vector<Task> tasks{};
  static void fields(auto& visit, auto& self) { visit(self.tasks); }
};
/// Abandon everything at hand. Each is answered with a Bye.
struct Stop {
  static void fields(auto&, auto&) {}
};
/// `together`: all ranks are there, so they can end MPI together.
struct End {
  bool together = false;
  static void fields(auto& visit, auto& self) { visit(self.together); }
};

using FromWorker = std::variant<WorkerReport, Bye>;
using ToWorker = std::variant<Setup, Work, Stop, End>;

[[nodiscard]] Bytes encode(const FromWorker& message);
[[nodiscard]] Bytes encode(const ToWorker& message);
/// Throw DecodeError if the bytes are no such message.
[[nodiscard]] FromWorker decode_from_worker(std::span<const std::byte> bytes);
[[nodiscard]] ToWorker decode_to_worker(std::span<const std::byte> bytes);

[[nodiscard]] Bytes encode_result(const PlanResult& result);
/// Throws DecodeError if the bytes are none.
[[nodiscard]] PlanResult decode_result(std::span<const std::byte> record);
/// A hash of the columns whose use is `answer` and of `field_hash`, a hash of the uncompressed
/// field (0 if there is none). All NaNs are the same, as in same_value().
[[nodiscard]] std::uint64_t digest_of(const PlanResult& result, std::uint64_t field_hash);

/// A worker as rank 0 knows it.
struct WorkerInfo {
  int rank = 0;
  WorkerFacts facts;  ///< empty before it was ready
  /// "rank 3 on node1"
  [[nodiscard]] std::string name() const {
    return "rank " + std::to_string(rank) + (facts.host.empty() ? "" : " on " + facts.host);
  }
};
/// Shared with the events about it that follow.
using WorkerPointer = std::shared_ptr<const WorkerInfo>;

/// Something that happened in a run. Rank 0 tells events in the order in which they happened. A
/// kind fills in what its comment names. The first seven kinds are about a plan: they also have
/// `worker`, `plan`, `attempts`, `failures` and `predicted_s`. The first five are stored. A failure
/// without a `record` has a `reason` and `seconds`.
struct Event {
  enum class Kind : std::uint8_t {
    stored,      ///< the `record` of an answer, or of the failure that was one too many
    failed_try,  ///< `record`; the plan will be tried again
    lost,        ///< the plan has failed: it was at too many workers that fell silent
    conflict,    ///< `worker` gave another answer than `first`, so one of their devices is faulty:
                 ///< the plan, which was stored before, has now failed
    abandoned,   ///< it was at `last` when the run had to stop; only its attempts are stored
    repeated,    ///< `record` is a second, equal answer, given so that a lane did not idle
    started,     ///< `plan` by `worker`
    worker_ready,
    worker_left,  ///< for a `reason`; its plans are open again
    worker_lost,  ///< it was silent for `seconds`; its plans are open again
    worker_back,  ///< it was thought lost and speaks again
    heard,        ///< what `worker` is at: `report`, without its results
    stopping      ///< for a `reason`: the plans at hand are abandoned
  };
  Kind kind = Kind::stopping;
  WorkerPointer worker{};
  WorkerPointer first{};
  std::uint32_t plan = 0;
  std::int32_t attempts = 0;  ///< over all sessions
  std::int32_t failures = 0;
  float predicted_s = std::numeric_limits<float>::quiet_NaN();
  Bytes record{};
  GpuPlanTimes device_times{};  ///< of a stored answer
  PlanProgress last{};
  std::shared_ptr<const WorkerReport> report{};
  std::string reason{};
  double seconds = 0;
  double time_s = 0;  ///< when, by the clock of the run
};

}  // namespace wallheat
