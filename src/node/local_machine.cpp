#include "node/local_machine.hpp"

#include <hwloc.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <type_traits>

#include "solve/gpu/device.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

namespace {

namespace fs = std::filesystem;

double number_in(const fs::path& file) {
  double number = 0;
  std::ifstream(file) >> number;
  return number;  // 0 if the file contains no number
}

/// Reads the limits of a cgroup from the files of both versions. If there is no limit, these
/// contain "max", -1, or more memory than any machine has.
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

/// Reads a cgroup and its ancestors, from `root` downwards. A cgroup whose directory does not exist
/// has no limits. This happens in a container that sees the names of its host, in which `root` is
/// its own cgroup.
void read_cgroup_ancestors(const fs::path& root, const std::string& path, CgroupLimits& limits) {
  fs::path group = root;
  read_group(group, limits);
  if (path.starts_with("/..")) return;  // not visible from here
  for (const fs::path& part : fs::path(path).relative_path()) read_group(group /= part, limits);
}

}  // namespace

CgroupLimits cgroup_limits(const fs::path& process, const fs::path& mount) {
  CgroupLimits limits;
  std::ifstream file(process / "cgroup");
  for (std::string line; std::getline(file, line);) {
    // Format: number:controllers:path. In version 2 the number is 0, and there are no controllers.
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") read_cgroup_ancestors(mount, path, limits);
    for (const char* name : {"cpu", "memory"})
      if (controllers.find("," + std::string(name) + ",") != std::string::npos)
        read_cgroup_ancestors(mount / name, path, limits);
  }
  return limits;
}

namespace {

[[noreturn]] void fail(const std::string& what, int error) {
  throw RunError(what + ": " + std::generic_category().message(error));
}

// --- hwloc -------------------------------------------------------------------------------------

struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, DestroyTopology>;

struct FreeBitmap {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, FreeBitmap>;

/// Returns the random ID that Linux draws at each start. All containers of a system have the same
/// ID, and number the cpus equally; two hosts with the same name have different IDs. Returns an
/// empty string if it is not visible.
std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string number;
  std::getline(file, number);
  return number;
}

Topology load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) fail("cannot read the topology of this host", errno);
  Topology topology(raw);
  // The x86 component would run on each cpu to read what Linux reports as well, and wait for busy
  // cpus.
  (void)hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
  // Includes disallowed parts, so that processes in different cgroups number the sockets equally.
  // The allowed cpus come from the binding, which Linux keeps within the cpuset of the cgroup.
  if (hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0 ||
      hwloc_topology_load(raw) != 0) {
    fail("cannot read the topology of this host", errno);
  }
  return topology;
}

/// Returns the cpus of the main thread, whose ID is that of the process. Solver threads may be
/// pinned already.
Bitmap process_binding(hwloc_topology_t topology) {
  Bitmap cpus(hwloc_bitmap_alloc());
  if (!cpus || hwloc_get_proc_cpubind(topology, getpid(), cpus.get(), HWLOC_CPUBIND_THREAD) != 0) {
    fail("cannot read the CPUs of this process", errno);
  }
  return cpus;
}

/// Containers and virtual machines may have no sockets and no NUMA nodes; then all numbers are 0.
Core describe(hwloc_topology_t topology, hwloc_obj_t hardware_thread, int cpu) {
  const hwloc_obj* socket =
      hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, hardware_thread);
  const int numa =
      hardware_thread->nodeset != nullptr ? hwloc_bitmap_first(hardware_thread->nodeset) : -1;
  return {.cpu = cpu,
          .socket = socket != nullptr ? static_cast<int>(socket->logical_index) : 0,
          .numa = std::max(numa, 0)};
}

