#pragma once

#include <string>
#include <vector>

#include "wallheat/placement.hpp"

namespace wallheat {

/// The cores that this process may use (one entry a core: hardware threads of a core count once) and
/// the GPUs it can see. Reads the process's own cpuset, so what mpirun, Slurm or a cgroup gave counts.
[[nodiscard]] Machine local_machine();

/// Binds the calling thread, memory included, to the given cpus (operating system's numbers). Throws RunError.
void bind_this_thread(const std::vector<int>& cpus);

/// The cpus the calling thread is bound to now, read back from the system, ascending.
[[nodiscard]] std::vector<int> bound_cpus();

/// The operating system's name of this host.
[[nodiscard]] std::string host_name();

}  // namespace wallheat
