#pragma once

#include <cstdint>
#include <filesystem>

namespace wallheat {

/// How many bytes of memory a process may hold: what the machine has, or less where its cgroup
/// (version 1 or 2) or one around it is limited to less, which it may share with others. `process`
/// is its folder in /proc. 0 where the system does not tell.
[[nodiscard]] std::uint64_t memory_limit(const std::filesystem::path& process);

}  // namespace wallheat
