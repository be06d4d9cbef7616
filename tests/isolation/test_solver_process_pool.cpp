#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <set>

#include "io/deflate.hpp"
#include "isolation/rank0.hpp"
#include "isolation/task_runner.hpp"
#include "node/local_machine.hpp"
#include "store/field_codec.hpp"
#include "support/fake_gpu.hpp"
#include "support/matchers.hpp"
#include "support/shapes.hpp"
#include "support/without_times.hpp"
#include "wallheat/floor_plan_files.hpp"

// Workers with real solver processes. faulty_solver.cpp implements the faults.

namespace wallheat {
namespace {

using namespace std::chrono_literals;

bool has_ended(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  // A process whose parent is dead, too, may remain as a zombie if no other process reaps it.
  return !std::getline(stat, text) || text.substr(text.rfind(')') + 2, 1) == "Z";
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& thread :
       std::filesystem::directory_iterator("/proc/" + std::to_string(parent) + "/task")) {
    std::ifstream list(thread.path() / "children");
    for (pid_t child = 0; list >> child;) children.push_back(child);
  }
  return children;
}

class SolverProcessPoolTest : public testing::Test {
 protected:
  SolverProcessPoolTest() {
    for (const char* id : {"sound", "large", "patient"})
      save_floor_plan(directory_.path(), id, room(20, 30));
    context_.heartbeat_interval_s = 0.02;
    context_.program = {WALLHEAT_FAULTY_SOLVER, {}};
    context_.open_devices = [this] {
      return std::vector<WorkerDevice>{{{settings_}, {.host = "host", .device = settings_.device}}};
    };
  }
  void open() { rank0_.emplace(context_); }
  PlanResult solve(const std::string& plan) { return rank0_->solve(plan); }
  /// Returns true if the last result is a retryable failure.
  [[nodiscard]] bool is_retryable() const {
    return rank0_->records.back().kind == TaskResult::Kind::retryable;
  }
  /// Returns the result of the task if it is solved in this process.
  [[nodiscard]] TaskResult solved_in_process(const Task& task) const {
    SolveConfig cpu = settings_;
    cpu.solver.gpu.reset();
    return open_device(cpu).make_runner({})(task, {});
  }
  void expect_same(const PlanResult& row) const {
    const TaskResult expected = solved_in_process({{}, row.id});
    EXPECT_TRUE(encode_result(without_times(row)) ==
                encode_result(without_times(decode_result(expected.encoded_result))))
        << row.id << ": " << row.error;
  }
  void expect_sound() { expect_same(solve("sound")); }
  void make_file(const char* name) const { std::ofstream(directory_ / name) << ""; }
  /// The only child of this process. Throws if there is none: a signal to -1 would go to every
  /// process of the machine.
  static pid_t child() {
    const auto children = children_of(::getpid());
    EXPECT_THAT(children, SizeIs(1));
    return children.at(0);
  }

