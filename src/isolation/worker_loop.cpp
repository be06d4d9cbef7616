#include "isolation/worker_loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <utility>

#include "core/system_limits.hpp"
#include "io/standard_streams.hpp"
#include "node/local_machine.hpp"
#include "queue/agent.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

// Maximum time for which a worker sleeps before it checks for messages. Slots do not wait for it,
// because the solver processes have prefetched tasks.
constexpr std::chrono::milliseconds poll_interval{5};

class Worker {
 public:
  Worker(Link& link, const WorkerContext& context)
      : link_(link),
        context_(context),
        agent_(context.heartbeat_interval_s),
        processes_(context.program) {}

  bool run() {
    while (!shutdown_) {
      try {
        check();
      } catch (const std::exception& error) {
        if (agent_.has_left()) throw;
        agent_.leave(Bye::Cause::failed, exception_text(error));
      }
      if (since_rank0_message_s_ > context_.heartbeat_timeout_s)
        throw RunError(fmt::format(
            "rank 0: lost (no message for {:.0f} s); stored results are kept, resume with "
            "--resume",
            std::floor(since_rank0_message_s_)));
    }
    return shutdown_->all_ranks_present;
  }

 private:
  void check() {
    // Wait for the side that sends the next message: for rank 0 if no solver process is active.
    const bool waits = agent_.has_no_active_process();
    poll_processes(waits ? std::chrono::milliseconds{0} : poll_interval);
    auto envelope = link_.receive(waits ? poll_interval : std::chrono::milliseconds{0});
    const double passed_s = elapsed_capped_s();
    now_s_ += passed_s;
    since_rank0_message_s_ = envelope ? 0 : since_rank0_message_s_ + passed_s;
    for (; envelope && !shutdown_; envelope = link_.receive(std::chrono::milliseconds{0}))
      poll(*envelope);
    if (context_.interrupted() && !agent_.has_left()) leave(Bye::Cause::interrupted, "interrupted");
    agent_.tick(now_s_);
    flush_outbox();
  }

  /// Returns the time since the last call, limited to a fraction of the heartbeat interval. So time
  /// in which this process was stopped, or blocked in the kernel, does not count towards timeouts.
  double elapsed_capped_s() {
    const double longest_s = std::max(0.25, context_.heartbeat_interval_s / 4);
    const auto now = context_.now();
    const std::chrono::duration<double> passed = now - std::exchange(lap_start_, now);
    return std::min(passed.count(), longest_s);
  }

  void poll_processes(std::chrono::milliseconds at_most) {
    auto events = processes_.poll(at_most);
    // The progress is passed in first, so that the agent knows which plans of a process that has
    // ended were in progress.
    for (std::size_t process = 0; process < processes_.count(); ++process)
      processes_.for_each_progress(
          process, [&](const PlanProgress& progress) { agent_.on_progress(process, progress); });
    for (auto& [process, what] : events)
      std::visit([&, number = process](auto& message) { on_message(number, message); }, what);
  }

  void poll(const Envelope& envelope) {
    ToWorker message;
    try {
      message = decode_to_worker(envelope.message);
    } catch (const DecodeError&) {
      return leave(
          Bye::Cause::incompatible,
          "a message of rank 0 cannot be decoded; rank 0 may run another version of wallheat");
    }
    std::visit([this](const auto& each) { on_message(each); }, message);
  }

  void on_message(const Setup& setup) {
    if (agent_.has_left() || !devices_.empty()) return;
    if (const auto difference = context_.find_mismatch(setup); !difference.empty())
      return leave(Bye::Cause::incompatible, difference);
    devices_ = context_.open_devices();
    std::vector<Agent::Device> devices;
    for (const WorkerDevice& device : devices_) {
      const SolveConfig& settings = device.processes.front();
      devices.push_back({device.processes.size(), device.properties, settings.plan_timeout_s,
                         settings.solver.kind == SolverKind::command});
      for (const SolveConfig& process : device.processes) processes_.add(process);
    }
    agent_.open_devices(std::move(devices));
  }
  void on_message(const Assignment& assignment) { agent_.on_assignment(assignment); }
  void on_message(const Stop&) {
    poll_processes(std::chrono::milliseconds{0});  // keeps results that have already arrived
    agent_.on_stop();
  }
  void on_message(const Shutdown& shutdown) { shutdown_ = shutdown; }
  void on_message(std::size_t process, const ProcessReady& ready) {
    if (!ready.binding_error.empty() && !std::exchange(has_warned_of_binding_, true))
      print_error("wallheat: warning: {}", ready.binding_error);
    agent_.on_process_ready(process, ready);
  }
  void on_message(std::size_t process, TaskResult& result) {
    agent_.on_result(process, std::move(result));
  }
  void on_message(std::size_t process, const SourceOutage& outage) {
    agent_.on_source_outage(process, outage);
  }
  void on_message(std::size_t process, const ProcessExit& exit) {
    agent_.on_process_exit(process, exit);
  }

  void leave(Bye::Cause why, const std::string& reason) {
    poll_processes(std::chrono::milliseconds{0});
    agent_.leave(why, reason);
  }

  void flush_outbox() {
    Agent::Outbox outbox = std::exchange(agent_.outbox, {});
    for (const Agent::ProcessCommand& order : outbox.orders) {
      if (order.kind == Agent::ProcessCommand::Kind::start) processes_.start(order.process);
      if (order.kind == Agent::ProcessCommand::Kind::assign)
        processes_.assign(order.process, order.task);
      if (order.kind == Agent::ProcessCommand::Kind::kill) processes_.kill(order.process);
    }
    for (const std::string& warning : outbox.warnings) print_error("wallheat: {}", warning);
    for (FromWorker& message : outbox.messages) send(message);
  }

  void send(FromWorker& message) {
    auto* report = std::get_if<WorkerReport>(&message);
    if (auto* bye = std::get_if<Bye>(&message)) bye->host = context_.host;
    if (report != nullptr && (report->ready || now_s_ >= next_poll_s_)) {
      next_poll_s_ = now_s_ + context_.heartbeat_interval_s;
      report->peak_memory = peak_memory();
      // Sample only the device in use: a GPU that was given up is not sampled any more.
      if (!devices_.empty() && devices_[agent_.device_in_use()].take_gpu_sample)
        report->gpu_sample = devices_[agent_.device_in_use()].take_gpu_sample();
    }
    if (report != nullptr && !report->has_payload()) {
      link_.send_heartbeat(0, encode(message));
    } else {
      link_.send(0, encode(message));
    }
  }

  Link& link_;
  const WorkerContext& context_;
  Agent agent_;
  SolverProcessPool processes_;
  std::vector<WorkerDevice> devices_{};
  std::chrono::steady_clock::time_point lap_start_ = context_.now();
  double now_s_ = 0;
  double since_rank0_message_s_ = 0;
  double next_poll_s_ = 0;  // time of the next sample of memory and GPU
  std::optional<Shutdown> shutdown_{};
  bool has_warned_of_binding_ = false;  // one warning for all solver processes
};

}  // namespace

bool run_worker(Link& link, const WorkerContext& context) { return Worker(link, context).run(); }

}  // namespace wallheat
