#include "isolation/solver_process.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "core/exit_status.hpp"
#include "core/number_of.hpp"
#include "isolation/message_channel.hpp"
#include "node/local_machine.hpp"
#include "node/peak_memory.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using Clock = std::chrono::steady_clock;

/// Files and sockets that the rank had open, and that have no business here.
void close_inherited_files(const std::vector<int>& wanted) {
  std::vector<int> strangers;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = number_of<int>(entry.path().filename().string()).value_or(-1);
    const bool is_wanted = std::find(wanted.begin(), wanted.end(), fd) != wanted.end();
    if (fd > STDERR_FILENO && !is_wanted) strangers.push_back(fd);  // also the listing's own
  }
  for (const int fd : strangers) ::close(fd);
}

/// Where memory runs out, this process is to go and not the rank that started it. Where /proc does
/// not allow it, the kernel takes the largest, which is this one, too.
void offer_to_the_out_of_memory_killer() { std::ofstream("/proc/self/oom_score_adj") << 1000; }

/// The other side kills this process when it gets this. It ends itself only where nobody does, so
/// that the first that is noticed of its end is the reason.
[[noreturn]] void say_farewell(MessageChannel& channel, const std::string& reason,
                               bool device_silent) {
  (void)channel.send(encode(Farewell{reason, false, device_silent}), true);
  std::this_thread::sleep_for(std::chrono::seconds(10));
  std::_Exit(exit_failed);
}

/// The job, which also tells how much memory the process held meanwhile. For one that does one plan
/// at a time. What it keeps of those before counts: to give it back first would cost a plan of
/// 96 x 96 cells a third of its time.
PlanJob measured(PlanJob job) {
  return [job = std::move(job), peak = std::make_shared<PeakMemory>()](
             const Task& task, const SolveControl& control) {
    const bool of_this_plan = peak->restart();
    PlanResult result = job(task, control);
    if (of_this_plan) result.peak_memory = peak->bytes();
    return result;
  };
}

/// Solves one plan and tells the other side of it.
void solve(MessageChannel& channel, const PlanJob& job, const JobSettings& settings,
           const Task& task) {
  // Several times before the other side takes silence for a plan that hangs.
  const double interval_s =
      settings.plan_timeout_s > 0 ? std::min(0.25, settings.plan_timeout_s / 4) : 0.25;
  const auto start = Clock::now();
  double next_s = interval_s;
  std::stop_source nobody_listens;
  const auto say = [&](const FromWorker& message) {
    if (!channel.send(encode(message), true)) nobody_listens.request_stop();
  };
  const auto progress = [&](std::int64_t iterations, double delta) {
    const double now_s = std::chrono::duration<double>(Clock::now() - start).count();
    if (now_s < next_s) return;
    next_s = now_s + interval_s;
    say(Heartbeat{{{task.index, iterations, delta, now_s}}});
  };
  say(WorkerReport{{task.index}, {}});
  try {
    say(WorkerReport{{}, {job(task, {nobody_listens.get_token(), progress})}});
  } catch (const std::bad_alloc&) {
    PlanResult result = pending_result(settings, task);
    result.status = PlanStatus::failed;
    result.may_pass = true;
    result.error = fmt::format("plan {}: there is not enough memory for its result", task.id);
    say(WorkerReport{{}, {std::move(result)}});
  }
}

/// Serves one lane until the other side is gone. Where it cannot go on, the process ends: the other
/// lanes are stuck, too.
void serve_lane(MessageChannel& channel, const std::function<PlanJob()>& make_job,
                const JobSettings& settings) {
  PlanJob job;  // outlives what is said at the end: where a device hangs, to free memory may, too
  try {
    job = make_job();
    while (const auto bytes = channel.receive()) {
      const ToWorker message = decode_to_worker(*bytes);
      const auto* assign = std::get_if<Assign>(&message);
      if (assign == nullptr || assign->tasks.size() != 1)
        throw DecodeError("a lane is assigned one plan at a time");
      solve(channel, job, settings, assign->tasks.front());
    }
  } catch (const DeviceSilent& error) {
    say_farewell(channel, error.what(), true);
  } catch (const std::exception& error) {  // another DeviceFault, too
    say_farewell(channel, error.what(), false);
  }
}

}  // namespace

int serve_plans(const std::function<JobSource(const JobSettings&)>& open) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  offer_to_the_out_of_memory_killer();
  MessageChannel channel{FileDescriptor(STDIN_FILENO)};
  const auto first = channel.receive();
  if (!first) return exit_done;
  const JobSettings settings = decode_settings(*first);
  close_inherited_files(settings.sockets);
  JobSource source;
  PlanJob job;
  try {
    if (!settings.cpus.empty()) bind_this_thread(settings.cpus);  // the threads to come inherit it
    source = open(settings);
    job = source.make_job();
  } catch (const std::exception& error) {
    (void)channel.send(encode(Farewell{error.what(), false}), true);
    return exit_failed;
  }
  const std::size_t most = settings.sockets.size() + 1;
  const std::size_t lanes =
      settings.lanes > 0 ? settings.lanes : std::clamp<std::size_t>(source.plans_at_once, 1, most);
  const Ready ready{settings.host, settings.device, static_cast<std::uint32_t>(lanes), {}};
  // A parent that died before it could take this process along does not hear it.
  if (!channel.send(encode(ready), true)) return exit_done;
  for (std::size_t lane = 1; lane < lanes; ++lane) {
    const auto serve = [&source, &settings, socket = settings.sockets.at(lane - 1)] {
      MessageChannel own{FileDescriptor(socket)};
      serve_lane(own, source.make_job, settings);
    };
    std::thread(serve).detach();
  }
  if (lanes == 1) job = measured(std::move(job));
  serve_lane(
      channel, [&] { return job; }, settings);
  if (lanes > 1) std::_Exit(exit_done);  // the others may be at work that nobody wants any more
  return exit_done;
}

int solver_process_command(const std::vector<std::string>&) {
  struct stat input {};
  if (::fstat(STDIN_FILENO, &input) != 0 || !S_ISSOCK(input.st_mode))
    throw UsageError("solver-process is what 'wallheat run' starts for itself");
  return serve_plans([](const JobSettings& settings) { return open_jobs(settings); });
}

}  // namespace wallheat
