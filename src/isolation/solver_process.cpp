#include "isolation/solver_process.hpp"

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
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/input_file.hpp"
#include "core/program.hpp"
#include "core/system_limits.hpp"
#include "core/text.hpp"
#include "isolation/message_channel.hpp"
#include "node/local_machine.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Closes files and sockets that the rank had open, and that have no business here.
void close_fds_except(int wanted) {
  std::vector<int> strangers;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = parse_number<int>(entry.path().filename().string()).value_or(-1);
    if (fd > STDERR_FILENO && fd != wanted) strangers.push_back(fd);  // also the listing's own
  }
  for (const int fd : strangers) ::close(fd);
}

/// If memory runs out, this process is to go and not the rank that started it. If /proc does not
/// allow it, the kernel takes the largest, which is this one, too.
void raise_oom_score() { std::ofstream("/proc/self/oom_score_adj") << 1000; }

/// The memory of that file, whose other owner is the worker. It stays as long as the process.
ProgressPage& map_page(int file) {
  void* memory = ::mmap(nullptr, sizeof(ProgressPage), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (memory == MAP_FAILED) throw RunError("the page of progress cannot be mapped");
  return *static_cast<ProgressPage*>(memory);
}

/// A process as its lanes see it.
class SolverProcess {
 public:
  SolverProcess(MessageChannel& channel, ProgressPage& page) : channel_(channel), page_(page) {}

  void send(const FromProcess& message) {
    const std::scoped_lock lock(mutex_);
    // A worker that died before it could take this process along does not hear it.
    if (!channel_.send(to_bytes(message))) std::_Exit(exit_done);
  }

  /// Solves at a lane what `next` gives. If it cannot go on, the process ends, as the other lanes
  /// are stuck, too.
  void serve(std::uint32_t slot, const TaskRunner& job, const std::function<Task()>& next) {
    try {
      for (;;) send(solve(slot, job, next()));
    } catch (const DeviceTimeout& error) {
      end({ProcessExit::Cause::device_timeout, error.what()});
    } catch (const std::exception& error) {  // another DeviceFault, too
      end({ProcessExit::Cause::failed, exception_text(error)});
    }
  }

 private:
  FromProcess solve(std::uint32_t slot, const TaskRunner& job, const Task& task) {
    SlotProgress& progress = page_[slot];
    progress.iterations.store(0, std::memory_order_relaxed);
    progress.delta.store(std::numeric_limits<double>::quiet_NaN(), std::memory_order_relaxed);
    progress.plan.store(task.plan, std::memory_order_release);
    const auto log = [&](std::int64_t iterations, double delta) {
      progress.iterations.store(iterations, std::memory_order_relaxed);
      progress.delta.store(delta, std::memory_order_relaxed);
    };
    FromProcess answer;
    try {
      answer = job(task, {{}, log});
    } catch (const SourceUnavailable& outage) {
      answer = SourceOutage{task.plan, outage.what()};
    }
    progress.plan.store(SlotProgress::no_plan, std::memory_order_release);
    return answer;
  }

  /// The worker kills this process when it gets this. It ends itself only if nobody does, so that
  /// the worker hears the reason before it sees the end.
  [[noreturn]] void end(const ProcessExit& reason) {
    send(reason);
    std::this_thread::sleep_for(std::chrono::seconds(10));
    std::_Exit(exit_failed);
  }

  MessageChannel& channel_;
  ProgressPage& page_;
  std::mutex mutex_;  // of the channel's sending end
};

/// What lanes that share the process are to solve next.
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

/// Ends the process when the worker is gone: nobody wants what its lanes are at.
Task next_task(MessageChannel& channel) {
  const auto bytes = channel.receive();
  if (!bytes) std::_Exit(exit_done);
  return from_bytes<Task>(*bytes);
}

}  // namespace

int run_solver_process(const std::function<OpenDevice(const SolveConfig&)>& open) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  raise_oom_score();
  MessageChannel channel{FileDescriptor(STDIN_FILENO)};
  const auto first = channel.receive();
  if (!first) return exit_done;
  const auto start = from_bytes<ProcessConfig>(*first);
  const SolveConfig settings = decode_solve_config(start.settings);
  close_fds_except(start.progress_fd);
  SolverProcess process(channel, map_page(start.progress_fd));
  OpenDevice source;
  // They outlive the last message: if a device hangs, to free its memory may, too.
  std::vector<TaskRunner> jobs;
  std::size_t slots = settings.slots;
  ProcessReady ready;
  try {
    // The threads to come inherit the binding. Results do not depend on it, and a cpuset may shrink
    // during a run.
    if (!settings.cpus.empty()) ready.binding_error = try_to_bind_this_thread(settings.cpus);
    source = open(settings);
    if (slots == 0) slots = std::clamp<std::size_t>(source.max_in_flight, 1, ProgressPage{}.size());
    // All before the first plan: while a GPU is busy, nothing gets memory of it.
    for (std::size_t slot = 0; slot < slots; ++slot)
      jobs.push_back(source.make_job({start.thread + static_cast<std::int32_t>(slot), slots == 1}));
    ready.slots = static_cast<std::uint32_t>(slots);
    ready.cpus = bound_cpus();
  } catch (const SourceUnavailable& outage) {
    process.send(ProcessExit{ProcessExit::Cause::source_outage, outage.what()});
    return exit_failed;
  } catch (const std::exception& error) {
    process.send(ProcessExit{ProcessExit::Cause::failed, exception_text(error)});
    return exit_failed;
  }
  process.send(ready);
  if (slots == 1) process.serve(0, jobs.front(), [&] { return next_task(channel); });
  Inbox inbox;
  for (std::uint32_t slot = 0; slot < slots; ++slot)
    std::thread([&, slot] {
      process.serve(slot, jobs[slot], [&] { return inbox.take(); });
    }).detach();
  for (;;) inbox.put(next_task(channel));
}

int solver_process_command(const std::vector<std::string>&) {
  struct stat input {};
  if (::fstat(STDIN_FILENO, &input) != 0 || !S_ISSOCK(input.st_mode))
    throw UsageError("solver-process is what 'wallheat run' starts for itself");
  return run_solver_process([](const SolveConfig& settings) { return open_device(settings); });
}

}  // namespace wallheat
