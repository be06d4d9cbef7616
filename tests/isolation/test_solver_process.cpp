#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <future>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include "isolation/solver_pool.hpp"
#include "isolation/solver_process.hpp"
#include "node/local_machine.hpp"
#include "queue/messages.hpp"
#include "support/matchers.hpp"
#include "support/process.hpp"
#include "support/refusal.hpp"
#include "support/shapes.hpp"
#include "support/temporary_directory.hpp"
#include "support/without_times.hpp"
#include "wallheat/error.hpp"
#include "wallheat/floor_plan_files.hpp"

// Plans that are solved in a child process. What the child does wrong stands in faulty_solver.cpp.

namespace wallheat {
namespace {

using namespace std::chrono_literals;

/// The number behind a name in /proc/PID/status, else 0.
long status_number(pid_t pid, const std::string& name) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stol(line.substr(name.size() + 1));
  }
  return 0;
}

bool is_gone(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  // A process whose parent is dead too may stay as a zombie where nobody collects those.
  return !std::getline(stat, text) || text.substr(text.rfind(')') + 2, 1) == "Z";
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto pid = static_cast<pid_t>(std::stol(name));
    if (status_number(pid, "PPid") == parent) children.push_back(pid);
  }
  return children;
}

/// Names the fields of two results that differ, but for the time they took.
bool same(const PlanResult& a, const PlanResult& b) {
  return encode(FromWorker(WorkerReport{{}, {without_times(a)}})) ==
         encode(FromWorker(WorkerReport{{}, {without_times(b)}}));
}

class IsolatedJobTest : public testing::Test {
 protected:
  IsolatedJobTest() { save_floor_plan(directory_.path(), "sound", room(20, 30)); }

  PlanJob make(std::chrono::duration<double> timeout = 0s) {
    JobSettings job = settings();
    job.plan_timeout_s = timeout.count();
    return SolverPool(job, {.start = program_}).job();
  }
  [[nodiscard]] JobSettings settings() const {
    return {directory_.path(), {}, true, "host", "cpu"};
  }
  /// The only child of this process.
  static pid_t child() {
    const auto children = children_of(::getpid());
    EXPECT_THAT(children, SizeIs(1));
    return children.empty() ? -1 : children.front();
  }
  void expect_sound(const PlanJob& job) {
    const PlanResult result = job({5, "sound"}, {});
    EXPECT_TRUE(same(result, make_plan_job(settings())({5, "sound"}, {}))) << result.error;
  }

  TemporaryDirectory directory_;
  SolverProgram program_{WALLHEAT_FAULTY_SOLVER, {}};
};

TEST_F(IsolatedJobTest, gives_what_the_plain_job_gives_to_the_last_bit) {
  const PlanJob plain = make_plan_job(settings());
  const PlanJob isolated = make();
  std::vector<Task> tasks;
  for (const NamedPlan& named : awkward_plans()) {
    tasks.push_back({static_cast<std::uint32_t>(tasks.size()), std::to_string(tasks.size())});
    save_floor_plan(directory_.path(), tasks.back().id, named.plan);
  }
  std::ofstream(directory_ / "bad_domain.npy") << "not an array";
  for (const char* id : {"bad", "missing", "../up", "sound"}) tasks.push_back({7, id});
  for (const Task& task : tasks) {
    const PlanResult result = isolated(task, {});
    EXPECT_TRUE(same(result, plain(task, {}))) << task.id << ": " << result.error;
    EXPECT_FALSE(result.may_pass) << "bad input stays bad";
  }
}

TEST_F(IsolatedJobTest, survives_whatever_kills_its_solver) {
  const PlanJob job = make();
  for (const auto& [plan, reason] : std::vector<std::pair<std::string, std::string>>{
           {"segmentation-fault", "was killed by SIGSEGV"},
           {"abort", "was killed by SIGABRT"},
           {"exit", "ended with exit status 7"},
           {"garbage", "sent an invalid answer (bytes that are no message)"},
           {"half-a-message", "sent an invalid answer (half a message)"},
           {"hang-up", "hung up without ending"},
           {"wrong-plan", "sent an invalid answer (the wrong message)"}}) {
    const PlanResult result = job({3, plan}, {});
    EXPECT_EQ(result.status, PlanStatus::failed) << plan;
    EXPECT_TRUE(result.may_pass) << plan;
    EXPECT_EQ(result.index, 3U);
    EXPECT_EQ(result.id, plan);
    EXPECT_THAT(result.error, AllOf(HasSubstr("plan " + plan + ": "), HasSubstr(reason)));
    EXPECT_EQ(result.host, "host");
    EXPECT_EQ(result.device, "cpu");
    EXPECT_THAT(result.solver, HasSubstr("jacobi"));
    expect_sound(job);
  }
}

