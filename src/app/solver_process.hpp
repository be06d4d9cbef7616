#pragma once

#include <chrono>
#include <functional>

#include "app/plan_job.hpp"
#include "core/bytes.hpp"

// A process that solves plans for one thread of a worker and may die of it. It speaks over its
// stdin, a socket, in the messages of queue/protocol.hpp: first it gets its SolverSetup and says
// Ready, or Farewell with the reason why not. Then it gets Assign with one task and says Report
// with that task started, Heartbeat while it solves, and Report with the result. The other side
// leaves by closing the socket.

namespace wallheat {

/// What a solver process is told at its start.
struct SolverSetup {
  JobSettings settings;
  int parent = 0;  ///< process id of whoever started it
  /// It tells of its progress about this often.
  std::chrono::duration<double> progress_interval{0.25};
};

[[nodiscard]] Bytes encode(const SolverSetup& setup);
/// Throws DecodeError where the bytes are no setup.
[[nodiscard]] SolverSetup decode_setup(std::span<const std::byte> bytes);

/// A solver process's life: solves with a job of `make_job` until the other side is gone. Returns
/// an exit status. Throws DecodeError where what it hears makes no sense.
int serve_plans(const std::function<PlanJob(const JobSettings&)>& make_job);

}  // namespace wallheat
