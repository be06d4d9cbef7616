#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "queue/placement.hpp"
#include "support/matchers.hpp"
#include "support/refusal.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using Cpus = std::vector<int>;

/// `sockets` sockets of `cores_each` cores, numbered through, each socket split into `numa_each`
/// nodes.
std::vector<Core> sockets_of(int sockets, int cores_each, int numa_each = 1) {
  std::vector<Core> cores;
  for (int socket = 0; socket < sockets; ++socket) {
    for (int i = 0; i < cores_each; ++i) {
      cores.push_back({.cpu = socket * cores_each + i,
                       .socket = socket,
                       .numa = socket * numa_each + i * numa_each / cores_each});
    }
  }
  return cores;
}

std::vector<Core> only(const std::vector<Core>& cores, const Cpus& cpus) {
  std::vector<Core> kept;
  for (const Core& core : cores) {
    if (std::count(cpus.begin(), cpus.end(), core.cpu) > 0) kept.push_back(core);
  }
  return kept;
}

Gpu gpu(int ordinal, const std::string& uuid, int numa = -1) {
  return {.ordinal = ordinal, .name = "test", .uuid = uuid, .memory_bytes = 1, .numa = numa};
}

/// Workers of one host that all report the same.
std::vector<Machine> alike(int workers, const std::vector<Core>& cores,
                           const std::vector<Gpu>& gpus = {}) {
  return std::vector<Machine>(static_cast<std::size_t>(workers), Machine{"n0", cores, gpus});
}

std::vector<Placement> place(const std::vector<Machine>& workers,
                             DeviceChoice device = DeviceChoice::automatic, int threads = 0) {
  return place_workers(workers, device, threads);
}

std::vector<Cpus> cpus_of(const std::vector<Placement>& placements) {
  std::vector<Cpus> all;
  for (const Placement& placement : placements) all.push_back(placement.cpus);
  return all;
}

std::vector<std::size_t> core_counts(const std::vector<Placement>& placements) {
  std::vector<std::size_t> counts;
  for (const Placement& placement : placements) counts.push_back(placement.cpus.size());
  return counts;
}

Cpus range(int first, int last) {
  Cpus cpus(static_cast<std::size_t>(last - first + 1));
  std::iota(cpus.begin(), cpus.end(), first);
  return cpus;
}

// What a reader would expect of some nodes. That all promises are kept on any node: below.

TEST(PlaceWorkers, spreads_five_workers_evenly_over_two_cores) {
  const auto placements = place(alike(5, sockets_of(1, 2)));
  EXPECT_THAT(cpus_of(placements), ElementsAre(Cpus{0}, Cpus{1}, Cpus{0}, Cpus{1}, Cpus{0}));
  EXPECT_THAT(placements, Each(Field(&Placement::shared, true)));
}

TEST(PlaceWorkers, deals_sockets_in_turn_and_splits_each_into_runs_of_neighbours) {
  EXPECT_THAT(cpus_of(place(alike(4, sockets_of(2, 16)))),
              ElementsAre(range(0, 7), range(16, 23), range(8, 15), range(24, 31)));
}

TEST(PlaceWorkers, keeps_the_workers_of_a_socket_on_numa_nodes_of_their_own) {
  // Linux often numbers cores across the nodes: 0, 4, 8, 12 on the first and so on.
  std::vector<Core> cores;
  for (int cpu = 0; cpu < 16; ++cpu) cores.push_back({.cpu = cpu, .socket = 0, .numa = cpu % 4});
  EXPECT_THAT(cpus_of(place(alike(4, cores))), ElementsAre(Cpus{0, 4, 8, 12}, Cpus{1, 5, 9, 13},
                                                           Cpus{2, 6, 10, 14}, Cpus{3, 7, 11, 15}));
}

TEST(PlaceWorkers, limits_the_threads_of_each_worker) {
  EXPECT_THAT(cpus_of(place(alike(2, sockets_of(2, 16)), DeviceChoice::cpu, 3)),
              ElementsAre(range(0, 2), range(16, 18)));
  EXPECT_THAT(cpus_of(place(alike(1, sockets_of(2, 16)), DeviceChoice::cpu, 4)),
              ElementsAre(range(0, 3)));
}