TEST_F(IsolatedJobTest, tells_of_each_plan_how_much_memory_its_solver_held) {
  const PlanJob job = make();
  const auto memory_of = [&](const char* id) { return job({5, id}, {}).peak_memory; };
  const std::int64_t least = memory_of("sound");
  EXPECT_GT(least, 1 << 20) << "the program alone takes more";
  EXPECT_GT(memory_of("large"), least + (60 << 20));
#ifndef __SANITIZE_ADDRESS__  // which keeps what is freed
  EXPECT_LT(memory_of("sound"), least + (30 << 20)) << "that of the plan before is not this one's";
#endif
}

TEST_F(IsolatedJobTest, calls_a_want_of_memory_a_failure_that_may_pass) {
  const PlanJob job = make();
  const pid_t first = child();
  const PlanResult result = job({3, "out-of-memory"}, {});
  EXPECT_EQ(result.status, PlanStatus::failed);
  EXPECT_TRUE(result.may_pass);
  EXPECT_THAT(result.error, HasSubstr("plan out-of-memory: there is not enough memory"));
  EXPECT_EQ(child(), first) << "nothing has died";
}

TEST_F(IsolatedJobTest, names_the_signal_that_came_from_outside_and_how_far_the_plan_was) {
  const PlanJob job = make();
  for (const auto& [number, reason] : std::vector<std::pair<int, std::string>>{
           {SIGKILL, "SIGKILL, perhaps by the kernel's out-of-memory killer"},
           {SIGSEGV, "SIGSEGV"},
           {SIGBUS, "SIGBUS"}}) {
    const auto kill_it = [&](std::int64_t, double) { ::kill(child(), number); };
    const PlanResult result = job({1, "endless"}, {{}, kill_it});
    EXPECT_EQ(result.status, PlanStatus::failed);
    EXPECT_TRUE(result.may_pass);
    EXPECT_THAT(result.error,
                AllOf(HasSubstr(reason), HasSubstr("(iteration "), HasSubstr("delta 0.5 °C)")));
    EXPECT_THAT(children_of(::getpid()), SizeIs(1)) << "the next child is on its way, no zombie";
    expect_sound(job);
  }
}

TEST_F(IsolatedJobTest, does_not_blame_a_plan_for_a_child_that_died_before) {
  const PlanJob job = make();
  for (int death = 0; death < 3; ++death) {
    const pid_t pid = child();
    ::kill(pid, SIGKILL);
    wait_until("its death", [&] { return is_gone(pid); });
    expect_sound(job);
  }
}

TEST_F(IsolatedJobTest, takes_a_plan_without_progress_for_dead) {
  const PlanJob job = make(1s);
  for (const std::string plan : {"silent", "stuck"}) {
    const PlanResult result = job({1, plan}, {});
    EXPECT_EQ(result.status, PlanStatus::failed);
    EXPECT_TRUE(result.may_pass);
    EXPECT_THAT(result.error, HasSubstr("plan " + plan + ": no progress for 1 s"));
    expect_sound(job);
  }
  EXPECT_THAT(job({1, "stuck"}, {}).error, HasSubstr("(iteration 5, delta 0.5 °C)"));
}

TEST_F(IsolatedJobTest, counts_no_time_in_which_the_worker_itself_stood_still) {
  // All are stopped for longer than the limit, as by a scheduler that suspends a job.
  Process parent({program_.file, directory_.path(), "patient", "1.5"});
  wait_until("the plan", [&] { return std::filesystem::exists(directory_ / "begun"); });
  const pid_t pid = children_of(parent.pid()).at(0);
  parent.signal(SIGSTOP);
  ::kill(pid, SIGSTOP);
  std::this_thread::sleep_for(3s);
  parent.signal(SIGCONT);
  ::kill(pid, SIGCONT);
  std::ofstream(directory_ / "go") << "";
  EXPECT_EQ(parent.wait(), 0);
}

