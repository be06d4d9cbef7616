#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/machine.hpp"

namespace wallheat {

/// The share of its node that a worker is given.
struct Placement {
  std::vector<int> cpus;   ///< without a GPU one solver thread is pinned to each, in this order;
                           ///< with a GPU all threads that feed it are bound to all of them
  std::optional<int> gpu;  ///< ordinal of the GPU to solve on; the CPU otherwise
  bool shared = false;     ///< true where cores are shared with another worker for want of cores
  std::optional<int> threads{};  ///< where a CPU quota leaves time for fewer threads than cpus: so
                                 ///< many, each bound to all cpus
  std::string limit{};  ///< a clause on what keeps it from more cores, where it may be unmeant
  static void fields(auto& visit, auto& self) {
    visit(self.cpus, self.gpu, self.shared, self.threads, self.limit);
  }
  friend bool operator==(const Placement&, const Placement&) = default;
};

/// How many plans a worker without a GPU solves at a time.
[[nodiscard]] inline std::size_t threads_of(const Placement& placement) {
  return placement.threads ? static_cast<std::size_t>(*placement.threads) : placement.cpus.size();
}

enum class DeviceChoice { automatic, cpu, gpu };

/// Deals cores and GPUs to the workers of a job; entry i is the share of worker i, which reported
/// workers[i]. Each system is dealt on its own, and no worker gets what it did not report.
/// GPUs: unless `device` is cpu, the host's workers take one GPU each in rank order while there are
/// any, preferably near their cores.
/// Cores: each worker gets a socket, with a GPU the socket of the GPU's NUMA node, and those that
/// meet on a socket, GPU or not, split its cores as evenly as their cpusets allow; of these a GPU
/// worker gets the ones of its GPU's node first. Where a socket is left over, a worker without a
/// GPU takes it as a whole, too. A core stays idle only if all that may use it have
/// `threads_per_worker` cores (0: no limit) or a GPU. Cores are shared only where a host has too
/// few of them to go round.
/// Threads: without a GPU one a core, but workers that share a CPU quota have together as many as
/// it has CPUs (rounded up), and each at least one.
/// `may_be_bound`: what launched the workers may have left them few of their cores. Throws RunError
/// if `device` is gpu and a worker gets none, or a worker reported no core.
[[nodiscard]] std::vector<Placement> place_workers(const std::vector<Machine>& workers,
                                                   DeviceChoice device, int threads_per_worker,
                                                   bool may_be_bound = true);

}  // namespace wallheat