  TemporaryDirectory directory_;
  SolveConfig settings_{directory_.path(), {}, true, "host", "cpu"};
  WorkerContext context_;
  std::optional<Rank0> rank0_;
};

TEST_F(SolverProcessPoolTest, ReturnsBitIdenticalResultsToInProcessSolve) {
  open();
  save_floor_plan(directory_.path(), "wall", random_plan(16, 16, 0, 2));
  std::ofstream(directory_ / "bad_domain.npy") << "not an array";
  for (const std::string id : {"bad", "missing", "../up", "wall", "sound"}) {
    const PlanResult row = solve(id);
    expect_same(row);
    const TaskResult& result = rank0_->records.back();
    const TaskResult expected = solved_in_process({{}, id});
    EXPECT_EQ(result.kind, expected.kind) << id;
    EXPECT_EQ(result.result_hash, expected.result_hash) << id;
    EXPECT_EQ(result.kind, row.error.empty() ? TaskResult::Kind::solved : TaskResult::Kind::failed);
    EXPECT_EQ(result.seconds, row.seconds);
  }
}

TEST_F(SolverProcessPoolTest, ChangesResultHashWhenOnlyFieldDiffers) {
  const TaskResult with_field = solved_in_process({{}, "sound"});
  PlanResult row = decode_result(with_field.encoded_result);
  const Grid<double> field = decompress_field(row.field, {row.rows, row.cols});
  EXPECT_EQ(with_field.result_hash,
            hash_result(row, crc32_of(std::as_bytes(std::span(field.cells)))));
  settings_.save_fields = false;
  EXPECT_EQ(solved_in_process({{}, "sound"}).result_hash, hash_result(row, 0));
  EXPECT_NE(with_field.result_hash, hash_result(row, 0));
}

TEST_F(SolverProcessPoolTest, SurvivesEveryFaultOfSolverProcess) {
  open();
  using Matcher = testing::Matcher<const std::string&>;
  for (const auto& [plan, reason] : std::vector<std::pair<std::string, Matcher>>{
           {"segmentation-fault", Mentions("SIGSEGV")},
           {"abort", Mentions("SIGABRT")},
           {"exit", Mentions("exit status 7")},
           {"garbage", Mentions("message")},
           {"half-a-message", Mentions("message")},
           {"killed-in-message", AllOf(Mentions("SIGKILL"), Not(Mentions("message")))},
           {"hang-up", Not(Mentions("message"))},
           {"wrong-plan", Mentions("message")}}) {
    const PlanResult row = solve(plan);
    EXPECT_TRUE(is_retryable()) << plan;
    EXPECT_THAT(row.error, AllOf(Mentions("solver process"), reason));
    expect_sound();
  }
}

TEST_F(SolverProcessPoolTest, ReportsPeakMemoryOfEachPlan) {
  open();
  const std::int64_t baseline = solve("sound").peak_memory;
  EXPECT_GT(baseline, 1 << 20) << "the program alone uses more";
  EXPECT_GT(solve("large").peak_memory, baseline + (60 << 20));
#ifndef __SANITIZE_ADDRESS__  // the sanitizer keeps freed memory
  EXPECT_LT(solve("sound").peak_memory, baseline + (30 << 20)) << "not of the previous plan";
#endif
}

TEST_F(SolverProcessPoolTest, ReportsSignalWithProgressAfterExternalKill) {
  open();
  rank0_->assign("endless");
  rank0_->receive_progress();
  ::kill(child(), SIGKILL);
  rank0_->receive_until("the failure", [&] { return rank0_->results.contains("endless"); });
  EXPECT_THAT(rank0_->results["endless"].error,
              Mentions({"SIGKILL", "out-of-memory", "iteration", "0.5 °C"}));
  expect_sound();
  EXPECT_THAT(children_of(::getpid()), SizeIs(1)) << "no zombie";
}

TEST_F(SolverProcessPoolTest, FailsPlanAfterProgressTimeout) {
  settings_.plan_timeout_s = 1;
  open();
  for (const std::string plan : {"silent", "stuck"}) {
    EXPECT_THAT(solve(plan).error, Mentions({"progress", "1 s"}));
    EXPECT_TRUE(is_retryable());
    expect_sound();
  }
}

// A worker that waits sends no heartbeat, and rank 0 would take it for lost.
TEST_F(SolverProcessPoolTest, WorksWhilePreviousProcessEnds) {
  settings_.solver.kind = SolverKind::command;
  settings_.solver.command.words = {"sh", "-c", "echo '{\"ready\": true}'; cat"};
  open();
  rank0_->receive_until("the process", [&] { return rank0_->facts.has_value(); });
  const pid_t previous = child();
  EXPECT_THAT(solve("held-socket").error, Mentions("held"));
  EXPECT_THAT(children_of(::getpid()), Each(previous)) << "the next process waits";
  make_file("go");
  rank0_->receive_until("the next process", [&] {
    const auto children = children_of(::getpid());
    return !children.empty() && children.back() != previous;
  });
}

TEST_F(SolverProcessPoolTest, IgnoresTimeWhileWorkerIsSuspended) {
  static std::atomic<int> hours = 0;  // duration for which a scheduler suspends the job
  context_.now = [] { return std::chrono::steady_clock::now() + hours.load() * 1h; };
  context_.heartbeat_timeout_s = std::numeric_limits<double>::infinity();
  settings_.plan_timeout_s = 60;
  open();
  rank0_->assign("patient");
  rank0_->receive_progress();
  hours = 1;
  const std::size_t reports = rank0_->reports;
  rank0_->receive_until("some heartbeats", [&] { return rank0_->reports > reports + 2; });
  make_file("go");
  rank0_->receive_until("the result", [&] { return rank0_->results.contains("patient"); });
  expect_same(rank0_->results["patient"]);
}

TEST_F(SolverProcessPoolTest, EndsAfterWorkerIsKilled) {
  for (const std::string plan : {"patient", "nothing"}) {
    std::filesystem::remove(directory_ / "begun");
    Process parent({WALLHEAT_FAULTY_SOLVER, directory_.path(), plan});
    wait_until("the plan", [&] { return std::filesystem::exists(directory_ / "begun"); });
    const pid_t pid = children_of(parent.pid()).at(0);
    parent.signal(SIGKILL);
    EXPECT_EQ(parent.wait(), 128 + SIGKILL);
    wait_until("the end of its solver", [&] { return has_ended(pid); });
  }
}

TEST_F(SolverProcessPoolTest, AbortsPlanInProgressWhenStopped) {
  open();
  rank0_->assign("endless");
  rank0_->receive_progress();
  rank0_->send(Stop{});
  const Bye bye = rank0_->receive_bye();
  EXPECT_EQ(bye.cause, Bye::Cause::stop_requested);
  ASSERT_THAT(bye.aborted, SizeIs(1));
  EXPECT_GT(bye.aborted[0].iterations, 0);
  rank0_->send(Shutdown{true});
  EXPECT_EQ(rank0_->end(), "");
  EXPECT_TRUE(rank0_->together());
  EXPECT_THAT(children_of(::getpid()), IsEmpty()) << "neither zombie nor orphan";
}

TEST_F(SolverProcessPoolTest, IgnoresSignalsThatStopJobs) {
  open();
  rank0_->assign("patient");
  rank0_->receive_progress();
  for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGHUP}) ::kill(child(), number);
  make_file("go");
  rank0_->receive_until("the result", [&] { return rank0_->results.contains("patient"); });
  expect_same(rank0_->results["patient"]);
}

