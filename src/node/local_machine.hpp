#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/machine.hpp"

namespace wallheat {

/// Disables hwloc's plugins (XML, X11, OpenCL). They take longer to load than everything else in
/// local_machine(), which needs none of them. HWLOC_PLUGINS_PATH overrides this. Call this before
/// any thread starts.
void disable_hwloc_plugins();

/// Returns the cores that this process may use (one entry per core, whatever its number of hardware
/// threads) and the GPUs on which this build can solve. The limits that mpirun, Slurm, taskset or a
/// cgroup have set are read from the binding of the main thread, so call this before that thread is
/// bound. CPU quotas are those of its cgroups, as far as they are visible. Throws RunError.
[[nodiscard]] Machine local_machine();

/// Returns the cores of this host that Slurm or LSF has granted this job. They are computed from
/// SLURM_CPUS_ON_NODE, which counts hardware threads, or from the slots of the host in
/// LSB_MCPU_HOSTS. SLURM_CPUS_PER_TASK is ignored, because mpirun may start several ranks in one
/// task.
[[nodiscard]] JobCores job_cores(const std::string& host, int host_cores, int hardware_threads);

/// Binds the calling thread to the given cpus (the operating system's numbers), and makes its new
/// memory come from its NUMA node, as far as the system permits. Throws RunError if the system does
/// not bind the thread to exactly these cpus; the thread may then be bound to some of them.
void bind_this_thread(const std::vector<int>& cpus);

/// Binds the calling thread like bind_this_thread(), as far as the system permits: to the remaining
/// cpus if the cpuset of the process has shrunk, or not at all. Returns a message for the log if
/// the thread is not bound to exactly these cpus, otherwise an empty string.
[[nodiscard]] std::string try_to_bind_this_thread(const std::vector<int>& cpus);

/// Returns the cpus to which the calling thread is bound, as the system reports them, in ascending
/// order. Throws RunError.
[[nodiscard]] std::vector<int> bound_cpus();

/// Returns the operating system's name of this host. Throws RunError.
[[nodiscard]] std::string host_name();

/// Limits that Linux imposes on the processes of a cgroup and of its ancestors.
struct CgroupLimits {
  std::vector<CpuQuota> quotas;
  std::uint64_t memory_bytes = 0;  ///< lowest limit; 0: unlimited
};

/// Returns the limits of a process by its cgroups (version 1 or 2) and their ancestors, as far as
/// they are visible: in a container perhaps only its own cgroup. `process` is the directory of the
/// process in /proc; `mount` is the mount point of the cgroups. A limit that cannot be read counts
/// as unlimited.
[[nodiscard]] CgroupLimits cgroup_limits(const std::filesystem::path& process = "/proc/self",
                                         const std::filesystem::path& mount = "/sys/fs/cgroup");

/// Returns the peak resident set size of this process in bytes, VmHWM in proc(5). It includes pages
/// that are shared with other processes, and excludes memory of GPUs. Returns 0 if the system does
/// not report it.
[[nodiscard]] std::int64_t peak_memory();

/// Resets peak_memory() to the current size. Returns false if the system does not allow it.
[[nodiscard]] bool reset_peak_memory();

/// Properties of a core of this machine. Unknown properties are empty or 0.
struct Processor {
  std::string model;
  double clock_hz = 0;              ///< maximum; if that is unknown, the current frequency
  std::size_t l1d_cache_bytes = 0;  ///< data cache of a core
  std::size_t l2_cache_bytes = 0;   ///< per core
  std::size_t l3_cache_bytes = 0;   ///< shared by several cores
};

[[nodiscard]] Processor local_processor();

}  // namespace wallheat
