#pragma once

#include <string>
#include <vector>

#include "core/machine.hpp"

namespace wallheat {

/// To be called before threads start. hwloc does not load its plugins then (for XML, X11, OpenCL),
/// which takes longer than all else that local_machine() does, and tells nothing it asks for. A
/// user's HWLOC_PLUGINS_PATH holds.
void leave_out_topology_plugins();

/// The cores that this process may use (one entry a core: its hardware threads count once) and the
/// GPUs that this build can solve on. What mpirun, Slurm, taskset or a cgroup allowed is read from
/// the binding of the main thread, so call this before that thread is bound. CPU quotas are those
/// of its cgroups, as far as it sees them. Throws RunError.
[[nodiscard]] Machine local_machine();

/// Binds the calling thread to the given cpus (operating system's numbers) and has its new memory
/// come from the NUMA node it runs on, as far as the system permits. Throws RunError if the
/// system does not bind the thread to exactly these cpus; the thread may then be bound to some of
/// them.
void bind_this_thread(const std::vector<int>& cpus);

/// The cpus the calling thread is bound to now, read back from the system, ascending. Throws
/// RunError.
[[nodiscard]] std::vector<int> bound_cpus();

/// The operating system's name of this host. Throws RunError.
[[nodiscard]] std::string host_name();

}  // namespace wallheat