std::vector<Core> list_cores(hwloc_topology_t topology, hwloc_const_bitmap_t allowed) {
  std::vector<Core> cores;
  std::set<hwloc_obj_t> seen;
  for (int cpu = hwloc_bitmap_first(allowed); cpu >= 0; cpu = hwloc_bitmap_next(allowed, cpu)) {
    hwloc_obj* hardware_thread = hwloc_get_pu_obj_by_os_index(topology, static_cast<unsigned>(cpu));
    if (hardware_thread == nullptr) continue;
    hwloc_obj* core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, hardware_thread);
    // If the system does not report which hardware threads form a core, each counts as a core.
    if (core != nullptr && !seen.insert(core).second) continue;
    cores.push_back(describe(topology, hardware_thread, cpu));
  }
  return cores;
}

// --- Binding by system calls, because a topology per solver thread would take milliseconds -------

/// One bit per cpu, as in the system calls of Linux.
using CpuMask = std::vector<cpu_set_t>;
std::size_t bytes_of(const CpuMask& mask) { return mask.size() * sizeof(cpu_set_t); }
constexpr int max_cpus = 1 << 17;  // Linux supports 8192

std::string text(const std::vector<int>& cpus) {
  std::string list;
  for (const int cpu : cpus) list += (list.empty() ? "" : ",") + std::to_string(cpu);
  return list;
}

/// Returns the size in bytes; 0 if it is unknown.
std::uint64_t memory_of_host() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return 0;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
}

}  // namespace

void disable_hwloc_plugins() { (void)::setenv("HWLOC_PLUGINS_PATH", "/dev/null", 0); }

Machine local_machine() {
  const Topology topology = load_topology();
  const Bitmap allowed = process_binding(topology.get());
  const hwloc_const_bitmap_t unbound = hwloc_topology_get_allowed_cpuset(topology.get());
  Machine machine{.host = host_name(),
                  .cores = list_cores(topology.get(), allowed.get()),
                  .gpus = {},
                  .no_gpu_reason = {},
                  .system_id = boot_id(),
                  .host_cores = static_cast<int>(list_cores(topology.get(), unbound).size()),
                  .quotas = {}};
  CgroupLimits limits = cgroup_limits();
  machine.quotas = std::move(limits.quotas);
  // All cores of the host, including those outside of the cpuset of the cgroup.
  const auto everywhere =
      list_cores(topology.get(), hwloc_topology_get_topology_cpuset(topology.get()));
  if (machine.cores.size() == everywhere.size())
    machine.job_cores = job_cores(machine.host, static_cast<int>(everywhere.size()),
                                  hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_PU));
  const std::uint64_t all = memory_of_host();
  machine.memory_bytes = all == 0 || limits.memory_bytes == 0 ? std::max(all, limits.memory_bytes)
                                                              : std::min(all, limits.memory_bytes);
  if (machine.cores.empty()) {
    throw RunError("this process may not use any CPU of host '" + machine.host + "'");
  }
  GpuSupport support = gpu_support();
  machine.gpus = std::move(support.gpus);
  machine.no_gpu_reason = std::move(support.reason);
  return machine;
}

JobCores job_cores(const std::string& host, int host_cores, int hardware_threads) {
  const auto text_of = [](const char* variable) {
    const char* value = std::getenv(variable);
    return std::string(value == nullptr ? "" : value);
  };
  const auto number_of = [&](const char* variable) { return std::atoi(text_of(variable).c_str()); };
  if (const int cpus = number_of("SLURM_CPUS_ON_NODE"); cpus > 0) {
    const std::string source = "SLURM_CPUS_ON_NODE=" + std::to_string(cpus);
    // Threads per core, if the user limits them.
    const int used = number_of("SLURM_THREADS_PER_CORE");
    // Slurm may be configured to count cores. Then this is the complete host, and the job must use
    // all of it rather than half.
    if (cpus == host_cores && used == 0) return {cpus, source};
    int threads = std::max(hardware_threads / std::max(host_cores, 1), 1);  // per core
    // With --hint=nomultithread, Slurm counts cores in a batch script, but hardware threads in a
    // step.
    if (used > 0 && text_of("SLURM_STEP_ID").empty()) threads = std::min(threads, used);
    return {(cpus + threads - 1) / threads, source};
  }
  const auto short_name = [](const std::string& name) { return name.substr(0, name.find('.')); };
  std::istringstream hosts(text_of("LSB_MCPU_HOSTS"));  // "host1 16 host2 16"
  std::string name;
  for (int slots = 0; hosts >> name >> slots;)
    if (slots > 0 && short_name(name) == short_name(host))
      return {slots, "LSB_MCPU_HOSTS: " + name + " " + std::to_string(slots)};
  return {};
}

