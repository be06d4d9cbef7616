#include <gmock/gmock.h>

#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "queue/coordinator.hpp"
#include "queue/local_link.hpp"
#include "queue/worker.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using testing::HasSubstr;

class MemorySink final : public ResultSink {
 public:
  void store(std::span<const PlanResult> results) override {
    if (fail_) throw RunError("the disk is full");
    for (const PlanResult& result : results) stored_[result.id].push_back(result);
  }
  void publish() override {}

  std::map<std::string, std::vector<PlanResult>> stored_;
  bool fail_ = false;
};

class Recorder final : public RunObserver {
 public:
  void on_workers_ready(const std::vector<WorkerInfo>& workers) override { workers_ = workers; }
  void on_leased(const WorkerInfo&, const Task&) override { ++leased_; }
  void on_started(const WorkerInfo&, const Task&) override {
    if (++started_ == interrupt_after_) interrupted_ = true;
  }
  void on_stored(const PlanResult&) override { ++stored_; }
  void on_worker_left(const WorkerInfo& worker, const std::string& reason) override {
    left_[worker.rank] = reason;
  }
  void on_interrupted() override {}
  void on_tick(double) override {}

  std::vector<WorkerInfo> workers_;
  std::map<int, std::string> left_;
  int leased_ = 0;
  int started_ = 0;
  int stored_ = 0;
  int interrupt_after_ = -1;
  std::atomic<bool> interrupted_ = false;
};

/// A run of threads that stand for ranks, with a job of the test's choice.
class LocalRun {
 public:
  using MakeJob = std::function<PlanJob(int rank, std::size_t thread)>;

  LocalRun(int workers, int plans, MakeJob make_job) : network_(workers + 1) {
    for (int plan = 0; plan < plans; ++plan) {
      parts_.plans.push_back(
          {{static_cast<std::uint32_t>(plan), "plan" + std::to_string(plan)}, 0});
    }
    parts_.sink = &sink_;
    parts_.observer = &recorder_;
    parts_.interrupted = [this] { return recorder_.interrupted_.load(); };
    for (int rank = 1; rank <= workers; ++rank) {
      threads_.emplace_back([this, rank, make_job] {
        WorkerParts worker;
        worker.machine = {"host", {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {3, 0, 0}}, {}};
        worker.device_name = [](const Placement&) { return std::string("test"); };
        worker.interrupted = [this] { return worker_interrupted_.load(); };
        worker.prepare_thread = [=](const Placement& placement, std::size_t thread) {
          return ThreadParts{make_job(rank, thread), {placement.cpus.at(thread)}};
        };
        run_worker(*network_.link(rank), worker);
      });
    }
  }

  RunEnd run() {
    const auto link = network_.link(0);
    try {
      const RunEnd end = coordinate(*link, parts_);
      dismiss_workers(*link);
      return end;
    } catch (...) {
      dismiss_workers(*link);
      throw;
    }
  }

  std::atomic<bool> worker_interrupted_ = false;
  LocalNetwork network_;
  MemorySink sink_;
  Recorder recorder_;
  CoordinatorParts parts_;
  std::vector<std::jthread> threads_;
};

PlanResult solved(const Task& task) {
  PlanResult result;
  result.index = task.index;
  result.id = task.id;
  result.status = PlanStatus::converged;
  return result;
}

PlanJob quick_job(int, std::size_t) {
  return [](const Task& task, const Watch&) { return solved(task); };
}

/// A job that runs until it is stopped.
PlanJob endless_job(int, std::size_t) {
  return [](const Task& task, const Watch& watch) {
    std::atomic<bool> stopped = false;
    const std::stop_callback wake(watch.stop, [&] {
      stopped = true;
      stopped.notify_all();
    });
    stopped.wait(false);
    PlanResult result = solved(task);
    result.status = PlanStatus::pending;
    return result;
  };
}

TEST(Coordinator, stores_every_plan_once) {
  for (const int workers : {1, 2, 5}) {
    LocalRun run(workers, 3000, quick_job);
    EXPECT_EQ(run.run(), RunEnd::finished);
    EXPECT_EQ(run.sink_.stored_.size(), 3000U);
    for (const auto& [id, results] : run.sink_.stored_) {
      ASSERT_EQ(results.size(), 1U) << id;
      ASSERT_EQ(results[0].attempts, 1) << id;
      ASSERT_TRUE(results[0].rank >= 1 && results[0].rank <= workers) << id;
    }
    EXPECT_EQ(run.recorder_.stored_, 3000);
    EXPECT_EQ(run.recorder_.started_, 3000);
    EXPECT_GE(run.recorder_.leased_, 3000);
  }
}

TEST(Coordinator, gives_workers_of_a_host_cores_without_overlap) {
  LocalRun run(2, 10, quick_job);
  (void)run.run();
  std::vector<int> cpus;
  for (const WorkerInfo& worker : run.recorder_.workers_) {
    cpus.insert(cpus.end(), worker.bound_cpus.begin(), worker.bound_cpus.end());
  }
  EXPECT_THAT(cpus, testing::UnorderedElementsAre(0, 1, 2, 3));
}

TEST(Coordinator, stops_with_what_is_done_when_interrupted) {
  LocalRun run(2, 100, endless_job);
  run.recorder_.interrupt_after_ = 3;
  EXPECT_EQ(run.run(), RunEnd::interrupted);
  EXPECT_TRUE(run.sink_.stored_.empty());
  EXPECT_EQ(run.recorder_.left_.size(), 2U);
}

TEST(Coordinator, stops_too_when_the_signal_reaches_the_workers_alone) {
  LocalRun run(2, 100, endless_job);
  run.worker_interrupted_ = true;
  EXPECT_EQ(run.run(), RunEnd::interrupted);
  EXPECT_EQ(run.recorder_.left_.size(), 2U);
}

TEST(Coordinator, gives_the_plans_of_a_worker_that_cannot_start_to_the_others) {
  LocalRun run(3, 50, [](int rank, std::size_t thread) {
    if (rank == 2) throw RunError("no solver for this worker");
    return quick_job(rank, thread);
  });
  EXPECT_EQ(run.run(), RunEnd::finished);
  EXPECT_EQ(run.sink_.stored_.size(), 50U);
  EXPECT_EQ(run.recorder_.workers_.size(), 2U);
}

TEST(Coordinator, fails_with_the_reason_when_no_worker_can_start) {
  LocalRun run(2, 5, [](int, std::size_t) -> PlanJob { throw RunError("no solver anywhere"); });
  try {
    (void)run.run();
    FAIL() << "it went on without workers";
  } catch (const RunError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no solver anywhere"));
  }
}

TEST(Coordinator, sends_the_workers_home_when_the_sink_fails) {
  LocalRun run(3, 100, quick_job);
  run.sink_.fail_ = true;
  EXPECT_THROW((void)run.run(), RunError);
  run.threads_.clear();  // joins: would hang if a worker still waited
}

TEST(Coordinator, refuses_gpus_that_no_worker_has) {
  LocalRun run(2, 5, quick_job);
  run.parts_.device = DeviceChoice::gpu;
  EXPECT_THROW((void)run.run(), RunError);
}

TEST(Coordinator, counts_attempts_of_earlier_sessions) {
  LocalRun run(1, 1, quick_job);
  run.parts_.plans[0].attempts = 2;
  EXPECT_EQ(run.run(), RunEnd::finished);
  EXPECT_EQ(run.sink_.stored_["plan0"].at(0).attempts, 3);
}

}  // namespace
}  // namespace wallheat
