// A solver process whose plans can go wrong in every way: if a plan's name is a fault, that
// happens; other plans are solved as ever. With a GPU it has a FakeGpu. `faulty_solver DIR PLAN` is
// a worker whose child, which is itself, has begun with a plan, or with "nothing", once there is
// the file DIR/begun. It does not end.

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "isolation/rank0.hpp"
#include "isolation/solver_process.hpp"
#include "support/fake_gpu.hpp"

namespace wallheat {
namespace {

using Fault = std::function<Result(const SolveControl&)>;

/// Tells of its progress, each time further by `step` iterations, until `done`.
Result go_on(const SolveControl& control, int step, const std::function<bool()>& done) {
  for (std::int64_t iterations = step; !done(); iterations += step) {
    if (control.progress) control.progress(iterations == 0 ? 5 : iterations, 0.5);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return {};
}

void say(const char* bytes) { (void)::send(STDIN_FILENO, bytes, std::strlen(bytes), 0); }

const auto never = [] { return false; };

PlanJob faulty_job(const JobSettings& settings, JobThread thread) {
  if (settings.device == "missing") throw RunError("there is no such device");
  const PlanJob sound = open_jobs(settings).make_job(thread);
  const auto kill = [](int number) {
    return [number](const SolveControl&) -> Result {
      ::raise(number);
      return {};
    };
  };
  const std::map<std::string, Fault> faults = {
      {"segmentation-fault", kill(SIGSEGV)},
      {"abort", kill(SIGABRT)},
      {"exit", [](const SolveControl&) -> Result { std::_Exit(7); }},
      {"garbage",
       [](const SolveControl& control) {
         say("this is certainly no message of ours");
         return go_on(control, 1, never);
       }},
      {"half-a-message",
       [](const SolveControl&) -> Result {
         say("WALLHEAT\x40\0\0");
         std::_Exit(0);
       }},
      {"hang-up",
       [](const SolveControl&) {
         ::shutdown(STDIN_FILENO, SHUT_RDWR);
         return go_on({}, 1, never);
       }},
      {"wrong-plan", [](const SolveControl&) { return Result{.plan = 77777}; }},
      {"endless", [](const SolveControl& control) { return go_on(control, 1, never); }},
      {"stuck", [](const SolveControl& control) { return go_on(control, 0, never); }},
      {"silent", [](const SolveControl&) { return go_on({}, 1, never); }},
  };
  return [=](const Task& task, const SolveControl& control) {
    const auto fault = faults.find(task.id);
    if (fault != faults.end()) return fault->second(control);
    if (task.id == "patient")
      go_on(control, 1, [&] { return std::filesystem::exists(settings.data / "go"); });
    const std::vector<char> touched(task.id == "large" ? 64 << 20 : 0, 'x');
    return sound(task, control);
  };
}

JobSource open_faulty(const JobSettings& settings) {
  if (settings.solver.gpu)
    return open_jobs(settings, std::make_shared<FakeGpu>(settings.data / "go"));
  return {1, [settings](JobThread thread) { return faulty_job(settings, thread); }};
}

}  // namespace
}  // namespace wallheat

int main(int argc, char** argv) {
  using namespace wallheat;
  // A build with sanitizers would catch these and exit.
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT}) ::signal(number, SIG_DFL);
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) return serve_seat(open_faulty);
  const std::filesystem::path directory = words[0];
  WorkerContext context;
  context.sign_s = 0.02;
  context.program.arguments = {};
  context.open = [&] {
    const wallheat::JobSettings settings{directory, {}, false, "host", "cpu"};
    return std::vector<WorkerDevice>{{{settings}, {}}};
  };
  Rank0 rank0(context);
  if (words[1] == "nothing") {
    rank0.listen("the worker", [&] { return rank0.facts.has_value(); });
  } else {
    rank0.give(words[1]);
    rank0.listen_for_progress();
  }
  std::ofstream(directory / "begun") << "";
  ::pause();
}