TEST_F(SolverProcessPoolTest, InheritsOnlyCpuBindingFromWorker) {
  settings_.cpus = {local_machine().cores.back().cpu};
  std::ofstream open_file(directory_ / "open");
  open();
  expect_sound();
  EXPECT_EQ(rank0_->facts->bound_cpus, settings_.cpus);
  const std::string proc = "/proc/" + std::to_string(child());
  EXPECT_THAT(file_text(proc + "/status"),
              HasSubstr("Cpus_allowed_list:\t" + std::to_string(settings_.cpus[0]) + "\n"));
  EXPECT_EQ(file_text(proc + "/oom_score_adj"), "1000\n");
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(proc + "/fd"))
    // The process itself reads its directory in /proc.
    if (!std::filesystem::read_symlink(entry).string().starts_with(proc))
      files.insert(entry.path().filename());
  EXPECT_THAT(files, ElementsAre("0", "1", "2"));
  EXPECT_EQ(std::filesystem::read_symlink(proc + "/fd/1"), "/dev/null");
}

// A cpuset may shrink during a run: then a new solver process finds none of its cpus.
TEST_F(SolverProcessPoolTest, SolvesOnOtherCpusWhenItsOwnAreGone) {
  settings_.cpus = {4000};
  testing::internal::CaptureStderr();
  open();
  expect_sound();
  ::kill(child(), SIGKILL);
  expect_sound();
  const std::string messages = testing::internal::GetCapturedStderr();
  EXPECT_THAT(messages, Mentions({"warning", "4000"}));
  EXPECT_EQ(messages.find("warning"), messages.rfind("warning")) << "one warning for all processes";
  EXPECT_EQ(rank0_->facts->bound_cpus, bound_cpus());
}

