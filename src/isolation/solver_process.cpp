#include "isolation/solver_process.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/input_file.hpp"
#include "core/program.hpp"
#include "core/system_limits.hpp"
#include "io/process_setup.hpp"
#include "io/standard_streams.hpp"
#include "isolation/build_id.hpp"
#include "isolation/command_process.hpp"
#include "isolation/message_channel.hpp"
#include "node/local_machine.hpp"
#include "solve/gpu/device.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Makes the kernel kill this process, and not the rank that started it, if memory is exhausted. If
/// /proc cannot be written, the kernel kills the largest process, which is most likely this one.
void raise_oom_score() { std::ofstream("/proc/self/oom_score_adj") << 1000; }

/// Maps the shared memory with the given file descriptor. It stays mapped until the process ends.
ProgressPage& map_page(int file) {
  void* memory = ::mmap(nullptr, sizeof(ProgressPage), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (memory == MAP_FAILED) throw RunError("cannot map the shared memory for progress");
  return *static_cast<ProgressPage*>(memory);
}

/// The part of a solver process that its slots share. Thread-safe.
class SolverProcess {
 public:
  SolverProcess(MessageChannel& channel, ProgressPage& page) : channel_(channel), page_(page) {}

  void send(const FromProcess& message) {
    const std::scoped_lock lock(mutex_);
    // If the worker has died, the result cannot be used.
    if (!channel_.send(to_bytes(message))) std::_Exit(exit_done);
  }

  /// Solves the tasks that `next` returns, in one slot. Ends the process if the device fails,
  /// because the other slots use the same device.
  void serve(std::uint32_t slot, const TaskRunner& run, const std::function<Task()>& next) {
    try {
      for (;;) send(solve(slot, run, next()));
    } catch (const DeviceTimeout& error) {
      end({ProcessExit::Cause::device_timeout, error.what()});
    } catch (const std::exception& error) {  // for example another DeviceFault
      end({ProcessExit::Cause::failed, exception_text(error)});
    }
  }

 private:
  FromProcess solve(std::uint32_t slot, const TaskRunner& run, const Task& task) {
    SlotProgress& progress = page_[slot];
    progress.iterations.store(0, std::memory_order_relaxed);
    progress.delta.store(std::numeric_limits<double>::quiet_NaN(), std::memory_order_relaxed);
    progress.plan.store(task.plan, std::memory_order_release);
    const auto log = [&](std::int64_t iterations, double delta) {
      progress.iterations.store(iterations, std::memory_order_relaxed);
      progress.delta.store(delta, std::memory_order_relaxed);
    };
    FromProcess message;
    try {
      message = run(task, {{}, log});
    } catch (const SourceUnavailable& outage) {
      message = SourceOutage{task.plan, outage.what()};
    }
    progress.plan.store(SlotProgress::no_plan, std::memory_order_release);
    return message;
  }

  /// Sends the reason, after which the worker kills this process. The process waits for that before
  /// it exits by itself, so that the worker receives the reason before it detects the end of the
  /// process.
  [[noreturn]] void end(const ProcessExit& reason) {
    send(reason);
    std::this_thread::sleep_for(std::chrono::seconds(10));
    std::_Exit(exit_failed);
  }

  MessageChannel& channel_;
  ProgressPage& page_;
  std::mutex mutex_;  // serializes sends
};

/// Queue of tasks for the slots that share the process. Thread-safe.
class Inbox {
 public:
  void put(Task task) {
    {
      const std::scoped_lock lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    filled_.notify_one();
  }
  Task take() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [this] { return !tasks_.empty(); });
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    return task;
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<Task> tasks_;
};

/// Returns the next task. If the worker has closed the connection, so that no result can be used,
/// destroys `idle_runners`, which ends the program of a solver command, and ends the process.
Task next_task(MessageChannel& channel, std::vector<TaskRunner>& idle_runners) {
  const auto bytes = channel.receive();
  if (bytes) return from_bytes<Task>(*bytes);
  idle_runners.clear();
  std::_Exit(exit_done);
}

}  // namespace

int run_solver_process(const std::function<OpenDevice(const SolveConfig&)>& open) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Otherwise `top` would show the number of the descriptor through which the program was started.
  ::prctl(PR_SET_NAME, "wallheat-solver");
  raise_oom_score();
  MessageChannel channel{FileDescriptor(STDIN_FILENO)};
  const auto first = channel.receive();
  if (!first) return exit_done;
  const auto start = from_bytes<ProcessConfig>(*first);
  const SolveConfig settings = decode_solve_config(start.settings);
  close_fds_except(start.progress_fd);
  SolverProcess process(channel, map_page(start.progress_fd));
  OpenDevice device;
  // If a device hangs, freeing its memory may hang, too. The worker kills this process then.
  std::vector<TaskRunner> runners;
  std::size_t slots = settings.slots;
  ProcessReady ready;
  try {
    // Threads that start later inherit the binding. Results do not depend on it, and a cpuset may
    // shrink during a run.
    if (!settings.cpus.empty()) ready.binding_error = try_to_bind_this_thread(settings.cpus);
    device = open(settings);
    if (slots == 0) slots = std::clamp<std::size_t>(device.max_in_flight, 1, ProgressPage{}.size());
    // All slots allocate memory before the first plan starts: a busy GPU does not allocate.
    for (std::size_t slot = 0; slot < slots; ++slot)
      runners.push_back(
          device.make_runner({start.thread + static_cast<std::int32_t>(slot), slots == 1}));
    ready.slots = static_cast<std::uint32_t>(slots);
    ready.cpus = bound_cpus();
  } catch (const SourceUnavailable& outage) {
    process.send(ProcessExit{ProcessExit::Cause::source_outage, outage.what()});
    return exit_failed;
  } catch (const ProgramNotStartable& error) {
    process.send(ProcessExit{ProcessExit::Cause::not_startable, error.what()});
    return exit_failed;
  } catch (const std::exception& error) {
    process.send(ProcessExit{ProcessExit::Cause::failed, exception_text(error)});
    return exit_failed;
  }
  process.send(ready);
  if (slots == 1) process.serve(0, runners.front(), [&] { return next_task(channel, runners); });
  std::vector<TaskRunner> none;
  Inbox inbox;
  for (std::uint32_t slot = 0; slot < slots; ++slot)
    std::thread([&, slot] {
      process.serve(slot, runners[slot], [&] { return inbox.take(); });
    }).detach();
  for (;;) inbox.put(next_task(channel, none));
}

int solver_process_command(const std::vector<std::string>&) {
  struct stat input {};
  // The message uses build_id, so that the program contains it.
  if (::fstat(STDIN_FILENO, &input) != 0 || !S_ISSOCK(input.st_mode))
    throw UsageError(fmt::format(
        "solver-process is an internal command that 'wallheat run' starts ({})", build_id));
  return run_solver_process([](const SolveConfig& settings) { return open_device(settings); });
}

int solver_process_main(const std::vector<std::string>& arguments) {
  enable_huge_page_heap();
  disable_hwloc_plugins();
  use_all_gpu_queues();
  prepare_standard_streams();
  raise_process_limits();
  try {
    return solver_process_command(arguments);
  } catch (const UsageError& error) {
    print_error("wallheat: {}", error.what());
    return exit_usage;
  } catch (const std::exception& error) {
    print_error("wallheat: {}", exception_text(error));
    return exit_failed;
  }
}

}  // namespace wallheat
