#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wallheat {

/// A core that a process may use.
struct Core {
  int cpu = 0;     ///< operating system's number of the core's first usable hardware thread; the
                   ///< name by which processes of one host mean the same core
  int socket = 0;  ///< 0, 1, ... the same for all processes of a host
  int numa = 0;    ///< operating system's number of the NUMA node
  static void fields(auto& visit, auto& self) { visit(self.cpu, self.socket, self.numa); }
  friend bool operator==(const Core&, const Core&) = default;
};

/// A GPU that a process may use.
struct Gpu {
  int ordinal = 0;  ///< CUDA's number of the device in this process
  std::string name;
  std::string uuid;
  std::uint64_t memory_bytes = 0;
  int numa = -1;  ///< nearest NUMA node; -1 if unknown
  static void fields(auto& visit, auto& self) {
    visit(self.ordinal, self.name, self.uuid, self.memory_bytes, self.numa);
  }
  friend bool operator==(const Gpu&, const Gpu&) = default;
};

/// How much CPU time the processes of a cgroup may use together.
struct CpuQuota {
  std::uint64_t cgroup_id = 0;  ///< the cgroup; the same number in all containers of a system
  double cpus = 0;              ///< seconds of CPU time a second
  static void fields(auto& visit, auto& self) { visit(self.cgroup_id, self.cpus); }
  friend bool operator==(const CpuQuota&, const CpuQuota&) = default;
};

/// Cores of a host that a scheduler has granted a job, all processes of the job together.
struct JobCores {
  int count = 0;       ///< 0: unknown
  std::string source;  ///< the scheduler's variable and its value
  static void fields(auto& visit, auto& self) { visit(self.count, self.source); }
  friend bool operator==(const JobCores&, const JobCores&) = default;
};

/// What one process finds on its node, within the cpuset it was given.
struct Machine {
  std::string host;
  std::vector<Core> cores;
  std::vector<Gpu> gpus;
  std::string no_gpu_reason{};     ///< if gpus is empty: one clause that says why
  std::string system_id{};         ///< the running system, whose containers and names for it may
                                   ///< be many; empty: the host's name stands for it
  int host_cores = 0;              ///< cores that it might use if nobody had bound it; 0: unknown
  std::vector<CpuQuota> quotas{};  ///< that hold for it
  std::uint64_t memory_bytes = 0;  ///< that it may hold, together with others; 0: unknown
  JobCores job_cores{};            ///< of the scheduler's job, if nothing confines the job to them
  static void fields(auto& visit, auto& self) {
    visit(self.host, self.cores, self.gpus, self.no_gpu_reason, self.system_id, self.host_cores,
          self.quotas, self.memory_bytes, self.job_cores);
  }
  friend bool operator==(const Machine&, const Machine&) = default;
};

}  // namespace wallheat
