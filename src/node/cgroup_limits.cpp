#include "node/cgroup_limits.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace wallheat {
namespace {

namespace fs = std::filesystem;

void add_quota(const fs::path& group, double time, double period, CgroupLimits& limits) {
  struct stat status {};
  if (time > 0 && period > 0 && ::stat(group.c_str(), &status) == 0)
    limits.quotas.push_back({status.st_ino, time / period});
}

void add_memory(const fs::path& file, CgroupLimits& limits) {
  std::ifstream stream(file);
  std::uint64_t bytes = 0;
  if (stream >> bytes && bytes > 0)
    limits.memory_bytes = limits.memory_bytes == 0 ? bytes : std::min(limits.memory_bytes, bytes);
}

void read_version_2(const fs::path& group, CgroupLimits& limits) {
  double time = 0;
  double period = 0;
  std::ifstream(group / "cpu.max") >> time >> period;  // "max 100000" is no number: no quota
  add_quota(group, time, period, limits);
  add_memory(group / "memory.max", limits);  // "max": no limit
}

void read_cpu(const fs::path& group, CgroupLimits& limits) {
  double time = 0;
  double period = 0;
  std::ifstream(group / "cpu.cfs_quota_us") >> time;  // -1: no quota
  std::ifstream(group / "cpu.cfs_period_us") >> period;
  add_quota(group, time, period, limits);
}

void read_memory(const fs::path& group, CgroupLimits& limits) {
  add_memory(group / "memory.limit_in_bytes", limits);  // no limit: more than any machine has
}

/// Reads a group and those around it, from `root` on. One that is not there has no limits: so it is
/// in a container that is told names of its host, where `root` is its own group.
void walk(const fs::path& root, const std::string& path,
          void (*read)(const fs::path&, CgroupLimits&), CgroupLimits& limits) {
  fs::path group = root;
  read(group, limits);
  if (path.starts_with("/..")) return;  // outside of what can be seen
  for (const fs::path& part : fs::path(path).relative_path()) read(group /= part, limits);
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
    if (controllers == ",,") walk(mount, path, read_version_2, limits);
    if (controllers.find(",cpu,") != std::string::npos) walk(mount / "cpu", path, read_cpu, limits);
    if (controllers.find(",memory,") != std::string::npos)
      walk(mount / "memory", path, read_memory, limits);
  }
  return limits;
}

}  // namespace wallheat
