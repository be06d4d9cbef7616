#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/members.hpp"

// Cores and GPUs that a process may use. The workers of a host exchange these descriptions, and
// each computes the same placements from them (node/placement.hpp).

namespace wallheat {

/// A core that a process may use.
struct Core {
  /// Operating system's number of the core's first usable hardware thread; processes of one host
  /// identify the core by it.
  int cpu = 0;
  int socket = 0;  ///< from 0; the same number in all processes of a host
  int numa = 0;    ///< operating system's number of the NUMA node
  friend bool operator==(const Core&, const Core&) = default;
};
WALLHEAT_MEMBERS(Core, cpu, socket, numa);

/// A GPU that a process may use.
struct Gpu {
  int ordinal = 0;  ///< CUDA's index of the device in this process
  std::string name;
  std::string uuid;
  std::uint64_t memory_bytes = 0;
  int numa = -1;  ///< nearest NUMA node; -1 if unknown
  friend bool operator==(const Gpu&, const Gpu&) = default;
};
WALLHEAT_MEMBERS(Gpu, ordinal, name, uuid, memory_bytes, numa);

/// CPU time that the processes of a cgroup may use together.
struct CpuQuota {
  std::uint64_t cgroup_id = 0;  ///< same number in all containers of a system
  double cpus = 0;              ///< seconds of CPU time per second
  friend bool operator==(const CpuQuota&, const CpuQuota&) = default;
};
WALLHEAT_MEMBERS(CpuQuota, cgroup_id, cpus);

/// Cores of a host that a scheduler has granted a job, for all processes of the job together.
struct JobCores {
  int count = 0;       ///< 0: unknown
  std::string source;  ///< variable of the scheduler, and its value
  friend bool operator==(const JobCores&, const JobCores&) = default;
};
WALLHEAT_MEMBERS(JobCores, count, source);

/// Resources that one process finds on its host, within its cpuset.
struct Machine {
  std::string host;
  std::vector<Core> cores;
  std::vector<Gpu> gpus;
  std::string no_gpu_reason{};  ///< why `gpus` is empty, as one clause
  /// Identifies the running system, which may have many containers and host names; empty:
  /// identified by `host`.
  std::string system_id{};
  int host_cores = 0;              ///< cores that it might use if it were not bound; 0: unknown
  std::vector<CpuQuota> quotas{};  ///< CPU quotas that apply to it
  std::uint64_t memory_bytes = 0;  ///< memory limit, which it shares with others; 0: unknown
  JobCores job_cores{};  ///< cores of the scheduler's job, if nothing confines the job to them
  friend bool operator==(const Machine&, const Machine&) = default;
};
WALLHEAT_MEMBERS(Machine, host, cores, gpus, no_gpu_reason, system_id, host_cores, quotas,
                 memory_bytes, job_cores);

}  // namespace wallheat
