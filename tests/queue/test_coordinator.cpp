#include <gmock/gmock.h>

#include <atomic>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "core/plan_source.hpp"
#include "io/deflate.hpp"
#include "queue/coordinator.hpp"
#include "queue/local_link.hpp"
#include "queue/worker.hpp"
#include "store/results/field_codec.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using testing::HasSubstr;

class MemorySink final : public ResultSink {
 public:
  std::vector<PlanResult> store(std::span<const PlanResult> results) override {
    if (when_store_) when_store_();
    if (fail_) throw RunError("the disk is full");
    std::vector<PlanResult> refused;
    for (PlanResult result : results) {
      if (result.id == refuses_ && is_answer(result.status)) {
        result.status = PlanStatus::failed;
        result.error = "it has no place";
        refused.push_back(result);
      }
      stored_[result.id].push_back(result);
    }
    return refused;
  }
  void publish() override {}

  std::map<std::string, std::vector<PlanResult>> stored_;
  std::function<void()> when_store_;
  std::string refuses_;
  bool fail_ = false;
};

class Recorder final {
 public:
  void hear(const Event& event) {
    const int rank = event.worker ? event.worker->rank : 0;
    const PlanResult& result = event.result;
    switch (event.kind) {
      case Event::Kind::worker_ready:
        workers_.push_back(*event.worker);
        settle(rank);
        if (when_ready_) when_ready_(rank);
        return;
      case Event::Kind::abandoned:
        return abandoned_.push_back(event);
      case Event::Kind::leased:
        leased_ += static_cast<int>(event.tasks.size());
        return;
      case Event::Kind::started:
        for (const Task& task : event.tasks) {
          if (++started_ == interrupt_after_) interrupted_ = true;
          if (when_started_) when_started_(*event.worker, task);
        }
        return;
      case Event::Kind::stored:
        ++stored_;
        last_[result.id] = result.status;
        return;
      case Event::Kind::worker_left:
        left_[rank] = event.reason;
        settle(rank);
        if (when_left_) when_left_(rank);
        return;
      case Event::Kind::worker_refused:
        refused_[rank] = event.reason;
        settle(rank);
        if (when_refused_) when_refused_();
        return;
      case Event::Kind::failed_try:
        return failed_tries_.push_back(result);
      case Event::Kind::conflict:
        conflicts_.push_back(result);
        if (when_conflict_) when_conflict_();
        return;
      case Event::Kind::heartbeat:
        for (const PlanProgress& progress : event.heartbeat.running)
          if (when_progress_) when_progress_(progress);
        if (event.heartbeat.gpu && when_gpu_sample_) when_gpu_sample_(*event.heartbeat.gpu);
        return;
      case Event::Kind::worker_lost:
        lost_.push_back(rank);
        ++lost_count_;
        if (when_lost_) when_lost_(rank);
        return;
      case Event::Kind::worker_back:
        back_.push_back(rank);
        if (when_back_) when_back_(rank);
        return;
      case Event::Kind::stopping:
        stop_reason_ = event.reason;
        return;
      case Event::Kind::tick:
        if (when_tick_) when_tick_();
        return;
      case Event::Kind::repeated:
      case Event::Kind::predictions_judged:
        return;
    }
  }

  /// Waits until so many workers are ready, or are known not to become so.
  void wait_for_settled(int count) {
    for (int now = settled_; now < count; now = settled_) settled_.wait(now);
  }

  std::vector<WorkerInfo> workers_;
  std::vector<Event> abandoned_;
  std::map<int, std::string> left_;
  std::map<int, std::string> refused_;
  std::vector<PlanResult> failed_tries_;
  std::vector<PlanResult> conflicts_;
  std::vector<int> lost_;
  std::vector<int> back_;
  std::string stop_reason_;
  std::map<std::string, PlanStatus> last_;  ///< that was stored
  std::function<void(int rank)> when_ready_;
  std::function<void(const WorkerInfo&, const Task&)> when_started_;
  std::function<void()> when_tick_;
  std::function<void()> when_refused_;
  std::function<void()> when_conflict_;
  std::function<void(const PlanProgress&)> when_progress_;
  std::function<void(const GpuSample&)> when_gpu_sample_;
  std::function<void(int rank)> when_lost_;
  std::function<void(int rank)> when_left_;
  std::function<void(int rank)> when_back_;
  std::atomic<int> lost_count_ = 0;
  int leased_ = 0;
  int started_ = 0;
  int stored_ = 0;
  int interrupt_after_ = -1;
  std::atomic<bool> interrupted_ = false;

 private:
  void settle(int rank) {
    if (!ranks_.insert(rank).second) return;
    ++settled_;
    settled_.notify_all();
  }
  std::set<int> ranks_;
  std::atomic<int> settled_ = 0;
};

/// A run of threads that stand for ranks, with a job of the test's choice. No plan ends before all
/// these workers are ready: else the first to be so could solve all.
class LocalRun {
 public:
  using MakeJob = std::function<PlanJob(int rank, std::size_t thread)>;

