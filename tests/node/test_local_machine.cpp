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
#include "node/placement.hpp"
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

/// Sets the variables of a scheduler, and removes all others.
class JobCoresTest : public testing::Test {
 protected:
  JobCoresTest() { set({}); }
  ~JobCoresTest() override { set({}); }
  static void set(const std::vector<std::pair<const char*, const char*>>& variables) {
    for (const char* name : {"SLURM_CPUS_ON_NODE", "SLURM_CPUS_PER_TASK", "SLURM_STEP_ID",
                             "SLURM_THREADS_PER_CORE", "LSB_MCPU_HOSTS", "LSB_DJOB_NUMPROC"})
      ::unsetenv(name);
    for (const auto& [name, value] : variables) ::setenv(name, value, 1);
  }
};

TEST_F(JobCoresTest, CountsCoresOfSlurm) {
  EXPECT_EQ(job_cores("n1", 32, 64).count, 0);
  set({{"SLURM_CPUS_ON_NODE", "6"}, {"SLURM_CPUS_PER_TASK", "2"}});
  EXPECT_EQ(job_cores("n1", 32, 32).count, 6);
  EXPECT_EQ(job_cores("n1", 32, 64).count, 3) << "hardware threads";
  EXPECT_THAT(job_cores("n1", 32, 64).source, Mentions("SLURM_CPUS_ON_NODE=6"));
  ::setenv("SLURM_CPUS_ON_NODE", "1", 1);
  EXPECT_EQ(job_cores("n1", 32, 64).count, 1);
  ::setenv("SLURM_CPUS_ON_NODE", "32", 1);
  EXPECT_EQ(job_cores("n1", 32, 64).count, 32) << "Slurm counts cores, or the job has half of them";
  // Slurm 22.05 with --hint=nomultithread and two cores of a node with two threads per core.
  set({{"SLURM_CPUS_ON_NODE", "2"}, {"SLURM_THREADS_PER_CORE", "1"}});
  EXPECT_EQ(job_cores("n1", 32, 64).count, 2) << "in the batch script";
  set({{"SLURM_CPUS_ON_NODE", "4"}, {"SLURM_THREADS_PER_CORE", "1"}, {"SLURM_STEP_ID", "0"}});
  EXPECT_EQ(job_cores("n1", 32, 64).count, 2) << "in a step";
  EXPECT_EQ(job_cores("n1", 4, 8).count, 2) << "in a step that has half of the node";
}

TEST_F(JobCoresTest, CountsSlotsOfLsfOnOwnHost) {
  set({{"LSB_MCPU_HOSTS", "n1 16 n2.example.org 8"}, {"LSB_DJOB_NUMPROC", "24"}});
  EXPECT_EQ(job_cores("n1.example.org", 32, 64).count, 16);
  EXPECT_EQ(job_cores("n2", 32, 64).count, 8);
  EXPECT_THAT(job_cores("n2", 32, 64).source, Mentions({"LSB_MCPU_HOSTS", "n2.example.org", "8"}));
  EXPECT_EQ(job_cores("n3", 32, 64).count, 0);
}

TEST_F(JobCoresTest, AreIgnoredWhereProcessIsConfined) {
  set({{"SLURM_CPUS_ON_NODE", "4"}});
  EXPECT_TRUE(holds_in_child([] {
    ::setenv("HWLOC_SYNTHETIC", "package:2 core:4 pu:2", 1);
    return local_machine().job_cores.count == 2 && default_thread_count() == 2;
  })) << "the process may use all cores";
  if (bound_cpus().size() < 2) GTEST_SKIP() << "needs two cpus to bind a process to one of them";
  EXPECT_TRUE(holds_in_child([] {
    restrict_this_process_to(bound_cpus().front());
    return local_machine().job_cores.count == 0;
  }));
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

TEST(TryToBindThisThread, ContinuesOnCpusThatAreLeft) {
  const std::vector<int> before = bound_cpus();
  const auto expect_binding = [](const std::vector<int>& wanted, const std::vector<int>& left,
                                 const testing::Matcher<const std::string&>& message) {
    std::thread([&] {
      EXPECT_THAT(try_to_bind_this_thread(wanted), message);
      EXPECT_EQ(bound_cpus(), left);
    }).join();
  };
  // Linux has no cpu 4000 here: a cpuset without it would have the same effect.
  expect_binding({before.back()}, {before.back()}, IsEmpty());
  expect_binding({before.back(), 4000}, {before.back()}, Mentions({"4000", host_name()}));
  expect_binding({4000}, before, Mentions({"4000", host_name()}));
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