TEST_F(IsolatedJobTest, stops_in_the_middle_of_a_plan_and_leaves_it_pending) {
  const PlanJob job = make();
  std::stop_source stop;
  const PlanResult result =
      job({1, "endless"}, {stop.get_token(), [&](std::int64_t, double) { stop.request_stop(); }});
  EXPECT_EQ(result.status, PlanStatus::pending);
  EXPECT_THAT(result.error, IsEmpty());
  EXPECT_THAT(children_of(::getpid()), IsEmpty());
  EXPECT_EQ(job({1, "sound"}, {stop.get_token(), {}}).status, PlanStatus::pending);
  expect_sound(job);
}

TEST_F(IsolatedJobTest, stops_a_solver_that_says_nothing) {
  const PlanJob job = make();
  std::stop_source stop;
  const auto switches = [pid = child()] { return status_number(pid, "voluntary_ctxt_switches"); };
  const long idle = switches();
  std::jthread stopper([&] {
    wait_until("the child to be at work", [&] { return switches() > idle + 20; });
    stop.request_stop();
  });
  EXPECT_EQ(job({1, "silent"}, {stop.get_token(), {}}).status, PlanStatus::pending);
}

TEST_F(IsolatedJobTest, passes_on_how_far_the_plan_is) {
  const PlanJob job = make();
  std::vector<std::int64_t> heard;
  std::stop_source stop;
  (void)job({1, "endless"}, {stop.get_token(), [&](std::int64_t iterations, double delta) {
                               heard.push_back(iterations);
                               EXPECT_EQ(delta, 0.5);
                               if (heard.size() == 3) stop.request_stop();
                             }});
  ASSERT_THAT(heard, SizeIs(3));
  EXPECT_TRUE(std::is_sorted(heard.begin(), heard.end()));
  EXPECT_GT(heard[0], 1) << "not each step is told";
}

TEST_F(IsolatedJobTest, does_not_hear_the_signals_that_stop_a_job) {
  const PlanJob job = make();
  const auto signal_it = [&](std::int64_t, double) {
    for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGHUP}) ::kill(child(), number);
    std::ofstream(directory_ / "go") << "";
  };
  const PlanResult result = job({1, "patient"}, {{}, signal_it});
  EXPECT_EQ(result.status, PlanStatus::converged) << result.error;
}

TEST_F(IsolatedJobTest, has_a_child_with_its_binding_and_nothing_else_of_its_own) {
  std::jthread([&] {
    const std::vector<int> cpus{local_machine().cores.back().cpu};
    bind_this_thread(cpus);
    std::ofstream open_file(directory_ / "open");
    const PlanJob job = make();
    const pid_t pid = child();
    cpu_set_t set;
    ASSERT_EQ(::sched_getaffinity(pid, sizeof set, &set), 0);
    EXPECT_EQ(CPU_COUNT(&set), 1);
    EXPECT_TRUE(CPU_ISSET(cpus.front(), &set));
    const std::string proc = "/proc/" + std::to_string(pid);
    EXPECT_EQ(file_text(proc + "/oom_score_adj"), "1000\n");
    std::set<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(proc + "/fd"))
      if (!std::filesystem::read_symlink(entry).string().starts_with(proc))  // what it asks itself
        files.insert(entry.path().filename());
    EXPECT_THAT(files, ElementsAre("0", "1", "2"));
    EXPECT_EQ(std::filesystem::read_symlink(proc + "/fd/1"), "/dev/null");
  }).join();
}

TEST_F(IsolatedJobTest, leaves_neither_zombie_nor_orphan) {
  pid_t pid = -1;
  {
    const PlanJob job = make();
    expect_sound(job);
    pid = child();
  }
  EXPECT_FALSE(std::filesystem::exists("/proc/" + std::to_string(pid)));
  EXPECT_THAT(children_of(::getpid()), IsEmpty());
}

TEST_F(IsolatedJobTest, takes_its_child_along_when_it_is_killed) {
  for (const std::string plan : {"endless", "nothing"}) {
    std::filesystem::remove(directory_ / "begun");
    Process parent({program_.file, directory_.path(), plan, "0"});
    wait_until("the plan", [&] { return std::filesystem::exists(directory_ / "begun"); });
    const pid_t pid = children_of(parent.pid()).at(0);
    parent.signal(SIGKILL);
    EXPECT_EQ(parent.wait(), 128 + SIGKILL);
    wait_until("the end of its solver", [&] { return is_gone(pid); });
  }
}

