#include "isolation/solver_process.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <new>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "core/codec.hpp"
#include "core/exit_status.hpp"
#include "isolation/message_channel.hpp"
#include "node/local_machine.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using Clock = std::chrono::steady_clock;

/// Files and sockets that the rank had open, and that have no business here.
void close_inherited_files() {
  std::vector<int> strangers;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const std::string name = entry.path().filename();
    int fd = -1;
    std::from_chars(name.data(), name.data() + name.size(), fd);
    if (fd > STDERR_FILENO) strangers.push_back(fd);  // also the listing's own, closed by then
  }
  for (const int fd : strangers) ::close(fd);
}

/// Where memory runs out, this process is to go and not the rank that started it. Where /proc does
/// not allow it, the kernel takes the largest, which is this one, too.
void offer_to_the_out_of_memory_killer() { std::ofstream("/proc/self/oom_score_adj") << 1000; }

/// Tells the other side of one plan.
class Reporter {
 public:
  Reporter(MessageChannel& channel, const Task& task, Clock::duration interval)
      : channel_(channel), task_(task), interval_(interval) {}

  void started() { say(Report{{task_.index}, {}}); }
  void progress(std::int64_t iterations, double delta) {
    const auto now = Clock::now();
    if (now - told_ < interval_) return;
    told_ = now;
    const std::chrono::duration<double> seconds = now - start_;
    say(Heartbeat{{{task_.index, iterations, delta, seconds.count()}}});
  }
  void finished(PlanResult result) { say(Report{{}, {std::move(result)}}); }
  void device_failed(const std::string& reason) { say(Farewell{reason, false}); }

  /// Stop is requested once there is nobody to tell.
  [[nodiscard]] std::stop_token alone() const { return alone_.get_token(); }

 private:
  void say(const FromWorker& message) {
    if (!channel_.send(encode(message), true)) alone_.request_stop();
  }

  MessageChannel& channel_;
  const Task& task_;
  Clock::duration interval_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point told_ = start_;
  std::stop_source alone_;
};

/// The parent kills this process when it gets Farewell. It ends itself only where nobody does, so
/// that the first that is noticed of its end is the reason.
[[noreturn]] void wait_to_be_killed() {
  std::this_thread::sleep_for(std::chrono::seconds(10));
  std::_Exit(exit_failed);
}

void solve(const PlanJob& job, const JobSettings& settings, const Task& task, Reporter& reporter) {
  reporter.started();
  const auto progress = [&](std::int64_t iterations, double delta) {
    reporter.progress(iterations, delta);
  };
  try {
    reporter.finished(job(task, {reporter.alone(), progress}));
  } catch (const DeviceFault& fault) {
    reporter.device_failed(fault.what());
    wait_to_be_killed();
  } catch (const std::bad_alloc&) {
    PlanResult result = pending_result(settings, task);
    result.status = PlanStatus::failed;
    result.may_pass = true;
    result.error = fmt::format("plan {}: there is not enough memory for its result", task.id);
    reporter.finished(std::move(result));
  }
}

/// Serves one lane until the other side is gone.
void serve_lane(MessageChannel& channel, const PlanJob& job, const SolverSetup& setup) {
  const auto interval = std::chrono::duration_cast<Clock::duration>(setup.progress_interval);
  while (const auto bytes = channel.receive()) {
    const ToWorker message = decode_to_worker(*bytes);
    const auto* assign = std::get_if<Assign>(&message);
    if (assign == nullptr || assign->tasks.size() != 1)
      throw DecodeError("a lane is assigned one plan at a time");
    const Task& task = assign->tasks.front();
    Reporter reporter(channel, task, interval);
    solve(job, setup.settings, task, reporter);
  }
}

/// The same for one of several. Where it cannot go on, the process ends: the others are stuck, too.
void serve_or_exit(MessageChannel& channel, const PlanJob& job, const SolverSetup& setup) {
  try {
    serve_lane(channel, job, setup);
  } catch (const std::exception& error) {
    (void)channel.send(encode(Farewell{error.what(), false}), true);
    wait_to_be_killed();
  }
}

