#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/machine.hpp"

namespace wallheat {

/// Cores and GPU that a worker uses on its host.
struct Placement {
  /// Logical CPUs. A worker without a GPU pins one solver to each of them, in this order; the
  /// threads that feed a GPU are bound to all of them.
  std::vector<int> cpus;
  std::optional<int> gpu{};   ///< ordinal of the GPU that solves; nullopt: the CPU
  bool shares_cores = false;  ///< shares cores with another worker, because there are too few
  /// Set only if a CPU quota or the job cores limit the number of solvers, which are then bound to
  /// all cpus.
  std::optional<int> threads{};
  /// Why it has no more cores, as a clause; empty if that is intended.
  std::string core_limit_reason{};
  std::string thread_count_source{};  ///< the job's cores, as a clause, if they limit the threads
  std::string no_gpu_reason{};        ///< why it has no GPU, as a clause, unless GPUs were excluded
};

/// Returns the number of plans that a worker without a GPU solves concurrently.
[[nodiscard]] inline std::size_t solver_count(const Placement& placement) {
  return placement.threads ? static_cast<std::size_t>(*placement.threads) : placement.cpus.size();
}

enum class DeviceChoice { automatic, cpu, gpu };

/// Divides a host's cores and GPUs among its workers. Returns one placement per element of
/// `workers`, each with at least one core. Deterministic: each worker computes all placements from
/// the same list and uses its own.
///
/// GPUs: unless `device` is cpu, the first workers get one each, close to their cores if possible.
///
/// Cores: workers that found the same cores divide them. Workers with a GPU choose first, cores
/// close to it and on one socket. Each socket is divided as evenly as possible into runs of
/// neighbouring cores; with fewer workers than sockets, each gets whole sockets.
/// `threads_per_worker` limits the cores of a worker (0: no limit). Cores are shared only if there
/// are too few.
///
/// Threads: workers without a GPU that share a CPU quota have together as many threads as the quota
/// has CPUs (rounded up), in proportion to their cores, and at least one each. If the scheduler's
/// job has fewer cores than the workers may use, the workers divide as many threads as the job has
/// cores evenly, and each has at least one. `threads_per_worker` takes precedence over this if it
/// is given. The threads of workers without a GPU are then bound to all cores that the workers may
/// use, because other jobs use some of these cores.
///
/// `may_be_bound`: the launcher may have bound the workers to few cores; it only changes a warning.
/// Throws RunError if `device` is gpu and a worker gets none.
[[nodiscard]] std::vector<Placement> place_workers(const std::vector<Machine>& workers,
                                                   DeviceChoice device, int threads_per_worker,
                                                   bool may_be_bound = true);

/// Returns the number of threads that a process that is not a worker may use for parallel work on
/// this machine: one per core, or fewer if a job or a cgroup has fewer. Throws RunError.
[[nodiscard]] std::size_t default_thread_count();

}  // namespace wallheat
