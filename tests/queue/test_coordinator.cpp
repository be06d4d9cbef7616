#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "queue/coordinator.hpp"
#include "queue/local_link.hpp"
#include "queue/worker.hpp"
#include "support/matchers.hpp"
#include "support/refusal.hpp"
#include "wallheat/error.hpp"

// What the simulation finds within its seeds is not tested here again: workers that fall silent,
// leave, come back, speak otherwise or cannot start, failures, disks that hang, runs that are
// stopped (tests/simulation/cluster). These are real threads, and what a user is told.

namespace wallheat {
namespace {

class MemorySink final : public ResultSink {
 public:
  std::vector<PlanResult> store(std::span<const PlanResult> results) override {
    for (const PlanResult& result : results) stored_[result.id].push_back(result);
    return {};
  }

  std::map<std::string, std::vector<PlanResult>> stored_;
};

class Recorder final {
 public:
  void hear(const Event& event) {
    const int rank = event.worker ? event.worker->rank : 0;
    switch (event.kind) {
      case Event::Kind::worker_refused:
        refused_[rank] = event.reason;
        [[fallthrough]];
      case Event::Kind::worker_ready:
      case Event::Kind::worker_left:
        return settle(rank);
      case Event::Kind::leased:
        leased_ += static_cast<int>(event.tasks.size());
        return;
      case Event::Kind::started:
        started_ += static_cast<int>(event.tasks.size());
        return;
      case Event::Kind::stored:
        ++stored_;
        return;
      case Event::Kind::heartbeat:
        for (const PlanProgress& progress : event.heartbeat.running)
          if (when_progress_) when_progress_(progress);
        if (event.heartbeat.gpu && when_gpu_sample_) when_gpu_sample_(*event.heartbeat.gpu);
        return;
      case Event::Kind::stopping:
        stop_reason_ = event.reason;
        return;
      default:
        return;
    }
  }

  void settle(int rank) {
    if (!ranks_.insert(rank).second) return;
    ++settled_;
    settled_.notify_all();
  }
  /// Waits until so many workers are ready, or are known not to become so.
  void wait_for_settled(int count) {
    for (int now = settled_; now < count; now = settled_) settled_.wait(now);
  }

  std::map<int, std::string> refused_;
  std::string stop_reason_;
  std::function<void(const PlanProgress&)> when_progress_;
  std::function<void(const GpuSample&)> when_gpu_sample_;
  int leased_ = 0;
  int started_ = 0;
  int stored_ = 0;

 private:
  std::set<int> ranks_;
  std::atomic<int> settled_ = 0;
};

/// What a plan's solver waits for.
class Gate {
 public:
  void open() {
    is_open_ = true;
    is_open_.notify_all();
  }
  void wait() { is_open_.wait(false); }

 private:
  std::atomic<bool> is_open_ = false;
};

const Machine one_core{"host", {{0, 0, 0}}, {}};

/// A run of threads that stand for ranks, with a job of the test's choice. No plan ends before all
/// these workers are ready, or are refused: else the first to be so could solve all.
class LocalRun {
 public:
  using MakeJob = std::function<PlanJob(std::size_t thread)>;

  /// Ranks above `workers` take part, but what they do is the test's business.
  /// Where there are samples of a GPU, each worker has one.
  LocalRun(int workers, int plans, MakeJob make_job, int others = 0,
           const GpuSamples& gpu_samples = {})
      : network_(workers + others + 1) {
    for (int plan = 0; plan < plans; ++plan) {
      parts_.ids.push_back("plan" + std::to_string(plan));
      parts_.plans.push_back({static_cast<std::uint32_t>(plan), 0, 0});
    }
    const std::vector<NamedValue> settings{{"tolerance", "1e-4"}};
    parts_.settings = settings;
    parts_.samples = {{"plan0", "the cells of plan0"}};
    parts_.sink = &sink_;
    parts_.observer = [this](const Event& event) { recorder_.hear(event); };
    parts_.differences = [](const PlanResult&, const PlanResult&) {
      return std::vector<Difference>{};
    };
    parts_.interrupted = [] { return false; };
    for (int rank = 1; rank <= workers; ++rank) {
      threads_.emplace_back([=, this] {
        WorkerParts worker;
        worker.machine.host = "host";
        worker.settings = settings;
        worker.sample = [](const Task& plan) { return "the cells of " + plan.id; };
        for (int core = 0; core < 2 * workers; ++core) worker.machine.cores.push_back({core, 0, 0});
        if (gpu_samples) worker.machine.gpus.push_back({0, "", "", 0, 0});
        worker.interrupted = [] { return false; };
        worker.open = [=, this](const Placement& placement) {
          const auto prepare = [=, this](std::size_t thread) {
            const auto job = [=, this, job = make_job(thread)](const Task& task,
                                                               const SolveControl& control) {
              recorder_.wait_for_settled(workers + others);
              return job(task, control);
            };
            return ThreadParts{job, {placement.cpus.at(thread)}};
          };
          return WorkerDevice{"test", placement.cpus.size(), prepare, gpu_samples};
        };
        (void)run_worker(*network_.link(rank), worker);
      });
    }
  }

  RunEnd run() { return run(network_.link(0)); }
  RunEnd run(const std::unique_ptr<Link>& link) {
    const auto dismiss = [&] { (void)dismiss_workers(*link, std::chrono::milliseconds{200}); };
    try {
      const RunEnd end = coordinate(*link, parts_);
      dismiss();
      return end;
    } catch (...) {
      dismiss();
      throw;
    }
  }