/// Serves another lane than the first.
void live_in_lane(FileDescriptor socket, const JobSource& source, const SolverSetup& setup) {
  MessageChannel channel(std::move(socket));
  PlanJob job;
  try {
    job = source.make_job();
  } catch (const std::exception& error) {
    (void)channel.send(encode(Farewell{error.what(), false}), true);
    wait_to_be_killed();
  }
  serve_or_exit(channel, job, setup);
}

}  // namespace

template <class Visit, Is<Limits> R>
void fields_of(Visit& visit, R& limits) {
  visit(limits.tolerance, limits.max_iterations, limits.accuracy, limits.norm, limits.spacing);
}
template <class Visit, Is<SolverOptions> R>
void fields_of(Visit& visit, R& solver) {
  visit(solver.limits, solver.kind, solver.reference, solver.isa, solver.gpu);
}
template <class Visit, Is<JobSettings> R>
void fields_of(Visit& visit, R& settings) {
  visit(settings.data, settings.solver, settings.save_fields, settings.host, settings.device);
}
template <class Visit, Is<SolverSetup> R>
void fields_of(Visit& visit, R& setup) {
  visit(setup.settings, setup.parent, setup.progress_interval, setup.lanes, setup.cpus);
}

Bytes encode(const SolverSetup& setup) {
  Encoder encoder;
  encoder(setup);
  return encoder.take();
}

SolverSetup decode_setup(std::span<const std::byte> bytes) {
  SolverSetup setup;
  Decoder decoder(bytes);
  decoder(setup);
  decoder.expect_end();
  const Isa isa = setup.settings.solver.isa;
  if (isa < Isa::baseline || isa > Isa::avx512) throw DecodeError("no such instruction set");
  const SolverKind kind = setup.settings.solver.kind;
  if (kind < SolverKind::jacobi || kind > SolverKind::steady) throw DecodeError("no such solver");
  const Norm norm = setup.settings.solver.limits.norm;
  if (norm < Norm::max || norm > Norm::l2) throw DecodeError("no such norm");
  constexpr std::chrono::hours longest{1};
  if (!(setup.progress_interval >= std::chrono::hours::zero() &&
        setup.progress_interval <= longest))
    throw DecodeError("no interval to tell of progress");
  return setup;
}

int serve_plans(const std::function<JobSource(const JobSettings&)>& open) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  close_inherited_files();
  offer_to_the_out_of_memory_killer();
  MessageChannel channel{FileDescriptor(STDIN_FILENO)};
  const auto first = channel.receive();
  if (!first) return exit_done;
  const SolverSetup setup = decode_setup(*first);
  if (::getppid() != setup.parent) return exit_done;  // it died before it could take us along

  JobSource source;
  PlanJob job;
  try {
    if (!setup.cpus.empty()) bind_this_thread(setup.cpus);  // the threads to come inherit it
    source = open(setup.settings);
    job = source.make_job();
  } catch (const std::exception& error) {
    (void)channel.send(encode(Farewell{error.what(), false}), true);
    return exit_failed;
  }
  const auto lanes =
      setup.lanes > 0 ? setup.lanes
                      : static_cast<std::uint32_t>(std::max<std::size_t>(source.plans_at_once, 1));
  const FromWorker ready = Ready{setup.settings.host, setup.settings.device, lanes, {}};
  if (!channel.send(encode(ready), true)) return exit_done;
  if (lanes == 1) {
    serve_lane(channel, job, setup);
    return exit_done;
  }
  for (std::uint32_t lane = 1; lane < lanes; ++lane) {
    auto socket = channel.receive_file();
    if (!socket) std::_Exit(exit_done);
    std::thread(live_in_lane, std::move(*socket), std::cref(source), std::cref(setup)).detach();
  }
  serve_or_exit(channel, job, setup);
  std::_Exit(exit_done);  // the other lanes may be at work that nobody wants any more
}

int solver_process_command(const std::vector<std::string>&) {
  struct stat input {};
  if (::fstat(STDIN_FILENO, &input) != 0 || !S_ISSOCK(input.st_mode))
    throw UsageError("solver-process is what 'wallheat run' starts for itself");
  return serve_plans([](const JobSettings& settings) { return open_jobs(settings); });
}

}  // namespace wallheat
