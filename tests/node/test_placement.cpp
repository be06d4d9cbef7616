#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "node/placement.hpp"
#include "support/error_message.hpp"
#include "support/matchers.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using Cpus = std::vector<int>;

/// Returns the cores of `sockets` sockets with `cores_each` cores and `numa_each` NUMA nodes each,
/// numbered consecutively.
std::vector<Core> sockets_of(int sockets, int cores_each, int numa_each = 1) {
  std::vector<Core> cores;
  for (int cpu = 0; cpu < sockets * cores_each; ++cpu)
    cores.push_back({cpu, cpu / cores_each, cpu * numa_each / cores_each});
  return cores;
}

Cpus range(int first, int last) {
  Cpus cpus(static_cast<std::size_t>(last - first + 1));
  std::iota(cpus.begin(), cpus.end(), first);
  return cpus;
}

/// Returns GPUs; GPU i is near NUMA node nodes[i].
std::vector<Gpu> gpus_near(const std::vector<int>& nodes) {
  std::vector<Gpu> gpus;
  for (const int numa : nodes) {
    const int ordinal = static_cast<int>(gpus.size());
    gpus.push_back({ordinal, "test", "GPU-" + std::to_string(ordinal), 1, numa});
  }
  return gpus;
}

/// Returns the machines of workers on the same host with the same CPUs and GPUs.
std::vector<Machine> alike(int workers, const std::vector<Core>& cores,
                           const std::vector<Gpu>& gpus = {}) {
  return std::vector<Machine>(static_cast<std::size_t>(workers), Machine{"n0", cores, gpus});
}

/// Returns the machines of workers that are bound to these of 16 cores.
std::vector<Machine> bound_to(const std::vector<Cpus>& cpus, const std::vector<Gpu>& gpus = {}) {
  std::vector<Machine> workers = alike(static_cast<int>(cpus.size()), {}, gpus);
  for (std::size_t i = 0; i < cpus.size(); ++i)
    for (const int cpu : cpus[i]) workers[i].cores.push_back({cpu, cpu / 8, cpu / 8});
  for (Machine& worker : workers) worker.host_cores = 16;
  return workers;
}

std::vector<Placement> place(const std::vector<Machine>& workers, int threads = 0) {
  return place_workers(workers, DeviceChoice::automatic, threads);
}

std::vector<Cpus> cpus_of(const std::vector<Placement>& placements) {
  std::vector<Cpus> all;
  for (const Placement& each : placements) all.push_back(each.cpus);
  return all;
}

std::vector<std::size_t> threads_with_quota(std::vector<Machine> workers, double cpus) {
  for (Machine& worker : workers) worker.quotas = {{7, cpus}};
  std::vector<std::size_t> threads;
  for (const Placement& each : place(workers)) threads.push_back(solver_count(each));
  return threads;
}

TEST(PlaceWorkers, DividesRegularNodesEvenly) {
  for (int sockets = 1; sockets <= 4; ++sockets) {
    for (int cores_each = 1; cores_each <= 9; ++cores_each) {
      for (int workers = 1; workers <= sockets * cores_each; ++workers) {
        SCOPED_TRACE(testing::Message() << sockets << " x " << cores_each << ", " << workers);
        std::set<int> dealt;
        std::map<int, std::vector<std::size_t>> counts;  // by socket, of each worker
        for (const Placement& share : place(alike(workers, sockets_of(sockets, cores_each)))) {
          const int socket = share.cpus.front() / cores_each;
          counts[socket].push_back(share.cpus.size());
          EXPECT_FALSE(share.shares_cores);
          EXPECT_TRUE(workers < sockets || share.cpus.back() / cores_each == socket);
          for (const int cpu : share.cpus)
            EXPECT_TRUE(dealt.insert(cpu).second) << "twice: " << cpu;
        }
        EXPECT_THAT(dealt, SizeIs(sockets * cores_each));
        std::set<std::size_t> workers_of_socket;
        for (const auto& [socket, each] : counts) {
          workers_of_socket.insert(each.size());
          const auto [low, high] = std::minmax_element(each.begin(), each.end());
          EXPECT_LE(*high - *low, 1U);
        }
        EXPECT_LE(*workers_of_socket.rbegin() - *workers_of_socket.begin(), 1U);
      }
    }
  }
}

TEST(PlaceWorkers, SeparatesWorkersByNumaNode) {
  std::vector<Core> cores;
  for (int cpu = 0; cpu < 8; ++cpu) cores.push_back({cpu, 0, cpu % 2});
  EXPECT_THAT(cpus_of(place(alike(2, cores))), ElementsAre(Cpus{0, 2, 4, 6}, Cpus{1, 3, 5, 7}));
}

