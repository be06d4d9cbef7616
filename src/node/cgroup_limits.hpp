#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/machine.hpp"

namespace wallheat {

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

}  // namespace wallheat