// --- cpusets

TEST(PlaceWorkers, evens_out_sockets_by_moving_the_workers_that_have_a_choice) {
  const auto cores = sockets_of(2, 4);
  const auto first_socket = only(cores, range(0, 3));
  const std::vector<Machine> workers = {
      {"n0", cores, {}}, {"n0", cores, {}}, {"n0", first_socket, {}}, {"n0", first_socket, {}}};
  EXPECT_THAT(core_counts(place(workers)), ElementsAre(2, 2, 2, 2));
}

TEST(PlaceWorkers, refuses_a_worker_without_cores) {
  EXPECT_THROW(place({{"n0", {}, {}}}), RunError);
}

// --- systems, quotas, bindings

TEST(PlaceWorkers, deals_two_hosts_of_one_name_on_their_own) {
  std::vector<Machine> workers = alike(2, sockets_of(1, 4));
  workers[0].system = "boot 1";
  workers[1].system = "boot 2";
  EXPECT_THAT(cpus_of(place(workers)), ElementsAre(range(0, 3), range(0, 3)));
}

TEST(PlaceWorkers, deals_containers_of_one_system_together_whatever_their_names) {
  std::vector<Machine> workers = alike(2, sockets_of(1, 4));
  workers[1].host = "another name";
  for (Machine& worker : workers) worker.system = "boot 1";
  EXPECT_THAT(cpus_of(place(workers)), ElementsAre(range(0, 1), range(2, 3)));
  workers[0].cores = only(workers[0].cores, {0, 1, 2});  // cpusets of their own
  workers[1].cores = only(workers[1].cores, {3});
  EXPECT_THAT(cpus_of(place(workers)), ElementsAre(range(0, 2), range(3, 3)));
}

std::vector<int> threads_of(const std::vector<Placement>& placements) {
  std::vector<int> threads;
  for (const Placement& placement : placements)
    threads.push_back(placement.threads.value_or(static_cast<int>(placement.cpus.size())));
  return threads;
}

TEST(PlaceWorkers, gives_a_thread_to_each_core_where_there_is_no_quota) {
  std::vector<Machine> workers = alike(3, sockets_of(1, 16));
  EXPECT_THAT(threads_of(place(workers)), ElementsAre(6, 5, 5));
  for (Machine& worker : workers) worker.quotas = {{7, 16.0}};
  EXPECT_THAT(place(workers), Each(Field(&Placement::limit, "")));
}

TEST(PlaceWorkers, shares_a_cpu_quota_rounded_up_among_the_workers_of_its_group) {
  std::vector<Machine> workers = alike(3, sockets_of(1, 16));
  for (Machine& worker : workers) worker.quotas = {{7, 3.5}};
  const auto placements = place(workers);
  EXPECT_THAT(threads_of(placements), ElementsAre(2, 1, 1));
  EXPECT_THAT(core_counts(placements), ElementsAre(6, 5, 5)) << "threads may use any core";
  EXPECT_EQ(placements[0].limit, "a CPU quota of 3.5 for 3 workers lets it have 2 threads");
  EXPECT_EQ(placements[2].limit, "a CPU quota of 3.5 for 3 workers lets it have 1 thread");
}

TEST(PlaceWorkers, gives_every_worker_a_thread_however_small_the_quota) {
  std::vector<Machine> workers = alike(3, sockets_of(1, 16));
  for (Machine& worker : workers) worker.quotas = {{7, 0.5}};
  EXPECT_THAT(threads_of(place(workers)), ElementsAre(1, 1, 1));
}

TEST(PlaceWorkers, keeps_groups_within_groups_to_their_quotas) {
  std::vector<Machine> workers = alike(3, sockets_of(1, 30));
  for (Machine& worker : workers) worker.quotas = {{1, 12.0}};
  workers[0].quotas.push_back({2, 2.0});
  EXPECT_THAT(threads_of(place(workers)), ElementsAre(2, 5, 5));
}