TEST(PlaceWorkers, SharesCoresOnlyWhenThereAreTooFew) {
  const auto placements = place(alike(3, sockets_of(1, 2)));
  EXPECT_THAT(cpus_of(placements), ElementsAre(Cpus{0}, Cpus{0}, Cpus{1}));
  EXPECT_TRUE(placements[0].shares_cores && placements[1].shares_cores &&
              !placements[2].shares_cores);
}

TEST(PlaceWorkers, LimitsCoresPerWorker) {
  EXPECT_THAT(cpus_of(place(alike(2, sockets_of(2, 16)), 3)),
              ElementsAre(range(0, 2), range(16, 18)));
  EXPECT_THAT(cpus_of(place(alike(1, sockets_of(2, 8), gpus_near({1})), 3)),
              ElementsAre(Cpus{8, 9, 10}));
}

TEST(PlaceWorkers, KeepsCpuSetsOfLauncher) {
  EXPECT_THAT(cpus_of(place(bound_to({{4, 5}, {8}, {6, 7}}))),
              ElementsAre(Cpus{4, 5}, Cpus{8}, Cpus{6, 7}));
  EXPECT_THAT(cpus_of(place(bound_to({range(8, 15), range(0, 7), range(8, 15)}))),
              ElementsAre(range(8, 11), range(0, 7), range(12, 15)));
  EXPECT_THAT(cpus_of(place(bound_to({{1, 2, 3, 9}, {1, 2, 3, 9}}))),
              ElementsAre(Cpus{1, 2, 3}, Cpus{9}))
      << "on two sockets";
}

TEST(PlaceWorkers, WarnsWhenBindingLeavesCoresUnused) {
  const auto workers = bound_to({range(1, 4), range(5, 8)});
  EXPECT_THAT(place(workers), Each(Field(&Placement::core_limit_reason,
                                         Mentions({"8", "16", "mpirun --bind-to none"}))));
  EXPECT_THAT(place_workers(workers, DeviceChoice::cpu, 0, false).front().core_limit_reason,
              AllOf(Mentions({"8", "16"}), Not(Mentions("--bind-to"))));
  EXPECT_EQ(place(bound_to({range(1, 8), {9}})).front().core_limit_reason, "") << "most are used";
}

TEST(PlaceWorkers, SharesCpuQuotaWithinGroup) {
  std::vector<Machine> workers = alike(3, sockets_of(1, 16));
  EXPECT_THAT(threads_with_quota(workers, 3.5), ElementsAre(2, 1, 1));
  EXPECT_THAT(threads_with_quota(workers, 0.5), ElementsAre(1, 1, 1));
  EXPECT_THAT(threads_with_quota(workers, 16), ElementsAre(5, 5, 6));
  EXPECT_THAT(threads_with_quota(bound_to({{0}, range(1, 7)}), 6), ElementsAre(1, 5));
  EXPECT_THAT(threads_with_quota(alike(2, sockets_of(1, 16), gpus_near({0})), 3), ElementsAre(8, 3))
      << "GPU workers are not limited";
  for (std::size_t i = 0; i < 3; ++i) workers[i].quotas = {{i, 2.5}};  // one container per worker
  EXPECT_THAT(place(workers), Each(Field(&Placement::core_limit_reason,
                                         Mentions({"CPU quota", "2.5", "1 worker", "3 threads"}))));
}

/// Returns the machines of workers whose job has some of 16 cores in two sockets.
std::vector<Machine> workers_of_job(int workers, int cores, const std::vector<Gpu>& gpus = {}) {
  std::vector<Machine> machines = alike(workers, sockets_of(2, 8), gpus);
  for (Machine& machine : machines) machine.job_cores = {cores, "SLOTS=" + std::to_string(cores)};
  return machines;
}

TEST(PlaceWorkers, DividesCoresOfJobWithoutBinding) {
  const auto threads = [](const std::vector<Placement>& placements) {
    std::vector<std::size_t> counts;
    for (const Placement& each : placements) counts.push_back(solver_count(each));
    return counts;
  };
  const auto placements = place(workers_of_job(3, 7));
  EXPECT_THAT(threads(placements), ElementsAre(3, 2, 2));
  EXPECT_THAT(cpus_of(placements), Each(range(0, 15))) << "other jobs have some of the cores";
  EXPECT_THAT(placements, Each(Field(&Placement::thread_count_source,
                                     Mentions({"7", "16 cores", "SLOTS=7", "3 workers"}))));
  EXPECT_THAT(placements, Each(Field(&Placement::core_limit_reason, IsEmpty())));
  EXPECT_THAT(threads(place(workers_of_job(3, 2))), ElementsAre(1, 1, 1));
}