TEST_F(IsolatedJobTest, does_not_wait_for_a_child_that_the_kernel_does_not_end) {
  // As long as another process traces a dead child, nobody else can collect it.
  const PlanJob job = make();
  pid_t tracer = -1;
  std::string trouble;
  const auto kill_it = [&](std::int64_t, double) {
    if (tracer > 0) return;
    const pid_t victim = child();
    std::array<int, 2> line{};
    ASSERT_EQ(::pipe(line.data()), 0);
    tracer = ::fork();
    if (tracer == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const bool traced = ::ptrace(PTRACE_SEIZE, victim, nullptr, nullptr) == 0;
      (void)!::write(line[1], traced ? "y" : "n", 1);
      for (;;) ::pause();
    }
    char answer = 'n';
    ASSERT_EQ(::read(line[0], &answer, 1), 1);
    if (answer != 'y') trouble = "this system allows no tracing";
    ::close(line[0]);
    ::close(line[1]);
    ::kill(victim, SIGKILL);
  };
  const PlanResult result = job({1, "endless"}, {{}, kill_it});
  EXPECT_EQ(result.status, PlanStatus::failed);
  EXPECT_THAT(result.error, HasSubstr("hung up without ending"));
  expect_sound(job);
  ::kill(tracer, SIGKILL);
  ::waitpid(tracer, nullptr, 0);
  if (!trouble.empty()) GTEST_SKIP() << trouble;
  (void)job({1, "exit"}, {});  // starting the next child collects those of old
  EXPECT_THAT(children_of(::getpid()), SizeIs(1));
}

TEST_F(IsolatedJobTest, says_at_once_why_no_child_can_be_started) {
  const auto reason = [&](const SolverProgram& program, const std::string& device) {
    JobSettings job = settings();
    job.device = device;
    return refusal_of<RunError>([&] { (void)SolverPool(job, {.start = program}); });
  };
  EXPECT_THAT(reason({(directory_ / "none").string(), {}}, "cpu"),
              AllOf(HasSubstr("none cannot be started"), HasSubstr("No such file")));
  EXPECT_THAT(reason({"/bin/false", {}}, "cpu"),
              HasSubstr("ended with exit status 1 at its start"));
  EXPECT_THAT(reason({"/bin/echo", {"hello"}}, "cpu"), HasSubstr("at its start"));
  EXPECT_EQ(reason(program_, "missing"), "there is no such device");
  EXPECT_THAT(children_of(::getpid()), IsEmpty());
}

TEST_F(IsolatedJobTest, replaces_a_child_that_hangs_before_it_begins_with_a_plan) {
  const PlanJob job = make(2s);
  ::kill(child(), SIGSTOP);
  const auto answered = std::async(std::launch::async, [&] { expect_sound(job); });
  EXPECT_EQ(answered.wait_for(10min), std::future_status::ready);
}

TEST_F(IsolatedJobTest, gives_up_with_the_reason_when_no_new_child_comes_up) {
  const PlanJob job = make();
  std::ofstream(directory_ / "nothing_starts") << "";
  EXPECT_EQ(job({1, "exit"}, {}).status, PlanStatus::failed) << "this plan has its own failure";
  EXPECT_THAT(refusal_of<RunError>([&] {
                (void)job({2, "sound"}, {});
              }),
              AllOf(HasSubstr("no solver process comes up any more"),
                    HasSubstr("ended with exit status 9")))
      << "the next plan is not to be blamed";
  std::filesystem::remove(directory_ / "nothing_starts");
  expect_sound(job);
}

TEST_F(IsolatedJobTest, can_be_stopped_while_it_tries_to_start_a_child) {
  const PlanJob job = make();
  std::ofstream(directory_ / "nothing_starts") << "";
  (void)job({1, "exit"}, {});
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  try {
    EXPECT_EQ(job({2, "sound"}, {stop.get_token(), {}}).status, PlanStatus::pending);
  } catch (const RunError&) {
    ADD_FAILURE() << "a stop is no failure";
  }
}

/// A directory of plans that can be taken away.
class SourceAwayTest : public IsolatedJobTest {
 protected:
  SourceAwayTest() {
    std::filesystem::create_directory(plans_);
    save_floor_plan(plans_, "sound", room(20, 30));
  }
  void take_away() const { std::filesystem::rename(plans_, directory_ / "away"); }
  void bring_back() const { std::filesystem::rename(directory_ / "away", plans_); }
  PlanJob make(std::chrono::duration<double> source_timeout = SolverPoolParts().source_timeout) {
    return SolverPool(settings(), {.start = program_, .source_timeout = source_timeout}).job();
  }
  [[nodiscard]] JobSettings settings() const { return {plans_, {}, true, "host", "cpu"}; }

