#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/bytes.hpp"
#include "core/gpu_usage.hpp"
#include "queue/placement.hpp"
#include "wallheat/plan_result.hpp"

// What ranks say to each other: two types of messages, one for each direction. A worker begins with
// Hello, is Placed, and says Ready; then it gets Assign and Retract and answers with WorkerReport
// and Returned, until Finish, which it answers with Goodbye; Leave is the end. Stop makes it
// abandon everything at hand: it is Leaving, gives back what it has, and says Farewell. Both sides
// send a heartbeat every now and then: MPI does not tell when a rank is gone, so silence must.

namespace wallheat {

/// One plan to solve.
struct Task {
  std::uint32_t index = 0;  ///< in the list of ids
  std::string id;
  std::vector<std::uint32_t> places{};  ///< see PlanSource::places
  static void fields(auto& visit, auto& self) { visit(self.index, self.id, self.places); }
  friend bool operator==(const Task&, const Task&) = default;
};

/// Something that must be the same in all ranks: two runs that were started together by mistake, or
/// two versions of the program, would mix their answers otherwise.
struct NamedValue {
  std::string name;
  std::string value;
  static void fields(auto& visit, auto& self) { visit(self.name, self.value); }
  friend bool operator==(const NamedValue&, const NamedValue&) = default;
};

// From a worker to rank 0.
struct Hello {
  Machine machine;
  std::vector<NamedValue> settings{};  ///< version of the program, settings
  static void fields(auto& visit, auto& self) { visit(self.settings, self.machine); }
};
struct Ready {
  std::string host;
  std::string device;                 ///< its kind: devices of one name are of one speed
  std::uint32_t threads = 0;          ///< how many plans it solves at a time
  std::vector<int> bound_cpus;        ///< read back from the system: all that its threads may use
  std::vector<NamedValue> samples{};  ///< what the worker finds of the plans that Placed names
  std::int64_t peak_memory = 0;       ///< see WorkerParts
  static void fields(auto& visit, auto& self) {
    visit(self.host, self.device, self.threads, self.bound_cpus, self.samples, self.peak_memory);
  }
};
struct WorkerReport {
  std::vector<std::uint32_t> started;
  std::vector<PlanResult> results;
  static void fields(auto& visit, auto& self) { visit(self.started, self.results); }
};
/// How far a running plan is.
struct PlanProgress {
  std::uint32_t index = 0;
  std::int64_t iterations = 0;
  double delta = 0;    ///< °C, looked at last; NaN before that
  double seconds = 0;  ///< since it was started
  static void fields(auto& visit, auto& self) {
    visit(self.index, self.iterations, self.delta, self.seconds);
  }
};
/// The worker lives; its running plans, and what its GPU tells, if it has one.
struct Heartbeat {
  std::vector<PlanProgress> running;
  std::optional<GpuSample> gpu{};
  std::int64_t peak_memory = 0;  ///< see WorkerParts
  static void fields(auto& visit, auto& self) { visit(self.running, self.gpu, self.peak_memory); }
};
/// Answers every Retract; also sent after Stop with whatever was not finished.
struct Returned {
  std::vector<std::uint32_t> plans;
  static void fields(auto& visit, auto& self) { visit(self.plans); }
};
/// The worker takes no more plans, and gives back those that it has by and by.
struct Leaving {
  bool interrupted = false;  ///< the worker was asked to stop, so the run is to end
  static void fields(auto& visit, auto& self) { visit(self.interrupted); }
};
/// It is at nothing any more; whatever it still held is free again.
struct Farewell {
  std::string reason;
  bool interrupted = false;    ///< a later run may go on: a stop, or plans that are out of reach
  bool device_silent = false;  ///< a solver process: its device hangs, whatever plans it had
  static void fields(auto& visit, auto& self) {
    visit(self.reason, self.interrupted, self.device_silent);
  }
};

/// A worker's last word.
struct Goodbye {};

// From rank 0 to a worker.
struct Placed {
  Placement placement;
  std::vector<Task> samples{};  ///< plans to look at
  static void fields(auto& visit, auto& self) { visit(self.placement, self.samples); }
};
struct Assign {
  std::vector<Task> tasks;
  static void fields(auto& visit, auto& self) { visit(self.tasks); }
};
/// Gives back the last `count` of the plans that it has not started.
struct Retract {
  std::uint64_t count = 0;
  static void fields(auto& visit, auto& self) { visit(self.count); }
};
/// Rank 0 lives.
struct CoordinatorHeartbeat {};
struct Stop {};
struct Finish {};
/// Rank 0's last word. `together`: all ranks are there, so they can end MPI together.
struct Leave {
  bool together = false;
  static void fields(auto& visit, auto& self) { visit(self.together); }
};

using FromWorker =
    std::variant<Hello, Ready, WorkerReport, Heartbeat, Returned, Leaving, Farewell, Goodbye>;
using ToWorker = std::variant<Placed, Assign, Retract, CoordinatorHeartbeat, Stop, Finish, Leave>;

[[nodiscard]] Bytes encode(const FromWorker& message);
[[nodiscard]] Bytes encode(const ToWorker& message);
/// Throw DecodeError if the bytes are no message of that direction.
[[nodiscard]] FromWorker decode_from_worker(std::span<const std::byte> bytes);
[[nodiscard]] ToWorker decode_to_worker(std::span<const std::byte> bytes);

}  // namespace wallheat
