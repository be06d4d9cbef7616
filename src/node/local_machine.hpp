#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/machine.hpp"

namespace wallheat {

/// To be called before threads start. hwloc does not load its plugins then (for XML, X11, OpenCL),
/// which takes longer than all else that local_machine() does, and tells nothing it asks for. A
/// user's HWLOC_PLUGINS_PATH holds.
void disable_hwloc_plugins();

/// The cores that this process may use (one entry a core: its hardware threads count once) and the
/// GPUs that this build can solve on. What mpirun, Slurm, taskset or a cgroup allowed is read from
/// the binding of the main thread, so call this before that thread is bound. CPU quotas are those
/// of its cgroups, as far as it sees them. Throws RunError.
[[nodiscard]] Machine local_machine();

/// Returns the cores of this host that Slurm or LSF has granted this job: of SLURM_CPUS_ON_NODE,
/// which counts hardware threads, or the host's slots in LSB_MCPU_HOSTS. SLURM_CPUS_PER_TASK does
/// not count, because mpirun may start several ranks in one task.
[[nodiscard]] JobCores job_cores(const std::string& host, int host_cores, int hardware_threads);

/// Binds the calling thread to the given cpus (operating system's numbers) and has its new memory
/// come from the NUMA node it runs on, as far as the system permits. Throws RunError if the
/// system does not bind the thread to exactly these cpus; the thread may then be bound to some of
/// them.
void bind_this_thread(const std::vector<int>& cpus);

/// Binds the calling thread like bind_this_thread(), as far as the system permits: to those of the
/// cpus that are left if the cpuset of the process has shrunk, or not at all. Returns a message for
/// the log if the thread is not bound to exactly these cpus, else an empty string.
[[nodiscard]] std::string try_to_bind_this_thread(const std::vector<int>& cpus);

/// The cpus the calling thread is bound to now, read back from the system, ascending. Throws
/// RunError.
[[nodiscard]] std::vector<int> bound_cpus();

/// The operating system's name of this host. Throws RunError.
[[nodiscard]] std::string host_name();

/// To what Linux limits the processes of a group, and of the groups around it.
struct CgroupLimits {
  std::vector<CpuQuota> quotas;
  std::uint64_t memory_bytes = 0;  ///< the least; 0: no limit
};

/// Those that hold for a process by its cgroups (version 1 or 2) and the groups around them, as far
/// as they can be seen: in a container perhaps only its own. `process` is its folder in /proc,
/// `mount` is where the groups are folders. What cannot be read counts as no limit.
[[nodiscard]] CgroupLimits cgroup_limits(const std::filesystem::path& process = "/proc/self",
                                         const std::filesystem::path& mount = "/sys/fs/cgroup");

/// The most physical memory that this process has held at once, in bytes: the peak of its resident
/// set, VmHWM in proc(5). Pages that it shares with others count, those on a GPU do not. 0 if
/// the system does not tell.
[[nodiscard]] std::int64_t peak_memory();

/// What was held before counts no longer. Returns false if the system does not allow it.
[[nodiscard]] bool reset_peak_memory();

/// What the system tells about a core of this machine. What it does not tell is empty or 0.
struct Processor {
  std::string model;
  double clock_hz = 0;              ///< the highest it may run at; if that is unknown, that of now
  std::size_t l1d_cache_bytes = 0;  ///< of data, of a core
  std::size_t l2_cache_bytes = 0;   ///< of a core
  std::size_t l3_cache_bytes = 0;   ///< shared by cores
};

[[nodiscard]] Processor local_processor();

}  // namespace wallheat
