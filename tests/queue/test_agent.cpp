#include <utility>

#include "queue/agent.hpp"
#include "support/matchers.hpp"

// Scripts of messages from solver processes and from rank 0. The orders of the agent are written as
// "start PROCESS", "kill PROCESS" and "assign PLAN to PROCESS".

namespace wallheat {
namespace {

using testing::Optional;
using Orders = std::vector<std::string>;

class AgentTest : public testing::Test {
 protected:
  static Agent::Device cores(std::size_t seats, double plan_timeout_s = 10) {
    return {seats, {.host = "node1", .device = "cpu avx2"}, plan_timeout_s};
  }
  static Agent::Device gpu() {
    return {1, {.host = "node1", .device = "gpu fake", .gpu = Gpu{3, "fake", "GPU-7"}}, 10};
  }
  Orders pass(double seconds) {
    agent_.tick(now_s_ += seconds);
    return orders();
  }
  /// Reports that a solver process is ready, for the first time or again.
  Orders become_ready(std::size_t process = 0, std::uint32_t lanes = 1) {
    agent_.on_process_ready(process, ProcessReady{lanes});
    return pass(0);
  }
  /// Opens the devices and makes the solver processes of the first one ready.
  void open(std::vector<Agent::Device> devices, std::uint32_t lanes = 1) {
    const std::size_t seats = devices.front().processes;
    agent_.open_devices(std::move(devices));
    for (std::size_t process = 0; process < seats; ++process) become_ready(process, lanes);
    (void)sent();
  }
  Orders assign(const std::vector<std::uint32_t>& plans) {
    Assignment work;
    for (const std::uint32_t plan : plans)
      work.tasks.push_back({QueueIndex{plan}, "p" + std::to_string(plan)});
    agent_.on_assignment(work);
    return pass(0);
  }
  void begin(std::size_t process, const std::vector<std::uint32_t>& plans, int iterations = 0) {
    for (const std::uint32_t plan : plans)
      agent_.on_progress(process, {QueueIndex{plan}, iterations, 0.5});
  }
  void solve(std::size_t process, std::uint32_t plan, double seconds = 1, std::size_t bytes = 8) {
    agent_.on_result(
        process,
        TaskResult{.plan = QueueIndex{plan}, .seconds = seconds, .encoded_result = Bytes(bytes)});
  }
  Orders end(std::size_t process, ProcessExit::Cause why, const std::string& reason) {
    agent_.on_process_exit(process, ProcessExit{why, reason});
    return pass(0.01);
  }
  Orders die(std::size_t process) {
    return end(process, ProcessExit::Cause::crashed, "was killed by SIGSEGV");
  }

  Orders orders() {
    Orders texts;
    for (const Agent::ProcessCommand& order : std::exchange(agent_.outbox.orders, {})) {
      const std::string process = std::to_string(order.process);
      if (order.kind == Agent::ProcessCommand::Kind::start) texts.push_back("start " + process);
      if (order.kind == Agent::ProcessCommand::Kind::kill) texts.push_back("kill " + process);
      if (order.kind == Agent::ProcessCommand::Kind::assign)
        texts.push_back("assign " + order.task.id + " to " + process);
    }
    return texts;
  }
  /// Everything that was sent to rank 0 since the last call of sent().
  struct Sent {
    WorkerReport news{};
    std::string error{};  ///< message of the last failed plan
    std::optional<Bye> bye{};
    std::size_t reports = 0;
  };
  Sent sent() {
    Sent all;
    for (FromWorker& message : std::exchange(agent_.outbox.messages, {})) {
      if (auto* bye = std::get_if<Bye>(&message)) all.bye = *bye;
      auto* report = std::get_if<WorkerReport>(&message);
      if (report == nullptr) continue;
      EXPECT_FALSE(all.bye && report->has_payload()) << "news after Bye";
      ++all.reports;
      for (TaskResult& result : report->results) {
        if (!result.error.empty()) all.error = result.error;
        all.news.results.push_back(std::move(result));
      }
      if (report->ready) all.news.ready = report->ready;
      all.news.running = report->running;
      for (const auto plan : report->suspects) all.news.suspects.push_back(plan);
      for (const auto plan : report->returned) all.news.returned.push_back(plan);
    }
    return all;
  }
  std::vector<std::string> warnings() { return std::exchange(agent_.outbox.warnings, {}); }

