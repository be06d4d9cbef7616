#pragma once

#include <cstdint>
#include <string>
#include <vector>

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
  static void fields(auto& visit, auto& self) { visit(self.cpu, self.socket, self.numa); }
  friend bool operator==(const Core&, const Core&) = default;
};

/// A GPU that a process may use.
struct Gpu {
  int ordinal = 0;  ///< CUDA's index of the device in this process
  std::string name;
  std::string uuid;
  std::uint64_t memory_bytes = 0;
  int numa = -1;  ///< nearest NUMA node; -1 if unknown
  static void fields(auto& visit, auto& self) {
    visit(self.ordinal, self.name, self.uuid, self.memory_bytes, self.numa);
  }
  friend bool operator==(const Gpu&, const Gpu&) = default;
};

/// CPU time that the processes of a cgroup may use together.
struct CpuQuota {
  std::uint64_t cgroup_id = 0;  ///< same number in all containers of a system
  double cpus = 0;              ///< seconds of CPU time per second
  static void fields(auto& visit, auto& self) { visit(self.cgroup_id, self.cpus); }
  friend bool operator==(const CpuQuota&, const CpuQuota&) = default;
};

/// Cores of a host that a scheduler has granted a job, for all processes of the job together.
struct JobCores {
  int count = 0;       ///< 0: unknown
  std::string source;  ///< variable of the scheduler, and its value
  static void fields(auto& visit, auto& self) { visit(self.count, self.source); }
  friend bool operator==(const JobCores&, const JobCores&) = default;
};

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
  static void fields(auto& visit, auto& self) {
    visit(self.host, self.cores, self.gpus, self.no_gpu_reason, self.system_id, self.host_cores,
          self.quotas, self.memory_bytes, self.job_cores);
  }
  friend bool operator==(const Machine&, const Machine&) = default;
};

}  // namespace wallheat
