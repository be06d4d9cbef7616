#include <fmt/format.h>
#include <spdlog/sinks/ostream_sink.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "monitor/run_monitor.hpp"
#include "support/matchers.hpp"
#include "support/temporary_directory.hpp"

namespace wallheat {
namespace {

/// Keeps all messages, and separately those that are at least warnings.
class CaughtLog final : public Log {
 public:
  CaughtLog()
      : Log({sink(all_, LogLevel::info), sink(warnings_, LogLevel::warn)}, LogLevel::info) {}
  [[nodiscard]] std::string all() const { return all_.str(); }
  [[nodiscard]] std::vector<std::string> lines() const { return split(all_.str()); }
  [[nodiscard]] std::vector<std::string> warning_lines() const { return split(warnings_.str()); }
  void clear() { all_.str(""); }
  [[nodiscard]] std::string warnings() const { return warnings_.str(); }

 private:
  static std::vector<std::string> split(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }
  static spdlog::sink_ptr sink(std::ostream& out, LogLevel level) {
    auto made = std::make_shared<spdlog::sinks::ostream_sink_mt>(out);
    made->set_level(level);
    made->set_pattern("%v");
    return made;
  }
  std::ostringstream all_;
  std::ostringstream warnings_;
};

/// Monitors a run of two plans. Only the test advances the clock.
class RunMonitorTest : public testing::Test {
 protected:
  void begin(ProgressStyle style = ProgressStyle::none, bool has_ranks = true) {
    RunTally two_plans;
    two_plans.total = 2;
    const auto id_of = [](QueueIndex plan) {
      return std::string(plan == QueueIndex{} ? "a" : "b");
    };
    monitor_.emplace(log_, style, EventLog(directory_ / "events.jsonl"), RunStatus{}, id_of,
                     two_plans, live_status_, has_ranks, [this] { return now_; });
  }
  /// Begins with two workers, of which the second has a GPU.
  void begin_with_two() {
    begin();
    gets_ready(cpu_);
    gets_ready(gpu_);
  }
  void gets_ready(const WorkerInfo& worker) {
    emit({.kind = Event::Kind::worker_ready, .worker = std::make_shared<WorkerInfo>(worker)});
  }
  void is_heard(const WorkerInfo& worker, const WorkerReport& report) {
    emit({.kind = Event::Kind::worker_report,
          .worker = std::make_shared<WorkerInfo>(worker),
          .report = std::make_shared<WorkerReport>(report)});
  }
  void emit(const Event& event, const PlanResult& row = {}) { monitor_->on_event(event, row); }
  void stores(PlanResult row, std::uint32_t index, int rank) {
    row.index = index;
    row.id = index == 0 ? "a" : "b";
    row.rank = rank;
    emit({.kind = Event::Kind::finished}, row);
  }
  /// Returns an attribute of the session, or an empty string if it does not exist.
  std::string attribute(const std::string& name) const {
    const Attributes all = monitor_->progress().session_attributes(0);
    const auto found = all.find(name);
    return found == all.end() ? "" : found->second;
  }
  RunStatus written_status() {
    monitor_->tick(0);
    live_status_.stop_publishing();
    return read_run_status(status_file(directory_ / "results.h5")).value();
  }
  std::vector<nlohmann::json> events(const std::string& name) {
    std::vector<nlohmann::json> found;
    std::ifstream file(directory_ / "events.jsonl");
    for (std::string line; std::getline(file, line);) {
      auto json = nlohmann::json::parse(line);
      if (json["event"] == name) found.push_back(std::move(json));
    }
    return found;
  }