TEST_F(SolverProcessPoolTest, WaitsWhilePlanSourceIsUnavailable) {
  open();
  expect_sound();
  std::filesystem::rename(directory_.path(), directory_.path().string() + ".moved");
  rank0_->assign("sound");
  const std::size_t reports = rank0_->reports;
  rank0_->receive_until("some heartbeats", [&] { return rank0_->reports > reports + 10; });
  ::kill(child(), SIGKILL);  // is not counted as a failure
  std::filesystem::rename(directory_.path().string() + ".moved", directory_.path());
  rank0_->receive_until("the result", [&] { return rank0_->records.size() == 2; });
  EXPECT_EQ(rank0_->records[1].kind, TaskResult::Kind::solved);
}

TEST_F(SolverProcessPoolTest, SendsTasksLaterThatDoNotFitIntoSocket) {
  settings_.device = "short plans";
  settings_.slots = 0;
  open();
  constexpr std::size_t count = 4000;
  for (std::size_t plan = 0; plan < count; ++plan) rank0_->assign(std::to_string(plan));
  rank0_->receive_until("all results", [&] { return rank0_->results.size() == count; });
  EXPECT_EQ(rank0_->facts->slots, 32U);
  EXPECT_THAT(rank0_->records, SizeIs(count)) << "each plan is solved once";
}

TEST(MessageChannel, SendsEnqueuedMessagesInOrderWhenSocketIsFull) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  MessageChannel sender{FileDescriptor(ends[0])};
  constexpr std::uint32_t count = 5000;
  std::uint32_t received = 0;
  {
    MessageChannel receiver{FileDescriptor(ends[1])};
    for (std::uint32_t plan = 0; plan < count; ++plan)
      sender.enqueue(to_bytes(Task{QueueIndex{plan}, std::string(plan % 100, 'x')}));
    ASSERT_TRUE(sender.has_output()) << "the socket is full";
    for (; received < count; ++received) {
      const auto message = receiver.receive();
      ASSERT_TRUE(message);
      EXPECT_EQ(from_bytes<Task>(*message),
                (Task{QueueIndex{received}, std::string(received % 100, 'x')}));
      sender.flush();
    }
    EXPECT_FALSE(sender.has_output());
  }
  sender.enqueue(to_bytes(Task{}));
  EXPECT_FALSE(sender.has_output()) << "the receiver is gone";
}

// --- Worker and rank 0 ---------------------------------------------------------------------------

TEST_F(SolverProcessPoolTest, ReportsReasonWhenWorkerLeaves) {
  const auto expect_bye = [&](Bye::Cause why, const auto& reason) {
    open();
    const Bye bye = rank0_->receive_bye();
    EXPECT_EQ(bye.cause, why);
    EXPECT_THAT(bye.reason, reason);
  };
  context_.interrupted = [] { return true; };
  expect_bye(Bye::Cause::interrupted, Mentions("interrupted"));
  context_.interrupted = nullptr;
  settings_.device = "missing";
  expect_bye(Bye::Cause::failed, "unknown device");
  context_.program = {(directory_ / "none").string(), {}};
  expect_bye(Bye::Cause::failed, Mentions({(directory_ / "none").string(), "No such file"}));
  context_.program = {"/bin/false", {}};
  expect_bye(Bye::Cause::failed, Mentions({"solver process", "exit status 1"}));
  context_.program = {"/bin/echo", {"hello"}};
  expect_bye(Bye::Cause::failed, Mentions("solver process"));
  context_.open_devices = []() -> std::vector<WorkerDevice> { throw RunError("no GPU 7"); };
  expect_bye(Bye::Cause::failed, "no GPU 7");
  context_.find_mismatch = [](const auto&) { return "its --norm is l2, and rank 0's is max"; };
  expect_bye(Bye::Cause::incompatible, "its --norm is l2, and rank 0's is max");
}