  /// What the run fails with.
  std::string error() {
    return refusal_of<RunError>([&] { (void)run(); });
  }

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

PlanJob quick_job(std::size_t) {
  return [](const Task& task, const SolveControl&) { return solved(task); };
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

TEST(Coordinator, fails_with_the_reason_when_no_worker_can_start) {
  LocalRun run(2, 5, [](std::size_t) -> PlanJob { throw RunError("no solver anywhere"); });
  EXPECT_THAT(run.error(), HasSubstr("no solver anywhere"));
}

TEST(Coordinator, fails_with_the_reason_where_it_refuses_all) {
  LocalRun run(1, 20, quick_job);
  run.parts_.settings = {{"tolerance", "1e-5"}};
  EXPECT_THAT(run.error(), HasSubstr("its tolerance is 1e-4, and rank 0's is 1e-5"));
}

/// What the only other worker of a run was refused for, which begins with `hello` and, if it is
/// placed, goes on with `ready`.
std::string refused_for(const Hello& hello, const std::optional<Ready>& ready = {}) {
  LocalRun run(1, 20, quick_job, 1);
  const std::jthread other([&, link = run.network_.link(2)] {
    link->send(0, encode(hello));
    while (ready) {
      const auto envelope = link->receive(std::chrono::milliseconds{50});
      if (!envelope || !std::holds_alternative<Placed>(decode_to_worker(envelope->message)))
        continue;
      link->send(0, encode(*ready));
      return;
    }
  });
  EXPECT_EQ(run.run(), RunEnd::finished);
  for (const auto& [id, rows] : run.sink_.stored_) EXPECT_EQ(rows.back().rank, 1) << id;
  return run.recorder_.refused_[2];
}

TEST(Coordinator, refuses_a_worker_with_other_settings_or_plans) {
  EXPECT_EQ(refused_for({one_core, {{"tolerance", "0.5"}}}),
            "its tolerance is 0.5, and rank 0's is 1e-4");
  EXPECT_THAT(refused_for({one_core, {{"accuracy", "1e-4"}}}), HasSubstr("another version"));
  EXPECT_THAT(refused_for({one_core, {}}), HasSubstr("another version"));
  EXPECT_EQ(refused_for({one_core, {{"tolerance", "1e-4"}}},
                        Ready{"other", "test", 1, {0}, {{"plan0", "other cells"}}}),
            "its plan plan0 is other cells, and rank 0's is the cells of plan0");
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
  [[nodiscard]] std::optional<Envelope> receive(std::chrono::microseconds timeout) override {
    return link_->receive(timeout);
  }
  void flush(std::chrono::milliseconds timeout) override { link_->flush(timeout); }

 private:
  std::unique_ptr<Link> link_;
};

TEST(Coordinator, does_not_wait_for_the_first_word_of_a_rank_on_another_host) {
  LocalRun run(1, 20, quick_job, 1);
  run.recorder_.settle(2);  // nobody waits for it
  run.parts_.timeouts.start_s = 1e9;
  EXPECT_EQ(run.run(std::make_unique<LinkToHosts>(run.network_.link(0))), RunEnd::finished);
  EXPECT_EQ(run.sink_.stored_.size(), 20U);
}

TEST(Coordinator, needs_no_sign_of_life_within_one_process) {
  LocalRun run(1, 20, quick_job);
  run.parts_.timeouts = no_timeouts();
  EXPECT_GT(run.parts_.timeouts.rank0_s(), 1e300);
  EXPECT_EQ(run.run(), RunEnd::finished);
}

TEST(Coordinator, hears_how_far_long_plans_are_and_what_a_workers_gpu_tells) {
  Gate progress_heard;
  Gate sample_heard;
  const auto long_job = [&](std::size_t) {
    return [&](const Task& task, const SolveControl& control) {
      control.progress(512, 0.25);
      progress_heard.wait();
      sample_heard.wait();
      return solved(task);
    };
  };
  LocalRun run(1, 1, long_job, 0, [] { return GpuSample{.utilisation_pct = 97}; });
  run.recorder_.when_progress_ = [&](const PlanProgress& progress) {
    if (progress.iterations == 512 && progress.delta == 0.25) progress_heard.open();
  };
  run.recorder_.when_gpu_sample_ = [&](const GpuSample& sample) {
    if (sample.utilisation_pct == 97) sample_heard.open();
  };
  EXPECT_EQ(run.run(), RunEnd::finished);
}

TEST(Coordinator, ends_when_no_plan_fits_the_time_that_is_left) {
  LocalRun run(1, 2, [](std::size_t) {
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

TEST(Coordinator, dismisses_the_others_though_one_speaks_otherwise) {
  LocalNetwork network(3);
  network.link(1)->send(0, Bytes(7, std::byte{0xff}));
  network.link(2)->send(0, encode(Goodbye{}));
  EXPECT_THAT(dismiss_workers(*network.link(0), std::chrono::milliseconds{100}),
              testing::ElementsAre(1));
}

TEST(Worker, stays_with_a_run_that_goes_on_without_it) {
  LocalNetwork network(2);
  WorkerParts parts;
  parts.machine = one_core;
  parts.interrupted = [] { return false; };
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

}  // namespace
}  // namespace wallheat