TEST(PlaceWorkers, leaves_the_threads_of_a_gpu_out_of_account) {
  std::vector<Machine> workers = alike(2, sockets_of(1, 16), {gpu(0, "GPU-a")});
  for (Machine& worker : workers) worker.quotas = {{7, 3.0}};
  const auto placements = place(workers);
  EXPECT_FALSE(placements[0].threads);
  EXPECT_EQ(placements[1].threads, 3);
}

TEST(PlaceWorkers, leaves_what_a_worker_cannot_use_of_a_quota_to_the_others) {
  const std::vector<Core> cores = sockets_of(1, 8);
  std::vector<Machine> workers = {{"n0", only(cores, {0}), {}},
                                  {"n0", only(cores, range(1, 7)), {}}};
  for (Machine& worker : workers) worker.quotas = {{7, 6.0}};
  EXPECT_THAT(threads_of(place(workers)), ElementsAre(1, 5));
}

TEST(PlaceWorkers, warns_where_workers_were_bound_to_few_of_many_cores) {
  std::vector<Machine> workers = alike(2, only(sockets_of(1, 64), {3}));
  workers[1].cores = only(sockets_of(1, 64), {4});
  for (Machine& worker : workers) worker.host_cores = 64;
  EXPECT_THAT(place(workers),
              Each(Field(&Placement::limit, AllOf(HasSubstr("only 2 of its 64 cores"),
                                                  HasSubstr("mpirun --bind-to none")))));
  EXPECT_THAT(place_workers(workers, DeviceChoice::cpu, 0, false),
              Each(Field(&Placement::limit, AllOf(HasSubstr("only 2 of its 64 cores"),
                                                  testing::Not(HasSubstr("bind-to"))))))
      << "it was given";
}

TEST(PlaceWorkers, does_not_warn_where_the_workers_together_have_most_cores) {
  // mpirun has bound each rank to a core; rank 0 has the first.
  std::vector<Machine> workers;
  for (int cpu = 1; cpu < 8; ++cpu) workers.push_back({"n0", only(sockets_of(1, 8), {cpu}), {}});
  for (Machine& worker : workers) worker.host_cores = 8;
  EXPECT_THAT(place(workers), Each(Field(&Placement::limit, "")));
}

// --- GPUs

/// Two sockets of 8 cores with two NUMA nodes each; GPU i hangs on node i / 2, the last ones first.
std::vector<Gpu> eight_gpus() {
  std::vector<Gpu> gpus;
  for (int i = 0; i < 8; ++i) gpus.push_back(gpu(i, "GPU-" + std::to_string(i), 3 - i / 2));
  return gpus;
}

TEST(PlaceWorkers, gives_four_workers_a_gpu_each_and_the_cores_near_it) {
  const auto placements = place(alike(4, sockets_of(2, 8, 2), eight_gpus()));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(placements[static_cast<std::size_t>(i)].gpu, i);
  EXPECT_THAT(cpus_of(placements),
              ElementsAre(Cpus{12, 13}, Cpus{14, 15}, Cpus{8, 9}, Cpus{10, 11}))
      << "all of the socket, each its node's";
}

TEST(PlaceWorkers, gives_a_lone_gpu_worker_the_socket_of_its_gpu) {
  const auto cores = sockets_of(2, 8);
  EXPECT_THAT(cpus_of(place(alike(1, cores, {gpu(0, "GPU-a", 1)}))), ElementsAre(range(8, 15)));
  EXPECT_THAT(cpus_of(place(alike(1, cores, {gpu(0, "GPU-a", -1)}))), ElementsAre(range(0, 7)))
      << "any, where nobody knows which is near";
}

TEST(PlaceWorkers, limits_the_cores_that_feed_a_gpu) {
  EXPECT_THAT(
      cpus_of(place(alike(1, sockets_of(2, 8), {gpu(0, "GPU-a", 1)}), DeviceChoice::gpu, 3)),
      ElementsAre(Cpus{8, 9, 10}));
}