TEST_F(SolverProcessPoolTest, EndsWhenRank0IsLost) {
  context_.heartbeat_timeout_s = 0.1;
  open();
  EXPECT_THAT(rank0_->end(), Mentions({"rank 0", "--resume"}));
  EXPECT_THAT(children_of(::getpid()), IsEmpty());
}

// --- GPU with several plans in progress ----------------------------------------------------------

class GpuSolverProcessTest : public SolverProcessPoolTest {
 protected:
  GpuSolverProcessTest() {
    settings_.solver.gpu = 0;
    settings_.slots = 0;
    settings_.cpus = {local_machine().cores.front().cpu};
  }
  void assign(const std::string& id, GpuFault fault) {
    save_floor_plan(directory_.path(), id, with_fault(room(20, 30), fault));
    rank0_->assign(id);
  }
};

TEST_F(GpuSolverProcessTest, FillsAllDeviceSlotsInOneProcess) {
  open();
  for (std::size_t plan = 0; plan < FakeGpu::lanes; ++plan)
    assign(std::to_string(plan), GpuFault::patient);
  const auto is_begun = [](const PlanProgress& each) { return each.iterations > 0; };
  rank0_->receive_until("all plans in progress", [&] {
    return std::ranges::count_if(rank0_->last.running, is_begun) == FakeGpu::lanes;
  });
  EXPECT_EQ(rank0_->facts->slots, FakeGpu::lanes);
  EXPECT_TRUE(rank0_->facts->shares_process);
  std::size_t threads = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(child()) + "/task")) {
    EXPECT_THAT(file_text(entry.path() / "status"),
                HasSubstr("Cpus_allowed_list:\t" + std::to_string(settings_.cpus[0]) + "\n"));
    ++threads;
  }
  EXPECT_GT(threads, FakeGpu::lanes);
  make_file("go");
  rank0_->receive_until("all", [&] { return rank0_->results.size() == FakeGpu::lanes; });
  std::set<int> numbers;
  for (const auto& [id, row] : rank0_->results) {
    expect_same(row);
    numbers.insert(row.thread);
  }
  EXPECT_THAT(numbers, SizeIs(FakeGpu::lanes));
}

TEST_F(GpuSolverProcessTest, FallsBackToCoresAfterTwoDeviceTimeouts) {
  context_.open_devices = [this] {
    SolveConfig cores = settings_;
    cores.solver.gpu.reset();
    cores.slots = 1;
    return std::vector<WorkerDevice>{
        {{settings_}, {.host = "host", .device = "gpu fake"}, [] { return GpuSample{}; }},
        {{cores, cores}, {.host = "host", .device = "cpu"}}};
  };
  open();
  rank0_->receive_until("the GPU's readings", [&] { return rank0_->last.gpu_sample.has_value(); });
  assign("quiet", GpuFault::silent);
  rank0_->receive_until("the returned plan", [&] { return rank0_->returned.size() == 1; });
  rank0_->assign("quiet");
  rank0_->receive_until("the cores",
                        [&] { return rank0_->facts && rank0_->facts->device == "cpu"; });
  EXPECT_EQ(rank0_->facts->slots, 2U);
  EXPECT_EQ(rank0_->returned.size(), 2U);
  EXPECT_FALSE(rank0_->last.gpu_sample) << "no readings of a GPU that was given up";
  expect_same(solve("quiet"));
}

}  // namespace
}  // namespace wallheat
