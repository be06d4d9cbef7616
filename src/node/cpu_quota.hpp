#pragma once

#include <filesystem>
#include <vector>

#include "core/machine.hpp"

namespace wallheat {

/// The CPU quotas of a process's cgroup (version 1 or 2) and of the groups around it, as far as
/// they can be seen. `process` is its folder in /proc. What cannot be read counts as no quota.
[[nodiscard]] std::vector<CpuQuota> cpu_quotas(const std::filesystem::path& process);

}  // namespace wallheat
