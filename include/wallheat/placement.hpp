#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wallheat {

/// A core that a process may use.
struct Core {
  int cpu = 0;     ///< operating system's number of the core's first hardware thread
  int socket = 0;
  int numa = 0;    ///< NUMA node
  friend bool operator==(const Core&, const Core&) = default;
};

/// A GPU that a process may use.
struct Gpu {
  int ordinal = 0;  ///< CUDA's number of the device in this process
  std::string name;
  std::string uuid;
  std::uint64_t memory_bytes = 0;
  int numa = -1;  ///< nearest NUMA node; -1 where unknown
  friend bool operator==(const Gpu&, const Gpu&) = default;
};

/// What one process finds on its node, within the cpuset it was given.
struct Machine {
  std::string host;
  std::vector<Core> cores;
  std::vector<Gpu> gpus;
  friend bool operator==(const Machine&, const Machine&) = default;
};

/// The share of its node that a worker is given.
struct Placement {
  std::vector<int> cpus;      ///< one solver thread is pinned to each, in this order
  std::optional<int> gpu;     ///< ordinal of the GPU to solve on; the CPU otherwise
  bool shared = false;        ///< true where cores are shared with another worker for want of cores
  friend bool operator==(const Placement&, const Placement&) = default;
};

enum class DeviceChoice { automatic, cpu, gpu };

/// Deals cores and GPUs to the workers of a job; entry i is the share of worker i, which reported
/// workers[i]. Workers of one host, in rank order, take one GPU each while there are GPUs and `device`
/// allows it (with a core near it), the others one socket each; those that meet on a socket split its
/// cores without overlap. `threads_per_worker` limits the cores of each (0: no limit).
/// Throws RunError where `device` is gpu and a worker gets none.
[[nodiscard]] std::vector<Placement> place_workers(const std::vector<Machine>& workers,
                                                   DeviceChoice device, int threads_per_worker);

}  // namespace wallheat