TEST(PlaceWorkers, BindsWorkersOfJobWithWholeNode) {
  for (const int cores : {0, 16, 32}) {
    const auto placements = place(workers_of_job(2, cores));
    EXPECT_THAT(cpus_of(placements), ElementsAre(range(0, 7), range(8, 15))) << cores;
    EXPECT_THAT(placements, Each(Field(&Placement::thread_count_source, IsEmpty())));
  }
}

TEST(PlaceWorkers, PrefersGivenThreadsToCoresOfJob) {
  const auto placements = place(workers_of_job(2, 4), 6);
  for (const Placement& each : placements) EXPECT_EQ(solver_count(each), 6U);
  EXPECT_THAT(cpus_of(placements), Each(range(0, 15)));
}

TEST(PlaceWorkers, AppliesQuotaWithinCoresOfJob) {
  std::vector<Machine> workers = workers_of_job(2, 6);
  for (Machine& worker : workers) worker.quotas = {{7, 2}};
  for (const Placement& each : place(workers)) EXPECT_EQ(solver_count(each), 1U);
}

TEST(PlaceWorkers, KeepsCoresNearGpuInJobWithPartOfNode) {
  const auto placements = place(workers_of_job(2, 4, gpus_near({1})));
  EXPECT_EQ(placements[0].gpu, 0);
  EXPECT_THAT(placements[0].cpus, range(8, 15));
  EXPECT_EQ(solver_count(placements[0]), 2U) << "on the CPU, should the GPU fail";
  EXPECT_EQ(solver_count(placements[1]), 2U);
}

TEST(PlaceWorkers, AssignsGpusWithNearbyCores) {
  const auto placements = place(alike(6, sockets_of(2, 8, 2), gpus_near({3, 2, 1, 0})));
  for (int i = 0; i < 4; ++i) {
    const Placement& share = placements[static_cast<std::size_t>(i)];
    EXPECT_EQ(share.gpu, i);
    EXPECT_EQ(share.cpus.front() / 4, 3 - i);
    EXPECT_EQ(share.cpus.front() / 8, share.cpus.back() / 8) << "on one socket";
  }
  EXPECT_EQ(placements[5].gpu, std::nullopt);
  EXPECT_THAT(placements[5].no_gpu_reason, Not(IsEmpty()));
  EXPECT_EQ(place_workers(alike(1, sockets_of(1, 1), gpus_near({0})), DeviceChoice::cpu, 0)[0].gpu,
            std::nullopt);
}

TEST(PlaceWorkers, AssignsSocketCoresWhenNumaNodeIsSmall) {
  std::vector<int> sockets;
  for (const Placement& share : place(alike(4, sockets_of(2, 8, 2), gpus_near({3, 3, 1, 1}))))
    sockets.push_back(share.cpus.front() / 8);
  EXPECT_THAT(sockets, ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(place(alike(1, sockets_of(2, 8), gpus_near({1})))[0].cpus, range(8, 15));
  EXPECT_THAT(place(alike(1, sockets_of(2, 8), gpus_near({-1})))[0].cpus, range(0, 7))
      << "its NUMA node is unknown";
}

TEST(PlaceWorkers, AssignsNearestGpuToBoundWorker) {
  const auto placements = place(bound_to({range(8, 15), range(0, 7)}, gpus_near({0, 1})));
  EXPECT_EQ(placements[0].gpu, 1);
  EXPECT_EQ(placements[1].gpu, 0);
  std::vector<Machine> workers = alike(2, sockets_of(1, 4), gpus_near({0}));
  workers[1].gpus[0].uuid = "GPU-of-its-own";
  EXPECT_THAT(place(workers), Each(Field(&Placement::gpu, std::optional(0))));
}

TEST(PlaceWorkers, NamesWorkerWithoutGpuWhenGpuIsRequired) {
  const auto error_message = [](const std::vector<Machine>& workers) {
    return error_message_of<RunError>([&] { (void)place_workers(workers, DeviceChoice::gpu, 0); });
  };
  EXPECT_THAT(error_message(alike(2, sockets_of(1, 2), gpus_near({0}))),
              Mentions({"worker 2", "n0", "GPU", "1", "2 workers"}));
  std::vector<Machine> without = alike(1, sockets_of(1, 2));
  without[0].no_gpu_reason = "the driver is missing";
  EXPECT_THAT(error_message(without), Mentions({"worker 1", "n0", "the driver is missing"}));
}

}  // namespace
}  // namespace wallheat
