#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>
#include <thread>

#include "wallheat/error.hpp"
#include "wallheat/gpu.hpp"
#include "wallheat/machine.hpp"

namespace wallheat {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Runs `check` in a child process, so that what it does to its binding or environment stays there.
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

/// What local_machine() makes of a machine that hwloc is told to imagine.
bool imagined(const char* topology, const std::function<bool(const std::vector<Core>&)>& check) {
  return holds_in_child([&] {
    setenv("HWLOC_SYNTHETIC", topology, 1);
    return check(local_machine().cores);
  });
}

TEST(LocalMachine, names_the_host_and_at_least_one_core) {
  const Machine machine = local_machine();
  EXPECT_EQ(machine.host, host_name());
  EXPECT_THAT(machine.host, Not(IsEmpty()));
  EXPECT_THAT(machine.cores, Not(IsEmpty()));
}

TEST(LocalMachine, lists_only_distinct_cpus_of_the_affinity_mask) {
  const std::vector<int> allowed = bound_cpus();
  std::set<int> seen;
  for (const Core& core : local_machine().cores) {
    EXPECT_TRUE(std::count(allowed.begin(), allowed.end(), core.cpu) == 1) << core.cpu;
    EXPECT_TRUE(seen.insert(core.cpu).second) << core.cpu;
    EXPECT_GE(core.socket, 0);
    EXPECT_GE(core.numa, 0);
  }
}

TEST(LocalMachine, sees_only_the_cpus_that_the_process_was_restricted_to) {
  for (const int cpu : bound_cpus()) {
    EXPECT_TRUE(holds_in_child([&] {
      restrict_this_process_to(cpu);
      const std::vector<Core> cores = local_machine().cores;
      return cores.size() == 1 && cores[0].cpu == cpu;
    })) << "cpu "
        << cpu;
  }
}

TEST(LocalMachine, is_not_misled_by_a_solver_thread_that_is_bound_already) {
  const Machine before = local_machine();
  Machine after;
  std::thread([&] {
    bind_this_thread({before.cores.back().cpu});
    after = local_machine();
  }).join();
  EXPECT_EQ(after, before);
}

TEST(LocalMachine, counts_the_hardware_threads_of_a_core_once) {
  EXPECT_TRUE(imagined("package:1 core:4 pu:2", [](const std::vector<Core>& cores) {
    return cores.size() == 4 && cores[1].cpu == 2;
  }));
}

TEST(LocalMachine, numbers_sockets_and_numa_nodes) {
  EXPECT_TRUE(imagined("package:2 numa:2 core:3 pu:1", [](const std::vector<Core>& cores) {
    return cores.size() == 12 && cores[5] == Core{5, 0, 1} && cores[11] == Core{11, 1, 3};
  }));
}

TEST(LocalMachine, takes_each_hardware_thread_for_a_core_where_nothing_else_is_known) {
  EXPECT_TRUE(imagined("pu:3", [](const std::vector<Core>& cores) {
    return cores == std::vector<Core>{{0, 0, 0}, {1, 0, 0}, {2, 0, 0}};
  }));
}

TEST(BindThisThread, is_read_back_from_the_system_and_leaves_other_threads_alone) {
  const std::vector<int> before = bound_cpus();
  for (const int cpu : before) {
    std::vector<int> bound;
    std::thread([&] {
      bind_this_thread({cpu});
      bound = bound_cpus();
    }).join();
    EXPECT_THAT(bound, ElementsAre(cpu));
  }
  EXPECT_EQ(bound_cpus(), before);
}

TEST(BindThisThread, takes_several_cpus_in_any_order) {
  std::vector<int> cpus = bound_cpus();
  const std::vector<int> ascending = cpus;
  std::reverse(cpus.begin(), cpus.end());
  cpus.push_back(cpus.front());
  std::vector<int> bound;
  std::thread([&] {
    bind_this_thread(cpus);
    bound = bound_cpus();
  }).join();
  EXPECT_EQ(bound, ascending);
}

TEST(BindThisThread, refuses_cpus_that_do_not_exist) {
  const std::vector<std::vector<int>> impossible = {
      {}, {-1}, {100'000}, {2'000'000'000}, {bound_cpus().front(), 100'000}};
  for (const std::vector<int>& cpus : impossible) {
    std::thread([&] { EXPECT_THROW(bind_this_thread(cpus), RunError); }).join();
  }
}

TEST(BindThisThread, names_the_cpu_and_the_host_in_its_error) {
  try {
    bind_this_thread({100'000});
    FAIL() << "no error";
  } catch (const RunError& error) {
    EXPECT_THAT(error.what(), HasSubstr("cpu 100000 of " + host_name()));
  }
}

TEST(GpuSupport, says_why_where_it_cannot_solve) {
  const GpuSupport support = gpu_support();
  EXPECT_EQ(support.reason.empty(), support.can_solve);
}

TEST(GpuSupport, decides_whether_the_machine_counts_gpus) {
  const GpuSupport support = gpu_support();
  EXPECT_EQ(local_machine().gpus, support.can_solve ? support.gpus : std::vector<Gpu>{});
}

}  // namespace
}  // namespace wallheat
