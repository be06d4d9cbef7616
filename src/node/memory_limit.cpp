#include "node/memory_limit.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "node/cgroups.hpp"

namespace wallheat {

std::uint64_t memory_limit(const std::filesystem::path& process) {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  std::uint64_t least = pages > 0 && page_bytes > 0 ? static_cast<std::uint64_t>(pages) *
                                                          static_cast<std::uint64_t>(page_bytes)
                                                    : 0;
  for (const Cgroup& group : cgroups_of(process, "memory")) {
    // Without a limit version 2 says "max", and version 1 more than any machine has.
    std::ifstream file(group.folder / (group.version_2 ? "memory.max" : "memory.limit_in_bytes"));
    std::uint64_t bytes = 0;
    if (file >> bytes && bytes > 0) least = least == 0 ? bytes : std::min(least, bytes);
  }
  return least;
}

}  // namespace wallheat
