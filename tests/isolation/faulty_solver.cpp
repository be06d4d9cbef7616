// A solver process whose plans can go wrong in every way: where a plan's name is a fault, that
// happens; other plans are solved as ever. With a GPU it has a FakeGpu. `faulty_solver DIR PLAN
// LIMIT` is a parent that has a plan solved by itself as a child, with a limit in seconds, and
// makes the file DIR/begun on the way.

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "isolation/solver_pool.hpp"
#include "isolation/solver_process.hpp"
#include "support/fake_gpu.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using Fault = std::function<PlanResult(const Task&, const SolveControl&)>;

/// Tells of its progress, each time further by `step` iterations, until `done`.
PlanResult go_on(const SolveControl& control, int step, const std::function<bool()>& done) {
  for (std::int64_t iterations = step; !done(); iterations += step) {
    if (control.progress) control.progress(iterations == 0 ? 5 : iterations, 0.5);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return {};
}

void say(const char* bytes) { (void)::send(STDIN_FILENO, bytes, std::strlen(bytes), 0); }

const auto never = [] { return false; };

PlanJob faulty_job(const JobSettings& settings) {
  if (settings.device == "missing") throw RunError("there is no such device");
  if (std::filesystem::exists(settings.data / "nothing_starts")) std::_Exit(9);
  const PlanJob sound = make_plan_job(settings);
  const std::map<std::string, Fault> faults = {
      {"segmentation-fault",
       [](const Task&, const SolveControl&) -> PlanResult {
         ::raise(SIGSEGV);
         return {};
       }},
      {"abort", [](const Task&, const SolveControl&) -> PlanResult { std::abort(); }},
      {"exit", [](const Task&, const SolveControl&) -> PlanResult { std::_Exit(7); }},
      {"out-of-memory",
       [](const Task&, const SolveControl&) -> PlanResult { throw std::bad_alloc(); }},
      {"garbage",
       [](const Task&, const SolveControl& control) {
         say("this is certainly no message of ours");
         return go_on(control, 1, never);
       }},
      {"half-a-message",
       [](const Task&, const SolveControl&) -> PlanResult {
         say("WALLHEAT\x40\0\0");
         std::_Exit(0);
       }},
      {"hang-up",
       [](const Task&, const SolveControl&) {
         ::shutdown(STDIN_FILENO, SHUT_RDWR);
         return go_on({{}, {}}, 1, never);
       }},
      {"wrong-plan",
       [sound](const Task& task, const SolveControl& control) {
         PlanResult result = sound(task, control);
         ++result.index;
         return result;
       }},
      {"large",
       [sound](const Task& task, const SolveControl&) {
         const std::vector<char> touched(64 << 20, 'x');
         return sound({task.index, "sound"}, {});
       }},
      {"endless",
       [](const Task&, const SolveControl& control) { return go_on(control, 1, never); }},
      {"stuck", [](const Task&, const SolveControl& control) { return go_on(control, 0, never); }},
      {"silent", [](const Task&, const SolveControl&) { return go_on({}, 1, never); }},
      {"patient",
       [sound, settings](const Task& task, const SolveControl& control) {
         go_on(control, 1, [&] { return std::filesystem::exists(settings.data / "go"); });
         return sound({task.index, "sound"}, {});
       }},
  };
  return [sound, faults](const Task& task, const SolveControl& control) {
    const auto fault = faults.find(task.id);
    return fault == faults.end() ? sound(task, control) : fault->second(task, control);
  };
}

}  // namespace
}  // namespace wallheat

int main(int argc, char** argv) {
  using namespace wallheat;
  // A build with sanitizers would catch these and exit.
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT}) ::signal(number, SIG_DFL);
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) {
    return serve_plans([](const JobSettings& settings) {
      if (settings.solver.gpu) return open_jobs(settings, std::make_shared<FakeGpu>(settings.data));
      return JobSource{1, [settings] { return faulty_job(settings); }};
    });
  }
  const std::filesystem::path directory = words[0];
  const auto begun = [&](std::int64_t, double) { std::ofstream(directory / "begun") << ""; };
  SolverProgram program;
  program.arguments = {};
  const JobSettings settings{directory, {}, false, "host", "cpu", std::stod(words[2])};
  const PlanJob job = SolverPool(settings, {.start = program}).job();
  if (words[1] == "nothing") {
    begun(0, 0);
    ::pause();
  }
  return is_answer(job({0, words[1]}, {{}, begun}).status) ? 0 : 1;
}