  /// Ranks above `workers` take part, but what they do is the test's business: see MuteWorker.
  /// Where there are samples of a GPU, each worker has one.
  LocalRun(int workers, int plans, MakeJob make_job, int others = 0, double worker_timeout_s = 30,
           const GpuSamples& gpu_samples = {})
      : network_(workers + others + 1) {
    for (int plan = 0; plan < plans; ++plan) {
      parts_.plans.push_back(
          {{static_cast<std::uint32_t>(plan), "plan" + std::to_string(plan)}, 0, 0});
    }
    const std::vector<Fact> terms{{"tolerance", "1e-4"}};
    parts_.terms = terms;
    parts_.samples = {{"plan0", "the cells of plan0"}};
    parts_.timeouts.worker_s = worker_timeout_s;
    parts_.sink = &sink_;
    parts_.observer = [this](const Event& event) { recorder_.hear(event); };
    parts_.differences = differences_with_fields;
    parts_.interrupted = [this] { return recorder_.interrupted_.load(); };
    for (int rank = 1; rank <= workers; ++rank) {
      threads_.emplace_back([=, this] {
        WorkerParts worker;
        worker.timeouts.worker_s = worker_timeout_s;
        worker.machine.host = "host";
        worker.terms = terms;
        worker.sample = [](const std::string& id) { return "the cells of " + id; };
        for (int core = 0; core < 2 * workers; ++core) worker.machine.cores.push_back({core, 0, 0});
        if (gpu_samples)
          for (int gpu = 0; gpu < workers; ++gpu)
            worker.machine.gpus.push_back({gpu, "", "", 0, 0});
        worker.interrupted = [this] { return worker_interrupted_.load(); };
        worker.open = [=, this](const Placement& placement) {
          return WorkerDevice{"test", placement.cpus.size(),
                              [=, this](std::size_t thread) {
                                return ThreadParts{
                                    [this, workers, job = make_job(rank, thread)](
                                        const Task& task, const SolveControl& control) {
                                      recorder_.wait_for_settled(workers);
                                      return job(task, control);
                                    },
                                    {placement.cpus.at(thread)}};
                              },
                              gpu_samples};
        };
        (void)run_worker(*network_.link(rank), worker);
      });
    }
  }

  RunEnd run() { return run(network_.link(0)); }
  RunEnd run(const std::unique_ptr<Link>& link) {
    try {
      const RunEnd end = coordinate(*link, parts_);
      unheard_ = dismiss_workers(*link, goodbye_timeout_);
      return end;
    } catch (...) {
      unheard_ = dismiss_workers(*link, goodbye_timeout_);
      throw;
    }
  }

  std::chrono::milliseconds goodbye_timeout_{5000};
  std::vector<int> unheard_;  // ranks that said no good-bye
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

/// A worker that gets ready, takes its plans and then says nothing until it is told to.
class MuteWorker {
 public:
  MuteWorker(LocalRun& run, int rank) : link_(run.network_.link(rank)) {
    run.goodbye_timeout_ = std::chrono::milliseconds{200};
    thread_ = std::jthread([this] { live(); });
  }
  ~MuteWorker() { speak(); }

  /// It answers its first plan after all, and goes home when it is told to.
  void speak() {
    speaks_ = true;
    speaks_.notify_all();
  }

 private:
  ToWorker wait_for_message() {
    for (;;) {
      if (const auto envelope = link_->receive(std::chrono::milliseconds{50}))
        return decode_to_worker(envelope->message);
    }
  }

  void live() {
    link_->send(0, encode(Hello{{"mute", {{0, 0, 0}}, {}}, {{"tolerance", "1e-4"}}}));
    std::optional<Task> task;
    while (!task) {
      const ToWorker message = wait_for_message();
      if (std::holds_alternative<Placed>(message))
        link_->send(0, encode(Ready{"mute", "test", 1, {0}, {{"plan0", "the cells of plan0"}}}));
      if (const auto* assign = std::get_if<Assign>(&message)) task = assign->tasks.front();
      if (std::holds_alternative<Finish>(message)) return;
    }
    link_->send(0, encode(Report{{task->index}, {}}));
    speaks_.wait(false);
    link_->send(0, encode(Report{{}, {solved(*task)}}));
    link_->send_sign_of_life(0, encode(Heartbeat{}));
    while (!std::holds_alternative<Finish>(wait_for_message())) continue;
    link_->send(0, encode(Goodbye{}));
  }

