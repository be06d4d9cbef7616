// A solver process with faults: a plan whose ID names a fault causes it; other plans are solved
// normally. With a GPU it uses a FakeGpu. `faulty_solver DIR PLAN` is a worker with this program as
// its solver process. It creates the file DIR/begun when the plan is in progress, or, if PLAN is
// "nothing", when the solver process is ready. It does not end.

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "isolation/rank0.hpp"
#include "isolation/solver_process.hpp"
#include "support/fake_gpu.hpp"

namespace wallheat {
namespace {

using Fault = std::function<TaskResult(const SolveControl&)>;

/// Reports progress, which grows by `step` iterations per report, until done() returns true.
TaskResult report_progress(const SolveControl& control, int step,
                           const std::function<bool()>& done) {
  for (std::int64_t iterations = step; !done(); iterations += step) {
    if (control.progress) control.progress(iterations == 0 ? 5 : iterations, 0.5);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return {};
}

void send_bytes(const char* bytes) { (void)::send(STDIN_FILENO, bytes, std::strlen(bytes), 0); }

const auto never = [] { return false; };

TaskRunner faulty_job(const SolveConfig& settings, SolverSlot thread) {
  if (settings.device == "missing") throw RunError("unknown device");
  const TaskRunner sound = open_device(settings).make_runner(thread);
  const auto kill = [](int number) {
    return [number](const SolveControl&) -> TaskResult {
      ::raise(number);
      return {};
    };
  };
  const std::map<std::string, Fault> faults = {
      {"segmentation-fault", kill(SIGSEGV)},
      {"abort", kill(SIGABRT)},
      {"exit", [](const SolveControl&) -> TaskResult { std::_Exit(7); }},
      {"garbage",
       [](const SolveControl& control) {
         send_bytes("these bytes are not a message");
         return report_progress(control, 1, never);
       }},
      {"half-a-message",
       [](const SolveControl&) -> TaskResult {
         send_bytes("WALLHEAT\x40\0\0");
         std::_Exit(0);
       }},
      {"killed-in-message",
       [](const SolveControl&) -> TaskResult {
         send_bytes("WALLHEAT\x40\0\0");
         ::raise(SIGKILL);
         return {};
       }},
      {"held-socket",  // a child holds the socket until the file `go` exists, as a supervisor does
       [go = (settings.data / "go").string()](const SolveControl&) -> TaskResult {
         if (::fork() != 0) throw RunError("its socket is held");
         for (int file = STDOUT_FILENO; file < 64; ++file) ::close(file);
         ::alarm(60);
         while (::access(go.c_str(), F_OK) != 0) ::usleep(1000);
         std::_Exit(0);
       }},
      {"hang-up",
       [](const SolveControl&) {
         ::shutdown(STDIN_FILENO, SHUT_RDWR);
         return report_progress({}, 1, never);
       }},
      {"wrong-plan", [](const SolveControl&) { return TaskResult{.plan = QueueIndex{77777}}; }},
      {"endless", [](const SolveControl& control) { return report_progress(control, 1, never); }},
      {"stuck", [](const SolveControl& control) { return report_progress(control, 0, never); }},
      {"silent", [](const SolveControl&) { return report_progress({}, 1, never); }},
  };
  return [=](const Task& task, const SolveControl& control) {
    const auto fault = faults.find(task.id);
    if (fault != faults.end()) return fault->second(control);
    if (task.id == "patient")
      report_progress(control, 1, [&] { return std::filesystem::exists(settings.data / "go"); });
    const std::vector<char> touched(task.id == "large" ? 64 << 20 : 0, 'x');
    return sound(task, control);
  };
}

/// A device that solves 32 plans at a time, each in about a millisecond.
OpenDevice open_short_plans() {
  return {32, [](SolverSlot) {
            return [](const Task& task, const SolveControl&) {
              std::this_thread::sleep_for(std::chrono::milliseconds(1));
              PlanResult row;
              row.id = task.id;
              return TaskResult{
                  .plan = task.plan, .seconds = 0.001, .encoded_result = encode_result(row)};
            };
          }};
}

OpenDevice open_faulty(const SolveConfig& settings) {
  if (settings.device == "short plans") return open_short_plans();
  if (settings.solver.gpu)
    return open_device(settings, std::make_shared<FakeGpu>(settings.data / "go"));
  return {1, [settings](SolverSlot thread) { return faulty_job(settings, thread); }};
}

}  // namespace
}  // namespace wallheat

int main(int argc, char** argv) {
  using namespace wallheat;
  // Sanitizers would catch these signals and exit.
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT}) ::signal(number, SIG_DFL);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty()) return run_solver_process(open_faulty);
  const std::filesystem::path directory = arguments[0];
  WorkerContext context;
  context.heartbeat_interval_s = 0.02;
  context.program.arguments = {};
  context.open_devices = [&] {
    const wallheat::SolveConfig settings{directory, {}, false, "host", "cpu"};
    return std::vector<WorkerDevice>{{{settings}, {}}};
  };
  Rank0 rank0(context);
  if (arguments[1] == "nothing") {
    rank0.receive_until("the worker", [&] { return rank0.facts.has_value(); });
  } else {
    rank0.assign(arguments[1]);
    rank0.receive_progress();
  }
  std::ofstream(directory / "begun") << "";
  ::pause();
}
