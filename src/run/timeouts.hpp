#pragma once

#include <algorithm>
#include <limits>

namespace wallheat {

/// After how much silence the other side counts as gone.
struct Timeouts {
  double worker_s = 30;  ///< rank 0's patience with a worker
  /// Rank 0's patience with a worker that starts: its solvers may take two minutes to load.
  double start_s = 180;
  /// A worker's patience with rank 0.
  [[nodiscard]] double rank0_s() const { return 4 * worker_s; }
  /// Rank 0's patience with the start and the end of MPI, in which all ranks take part.
  [[nodiscard]] double together_s() const { return std::max(30.0, rank0_s()); }
  /// Time from one sign of life to the next.
  [[nodiscard]] double sign_s() const { return std::min(1.0, worker_s / 10); }
};

/// In one process neither side can be gone, however long it waits for a disk or a terminal.
[[nodiscard]] inline Timeouts no_timeouts() {
  constexpr double endless = std::numeric_limits<double>::infinity();
  return {endless, endless};
}

}  // namespace wallheat
