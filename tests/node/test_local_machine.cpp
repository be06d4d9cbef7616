#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "node/local_machine.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "support/temporary_directory.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Returns the result of `check`, which runs in a child process and may change its binding or its
/// environment.
bool holds_in_child(const std::function<bool()>& check) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      _exit(check() ? 0 : 1);
    } catch (...) {
      _exit(2);
    }
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void restrict_this_process_to(int cpu) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(cpu, &mask);
  sched_setaffinity(0, sizeof mask, &mask);
}

TEST(LocalMachine, IgnoresBindingOfCallingThread) {
  const Machine before = local_machine();
  Machine after;
  std::thread([&] {
    bind_this_thread({before.cores.back().cpu});
    after = local_machine();
  }).join();
  EXPECT_EQ(after, before);
}

TEST(LocalMachine, CountsEachCoreOnce) {
  const auto expect_cores = [](const char* topology, const std::vector<Core>& cores) {
    EXPECT_TRUE(holds_in_child([&] {
      setenv("HWLOC_SYNTHETIC", topology, 1);
      return local_machine().cores == cores;
    })) << topology;
  };
  expect_cores("package:1 core:2 pu:2", {{0, 0, 0}, {2, 0, 0}});
  expect_cores("package:2 numa:2 core:1 pu:1", {{0, 0, 0}, {1, 0, 1}, {2, 1, 2}, {3, 1, 3}});
  // Without cores in the topology each hardware thread counts as a core.
  expect_cores("pu:3", {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}});
}

TEST(LocalMachine, ReportsUsableCpusWhenBoundOrUnbound) {
  const Machine machine = local_machine();
  EXPECT_EQ(machine.host, host_name());
  EXPECT_THAT(machine.host, Not(IsEmpty()));
  EXPECT_THAT(machine.system_id, Not(IsEmpty()));
  EXPECT_GE(machine.host_cores, static_cast<int>(machine.cores.size()));
  EXPECT_GT(machine.memory_bytes, 1U << 20);
  for (const int cpu : bound_cpus()) {
    EXPECT_TRUE(holds_in_child([&] {
      restrict_this_process_to(cpu);
      const Machine bound = local_machine();
      return bound.cores.size() == 1 && bound.cores[0].cpu == cpu &&
             bound.host_cores == machine.host_cores && bound.system_id == machine.system_id;
    })) << "cpu "
        << cpu;
  }
}

/// A simulated /proc/self and /sys/fs/cgroup.
class CgroupLimitsTest : public testing::Test {
 protected:
  void write(const std::filesystem::path& file, const std::string& text) {
    std::filesystem::create_directories((directory_ / file).parent_path());
    std::ofstream(directory_ / file) << text << '\n';
  }
  [[nodiscard]] CgroupLimits limits() const {
    return cgroup_limits(directory_ / "proc", directory_ / "fs");
  }
  /// Returns the CPU quotas of the groups, the outermost first.
  [[nodiscard]] std::vector<double> cpus() const {
    std::vector<double> all;
    for (const CpuQuota& quota : limits().quotas) all.push_back(quota.cpus);
    return all;
  }

 private:
  const TemporaryDirectory directory_;
};

TEST_F(CgroupLimitsTest, CombinesOwnLimitsWithAncestorLimits) {
  write("proc/cgroup", "0::/job/step");
  write("fs/job/cpu.max", "800000 100000");
  write("fs/job/memory.max", "700000");
  write("fs/job/step/cpu.max", "250000 100000");
  write("fs/job/step/memory.max", "800000");
  EXPECT_THAT(cpus(), ElementsAre(8, 2.5));
  EXPECT_EQ(limits().memory_bytes, 700'000U);
  write("fs/job/cpu.max", "max 100000");
  write("fs/job/memory.max", "max");
  EXPECT_THAT(cpus(), ElementsAre(2.5));
  EXPECT_EQ(limits().memory_bytes, 800'000U);
}

TEST_F(CgroupLimitsTest, ReadsVersion1Hierarchy) {
  write("proc/cgroup", "5:cpuset:/other\n4:cpu,cpuacct:/job\n3:memory:/job\n0::/");
  write("fs/cpu/cpu.cfs_quota_us", "-1");
  write("fs/cpu/cpu.cfs_period_us", "100000");
  write("fs/cpu/job/cpu.cfs_quota_us", "150000");
  write("fs/cpu/job/cpu.cfs_period_us", "100000");
  write("fs/memory/memory.limit_in_bytes", "9223372036854771712");
  write("fs/memory/job/memory.limit_in_bytes", "500000");
  EXPECT_THAT(cpus(), ElementsAre(1.5));
  EXPECT_EQ(limits().memory_bytes, 500'000U);
}

TEST_F(CgroupLimitsTest, UsesVisibleGroupInsideContainer) {
  write("fs/cpu.max", "200000 100000");
  for (const char* path : {"/docker/c1", "/", "/../elsewhere"}) {
    write("proc/cgroup", "0::" + std::string(path));
    EXPECT_THAT(cpus(), ElementsAre(2)) << path;
  }
}

TEST_F(CgroupLimitsTest, DistinguishesGroupsOfEqualSize) {
  const auto group = [&](const std::string& name) {
    write("fs/" + name + "/cpu.max", "100000 100000");
    write("proc/cgroup", "0::/" + name);
    return limits().quotas.at(0).cgroup_id;
  };
  const std::uint64_t first = group("a");
  EXPECT_NE(group("b"), first);
  EXPECT_EQ(group("a"), first);
}

TEST_F(CgroupLimitsTest, ReturnsNoLimitsForUnusableFiles) {
  EXPECT_THAT(cpus(), IsEmpty());
  write("proc/cgroup", "nonsense\n0::/gone");
  EXPECT_THAT(cpus(), IsEmpty());
  EXPECT_EQ(limits().memory_bytes, 0U);
  write("fs/gone/cpu.max", "0 0");
  write("fs/gone/memory.max", "0");
  EXPECT_THAT(cpus(), IsEmpty());
  EXPECT_EQ(limits().memory_bytes, 0U);
}

/// Binds a new thread to these CPUs. Returns its binding as the system reports it.
std::vector<int> read_back(const std::vector<int>& cpus) {
  std::vector<int> bound;
  std::thread([&] {
    bind_this_thread(cpus);
    bound = bound_cpus();
  }).join();
  return bound;
}

TEST(BindThisThread, AcceptsCpusInAnyOrder) {
  const std::vector<int> before = bound_cpus();
  for (const int cpu : before) EXPECT_THAT(read_back({cpu}), ElementsAre(cpu));
  std::vector<int> cpus(before.rbegin(), before.rend());
  cpus.push_back(cpus.front());
  EXPECT_EQ(read_back(cpus), before);
  EXPECT_EQ(bound_cpus(), before);
}

TEST(BindThisThread, NamesNonexistentCpuInError) {
  for (const std::vector<int>& cpus : std::vector<std::vector<int>>{
           {}, {-1}, {100'000}, {2'000'000'000}, {bound_cpus().front(), 100'000}})
    std::thread([&] { EXPECT_THROW(bind_this_thread(cpus), RunError); }).join();
  EXPECT_THAT(error_message_of<RunError>([] { bind_this_thread({100'000}); }),
              Mentions({"100000", host_name()}));
}

}  // namespace
}  // namespace wallheat
