#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/machine.hpp"

namespace wallheat {

/// The share of its host that a worker takes.
struct Placement {
  std::vector<int> cpus;         ///< without a GPU one solver is pinned to each, in this order;
                                 ///< with a GPU all that feeds it is bound to all of them
  std::optional<int> gpu{};      ///< ordinal of the GPU to solve on; none: the CPU
  bool shares_cores = false;     ///< it shares cores with another worker, for want of cores
  std::optional<int> threads{};  ///< the number of solvers, each bound to all cpus, if it is
                                 ///< limited by a CPU quota or by the cores of the scheduler's job
  std::string
      core_limit_reason{};  ///< a clause on what keeps it from more cores, if that may be unmeant
  std::string thread_count_source{};  ///< a clause on the job's cores, if they limit the threads
  std::string no_gpu_reason{};        ///< a clause on why it has no GPU, if a GPU was not ruled out
};

/// How many plans a worker without a GPU solves at a time.
[[nodiscard]] inline std::size_t solver_count(const Placement& placement) {
  return placement.threads ? static_cast<std::size_t>(*placement.threads) : placement.cpus.size();
}

enum class DeviceChoice { automatic, cpu, gpu };

/// The shares of a host's workers: entry i is of the one that found workers[i], with a core at
/// least. Each worker computes all of them from the same list and takes its own.
/// GPUs: unless `device` is cpu, the first workers take one each, if possible one near their cores.
/// Cores: workers that were given the same cores divide them, and those with a GPU choose first,
/// near it, on one socket. Each socket is divided as evenly as possible, in runs of neighbours; if
/// there are fewer workers than sockets, they get whole ones. None gets more than
/// `threads_per_worker` cores (0: no limit), and none is shared unless there are too few.
/// Threads: workers without a GPU that share a CPU quota have together as many as it has CPUs
/// (rounded up), in proportion to their cores, and each at least one.
/// If the scheduler's job has only some of the cores that the workers may use, the workers divide
/// as many threads as the job has cores evenly, and each has at least one. A given
/// `threads_per_worker` has priority. These threads are bound to all cores that the worker
/// may use, because other jobs have some of them. `may_be_bound`: what launched the workers may
/// have left them few of their cores. Throws RunError if `device` is gpu and a worker gets none.
[[nodiscard]] std::vector<Placement> place_workers(const std::vector<Machine>& workers,
                                                   DeviceChoice device, int threads_per_worker,
                                                   bool may_be_bound = true);

/// Returns how many threads a process that is not a worker may use for parallel work on this
/// machine: one for each of its cores, or fewer in a job or a cgroup with fewer. Throws RunError.
[[nodiscard]] std::size_t default_thread_count();

}  // namespace wallheat