  Agent agent_{1};
  double now_s_ = 0;
};

TEST_F(AgentTest, ReportsReadyAfterAllProcessesAreReady) {
  agent_.open_devices({cores(2)});
  EXPECT_THAT(pass(0), ElementsAre("start 0", "start 1"));
  agent_.on_process_ready(1, ProcessReady{1, {4}});
  pass(1);
  EXPECT_FALSE(sent().news.ready);
  agent_.on_process_ready(0, ProcessReady{1, {2}});
  pass(0);
  const Sent all = sent();
  ASSERT_TRUE(all.news.ready);
  EXPECT_EQ(all.news.ready->slots, 2U);
  EXPECT_FALSE(all.news.ready->shares_process);
  EXPECT_THAT(all.news.ready->bound_cpus, ElementsAre(2, 4));
  EXPECT_EQ(all.news.ready->device, "cpu avx2");
  pass(1);
  EXPECT_FALSE(sent().news.ready) << "reported once";
}

TEST_F(AgentTest, AssignsBackloggedPlanWhenSlotIsFree) {
  open({cores(2)});
  EXPECT_THAT(assign({5, 6, 7, 8}), ElementsAre("assign p5 to 0", "assign p6 to 1"));
  solve(1, 6);
  EXPECT_THAT(pass(0.1), ElementsAre("assign p7 to 1"));
  const Sent all = sent();
  ASSERT_THAT(all.news.results, SizeIs(1));
  EXPECT_EQ(all.news.results[0].plan, QueueIndex{6});
  EXPECT_THAT(all.news.running, ElementsAre(Field(&PlanProgress::plan, QueueIndex{5}),
                                            Field(&PlanProgress::plan, QueueIndex{7})));
}

TEST_F(AgentTest, PrefetchesShortPlansForEachProcess) {
  open({cores(2)});
  assign({1, 2, 3, 4, 5, 6, 7});
  solve(0, 1, 0.01);
  EXPECT_THAT(pass(0), ElementsAre("assign p3 to 0", "assign p4 to 0", "assign p5 to 0"));
  begin(0, {4});
  solve(0, 3, 0.01);
  begin(0, {4});
  die(0);
  const Sent all = sent();
  EXPECT_EQ(all.news.results.back().plan, QueueIndex{4});
  EXPECT_THAT(become_ready(), ElementsAre("assign p5 to 0"));
  solve(0, 5, 0.5);
  EXPECT_THAT(pass(0), ElementsAre("assign p6 to 0")) << "long plans are not prefetched";
}

TEST_F(AgentTest, BatchesReportsUnlessASlotIsIdle) {
  open({cores(1)});
  assign({1, 2, 3});
  (void)sent();
  for (std::uint32_t plan : {1, 2}) {
    solve(0, plan);
    pass(0.001);
  }
  EXPECT_EQ(sent().reports, 0U);
  solve(0, 3);
  pass(0.001);
  const Sent all = sent();
  EXPECT_EQ(all.reports, 1U) << "the process is idle";
  EXPECT_THAT(all.news.results, SizeIs(3));
  assign({4, 5});
  (void)sent();
  solve(0, 4, 1, 2 << 20);
  EXPECT_EQ(sent().reports, 1U) << "a large result is sent at once";
}

TEST_F(AgentTest, ReportsPlansInProgressEverySecond) {
  pass(0);
  EXPECT_EQ(sent().reports, 1U) << "also before the first message";
  open({cores(1)});
  assign({4});
  begin(0, {4}, 77);
  for (int second = 0; second < 3; ++second) {
    pass(1);
    const Sent all = sent();
    EXPECT_EQ(all.reports, 1U);
    ASSERT_THAT(all.news.running, SizeIs(1));
    EXPECT_EQ(all.news.running[0].iterations, 77);
    EXPECT_EQ(all.news.running[0].delta, 0.5);
    EXPECT_NEAR(all.news.running[0].seconds, second + 1, 1e-9);
  }
}

TEST_F(AgentTest, ReportsSolvedPlansWhenStopped) {
  open({cores(2)});
  assign({1, 2, 3});
  begin(0, {1}, 30);
  solve(1, 2);
  agent_.on_stop();
  EXPECT_THAT(orders(), ElementsAre("kill 0", "kill 1"));
  Sent all = sent();
  EXPECT_THAT(all.news.results, ElementsAre(Field(&TaskResult::plan, QueueIndex{2})));
  ASSERT_TRUE(all.bye);
  EXPECT_EQ(all.bye->cause, Bye::Cause::stop_requested);
  ASSERT_THAT(all.bye->aborted, SizeIs(1));
  EXPECT_EQ(all.bye->aborted[0].iterations, 30);
  agent_.leave(Bye::Cause::failed, "consequential error");
  EXPECT_FALSE(sent().bye) << "once";
  agent_.on_stop();
  EXPECT_THAT(sent().bye, Optional(Field(&Bye::cause, Bye::Cause::stop_requested)))
      << "each Stop is answered";
  EXPECT_THAT(assign({9}), IsEmpty());
  EXPECT_THAT(die(0), IsEmpty());
  EXPECT_THAT(pass(2), IsEmpty());
  all = sent();
  EXPECT_FALSE(all.bye);
  EXPECT_EQ(all.reports, 1U) << "heartbeats continue until the end of the run";
}

TEST_F(AgentTest, FailsPlanThatCrashedAloneInProcess) {
  open({cores(2)});
  assign({1, 2, 3});
  begin(0, {1}, 40);
  pass(2);
  EXPECT_THAT(die(0), ElementsAre("kill 0", "start 0"));
  const Sent all = sent();
  ASSERT_THAT(all.news.results, SizeIs(1));
  EXPECT_EQ(all.news.results[0].plan, QueueIndex{1});
  EXPECT_EQ(all.news.results[0].kind, TaskResult::Kind::retryable);
  EXPECT_NEAR(all.news.results[0].seconds, 2, 1e-9);
  EXPECT_THAT(all.error, Mentions({"was killed by SIGSEGV", "iteration 40", "0.5 °C"}));
  EXPECT_THAT(become_ready(), ElementsAre("assign p3 to 0"));
  pass(1);
  EXPECT_FALSE(sent().news.ready) << "reported before";
}

TEST_F(AgentTest, ReportsSuspectsAfterCrashWithSeveralPlans) {
  open({gpu()}, 3);
  assign({1, 2, 3});
  begin(0, {1, 3});
  die(0);
  const Sent all = sent();
  EXPECT_THAT(all.news.results, IsEmpty());
  EXPECT_THAT(all.news.suspects, testing::UnorderedElementsAre(QueueIndex{1}, QueueIndex{3}));
  EXPECT_THAT(warnings(),
              ElementsAre(Mentions({"gpu fake", "node1", "was killed by SIGSEGV", "2"})));
  EXPECT_THAT(become_ready(0, 3), ElementsAre("assign p2 to 0")) << "it was not in progress";
}

TEST_F(AgentTest, ReturnsOtherPlansAfterProgressTimeout) {
  open({gpu()}, 3);
  assign({1, 2, 3});
  begin(0, {1, 2}, 5);
  pass(9);
  begin(0, {1}, 6);
  begin(0, {2}, 5);
  EXPECT_THAT(pass(2), ElementsAre("kill 0", "start 0"));
  const Sent all = sent();
  EXPECT_THAT(all.error, Mentions({"progress", "10 s", "iteration 5", "0.5 °C"}));
  EXPECT_THAT(all.news.returned, ElementsAre(QueueIndex{1}));
  EXPECT_THAT(all.news.suspects, IsEmpty());
}

TEST_F(AgentTest, ReplacesProcessWhenPlanDoesNotStart) {
  open({cores(1, 0)});
  assign({1});
  EXPECT_THAT(pass(121), ElementsAre("kill 0", "start 0"));
  EXPECT_THAT(sent().news.results, IsEmpty());
  EXPECT_THAT(become_ready(), ElementsAre("assign p1 to 0"));
}

TEST_F(AgentTest, StartsProcessUpToThreeTimes) {
  agent_.open_devices({cores(1)});
  EXPECT_THAT(orders(), ElementsAre("start 0"));
  EXPECT_THAT(end(0, ProcessExit::Cause::crashed, "ended with exit status 9"),
              ElementsAre("kill 0", "start 0"));
  EXPECT_THAT(pass(200), ElementsAre("kill 0")) << "the last attempt is delayed";
  EXPECT_THAT(pass(1.1), ElementsAre("start 0"));
  end(0, ProcessExit::Cause::crashed, "ended with exit status 9");
  const Sent all = sent();
  ASSERT_TRUE(all.bye);
  EXPECT_EQ(all.bye->cause, Bye::Cause::failed);
  EXPECT_THAT(all.bye->reason, Mentions({"solver process", "ended with exit status 9"}));
}

TEST_F(AgentTest, LeavesWhenProcessesKeepDying) {
  open({cores(1)});
  for (int death = 1; death <= 5; ++death) {
    EXPECT_FALSE(agent_.has_left());
    die(0);
    pass(2);
    if (death != 2) continue;
    become_ready();
    assign({1});
    solve(0, 1);  // resets the count
  }
  EXPECT_THAT(sent().bye, Optional(Field(&Bye::reason, Mentions({"3", "was killed by SIGSEGV"}))));
}

TEST_F(AgentTest, LeavesAfterSourceOutageTimeout) {
  open({cores(1)});
  assign({1});
  int tries = 0;
  for (;; ++tries) {
    agent_.on_source_outage(0, SourceOutage{QueueIndex{1}, "plans: Input/output error"});
    EXPECT_THAT(pass(0), testing::AnyOf(IsEmpty(), ElementsAre("kill 0"))) << "not at once";
    if (agent_.has_left()) break;
    Orders next;
    while (next.empty()) next = pass(0.1);
    EXPECT_THAT(next, ElementsAre("assign p1 to 0"));
  }
  EXPECT_NEAR(tries, 120, 20);
  EXPECT_NEAR(now_s_, 120, 2);
  EXPECT_THAT(warnings(), ElementsAre(Mentions({"node1", "plans: Input/output error", "120 s"})));
  const Sent all = sent();
  ASSERT_TRUE(all.bye);
  EXPECT_EQ(all.bye->cause, Bye::Cause::source_outage);
  EXPECT_EQ(all.bye->reason, "plans: Input/output error");
  EXPECT_THAT(all.news.results, IsEmpty());
}

TEST_F(AgentTest, RestartsOutageTimeoutAfterSuccessfulRead) {
  open({cores(2, 0)});
  assign({1, 2});
  for (const std::uint32_t plan : {2U, 1U, 2U}) {
    agent_.on_source_outage(0, SourceOutage{QueueIndex{3 - plan}, "unavailable"});
    agent_.on_source_outage(1, SourceOutage{QueueIndex{plan}, "unavailable"});
    EXPECT_THAT(warnings(), SizeIs(1)) << "one for all slots";
    EXPECT_THAT(pass(1.1), SizeIs(2));
    pass(100);
    solve(0, plan);
    assign({plan});
  }
  EXPECT_FALSE(agent_.has_left());
}

TEST_F(AgentTest, GivesUpGpuAfterThreeConsecutiveFailures) {
  open({gpu()}, 2);
  const auto fail = [&](std::uint32_t plan) {
    assign({plan});
    begin(0, {plan});
    end(0, ProcessExit::Cause::failed, "impossible result");
    become_ready(0, 2);
  };
  for (const std::uint32_t plan : {1, 1, 1, 2}) fail(plan);  // the same plan counts once
  assign({3});
  solve(0, 3);  // resets the count
  for (const std::uint32_t plan : {4, 5}) fail(plan);
  EXPECT_FALSE(sent().bye);
  fail(6);
  const Sent all = sent();
  ASSERT_TRUE(all.bye);
  EXPECT_EQ(all.bye->cause, Bye::Cause::failed);
  EXPECT_THAT(all.bye->reason, Mentions({"gpu fake", "3", "p6", "impossible result"}));
  EXPECT_EQ(all.error, "impossible result") << "sent before Bye";
}

TEST_F(AgentTest, GivesUpGpuAfterRepeatedMultiPlanFailures) {
  open({gpu()}, 2);
  for (int time = -3; time <= 5; ++time) {
    EXPECT_FALSE(agent_.has_left()) << time;
    assign({1, 2});
    begin(0, {1, 2});
    end(0, ProcessExit::Cause::failed, "multi-plan failure");
    if (time == 5) break;
    become_ready(0, 2);
    assign({1});  // succeeds alone
    begin(0, {1});
    if (time == 0) {  // two plans succeed once, which resets the count
      assign({3});
      begin(0, {3});
      solve(0, 3);
    }
    solve(0, 1);
  }
  EXPECT_THAT(sent().bye,
              Optional(Field(&Bye::reason, Mentions({"gpu fake", "5", "multi-plan failure"}))));
}

TEST_F(AgentTest, FallsBackToCoresAfterTwoDeviceTimeouts) {
  open({gpu(), cores(2)}, 2);
  assign({1, 2, 3, 4});
  begin(0, {1, 2});
  end(0, ProcessExit::Cause::device_timeout, "device timeout");
  EXPECT_THAT(sent().news.returned, testing::UnorderedElementsAre(QueueIndex{1}, QueueIndex{2}))
      << "not as suspects";
  EXPECT_THAT(warnings(), ElementsAre(Mentions({"gpu fake", "node1", "device timeout"})));
  become_ready(0, 2);
  begin(0, {3});
  end(0, ProcessExit::Cause::device_timeout, "device timeout");
  EXPECT_THAT(warnings(),
              ElementsAre(Mentions({"node1", "gpu fake", "device timeout", "2", "CPU"})));
  EXPECT_THAT(sent().news.returned, ElementsAre(QueueIndex{3}));
  EXPECT_THAT(become_ready(1), ElementsAre("assign p4 to 1")) << "its plans remain assigned";
  become_ready(2);
  const Sent all = sent();
  ASSERT_TRUE(all.news.ready) << "again";
  EXPECT_EQ(all.news.ready->slots, 2U);
  EXPECT_EQ(all.news.ready->device, "cpu avx2");
}

/// Device whose plans a program of the user solves.
class SolverCommandAgentTest : public AgentTest {
 protected:
  void open_command() {
    Agent::Device device = cores(1);
    device.has_solver_command = true;
    open({device});
    assign({0, 1, 2, 3, 4});
  }
  /// The program ends while it solves a plan, and is started again.
  void end_program(std::uint32_t plan, int iterations = 0) {
    begin(0, {plan}, iterations);
    end(0, ProcessExit::Cause::failed, "the program ended with exit status 1");
    if (!agent_.has_left()) become_ready();
  }
  void fail(std::uint32_t plan, const std::string& reason) {
    begin(0, {plan});
    agent_.on_result(
        0,
        TaskResult{.plan = QueueIndex{plan}, .kind = TaskResult::Kind::retryable, .error = reason});
    pass(0.1);
  }
};

TEST_F(SolverCommandAgentTest, WarnsWhenTheProgramDoesNotBecomeReady) {
  Agent::Device device = cores(1);
  device.has_solver_command = true;
  agent_.open_devices({device});
  EXPECT_THAT(orders(), ElementsAre("start 0"));
  EXPECT_THAT(pass(121), ElementsAre("kill 0", "start 0"));
  EXPECT_THAT(warnings(), ElementsAre(Mentions({"ready", "120 s"})));
}

TEST_F(SolverCommandAgentTest, LeavesAtOnceWhenProgramIsNotStartable) {
  Agent::Device device = cores(2);
  device.has_solver_command = true;
  agent_.open_devices({device});
  EXPECT_THAT(orders(), ElementsAre("start 0", "start 1"));
  EXPECT_THAT(end(0, ProcessExit::Cause::not_startable, "./mine: No such file"),
              Each(Not(StartsWith("start"))));
  EXPECT_THAT(warnings(), IsEmpty());
  const auto bye = sent().bye;
  ASSERT_TRUE(bye);
  EXPECT_EQ(bye->cause, Bye::Cause::failed);
  EXPECT_THAT(bye->reason, Mentions("./mine"));
}

TEST_F(SolverCommandAgentTest, StartsProgramAgainWhenItDisappearsDuringRun) {
  open_command();
  begin(0, {0});
  die(0);
  EXPECT_THAT(end(0, ProcessExit::Cause::not_startable, "./mine: No such file"),
              Contains("start 0"));
  EXPECT_FALSE(agent_.has_left());
}

TEST_F(SolverCommandAgentTest, ExplainsWhatToDoWhenThereIsNoProgress) {
  open_command();
  begin(0, {0});
  pass(11);
  EXPECT_THAT(sent().error, Mentions({"--plan-timeout"}));
}

TEST_F(SolverCommandAgentTest, StopsRunWhenFirstPlansFailAlike) {
  open_command();
  fail(0, "exit status 1: row 7");
  fail(1, "exit status 1: row 8");
  EXPECT_FALSE(agent_.has_left());
  fail(2, "exit status 1: row 99");
  const auto bye = sent().bye;
  ASSERT_TRUE(bye);
  EXPECT_EQ(bye->cause, Bye::Cause::solver_failed);
  EXPECT_THAT(bye->reason, Mentions({"3 plans", "exit status 1: row 99"}));
}

TEST_F(SolverCommandAgentTest, StopsRunWhenProgramEndsInFirstPlansAfterDifferentProgress) {
  open_command();
  end_program(0);
  end_program(1, 100);
  EXPECT_THAT(sent().error, Mentions({"exit status 1", "iteration 100"}));
  EXPECT_FALSE(agent_.has_left());
  end_program(2);
  ASSERT_TRUE(agent_.has_left());
  EXPECT_EQ(sent().bye->cause, Bye::Cause::solver_failed);
}

TEST_F(SolverCommandAgentTest, KeepsGpuWhenProgramEndsForSeveralPlans) {
  Agent::Device device = gpu();
  device.has_solver_command = true;
  open({device});
  assign({0, 1, 2, 3, 4});
  begin(0, {0});
  solve(0, 0);
  pass(0.1);
  for (const std::uint32_t plan : {1, 2, 3, 4}) end_program(plan);
  EXPECT_FALSE(agent_.has_left());
}

TEST_F(SolverCommandAgentTest, ContinuesWhenFailuresDifferOrPlanWasSolved) {
  open_command();
  fail(0, "exit status 1");
  fail(1, "was killed");
  fail(2, "was killed");
  solve(0, 3);
  pass(0.1);
  fail(4, "was killed");
  EXPECT_FALSE(agent_.has_left());
}

}  // namespace
}  // namespace wallheat
