#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace wallheat {

/// A group of processes that Linux limits together.
struct Cgroup {
  bool version_2 = false;
  std::filesystem::path folder;  ///< where its limits are files
};

/// The cgroup (version 1 or 2) of a process for a controller ("cpu", "memory") and the groups
/// around it, the outermost first, as far as they can be seen. `process` is its folder in /proc.
[[nodiscard]] std::vector<Cgroup> cgroups_of(const std::filesystem::path& process,
                                             const std::string& controller);

}  // namespace wallheat
