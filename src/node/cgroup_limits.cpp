#include "node/cgroup_limits.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace wallheat {
namespace {

namespace fs = std::filesystem;

double number_in(const fs::path& file) {
  double number = 0;
  std::ifstream(file) >> number;
  return number;  // 0 if it is none
}

/// What a group says of itself, in the files of either version. Without a limit these say "max",
/// -1, or more memory than any machine has.
void read_group(const fs::path& group, CgroupLimits& limits) {
  double time = 0;
  double period = 0;
  if (!(std::ifstream(group / "cpu.max") >> time >> period)) {
    time = number_in(group / "cpu.cfs_quota_us");
    period = number_in(group / "cpu.cfs_period_us");
  }
  struct stat status {};
  if (time > 0 && period > 0 && ::stat(group.c_str(), &status) == 0)
    limits.quotas.push_back({status.st_ino, time / period});
  for (const char* file : {"memory.max", "memory.limit_in_bytes"}) {
    const auto bytes = static_cast<std::uint64_t>(std::max(number_in(group / file), 0.0));
    if (bytes > 0 && (limits.memory_bytes == 0 || bytes < limits.memory_bytes))
      limits.memory_bytes = bytes;
  }
}

/// Reads a group and those around it, from `root` on. A missing one has no limits: so it is
/// in a container that sees names of its host: there `root` is its own group.
void walk(const fs::path& root, const std::string& path, CgroupLimits& limits) {
  fs::path group = root;
  read_group(group, limits);
  if (path.starts_with("/..")) return;  // outside of what can be seen
  for (const fs::path& part : fs::path(path).relative_path()) read_group(group /= part, limits);
}

}  // namespace

CgroupLimits cgroup_limits(const fs::path& process, const fs::path& mount) {
  CgroupLimits limits;
  std::ifstream file(process / "cgroup");
  for (std::string line; std::getline(file, line);) {
    // number:controllers:path, with 0 and no controllers in version 2
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") walk(mount, path, limits);
    for (const char* name : {"cpu", "memory"})
      if (controllers.find("," + std::string(name) + ",") != std::string::npos)
        walk(mount / name, path, limits);
  }
  return limits;
}

}  // namespace wallheat