  std::unique_ptr<Link> link_;
  std::atomic<bool> speaks_ = false;
  std::jthread thread_;
};

PlanJob quick_job(int, std::size_t) {
  return [](const Task& task, const SolveControl&) { return solved(task); };
}

/// A job that runs until it is stopped.
PlanJob endless_job(int, std::size_t) {
  return [](const Task& task, const SolveControl& control) {
    std::atomic<bool> stopped = false;
    const std::stop_callback wake(control.stop, [&] {
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
    EXPECT_GE(run.recorder_.started_, 3000);
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
  for (const auto& [id, rows] : run.sink_.stored_)
    EXPECT_EQ(rows.back().status, PlanStatus::pending) << id;
  EXPECT_EQ(run.recorder_.left_.size(), 2U);
}

TEST(Coordinator, stores_that_abandoned_plans_were_started) {
  LocalRun run(1, 3, endless_job);
  run.parts_.threads_per_worker = 1;
  run.parts_.plans[0].attempts = 4;
  run.recorder_.when_progress_ = [&](const PlanProgress&) { run.recorder_.interrupted_ = true; };
  EXPECT_EQ(run.run(), RunEnd::interrupted);
  ASSERT_EQ(run.sink_.stored_.size(), 1U) << "the others were not started";
  const PlanResult& row = run.sink_.stored_["plan0"].back();
  EXPECT_EQ(row.status, PlanStatus::pending);
  EXPECT_EQ(row.attempts, 5);
  ASSERT_EQ(run.recorder_.abandoned_.size(), 1U);
  EXPECT_EQ(run.recorder_.abandoned_[0].result.id, "plan0");
  EXPECT_EQ(run.recorder_.abandoned_[0].result.attempts, 5);
  EXPECT_EQ(run.recorder_.stored_, 0) << "that is no result";
}

TEST(Coordinator, says_that_the_time_was_too_short) {
  LocalRun run(1, 1, endless_job);
  std::atomic<double> left_s = 100;
  run.parts_.time_left_s = [&] { return left_s.load(); };
  run.recorder_.when_progress_ = [&](const PlanProgress&) { left_s = 0; };
  EXPECT_EQ(run.run(), RunEnd::out_of_time);
}

TEST(Coordinator, stops_too_when_the_signal_reaches_the_workers_alone) {
  LocalRun run(2, 100, endless_job);
  run.worker_interrupted_ = true;
  EXPECT_EQ(run.run(), RunEnd::interrupted);
  EXPECT_FALSE(run.recorder_.stop_reason_.empty());
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

TEST(Coordinator, goes_on_without_a_worker_whose_device_is_given_up) {
  // Rank 1 waits for that, so that the run cannot end before.
  std::atomic<bool> left = false;
  LocalRun run(2, 50, [&](int rank, std::size_t) {
    return [&, rank](const Task& task, const SolveControl&) {
      if (rank == 2) throw DeviceFault("it is broken");
      left.wait(false);
      return solved(task);
    };
  });
  run.recorder_.when_left_ = [&](int) {
    left = true;
    left.notify_all();
  };
  EXPECT_EQ(run.run(), RunEnd::finished);
  EXPECT_EQ(run.sink_.stored_.size(), 50U);
  EXPECT_THAT(run.recorder_.left_[2], HasSubstr("it is broken"));
  for (const auto& [id, rows] : run.sink_.stored_) EXPECT_EQ(rows.back().failures, 0) << id;
}

TEST(Coordinator, ends_as_a_run_to_be_resumed_when_no_worker_can_read_the_plans) {
  LocalRun run(2, 10, [](int, std::size_t) -> PlanJob {
    return [](const Task&, const SolveControl&) -> PlanResult {
      throw SourceUnavailable("the input /data cannot be read any more");
    };
  });
  EXPECT_EQ(run.run(), RunEnd::source_away);
  EXPECT_EQ(run.recorder_.stop_reason_, "the input /data cannot be read any more");
  for (const auto& [id, rows] : run.sink_.stored_) {
    EXPECT_EQ(rows.back().status, PlanStatus::pending) << id;
    EXPECT_EQ(rows.back().failures, 0U) << id;
  }
}

TEST(Coordinator, goes_on_with_those_who_can_read_the_plans) {
  LocalRun run(2, 10, [](int rank, std::size_t) -> PlanJob {
    return [rank](const Task& task, const SolveControl&) -> PlanResult {
      if (rank == 1) throw SourceUnavailable("the input /data cannot be read any more");
      return solved(task);
    };
  });
  EXPECT_EQ(run.run(), RunEnd::finished);
  EXPECT_EQ(run.sink_.stored_.size(), 10U);
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

TEST(Coordinator, finishes_without_a_worker_that_falls_silent) {
  LocalRun run(1, 50, quick_job, 1, 1);
  const MuteWorker mute(run, 2);
  EXPECT_EQ(run.run(), RunEnd::finished);
  EXPECT_EQ(run.sink_.stored_.size(), 50U);
  EXPECT_THAT(run.unheard_, testing::ElementsAre(2));
}

TEST(Coordinator, takes_back_a_worker_that_speaks_again) {
  // The only other worker waits for the mute one to be back, so that the run cannot end before.
  std::atomic<bool> back = false;
  LocalRun run(
      1, 2,
      [&](int, std::size_t) {
        return [&](const Task& task, const SolveControl&) {
          back.wait(false);
          return solved(task);
        };
      },
      1, 1);
  MuteWorker mute(run, 2);
  run.recorder_.when_lost_ = [&](int) { mute.speak(); };
  run.recorder_.when_back_ = [&](int) {
    back = true;
    back.notify_all();
  };
  run.parts_.threads_per_worker = 1;
  EXPECT_EQ(run.run(), RunEnd::finished);
  EXPECT_THAT(run.recorder_.back_, testing::Contains(2));
  EXPECT_THAT(run.unheard_, testing::IsEmpty());
}

TEST(Coordinator, does_not_wait_for_a_worker_that_leaves_and_falls_silent) {
  LocalRun run(0, 2, quick_job, 1, 1);
  const MuteWorker mute(run, 1);
  run.recorder_.when_started_ = [&](const WorkerInfo&, const Task&) {
    run.network_.link(1)->send(0, encode(Leaving{}));
  };
  EXPECT_THROW((void)run.run(), RunError) << "nobody is left";
  EXPECT_THAT(run.recorder_.lost_, testing::ElementsAre(1));
}

TEST(Coordinator, begins_without_a_worker_that_is_slow_to_start_and_lets_it_join) {
  // The first plan is solved before the slow worker is ready, the second one after it has joined.
  std::atomic<bool> joined = false;
  LocalRun run(
      1, 2,
      [&](int, std::size_t) {
        return [&](const Task& task, const SolveControl&) {
          if (task.index > 0) joined.wait(false);
          return solved(task);
        };
      },
      1);
  run.parts_.threads_per_worker = 1;
  std::atomic<bool> first_is_stored = false;
  run.sink_.when_store_ = [&] {
    first_is_stored = true;
    first_is_stored.notify_all();
  };
  run.recorder_.when_ready_ = [&](int rank) {
    if (rank != 2) return;
    joined = true;
    joined.notify_all();
  };
  const auto link = run.network_.link(2);
  const std::jthread slow([&] {
    link->send(0, encode(Hello{{"slow", {{0, 0, 0}}, {}}, {{"tolerance", "1e-4"}}}));
    first_is_stored.wait(false);
    link->send(0, encode(Ready{"slow", "test", 1, {0}, {{"plan0", "the cells of plan0"}}}));
    link->send(0, encode(Hello{}));    // nonsense that must not
    link->send(0, encode(Goodbye{}));  // end the run
    for (;;) {
      const auto envelope = link->receive(std::chrono::milliseconds{50});
      if (!envelope) continue;
      const ToWorker message = decode_to_worker(envelope->message);
      if (const auto* assign = std::get_if<Assign>(&message)) {
        for (const Task& task : assign->tasks)
          link->send(0, encode(Report{{task.index}, {solved(task)}}));
      }
      if (std::holds_alternative<Finish>(message)) break;
    }
    link->send(0, encode(Goodbye{}));
  });
  EXPECT_EQ(run.run(), RunEnd::finished);
  EXPECT_EQ(run.recorder_.workers_.size(), 2U);
  EXPECT_EQ(run.sink_.stored_.size(), 2U);
}

/// Rank 0's, where each rank has a host of its own.
class LinkToHosts final : public Link {
 public:
  explicit LinkToHosts(std::unique_ptr<Link> link) : link_(std::move(link)) {}
  [[nodiscard]] int rank() const override { return link_->rank(); }
  [[nodiscard]] int size() const override { return link_->size(); }
  [[nodiscard]] std::uint64_t system_of(int rank) const override {
    return static_cast<std::uint64_t>(rank);
  }
  void send(int peer, Bytes message) override { link_->send(peer, std::move(message)); }
  void send_sign_of_life(int peer, Bytes message) override {
    link_->send_sign_of_life(peer, std::move(message));
  }
  [[nodiscard]] std::optional<Envelope> receive(std::chrono::microseconds timeout) override {
    return link_->receive(timeout);
  }
  void flush(std::chrono::milliseconds timeout) override { link_->flush(timeout); }

 private:
  std::unique_ptr<Link> link_;
};

TEST(Coordinator, does_not_wait_for_the_first_word_of_a_rank_on_another_host) {
  LocalRun run(1, 20, quick_job, 1);
  run.parts_.timeouts.start_s = 1e9;
  run.goodbye_timeout_ = std::chrono::milliseconds{200};
  EXPECT_EQ(run.run(std::make_unique<LinkToHosts>(run.network_.link(0))), RunEnd::finished);
  EXPECT_EQ(run.sink_.stored_.size(), 20U);
  EXPECT_THAT(run.unheard_, testing::ElementsAre(2));
}

TEST(Coordinator, gives_up_a_worker_that_does_not_get_ready) {
  LocalRun run(
      1, 2,
      [&](int, std::size_t) {
        return [&](const Task& task, const SolveControl&) {
          while (run.recorder_.lost_count_ == 0) std::this_thread::yield();
          return solved(task);
        };
      },
      1);
  run.parts_.timeouts.start_s = 0.2;
  run.goodbye_timeout_ = std::chrono::milliseconds{200};
  run.network_.link(2)->send(0, encode(Hello{{"slow", {{0, 0, 0}}, {}}, {{"tolerance", "1e-4"}}}));
  EXPECT_EQ(run.run(), RunEnd::finished);
  EXPECT_THAT(run.recorder_.lost_, testing::ElementsAre(2));
}

/// Counts rank 0's heartbeats, and answers them, as one of the workers that takes part in nothing
/// else.
class Listener {
 public:
  Listener(LocalRun& run, int rank, bool says_hello) : link_(run.network_.link(rank)) {
    run.goodbye_timeout_ = std::chrono::milliseconds{200};
    if (says_hello)
      link_->send(0, encode(Hello{{"listener", {{0, 0, 0}}, {}}, {{"tolerance", "1e-4"}}}));
  }
  void wait_for_heartbeats(int count) {
    while (count > 0) {
      const auto envelope = link_->receive(std::chrono::milliseconds{50});
      if (!envelope ||
          !std::holds_alternative<CoordinatorHeartbeat>(decode_to_worker(envelope->message)))
        continue;
      --count;
      link_->send_sign_of_life(0, encode(Heartbeat{}));
    }
  }
  std::unique_ptr<Link> link_;
};

TEST(Coordinator, tells_the_workers_that_it_lives_while_it_waits_for_the_first_word_of_one) {
  LocalRun run(1, 2, quick_job, 2, 0.5);
  Listener listener(run, 2, true);
  const std::jthread late([&, link = run.network_.link(3)] {
    listener.wait_for_heartbeats(10);
    link->send(0, encode(Farewell{"not for me", false}));
  });
  run.parts_.timeouts.start_s = 30;
  EXPECT_EQ(run.run(), RunEnd::finished);
  EXPECT_EQ(run.recorder_.left_.at(3), "not for me");
}

TEST(Coordinator, tells_the_workers_that_it_lives_while_a_result_is_stored) {
  LocalRun run(1, 2, quick_job, 1, 0.5);
  Listener listener(run, 2, true);
  run.sink_.when_store_ = [&] { listener.wait_for_heartbeats(20); };
  EXPECT_EQ(run.run(), RunEnd::finished);
  EXPECT_EQ(run.sink_.stored_.size(), 2U);
}

TEST(Coordinator, tells_the_workers_that_it_lives_while_it_prepares) {
  LocalNetwork network(2);
  const auto link = network.link(0);
  const auto worker = network.link(1);
  Timeouts timeouts;
  timeouts.worker_s = 0.1;
  int heard = 0;
  keep_workers_waiting(*link, timeouts, [&] {
    while (heard < 20) {
      const auto envelope = worker->receive(std::chrono::milliseconds{50});
      if (envelope &&
          std::holds_alternative<CoordinatorHeartbeat>(decode_to_worker(envelope->message)))
        ++heard;
    }
  });
  EXPECT_EQ(heard, 20);
  EXPECT_THROW(keep_workers_waiting(*link, timeouts, [] { throw RunError("no such file"); }),
               RunError);
}

TEST(Coordinator, needs_no_sign_of_life_within_one_process) {
  const Timeouts timeouts = no_timeouts();
  EXPECT_GT(timeouts.rank0_s(), 1e300);
  LocalRun run(1, 20, quick_job, 0, timeouts.worker_s);
  run.parts_.timeouts = timeouts;
  EXPECT_EQ(run.run(), RunEnd::finished);
}

TEST(Coordinator, gives_nothing_to_a_worker_that_is_on_its_way_out) {
  // One of its threads is broken, the other at a plan that does not stop before the run was looked
  // at often: each look could lease the same plans again.
  std::atomic<bool> released = false;
  LocalRun run(1, 1000, [&](int, std::size_t thread) {
    return [&, thread](const Task& task, const SolveControl&) {
      if (thread == 1) throw RunError("no solver process comes up any more");
      released.wait(false);
      return solved(task);
    };
  });
  std::atomic<int> ticks = 0;
  run.recorder_.when_tick_ = [&] {
    if (++ticks != 200) return;
    released = true;
    released.notify_all();
  };
  EXPECT_THROW((void)run.run(), RunError) << "its only worker has left";
  EXPECT_LT(run.recorder_.leased_, 20);
}

TEST(Coordinator, tries_again_though_a_plan_failed_twice_while_the_disk_was_slow) {
  std::atomic<int> tries = 0;
  LocalRun run(2, 2, [&](int, std::size_t) {
    return [&](const Task& task, const SolveControl&) {
      PlanResult result = solved(task);
      if (task.index == 0) return result;
      if (++tries < 3) {
        result.status = PlanStatus::failed;
        result.may_pass = true;
      }
      tries.notify_all();
      return result;
    };
  });
  run.sink_.when_store_ = [&] {
    for (int now = tries; now < 3; now = tries) tries.wait(now);
  };
  EXPECT_EQ(run.run(), RunEnd::finished);
  EXPECT_EQ(run.recorder_.failed_tries_.size(), 2U);
  EXPECT_EQ(run.recorder_.stored_, 2);
  EXPECT_EQ(run.recorder_.last_.at("plan1"), PlanStatus::converged);
  EXPECT_EQ(run.sink_.stored_.at("plan1").back().status, PlanStatus::converged);
}

TEST(Coordinator, reports_a_plan_as_failed_whose_result_has_no_place) {
  LocalRun run(2, 3, quick_job);
  run.sink_.refuses_ = "plan1";
  EXPECT_EQ(run.run(), RunEnd::finished);
  EXPECT_EQ(run.recorder_.last_.at("plan0"), PlanStatus::converged);
  EXPECT_EQ(run.recorder_.last_.at("plan1"), PlanStatus::failed);
}

TEST(Coordinator, stores_the_late_answer_to_a_plan_that_was_given_up) {
  // The mute worker's plan is given up at its first loss; the other worker's plan ends only after
  // it has spoken again.
  std::atomic<bool> back = false;
  LocalRun run(
      1, 2,
      [&](int, std::size_t) {
        return [&](const Task& task, const SolveControl&) {
          back.wait(false);
          return solved(task);
        };
      },
      1, 1);
  run.parts_.max_attempts = 1;
  run.parts_.threads_per_worker = 1;
  MuteWorker mute(run, 2);
  run.recorder_.when_lost_ = [&](int) { mute.speak(); };
  run.recorder_.when_tick_ = [&] {
    for (const auto& [id, status] : run.recorder_.last_) {
      if (status != PlanStatus::converged || back.exchange(true)) continue;
      back.notify_all();
    }
  };
  EXPECT_EQ(run.run(), RunEnd::finished);
  EXPECT_EQ(run.recorder_.last_.size(), 2U);
  int failures = 0;
  for (const auto& [id, rows] : run.sink_.stored_) {
    for (const PlanResult& row : rows) failures += row.status == PlanStatus::failed ? 1 : 0;
    EXPECT_EQ(rows.back().status, PlanStatus::converged) << id;
  }
  EXPECT_EQ(failures, 1) << "it had been given up";
}

/// What the only other worker of a run was refused for, which begins with `hello` and, if it is
/// placed, goes on with `ready`.
std::string refused_for(const Bytes& hello, const Bytes& ready = {}) {
  std::atomic<bool> refused = false;  // before that the run does not end
  LocalRun run(
      1, 20,
      [&](int, std::size_t) {
        return [&](const Task& task, const SolveControl&) {
          refused.wait(false);
          return solved(task);
        };
      },
      1);
  run.goodbye_timeout_ = std::chrono::milliseconds{200};
  run.recorder_.when_refused_ = [&] {
    refused = true;
    refused.notify_all();
  };
  const std::jthread other([&, link = run.network_.link(2)] {
    link->send(0, hello);
    while (!ready.empty()) {
      const auto envelope = link->receive(std::chrono::milliseconds{50});
      if (!envelope || !std::holds_alternative<Placed>(decode_to_worker(envelope->message)))
        continue;
      link->send(0, ready);
      return;
    }
  });
  EXPECT_EQ(run.run(), RunEnd::finished);
  EXPECT_EQ(run.sink_.stored_.size(), 20U);
  for (const auto& [id, rows] : run.sink_.stored_) EXPECT_EQ(rows.back().rank, 1) << id;
  return run.recorder_.refused_[2];
}

TEST(Coordinator, refuses_a_worker_with_other_settings) {
  const Machine machine{"other", {{0, 0, 0}}, {}};
  EXPECT_EQ(refused_for(encode(Hello{machine, {{"tolerance", "0.5"}}})),
            "its tolerance is 0.5, and rank 0's is 1e-4");
  EXPECT_THAT(refused_for(encode(Hello{machine, {{"accuracy", "1e-4"}}})),
              HasSubstr("another version"));
  EXPECT_THAT(refused_for(encode(Hello{machine, {}})), HasSubstr("another version"));
}

TEST(Coordinator, refuses_a_worker_that_speaks_otherwise) {
  const Bytes nonsense(7, std::byte{0xff});
  EXPECT_THAT(refused_for(nonsense), HasSubstr("another version"));
  const Machine machine{"other", {{0, 0, 0}}, {}};
  EXPECT_THAT(refused_for(encode(Hello{machine, {{"tolerance", "1e-4"}}}), nonsense),
              HasSubstr("another version"))
      << "long after its first word";
}

TEST(Coordinator, gives_the_plans_of_a_worker_that_suddenly_speaks_otherwise_to_others) {
  // The only other worker waits for that, so that the run cannot end before.
  std::atomic<bool> refused = false;
  LocalRun run(
      1, 2,
      [&](int, std::size_t) {
        return [&](const Task& task, const SolveControl&) {
          refused.wait(false);
          return solved(task);
        };
      },
      1);
  run.parts_.threads_per_worker = 1;
  MuteWorker other(run, 2);
  run.recorder_.when_refused_ = [&] {
    refused = true;
    refused.notify_all();
  };
  run.recorder_.when_started_ = [&](const WorkerInfo& worker, const Task&) {
    if (worker.rank == 2) run.network_.link(2)->send(0, Bytes(7, std::byte{0xff}));
  };
  EXPECT_EQ(run.run(), RunEnd::finished);
  EXPECT_EQ(run.sink_.stored_.size(), 2U);
  EXPECT_THAT(run.recorder_.refused_[2], HasSubstr("another version"));
}

TEST(Coordinator, passes_over_plans_of_a_heartbeat_that_there_are_not) {
  std::atomic<bool> seen = false;
  LocalRun run(
      1, 2,
      [&](int, std::size_t) {
        return [&](const Task& task, const SolveControl&) {
          seen.wait(false);
          return solved(task);
        };
      },
      1);
  run.parts_.threads_per_worker = 1;
  MuteWorker other(run, 2);
  std::vector<std::uint32_t> numbers;
  run.recorder_.when_started_ = [&](const WorkerInfo& worker, const Task&) {
    if (worker.rank != 2) return;
    run.network_.link(2)->send(
        0, encode(Heartbeat{{{77, 1, 0.5, 1}, {4'000'000'000, 1, 0.5, 1}, {1, 7, 0.5, 1}}}));
  };
  run.recorder_.when_progress_ = [&](const PlanProgress& progress) {
    if (progress.iterations > 0) numbers.push_back(progress.index);
    if (progress.iterations != 7) return;
    seen = true;
    seen.notify_all();
  };
  EXPECT_EQ(run.run(), RunEnd::finished);
  EXPECT_THAT(numbers, testing::Each(1));
}

// Found by reading: it got a plan that waited for ever, which kept all others from copies.
TEST(Coordinator, ends_though_a_worker_that_is_back_never_ends_its_plan) {
  std::atomic<bool> back = false;
  LocalRun run(
      1, 2,
      [&](int, std::size_t) {
        return [&](const Task& task, const SolveControl&) {
          back.wait(false);
          return solved(task);
        };
      },
      1, 1);
  run.parts_.threads_per_worker = 1;
  MuteWorker mute(run, 2);
  std::atomic<std::uint32_t> its_plan = 0;
  run.recorder_.when_started_ = [&](const WorkerInfo& worker, const Task& task) {
    if (worker.rank == 2) its_plan = task.index;
  };
  run.recorder_.when_lost_ = [&](int) {
    run.network_.link(2)->send(0, encode(Heartbeat{{{its_plan, 1, 0.5, 2}}}));
  };
  run.recorder_.when_back_ = [&](int) {
    back = true;
    back.notify_all();
  };
  EXPECT_EQ(run.run(), RunEnd::finished);
  EXPECT_EQ(run.sink_.stored_.size(), 2U);
  for (const auto& [id, rows] : run.sink_.stored_) EXPECT_EQ(rows.back().rank, 1) << id;
}

TEST(Coordinator, dismisses_the_others_though_one_speaks_otherwise) {
  LocalNetwork network(3);
  network.link(1)->send(0, Bytes(7, std::byte{0xff}));
  network.link(2)->send(0, encode(Goodbye{}));
  EXPECT_THAT(dismiss_workers(*network.link(0), std::chrono::milliseconds{100}),
              testing::ElementsAre(1));
}

TEST(Coordinator, refuses_a_worker_that_finds_other_plans) {
  EXPECT_EQ(refused_for(encode(Hello{{"other", {{0, 0, 0}}, {}}, {{"tolerance", "1e-4"}}}),
                        encode(Ready{"other", "test", 1, {0}, {{"plan0", "other cells"}}})),
            "its plan plan0 is other cells, and rank 0's is the cells of plan0");
}

TEST(Coordinator, fails_with_the_reason_where_it_refuses_all) {
  LocalRun run(1, 20, quick_job);
  run.parts_.terms = {{"tolerance", "1e-5"}};
  try {
    (void)run.run();
    FAIL() << "it went on without workers";
  } catch (const RunError& error) {
    EXPECT_THAT(error.what(), HasSubstr("its tolerance is 1e-4, and rank 0's is 1e-5"));
  }
}

TEST(Coordinator, tries_plans_again_whose_failure_may_pass_and_keeps_count_on_disk) {
  std::atomic<int> tries = 0;
  LocalRun run(2, 1, [&](int, std::size_t) {
    return [&](const Task& task, const SolveControl&) {
      PlanResult result = solved(task);
      if (++tries > 2) return result;
      result.status = PlanStatus::failed;
      result.may_pass = true;
      result.error = "its solver died";
      return result;
    };
  });
  EXPECT_EQ(run.run(), RunEnd::finished);
  const auto& failures = run.recorder_.failed_tries_;
  ASSERT_EQ(failures.size(), 2U);
  for (int k = 0; k < 2; ++k) {
    EXPECT_EQ(failures[static_cast<std::size_t>(k)].failures, k + 1);
  }
  EXPECT_NE(failures[0].rank, failures[1].rank) << "tried elsewhere";
  const PlanResult& row = run.sink_.stored_["plan0"].back();
  EXPECT_EQ(row.status, PlanStatus::converged);
  EXPECT_GE(row.attempts, 1) << "a start beside another one is a copy and does not count";
  EXPECT_EQ(row.failures, 2);
  EXPECT_EQ(run.recorder_.stored_, 1);
}

TEST(Coordinator, gives_up_a_plan_that_always_fails_and_solves_its_neighbours) {
  LocalRun run(2, 20, [](int, std::size_t) {
    return [](const Task& task, const SolveControl&) {
      PlanResult result = solved(task);
      if (task.index != 7) return result;
      result.status = PlanStatus::failed;
      result.may_pass = true;
      return result;
    };
  });
  run.parts_.max_attempts = 4;
  EXPECT_EQ(run.run(), RunEnd::finished);
  EXPECT_EQ(run.sink_.stored_.size(), 20U);
  EXPECT_EQ(run.sink_.stored_["plan7"].back().failures, 4);
  for (const auto& [id, rows] : run.sink_.stored_) {
    if (id != "plan7") {
      EXPECT_EQ(rows.back().failures, 0) << id;
    }
  }
}

TEST(Coordinator, reports_a_faulty_device_when_two_workers_disagree) {
  // Whoever starts plan 0 first ends it after another, idle, has solved its copy, with another
  // answer; plan 2 ends when that is found out.
  std::atomic<int> starts = 0;
  std::atomic<bool> copy_solved = false;
  std::atomic<bool> found_out = false;
  LocalRun run(3, 3, [&](int rank, std::size_t) {
    return [&, rank](const Task& task, const SolveControl& control) {
      const std::stop_callback wake(control.stop, [&] {
        found_out = true;
        found_out.notify_all();
      });
      PlanResult result = solved(task);
      if (task.index == 2) found_out.wait(false);
      if (task.index != 0) return result;
      result.statistics.mean_temp = rank;
      if (starts++ == 0) {
        copy_solved.wait(false);
      } else {
        copy_solved = true;
        copy_solved.notify_all();
      }
      return result;
    };
  });
  run.recorder_.when_conflict_ = [&] {
    found_out = true;
    found_out.notify_all();
  };
  run.parts_.threads_per_worker = 2;
  EXPECT_EQ(run.run(), RunEnd::finished);
  ASSERT_EQ(run.recorder_.conflicts_.size(), 1U);
  const PlanResult& row = run.sink_.stored_["plan0"].back();
  EXPECT_EQ(row.status, PlanStatus::failed);
  EXPECT_THAT(row.error,
              testing::MatchesRegex(
                  "plan plan0: rank . .* and rank . .* gave different answers, so one of these "
                  "devices is faulty: mean_temp is [123].0 by the first, [123].0 by the second"));
}

TEST(Coordinator, takes_answers_for_equal_whose_fields_are_compressed_otherwise) {
  // Whoever starts plan 0 first ends it after another, idle, has solved its copy; plan 2 ends when
  // both have been compared.
  Grid<double> field(60, 70);
  for (std::size_t i = 0; i < field.cells.size(); ++i)
    field.cells[i] = std::sin(static_cast<double>(i));
  const std::vector<std::byte> one = compress_field(field);
  const std::vector<std::byte> other = deflate(shuffle<double>(field.cells), Effort::best);
  ASSERT_NE(one, other);
  std::atomic<int> starts = 0;
  std::atomic<bool> copy_solved = false;
  std::atomic<bool> compared = false;
  LocalRun run(3, 3, [&](int, std::size_t) {
    return [&](const Task& task, const SolveControl& control) {
      const std::stop_callback wake(control.stop, [&] {
        compared = true;
        compared.notify_all();
      });
      PlanResult result = solved(task);
      if (task.index == 2) compared.wait(false);
      if (task.index != 0) return result;
      result.rows = 60;
      result.cols = 70;
      if (starts++ == 0) {
        copy_solved.wait(false);
        result.field = one;
      } else {
        result.field = other;
        copy_solved = true;
        copy_solved.notify_all();
      }
      return result;
    };
  });
  std::vector<Difference> found;
  run.parts_.differences = [&](const PlanResult& first, const PlanResult& second) {
    if (first.index != 0) return std::vector<Difference>{};  // copied at the end, too
    EXPECT_NE(first.field, second.field);
    found = differences_with_fields(first, second);
    compared = true;
    compared.notify_all();
    return found;
  };
  run.parts_.threads_per_worker = 2;
  EXPECT_EQ(run.run(), RunEnd::finished);
  EXPECT_TRUE(compared);
  EXPECT_TRUE(found.empty());
  EXPECT_TRUE(run.recorder_.conflicts_.empty());
  EXPECT_EQ(run.sink_.stored_["plan0"].back().status, PlanStatus::converged);
}

TEST(Coordinator, hears_what_a_workers_gpu_tells) {
  std::atomic<bool> heard = false;
  LocalRun run(
      1, 1,
      [&](int, std::size_t) {
        return [&](const Task& task, const SolveControl&) {
          heard.wait(false);
          return solved(task);
        };
      },
      0, 5, [] { return GpuSample{.utilisation_pct = 97}; });
  run.recorder_.when_gpu_sample_ = [&](const GpuSample& sample) {
    EXPECT_EQ(sample.utilisation_pct, 97);
    heard = true;
    heard.notify_all();
  };
  EXPECT_EQ(run.run(), RunEnd::finished);
  EXPECT_TRUE(heard);
}

TEST(Coordinator, stops_when_the_time_is_up) {
  LocalRun run(2, 100, endless_job);
  std::atomic<int> asked = 0;
  run.parts_.time_left_s = [&] { return ++asked < 20 ? 1e9 : 0.0; };
  EXPECT_EQ(run.run(), RunEnd::out_of_time);
  EXPECT_THAT(run.recorder_.stop_reason_, HasSubstr("time limit"));
}

TEST(Coordinator, ends_when_no_plan_fits_the_time_that_is_left) {
  LocalRun run(1, 2, [](int, std::size_t) {
    return [](const Task& task, const SolveControl&) {
      PlanResult result = solved(task);
      result.seconds = 10;  // for what was expected to be 1e9 updates
      return result;
    };
  });
  run.parts_.threads_per_worker = 1;
  bool told = false;
  run.parts_.new_estimates = [&] {
    std::vector<std::pair<std::uint32_t, double>> news;
    if (!told) news = {{0, 1e9}, {1, 1e12}};
    told = true;
    return news;
  };
  run.parts_.time_left_s = [] { return 20.0; };
  run.parts_.plans[1].failures = 1;  // so it comes second, though longer
  EXPECT_EQ(run.run(), RunEnd::out_of_time);
  EXPECT_EQ(run.sink_.stored_.size(), 1U);
}

TEST(Coordinator, tells_how_far_long_plans_are) {
  std::atomic<bool> seen = false;
  LocalRun run(1, 1, [&](int, std::size_t) {
    return [&](const Task& task, const SolveControl& control) {
      control.progress(512, 0.25);
      seen.wait(false);
      return solved(task);
    };
  });
  run.recorder_.when_progress_ = [&](const PlanProgress& progress) {
    if (progress.iterations != 512 || progress.delta != 0.25) return;
    seen = true;
    seen.notify_all();
  };
  EXPECT_EQ(run.run(), RunEnd::finished);
}

TEST(Worker, leaves_when_rank_0_falls_silent) {
  LocalNetwork network(2);
  WorkerParts parts;
  parts.machine = {"host", {{0, 0, 0}}, {}};
  parts.interrupted = [] { return false; };
  parts.open = [](const Placement&) {
    return WorkerDevice{"test", 1, [](std::size_t) { return ThreadParts{quick_job(1, 0), {0}}; }};
  };
  parts.timeouts.worker_s = 0.05;
  const auto rank0 = network.link(0);
  rank0->send(1, encode(Placed{{{0}, {}, false}}));
  EXPECT_THROW((void)run_worker(*network.link(1), parts), RunError);
}

TEST(Worker, stays_with_a_run_that_goes_on_without_it) {
  LocalNetwork network(2);
  WorkerParts parts;
  parts.machine = {"host", {{0, 0, 0}}, {}};
  parts.timeouts.worker_s = 0.5;
  const auto rank0 = network.link(0);
  rank0->send(1, encode(Goodbye{}));  // what no worker understands: it fails
  bool together = false;
  std::jthread worker([&] { together = run_worker(*network.link(1), parts); });
  // For longer than it would wait for a rank 0 that is gone, there are heartbeats only.
  bool left = false;
  for (int heartbeat = 0; heartbeat < 60; ++heartbeat) {
    rank0->send(1, encode(CoordinatorHeartbeat{}));
    const auto envelope = rank0->receive(std::chrono::milliseconds{50});
    left = left ||
           (envelope && std::holds_alternative<Goodbye>(decode_from_worker(envelope->message)));
  }
  EXPECT_FALSE(left);
  EXPECT_TRUE(dismiss_workers(*rank0).empty());
  worker.join();
  EXPECT_TRUE(together);
}

TEST(Coordinator, counts_attempts_of_earlier_sessions) {
  LocalRun run(1, 1, quick_job);
  run.parts_.plans[0].attempts = 2;
  EXPECT_EQ(run.run(), RunEnd::finished);
  EXPECT_EQ(run.sink_.stored_["plan0"].at(0).attempts, 3);
}

}  // namespace
}  // namespace wallheat
