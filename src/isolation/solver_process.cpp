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
#include "core/text.hpp"
#include "isolation/message_channel.hpp"
#include "node/local_machine.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Closes files and sockets that the rank had open, and that have no business here.
void close_files_but(int wanted) {
  std::vector<int> strangers;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = number_of<int>(entry.path().filename().string()).value_or(-1);
    if (fd > STDERR_FILENO && fd != wanted) strangers.push_back(fd);  // also the listing's own
  }
  for (const int fd : strangers) ::close(fd);
}

/// If memory runs out, this process is to go and not the rank that started it. If /proc does not
/// allow it, the kernel takes the largest, which is this one, too.
void offer_to_the_out_of_memory_killer() { std::ofstream("/proc/self/oom_score_adj") << 1000; }

/// The memory of that file, whose other owner is the worker. It stays as long as the process.
SeatPage& map_page(int file) {
  void* memory = ::mmap(nullptr, sizeof(SeatPage), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (memory == MAP_FAILED) throw RunError("the page of progress cannot be mapped");
  return *static_cast<SeatPage*>(memory);
}

/// A process as its lanes see it.
class SolverProcess {
 public:
  SolverProcess(MessageChannel& channel, SeatPage& page) : channel_(channel), page_(page) {}

  void say(const FromSeat& message) {
    const std::scoped_lock lock(mutex_);
    // A worker that died before it could take this process along does not hear it.
    if (!channel_.send(bytes_of(message), true)) std::_Exit(exit_done);
  }

  /// Solves at a lane what `next` gives. If it cannot go on, the process ends, as the other lanes
  /// are stuck, too.
  void serve(std::uint32_t lane, const PlanJob& job, const std::function<Task()>& next) {
    try {
      for (;;) say(solve(lane, job, next()));
    } catch (const DeviceSilent& error) {
      end({SeatEnd::Why::device_silent, error.what()});
    } catch (const std::exception& error) {  // another DeviceFault, too
      end({SeatEnd::Why::gives_up, error.what()});
    }
  }

 private:
  FromSeat solve(std::uint32_t lane, const PlanJob& job, const Task& task) {
    LaneProgress& progress = page_[lane];
    progress.iterations.store(0, std::memory_order_relaxed);
    progress.delta.store(std::numeric_limits<double>::quiet_NaN(), std::memory_order_relaxed);
    progress.plan.store(task.plan, std::memory_order_release);
    const auto tell = [&](std::int64_t iterations, double delta) {
      progress.iterations.store(iterations, std::memory_order_relaxed);
      progress.delta.store(delta, std::memory_order_relaxed);
    };
    FromSeat answer;
    try {
      answer = job(task, {{}, tell});
    } catch (const SourceUnavailable& away) {
      answer = SourceAway{task.plan, away.what()};
    }
    progress.plan.store(LaneProgress::no_plan, std::memory_order_release);
    return answer;
  }

  /// The worker kills this process when it gets this. It ends itself only if nobody does, so that
  /// the worker hears the reason before it sees the end.
  [[noreturn]] void end(const SeatEnd& reason) {
    say(reason);
    std::this_thread::sleep_for(std::chrono::seconds(10));
    std::_Exit(exit_failed);
  }

  MessageChannel& channel_;
  SeatPage& page_;
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
  return record_in<Task>(*bytes);
}

}  // namespace

int serve_seat(const std::function<JobSource(const JobSettings&)>& open) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  offer_to_the_out_of_memory_killer();
  MessageChannel channel{FileDescriptor(STDIN_FILENO)};
  const auto first = channel.receive();
  if (!first) return exit_done;
  const auto start = record_in<SeatStart>(*first);
  const JobSettings settings = decode_settings(start.settings);
  close_files_but(start.page);
  SolverProcess process(channel, map_page(start.page));
  JobSource source;
  // They outlive the last message: if a device hangs, to free its memory may, too.
  std::vector<PlanJob> jobs;
  std::size_t lanes = settings.lanes;
  SeatReady ready;
  try {
    if (!settings.cpus.empty()) bind_this_thread(settings.cpus);  // the threads to come inherit it
    source = open(settings);
    if (lanes == 0) lanes = std::clamp<std::size_t>(source.plans_at_once, 1, SeatPage{}.size());
    // All before the first plan: while a GPU is busy, nothing gets memory of it.
    for (std::size_t lane = 0; lane < lanes; ++lane)
      jobs.push_back(source.make_job({start.thread + static_cast<std::int32_t>(lane), lanes == 1}));
    ready = {static_cast<std::uint32_t>(lanes), bound_cpus()};
  } catch (const SourceUnavailable& away) {
    process.say(SeatEnd{SeatEnd::Why::source_away, away.what()});
    return exit_failed;
  } catch (const std::exception& error) {
    process.say(SeatEnd{SeatEnd::Why::gives_up, error.what()});
    return exit_failed;
  }
  process.say(ready);
  if (lanes == 1) process.serve(0, jobs.front(), [&] { return next_task(channel); });
  Inbox inbox;
  for (std::uint32_t lane = 0; lane < lanes; ++lane)
    std::thread([&, lane] {
      process.serve(lane, jobs[lane], [&] { return inbox.take(); });
    }).detach();
  for (;;) inbox.put(next_task(channel));
}

int solver_process_command(const std::vector<std::string>&) {
  struct stat input {};
  if (::fstat(STDIN_FILENO, &input) != 0 || !S_ISSOCK(input.st_mode))
    throw UsageError("solver-process is what 'wallheat run' starts for itself");
  return serve_seat([](const JobSettings& settings) { return open_jobs(settings); });
}

}  // namespace wallheat