void bind_this_thread(const std::vector<int>& cpus) {
  std::vector<int> wanted = cpus;
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  if (wanted.empty() || wanted.front() < 0 || wanted.back() >= max_cpus) {
    throw RunError("cannot bind a thread to the CPUs '" + text(cpus) + "'");
  }
  CpuMask mask(static_cast<std::size_t>(wanted.back()) / CPU_SETSIZE + 1);
  for (const int cpu : wanted) CPU_SET_S(cpu, bytes_of(mask), mask.data());
  if (sched_setaffinity(0, bytes_of(mask), mask.data()) != 0) {
    fail("cannot bind a thread to CPU " + text(wanted) + " of " + host_name(), errno);
  }
  // Linux ignores cpus that do not exist or that the cgroup excludes, and reports success.
  if (const std::vector<int> got = bound_cpus(); got != wanted) {
    throw RunError("cannot bind a thread to CPU " + text(wanted) + " of " + host_name() +
                   ": the system bound it to " + text(got));
  }
  // Allocates new memory on the local node, even if numactl selected another policy. Some
  // containers forbid the call. Results do not depend on it, and the default policy is the same.
  syscall(SYS_set_mempolicy, MPOL_LOCAL, nullptr, 0UL);
}

std::string try_to_bind_this_thread(const std::vector<int>& cpus) {
  try {
    bind_this_thread(cpus);
    return {};
  } catch (const RunError& error) {
    return std::string(error.what()) + "; continuing on CPU " + text(bound_cpus());
  }
}

std::vector<int> bound_cpus() {
  // Linux rejects a mask that is smaller than its own, and does not report how large that is.
  CpuMask mask(max_cpus / CPU_SETSIZE);
  if (sched_getaffinity(0, bytes_of(mask), mask.data()) != 0)
    fail("cannot read the CPUs to which a thread is bound", errno);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < max_cpus; ++cpu)
    if (CPU_ISSET_S(cpu, bytes_of(mask), mask.data())) cpus.push_back(cpu);
  return cpus;
}

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (gethostname(name.data(), name.size()) != 0) fail("cannot read the name of this host", errno);
  return name.data();
}

std::int64_t peak_memory() {
  std::ifstream status("/proc/self/status");
  std::int64_t kib = 0;
  for (std::string word; status >> word;)
    if (word == "VmHWM:" && status >> kib) return kib * 1024;
  return 0;
}

bool reset_peak_memory() {
  // 5 resets the peak only: see proc(5)
  return static_cast<bool>(std::ofstream("/proc/self/clear_refs") << "5" << std::flush);
}

namespace {

std::size_t cache_bytes(int name) {
  const long bytes = ::sysconf(name);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

/// Returns the value of the first line "name : value" in /proc/cpuinfo.
std::string cpu_info(const std::string& name) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with(name) && colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

double clock_hz() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
  if (double kilohertz = 0; file >> kilohertz) return kilohertz * 1e3;
  return std::strtod(cpu_info("cpu MHz").c_str(), nullptr) * 1e6;  // 0 if it is not a number
}

}  // namespace

Processor local_processor() {
  return {cpu_info("model name"), clock_hz(), cache_bytes(_SC_LEVEL1_DCACHE_SIZE),
          cache_bytes(_SC_LEVEL2_CACHE_SIZE), cache_bytes(_SC_LEVEL3_CACHE_SIZE)};
}

}  // namespace wallheat