  const TemporaryDirectory directory_;
  const WorkerInfo cpu_{1, {"node1", "cpu avx2", 1, false, {0, 1}}};
  const WorkerInfo gpu_{2, {"node2", "gpu", 1, true, {0}}};
  const PlanResult solved_ = [] {
    PlanResult row;
    row.status = PlanStatus::converged;
    row.error_estimate = 0.1;
    return row;
  }();
  RunMonitor::Clock::time_point now_{std::chrono::hours(1)};
  CaughtLog log_;
  LiveStatus live_status_{status_file(directory_ / "results.h5"), log_};
  std::optional<RunMonitor> monitor_;
};

TEST_F(RunMonitorTest, CountsAbortedPlansAsBusyTime) {
  begin(ProgressStyle::none, false);
  gets_ready(cpu_);
  now_ += std::chrono::seconds(10);
  for (const QueueIndex plan : queue_indices(2))
    emit({.kind = Event::Kind::aborted,
          .worker = std::make_shared<WorkerInfo>(cpu_),
          .plan = plan,
          .progress = {.seconds = 10}});
  monitor_->finish("run_stopped");
  const double slots = static_cast<double>(cpu_.properties.slots);
  EXPECT_THAT(log_.lines(), Contains(Mentions(fmt::format("busy {:.0f} %", 100 * 2 / slots))));
}

TEST_F(RunMonitorTest, RecordsTimeSinceStartOfPlan) {
  begin_with_two();
  emit({.kind = Event::Kind::started,
        .worker = std::make_shared<WorkerInfo>(cpu_),
        .seconds = 0.75});
  monitor_->finish("run_finished");
  ASSERT_EQ(events("start").size(), 1U);
  EXPECT_EQ(events("start").front()["seconds"], 0.75);
}

TEST_F(RunMonitorTest, RecordsUsageOfEachGpu) {
  begin_with_two();
  const std::vector<PlanProgress> busy{{.plan = {}}};
  is_heard(gpu_, {.gpu_sample = GpuSample{.utilisation_pct = 0, .power_w = 90, .energy_j = 0}});
  is_heard(gpu_, {.running = busy,
                  .gpu_sample = GpuSample{.utilisation_pct = 90, .power_w = 400, .energy_j = 450}});
  is_heard(gpu_,
           {.running = busy,
            .gpu_sample = GpuSample{.utilisation_pct = 100, .power_w = 500, .energy_j = 900}});
  stores(solved_, 0, 2);
  stores(solved_, 1, 2);
  monitor_->finish("run_finished");

  const auto samples = events("gpu_sample");
  ASSERT_EQ(samples.size(), 3U);
  EXPECT_EQ(samples[2]["rank"], 2);
  EXPECT_EQ(samples[2]["device"], "gpu");
  EXPECT_EQ(samples[2]["power_w"], 500);
  EXPECT_FALSE(samples[2].contains("temperature_c")) << "it is unknown";
  const auto usages = events("gpu_usage");
  ASSERT_EQ(usages.size(), 1U);
  EXPECT_EQ(usages[0]["plans"], 2);
  EXPECT_EQ(usages[0]["utilisation_pct_mean"], 95) << "the mean while the GPU had plans";
  EXPECT_EQ(usages[0]["power_w_max"], 500);
  EXPECT_EQ(usages[0]["energy_j_per_plan"], 450);
  EXPECT_THAT(attribute("gpus"), Mentions({"J/plan", "node2", "95 / 100", "450.00"}));
}

TEST_F(RunMonitorTest, PrintsProgressLessOftenInLongRuns) {
  begin(ProgressStyle::lines);
  const auto lines_of_an_hour = [&] {
    log_.clear();
    for (int second = 0; second < 3600; second += 10) {
      now_ += std::chrono::seconds(10);
      monitor_->tick(100);
    }
    return std::ranges::count(log_.all(), '\n');
  };
  EXPECT_GT(lines_of_an_hour(), 30);
  stores(solved_, 0, 1);
  EXPECT_LT(lines_of_an_hour(), 10);
  EXPECT_THAT(log_.lines().back(), AllOf(Mentions({"1 of 2", "0 failed", "1 min 40 s"}),
                                         testing::ContainsRegex("[12] h [0-9]+ min")));
}

TEST_F(RunMonitorTest, PrintsNoTablesForSingleCpuWorker) {
  begin();
  gets_ready(cpu_);
  is_heard(cpu_, {});
  PlanResult row = solved_;
  row.statistics = {.mean_temp = 16, .std_temp = 5};
  stores(row, 0, 1);
  stores(solved_, 1, 1);  // a plan without interior cells has no temperatures
  monitor_->finish("run_finished");
  EXPECT_EQ(log_.warnings(), "");
  EXPECT_THAT(events("gpu_sample"), IsEmpty());
  EXPECT_THAT(events("gpu_usage"), IsEmpty());
  EXPECT_EQ(attribute("gpus"), "");
  EXPECT_THAT(log_.all(), AllOf(Mentions({"1 thread", "cpu avx2", "node1", "0-1", "busy"}),
                                Not(testing::ContainsRegex("rank +host"))));
}

TEST_F(RunMonitorTest, RecordsPeakMemoryOfEachWorker) {
  begin_with_two();
  is_heard(cpu_, {.peak_memory = 31'250'000});
  is_heard(cpu_, {.peak_memory = 0});  // unknown in this report
  const RunStatus status = written_status();
  EXPECT_EQ(status.workers.at(0).peak_memory, 31'250'000);
  EXPECT_EQ(status.workers.at(1).peak_memory, 0);
  EXPECT_EQ(monitor_->progress().session_attributes(7).at("rank_memory"), "0:7 1:31250000");
  monitor_->finish("run_finished");
  EXPECT_THAT(log_.all(), Mentions({"memory", "31.2 MB"}));
}

TEST_F(RunMonitorTest, CountsThreadsOnceAfterFallbackToCpu) {
  begin_with_two();
  gets_ready({2, {"node2", "cpu avx2", 8, false, {0}}});
  EXPECT_EQ(attribute("threads"), "9");
  EXPECT_EQ(attribute("plans_at_once"), "9");
  EXPECT_THAT(attribute("workers"),
              AllOf(testing::ContainsRegex("threads +cpus\n"), Mentions({"0-1", "gpu"}),
                    testing::ContainsRegex("cpu avx2 +8")));
}

TEST_F(RunMonitorTest, NamesRanksOnlyUnderMpi) {
  for (const bool has_ranks : {true, false}) {
    log_.clear();
    begin(ProgressStyle::none, has_ranks);
    for (WorkerInfo limited : {cpu_, gpu_}) {
      limited.properties.core_limit_reason = "few cores";
      limited.properties.thread_count_source = "the job";
      gets_ready(limited);
    }
    for (const WorkerInfo& worker : {gpu_, WorkerInfo{3, {}}})  // the second was never ready
      emit({.kind = Event::Kind::worker_departed,
            .worker = std::make_shared<WorkerInfo>(worker),
            .reason = "it broke"});
    monitor_->finish("run_finished");
    const std::string name = has_ranks ? "rank" : "worker";
    EXPECT_THAT(log_.all(), testing::ContainsRegex(name + " +host"));
    EXPECT_THAT(log_.lines(), AllOf(Contains(Mentions({name + " 1-2", "few cores"})),
                                    Contains(Mentions({name + " 1-2", "the job"})),
                                    Contains(Mentions({name + " 2", "node2", "it broke"})),
                                    Contains(Mentions({name + " 3", "it broke"}))));
    EXPECT_EQ(log_.all().find("rank") != std::string::npos, has_ranks);
  }
}

TEST_F(RunMonitorTest, KeepsUnitOfRate) {
  begin(ProgressStyle::lines);
  stores(solved_, 0, 1);
  now_ += std::chrono::seconds(10);
  monitor_->tick(0);
  now_ += std::chrono::seconds(90);
  PlanResult failed;
  failed.status = PlanStatus::failed;
  stores(failed, 1, 1);
  monitor_->tick(0);
  EXPECT_THAT(log_.lines(), AllOf(Contains(Mentions({"1 of 2", "6.00 plans/min", "0 failed"})),
                                  Contains(Mentions({"2 of 2", "0.600 plans/min", "1 failed"}))));
  monitor_->finish("run_finished");
  now_ += std::chrono::seconds(3600);  // to compact the file
  EXPECT_EQ(monitor_->rate_text(), "0.600 plans/min") << "the rate of the session, which has ended";
  EXPECT_EQ(attribute("seconds"), "100.000");
  EXPECT_EQ(attribute("failed"), "1");
  stores(solved_, 1, 1);
  EXPECT_EQ(attribute("failed"), "0") << "a later result replaces the failure";
}

TEST_F(RunMonitorTest, WarnsOnceAboutImplausibleResults) {
  begin_with_two();
  PlanResult row = solved_;
  row.statistics = {.mean_temp = 285, .std_temp = 6};  // in kelvin
  row.error_estimate = 200;
  stores(row, 0, 1);
  row.statistics = {.mean_temp = 16, .std_temp = 4000};
  row.error_estimate = std::numeric_limits<double>::infinity();  // the deltas do not decay
  stores(row, 1, 1);
  EXPECT_THAT(log_.warning_lines(),
              ElementsAre(Mentions({"plan a", "285", "6", "°C"}),
                          Mentions({"plan a", "0 iterations", "--solver steady"})));
  monitor_->finish("run_finished");
  EXPECT_THAT(log_.warning_lines(), AllOf(SizeIs(4), Contains(Mentions({"2 plans", "°C"})),
                                          Contains(Mentions({"2 plans", "steady"}))));
}

TEST_F(RunMonitorTest, AdvisesToCheckProgramWhenItsFieldIsFarFromSteady) {
  begin_with_two();
  PlanResult row = solved_;
  row.solver = "command 0123";
  row.statistics = {.mean_temp = 9, .std_temp = 5};
  row.error_estimate = 20;
  stores(row, 0, 1);
  stores(row, 1, 1);
  monitor_->finish("run_finished");
  EXPECT_THAT(log_.warning_lines(), ElementsAre(AllOf(Mentions({"plan a", "steady", "program"}),
                                                      Not(HasSubstr("0 iter"))),
                                                Mentions({"2 plans", "program"})));
  EXPECT_THAT(log_.warning_lines(), Each(Not(HasSubstr("--solver steady"))));
}

TEST_F(RunMonitorTest, DoesNotWarnAboutUnknownErrors) {
  begin_with_two();
  PlanResult row = solved_;
  row.statistics = {.mean_temp = 9, .std_temp = 5};
  row.error_estimate = std::nan("");  // too few iterations for an estimate
  stores(row, 0, 1);
  stores(row, 1, 1);
  monitor_->finish("run_finished");
  EXPECT_THAT(log_.warning_lines(), IsEmpty());
}

TEST_F(RunMonitorTest, ReportsCpuTimeWhenCoresAreShared) {
  begin_with_two();
  PlanResult row = solved_;
  row.device = "cpu avx2";
  row.seconds = 350;
  row.cpu_s = 17;
  stores(row, 0, 1);
  EXPECT_THAT(monitor_->progress().tally().spent.text(),
              Mentions({"17.0 s", "5 min 50 s", "shared"}));
}

TEST_F(RunMonitorTest, ListsLostOrSlowWorkersInStatusFirst) {
  begin_with_two();
  emit({.kind = Event::Kind::worker_lost,
        .worker = std::make_shared<WorkerInfo>(gpu_),
        .seconds = 30});
  std::vector<PlanProgress> running(20);
  for (std::size_t i = 0; i < running.size(); ++i)
    running[i] = {static_cast<QueueIndex>(i % 2), 7, 0.5, static_cast<double>(i)};
  for (int rank = 10; rank < 400; ++rank) {
    const WorkerInfo worker{rank, {.host = "node", .device = "cpu", .slots = 20}};
    gets_ready(worker);
    if (rank == 399) running.back().seconds = 1000;
    is_heard(worker, {.running = running});
  }
  const RunStatus status = written_status();
  EXPECT_EQ(status.workers.size(), max_workers_listed);
  EXPECT_EQ(status.worker_states.at("working"), 391U);
  EXPECT_EQ(status.running, 2U) << "at most the pending plans";
  EXPECT_EQ(status.worker_states.at("lost"), 1U);
  EXPECT_EQ(status.workers.at(0).rank, 2) << "the lost worker";
  EXPECT_EQ(status.workers.back().rank, 399) << "the worker with the longest running plan";
  EXPECT_EQ(status.workers.back().running_plans, 20U);
  ASSERT_EQ(status.workers.back().running.size(), max_running_listed);
  EXPECT_EQ(status.workers.back().running[0].seconds, 1000);
  EXPECT_EQ(status.workers.back().running[1].seconds, 18);
}

}  // namespace
}  // namespace wallheat