TEST(PlaceWorkers, splits_a_socket_evenly_between_those_with_and_those_without_a_gpu) {
  // Three workers to two GPUs: the third goes where there is more room.
  const auto cores = sockets_of(2, 6);
  const std::vector<Gpu> gpus = {gpu(0, "GPU-a", 0), gpu(1, "GPU-b", 0)};
  EXPECT_EQ(
      place(alike(3, cores, gpus)),
      (std::vector<Placement>{
          {{0, 1, 2}, 0, false}, {{3, 4, 5}, 1, false}, {range(6, 11), std::nullopt, false}}));
  EXPECT_EQ(place(alike(4, cores, {gpu(0, "GPU-a", 0)})),
            (std::vector<Placement>{{{0, 1, 2}, 0, false},
                                    {{6, 7, 8}, std::nullopt, false},
                                    {{3, 4, 5}, std::nullopt, false},
                                    {{9, 10, 11}, std::nullopt, false}}));
}

TEST(PlaceWorkers, leaves_the_workers_beyond_the_gpus_their_share_of_cores) {
  const auto placements = place(alike(10, sockets_of(2, 16, 2), eight_gpus()));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(placements[static_cast<std::size_t>(i)].gpu, i);
  EXPECT_THAT(core_counts(placements), ElementsAre(4, 3, 3, 3, 4, 3, 3, 3, 3, 3));
  EXPECT_EQ(placements[8], (Placement{{6, 7, 15}, std::nullopt, false}));
  EXPECT_EQ(placements[9], (Placement{{22, 23, 31}, std::nullopt, false}));
}

TEST(PlaceWorkers, prefers_the_gpu_near_the_cores_of_a_confined_worker) {
  const auto cores = sockets_of(2, 4);
  const std::vector<Gpu> gpus = {gpu(0, "GPU-a", 0), gpu(1, "GPU-b", 1)};
  const std::vector<Machine> workers = {{"n0", only(cores, range(4, 7)), gpus},
                                        {"n0", only(cores, range(0, 3)), gpus}};
  const auto placements = place(workers);
  EXPECT_EQ(placements[0].gpu, 1);
  EXPECT_EQ(placements[1].gpu, 0);
}

TEST(PlaceWorkers, says_who_gets_no_gpu_and_why_where_one_is_demanded) {
  const auto error_of = [](const std::vector<Machine>& workers) {
    return refusal_of<RunError>([&] { (void)place(workers, DeviceChoice::gpu); });
  };
  std::vector<Machine> workers = alike(2, sockets_of(1, 2), {gpu(0, "GPU-a")});
  workers.insert(workers.begin(), Machine{"m7", sockets_of(1, 2), {gpu(0, "GPU-a")}});
  EXPECT_THAT(error_of(workers), AllOf(HasSubstr("worker 2"), HasSubstr("host n0")));
  std::vector<Machine> without = alike(1, sockets_of(1, 2));
  without[0].no_gpu = "the driver is asleep";
  EXPECT_THAT(error_of(without), HasSubstr("the driver is asleep"));
}

// --- any topology

struct Job {
  std::vector<Machine> workers;
  DeviceChoice device = DeviceChoice::automatic;
  int thread_limit = 0;
};

class RandomJobs {
 public:
  explicit RandomJobs(unsigned seed) : random_(seed) {}

  Job next() {
    Job job{.workers = {},
            .device = up_to(3) == 0 ? DeviceChoice::cpu : DeviceChoice::automatic,
            .thread_limit = up_to(1) == 0 ? 0 : up_to(4)};
    for (int host = up_to(2); host >= 0; --host) add_host(job, "n" + std::to_string(host));
    std::shuffle(job.workers.begin(), job.workers.end(), random_);
    return job;
  }

 private:
  int up_to(int most) { return std::uniform_int_distribution<int>(0, most)(random_); }

  template <typename T>
  std::vector<T> some_of(const std::vector<T>& all, int sparsity) {
    std::vector<T> some;
    for (const T& one : all) {
      if (up_to(sparsity) == 0) some.push_back(one);
    }
    return some;
  }

