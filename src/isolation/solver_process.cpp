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

#include "core/exit_status.hpp"
#include "isolation/message_channel.hpp"
#include "node/local_machine.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int no_gpu = -1;  // in a setup's bytes

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

Bytes encode(const SolverSetup& setup) {
  // Naming all members here and below makes the compiler notice when one is added.
  const auto& [data, solver, save_fields, host, device] = setup.settings;
  const auto& [limits, reference, isa, gpu] = solver;
  const auto& [tolerance, max_iterations] = limits;
  ByteWriter writer;
  writer.put(setup.parent);
  writer.put(setup.progress_interval.count());
  writer.put(data.string());
  writer.put(tolerance);
  writer.put(max_iterations);
  writer.put(reference);
  writer.put(isa);
  writer.put(gpu.value_or(no_gpu));
  writer.put(save_fields);
  writer.put(host);
  writer.put(device);
  writer.put(setup.lanes);
  writer.put(static_cast<std::uint64_t>(setup.cpus.size()));
  for (const int cpu : setup.cpus) writer.put(cpu);
  return writer.take();
}

SolverSetup decode_setup(std::span<const std::byte> bytes) {
  SolverSetup setup;
  auto& [data, solver, save_fields, host, device] = setup.settings;
  auto& [limits, reference, isa, gpu] = solver;
  auto& [tolerance, max_iterations] = limits;
  ByteReader reader(bytes);
  setup.parent = reader.get<int>();
  setup.progress_interval = std::chrono::duration<double>(reader.get<double>());
  data = reader.get_text();
  tolerance = reader.get<double>();
  max_iterations = reader.get<std::int64_t>();
  reference = reader.get<std::uint8_t>() != 0;
  isa = reader.get<Isa>();
  if (const int ordinal = reader.get<int>(); ordinal != no_gpu) gpu = ordinal;
  save_fields = reader.get<std::uint8_t>() != 0;
  host = reader.get_text();
  device = reader.get_text();
  setup.lanes = reader.get<std::uint32_t>();
  for (std::size_t count = reader.get_count(sizeof(int)); count > 0; --count)
    setup.cpus.push_back(reader.get<int>());
  reader.expect_end();
  if (isa < Isa::baseline || isa > Isa::avx512) throw DecodeError("no such instruction set");
  constexpr std::chrono::hours longest{1};
  if (!(setup.progress_interval >= longest.zero() && setup.progress_interval <= longest))
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
