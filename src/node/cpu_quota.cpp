#include "node/cpu_quota.hpp"

#include <sys/stat.h>

#include <fstream>
#include <optional>

#include "node/cgroups.hpp"

namespace wallheat {
namespace {

std::optional<double> quota_of(const Cgroup& group) {
  double time = 0;
  double period = 0;
  if (group.version_2) {
    std::ifstream(group.folder / "cpu.max") >> time >>
        period;  // "max 100000" is no number: no quota
  } else {
    std::ifstream(group.folder / "cpu.cfs_quota_us") >> time;  // -1: no quota
    std::ifstream(group.folder / "cpu.cfs_period_us") >> period;
  }
  if (!(time > 0 && period > 0)) return std::nullopt;
  return time / period;
}

}  // namespace

std::vector<CpuQuota> cpu_quotas(const std::filesystem::path& process) {
  std::vector<CpuQuota> quotas;
  for (const Cgroup& group : cgroups_of(process, "cpu")) {
    struct stat status {};
    const auto cpus = quota_of(group);
    if (cpus && ::stat(group.folder.c_str(), &status) == 0)
      quotas.push_back({status.st_ino, *cpus});
  }
  return quotas;
}

}  // namespace wallheat