  void add_host(Job& job, const std::string& host) {
    const int numa_each = 1 + up_to(1);
    const auto cores = some_of(sockets_of(1 + up_to(3), 1 + up_to(5), numa_each), 0);
    std::vector<Gpu> gpus;
    for (int i = up_to(4); i > 0; --i) gpus.push_back(gpu(i, std::to_string(i), up_to(8) - 1));
    const int core_sparsity = up_to(4);  // 0: all workers see all
    const int gpu_sparsity = up_to(2);
    for (int worker = up_to(7); worker >= 0; --worker) {
      Machine machine{host, some_of(cores, core_sparsity), some_of(gpus, gpu_sparsity)};
      if (machine.cores.empty()) machine.cores.push_back(cores[0]);
      for (int i = 0; i < static_cast<int>(machine.gpus.size()); ++i) {
        machine.gpus[static_cast<std::size_t>(i)].ordinal = i;
      }
      job.workers.push_back(machine);
    }
  }

  std::mt19937 random_;
};

/// By Hall's theorem and its deficiency form: the number of members that go without when each may
/// have one of its `choices` and no two the same. Tries all subsets, unlike the code under test.
template <typename T>
int how_many_go_without(const std::vector<std::set<T>>& choices) {
  int worst = 0;
  for (unsigned subset = 0; subset < 1U << choices.size(); ++subset) {
    std::set<T> together;
    for (std::size_t i = 0; i < choices.size(); ++i) {
      if ((subset >> i & 1U) != 0) together.insert(choices[i].begin(), choices[i].end());
    }
    worst = std::max(worst, std::popcount(subset) - static_cast<int>(together.size()));
  }
  return worst;
}

/// One host of a job as the invariants see it.
struct HostView {
  std::vector<std::set<int>> usable;           ///< per worker: cpus
  std::vector<std::set<std::string>> visible;  ///< per worker: uuids
  std::vector<const Machine*> machines;
  std::vector<const Placement*> shares;
  std::map<int, int> users;  ///< cpu -> workers that got it
};

std::vector<HostView> view_by_host(const Job& job, const std::vector<Placement>& placements) {
  std::map<std::string, HostView> hosts;
  for (std::size_t i = 0; i < job.workers.size(); ++i) {
    HostView& host = hosts[job.workers[i].host];
    host.usable.emplace_back();
    host.visible.emplace_back();
    for (const Core& core : job.workers[i].cores) host.usable.back().insert(core.cpu);
    for (const Gpu& one : job.workers[i].gpus) host.visible.back().insert(one.uuid);
    host.machines.push_back(&job.workers[i]);
    host.shares.push_back(&placements[i]);
    for (const int cpu : placements[i].cpus) ++host.users[cpu];
  }
  std::vector<HostView> views;
  for (auto& [name, host] : hosts) views.push_back(std::move(host));
  return views;
}

void check_cores(const HostView& host, int thread_limit) {
  int shared_beyond_one = 0;
  for (const auto& [cpu, users] : host.users) shared_beyond_one += users - 1;
  EXPECT_EQ(shared_beyond_one, how_many_go_without(host.usable)) << "sharing without need";
  for (std::size_t i = 0; i < host.shares.size(); ++i) {
    const Placement& share = *host.shares[i];
    const auto most = static_cast<std::size_t>(thread_limit == 0 ? 1000 : thread_limit);
    EXPECT_GE(share.cpus.size(), 1U);
    EXPECT_LE(share.cpus.size(), most);
    EXPECT_EQ(std::set<int>(share.cpus.begin(), share.cpus.end()).size(), share.cpus.size());
    bool shares_a_core = false;
    for (const int cpu : share.cpus) {
      EXPECT_TRUE(host.usable[i].contains(cpu)) << "cpu " << cpu << " is outside the cpuset";
      shares_a_core = shares_a_core || host.users.at(cpu) > 1;
    }
    EXPECT_EQ(share.shared, shares_a_core);
    if (share.cpus.size() == most || share.gpu) continue;
    for (const int cpu : host.usable[i]) {
      EXPECT_TRUE(host.users.contains(cpu)) << "cpu " << cpu << " is idle";
    }
  }
}