  std::filesystem::path plans_ = directory_ / "plans";
};

TEST_F(SourceAwayTest, costs_a_plan_nothing_but_time) {
  const PlanJob job = make();
  take_away();
  bool waited = false;
  const PlanResult result = job({5, "sound"}, {{}, [&](std::int64_t, double) {
                                                 if (!std::exchange(waited, true)) bring_back();
                                               }});
  EXPECT_TRUE(waited);
  EXPECT_TRUE(same(result, make_plan_job(settings())({5, "sound"}, {}))) << result.error;
}

TEST_F(SourceAwayTest, does_no_harm_to_a_child_that_is_started_meanwhile) {
  const PlanJob job = make();
  take_away();
  int waits = 0;
  const PlanResult result = job({5, "sound"}, {{}, [&](std::int64_t, double) {
                                                 ++waits;
                                                 if (waits == 1) ::kill(child(), SIGKILL);
                                                 if (waits == 2) bring_back();
                                               }});
  EXPECT_EQ(result.status, PlanStatus::converged) << result.error;
}

TEST_F(SourceAwayTest, can_be_stopped_while_it_waits) {
  const PlanJob job = make();
  take_away();
  std::stop_source stop;
  const PlanResult result =
      job({5, "sound"}, {stop.get_token(), [&](std::int64_t, double) { stop.request_stop(); }});
  EXPECT_EQ(result.status, PlanStatus::pending);
  EXPECT_THAT(result.error, IsEmpty());
}

TEST_F(SourceAwayTest, is_the_reason_to_leave_when_it_is_away_for_too_long) {
  const PlanJob job = make(0s);
  take_away();
  try {
    (void)job({5, "sound"}, {});
    ADD_FAILURE() << "the plan is not to be blamed";
  } catch (const SourceUnavailable& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr(plans_.string()), HasSubstr("No such file")));
  }
  bring_back();
  EXPECT_THAT(job({5, "missing"}, {}).error, HasSubstr("missing_domain.npy: no such file"));
}

TEST_F(IsolatedJobTest, keeps_the_memory_it_needs_over_many_plans) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer keeps freed memory for a while";
#endif
  const PlanJob job = make();
  const auto solve_some = [&] {
    for (int plan = 0; plan < 100; ++plan) expect_sound(job);
  };
  solve_some();
  const long parent_kib = status_number(::getpid(), "VmRSS");
  const long child_kib = status_number(child(), "VmRSS");
  solve_some();
  EXPECT_LT(status_number(::getpid(), "VmRSS"), parent_kib + 4096);
  EXPECT_LT(status_number(child(), "VmRSS"), child_kib + 4096);
}

TEST(JobSettings, come_through_unchanged_and_are_refused_when_torn) {
  const JobSettings settings{
      "some where", {{0.1, 77}, true, Isa::avx2, 3}, true, "host 1", "cpu avx2", 0.5, 64, {7},
      {8, 9}};
  const Bytes bytes = encode(settings);
  const JobSettings copy = decode_settings(bytes);
  EXPECT_EQ(encode(copy), bytes);
  EXPECT_EQ(copy.data, "some where");
  EXPECT_EQ(copy.solver.limits.tolerance, 0.1);
  EXPECT_EQ(copy.solver.isa, Isa::avx2);
  EXPECT_EQ(copy.solver.gpu, 3);
  EXPECT_EQ(copy.plan_timeout_s, 0.5);
  EXPECT_EQ(copy.lanes, 64U);
  EXPECT_THAT(copy.sockets, ElementsAre(7));
  EXPECT_THAT(copy.cpus, ElementsAre(8, 9));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW((void)decode_settings(std::span(bytes).first(size)), DecodeError);
}

TEST(SolverProcess, is_not_for_people) {
  const Finished finished = run_program({WALLHEAT_PROGRAM, "solver-process"});
  EXPECT_EQ(finished.status, 2);
  EXPECT_THAT(finished.err, HasSubstr("'wallheat run' starts for itself"));
  EXPECT_THAT(run_program({WALLHEAT_PROGRAM, "--help"}).out, Not(HasSubstr("solver-process")));
}

}  // namespace
}  // namespace wallheat