void check_gpus(const HostView& host, DeviceChoice device) {
  std::set<std::string> taken;
  std::vector<std::set<std::string>> ahead;  // the workers so far
  int without = 0;
  for (std::size_t i = 0; i < host.shares.size(); ++i) {
    ahead.push_back(host.visible[i]);
    const std::optional<int> ordinal = host.shares[i]->gpu;
    if (ordinal) {
      const Gpu& mine = host.machines[i]->gpus.at(static_cast<std::size_t>(*ordinal));
      EXPECT_TRUE(taken.insert(mine.uuid).second) << "two workers on GPU " << mine.uuid;
    } else {
      ++without;
    }
    if (device == DeviceChoice::cpu) {
      EXPECT_FALSE(ordinal);
    } else {
      EXPECT_EQ(without, how_many_go_without(ahead)) << "not the first workers, or a GPU is idle";
    }
  }
}

TEST(PlaceWorkers, keeps_its_promises_on_random_topologies) {
  RandomJobs jobs(20240611);
  for (int trial = 0; trial < 3000 && !testing::Test::HasFailure(); ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    const Job job = jobs.next();
    const auto placements = place_workers(job.workers, job.device, job.thread_limit);
    ASSERT_EQ(placements.size(), job.workers.size());
    ASSERT_EQ(placements, place_workers(job.workers, job.device, job.thread_limit));
    for (const HostView& host : view_by_host(job, placements)) {
      check_cores(host, job.thread_limit);
      check_gpus(host, job.device);
    }
  }
}

TEST(PlaceWorkers, splits_any_regular_node_evenly_among_workers_that_see_all_of_it) {
  for (int sockets = 1; sockets <= 4; ++sockets) {
    for (int cores_each = 1; cores_each <= 9; ++cores_each) {
      for (int workers = 1; workers <= sockets * cores_each; ++workers) {
        SCOPED_TRACE(testing::Message() << sockets << " x " << cores_each << ", " << workers);
        const auto placements = place(alike(workers, sockets_of(sockets, cores_each)));
        std::map<int, std::vector<int>> core_counts_on;  // first socket -> cores of each worker
        std::size_t dealt = 0;
        for (const Placement& share : placements) {
          const int count = static_cast<int>(share.cpus.size());
          core_counts_on[share.cpus.front() / cores_each].push_back(count);
          dealt += share.cpus.size();
          const bool one_socket = share.cpus.front() / cores_each == share.cpus.back() / cores_each;
          EXPECT_TRUE(one_socket || (workers < sockets && count % cores_each == 0));
        }
        EXPECT_EQ(dealt, static_cast<std::size_t>(sockets * cores_each));
        EXPECT_EQ(core_counts_on.size(), static_cast<std::size_t>(std::min(workers, sockets)));
        std::size_t fewest = placements.size();
        std::size_t most = 0;
        for (const auto& [socket, counts] : core_counts_on) {
          const auto [low, high] = std::minmax_element(counts.begin(), counts.end());
          EXPECT_LE(*high - *low, workers < sockets ? cores_each : 1);
          fewest = std::min(fewest, counts.size());
          most = std::max(most, counts.size());
        }
        EXPECT_LE(most - fewest, 1U) << "sockets dealt unevenly";
      }
    }
  }
}

TEST(PlaceWorkers, places_a_large_job_in_a_moment) {
  std::vector<Machine> workers;
  for (int host = 0; host < 50; ++host) {
    for (int i = 0; i < 128; ++i) {
      workers.push_back({"n" + std::to_string(host), sockets_of(2, 64, 4), {}});
    }
  }
  EXPECT_THAT(place(workers),
              Each(AllOf(Field(&Placement::cpus, SizeIs(1)), Field(&Placement::shared, false))));
}

}  // namespace
}  // namespace wallheat
