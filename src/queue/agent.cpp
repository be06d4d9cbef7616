#include "queue/agent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

namespace wallheat {
namespace {

constexpr double report_interval_s = 0.005;
// Plans shorter than short_plan_s are prefetched: the socket of the solver process contains
// prefetch_s of work, because on busy cores the worker may not run for some milliseconds.
constexpr double short_plan_s = 0.1;
constexpr double prefetch_s = 0.02;
constexpr std::size_t max_prefetch_per_slot = 32;
// A result of this size is sent at once, so that no message approaches MPI's limit of 2 GiB.
// Shortest time between two reports while all slots are busy: results of a few milliseconds are
// sent together.
constexpr std::size_t large_result_bytes = 1 << 20;

constexpr double start_timeout_s = std::chrono::duration<double>(Agent::start_timeout).count();
// A device is given up if a solver process ends this often in a row before it starts a plan. The
// last start is delayed.
constexpr int max_start_attempts = 3;
constexpr double pause_before_last_start_s = 1;
// A GPU is given up after this many consecutive failures of different plans, or after this many
// consecutive failures with several plans in progress, where no single plan can be the cause,
constexpr int max_consecutive_failures = 3;
constexpr int max_multi_plan_failures = 5;
// or after this many timeouts. Each timeout costs half a minute, and does not count against a plan.
constexpr int max_device_timeouts = 2;
constexpr double source_timeout_s = 120;  // how long a worker waits in a source outage
constexpr double source_pause_s = 1;      // time between two attempts to read the plan source

std::string progress_text(const PlanProgress& last) {
  if (last.iterations == 0) return "";
  return fmt::format(" (iteration {}, delta {:.3g} °C)", last.iterations, last.delta);
}

}  // namespace

void Agent::open_devices(std::vector<Device> devices) {
  if (bye_) return;
  devices_ = std::move(devices);
  start_device();
}

void Agent::start_device() {
  reported_ready_ = false;
  for (std::size_t count = device().processes; count > 0; --count) {
    processes_.emplace_back();
    start(processes_.size() - 1);
  }
}

void Agent::start(std::size_t number, double pause_s) {
  Process& process = processes_[number];
  if (process.is_running()) send_command(ProcessCommand::Kind::kill, number);
  process.plans.clear();
  process.slots = 0;
  process.stage = pause_s > 0 ? Process::Stage::backing_off : Process::Stage::starting;
  process.since_s = now_s_ + pause_s;
  if (pause_s <= 0) send_command(ProcessCommand::Kind::start, number);
}

void Agent::on_assignment(const Assignment& assignment) {
  backlog_.insert(backlog_.end(), assignment.tasks.begin(), assignment.tasks.end());
}

void Agent::on_stop() {
  if (!bye_) return leave(Bye::Cause::stop_requested, "stopped");
  outbox.messages.emplace_back(*bye_);
}

void Agent::leave(Bye::Cause why, const std::string& reason) {
  if (bye_) return;
  bye_ = Bye{why, reason, running()};
  stop_processes();
  backlog_.clear();
  if (pending_report_.has_payload()) send_report();
  outbox.messages.emplace_back(*bye_);
}

void Agent::stop_processes() {
  for (std::size_t number = 0; number < processes_.size(); ++number) {
    if (processes_[number].is_running()) send_command(ProcessCommand::Kind::kill, number);
    processes_[number] = {};
  }
}

void Agent::on_process_ready(std::size_t number, const ProcessReady& ready) {
  Process& process = processes_[number];
  if (process.stage != Process::Stage::starting) return;
  if (ready.slots == 0)
    return on_start_failure(number, "a solver process sent an invalid message at its start");
  process.stage = Process::Stage::ready;
  process.slots = ready.slots;
  process.prefetch_per_slot = 0;
  process.cpus = ready.cpus;
  outage_.reset();  // the process has opened the plan source
  if (reported_ready_) return;
  WorkerProperties properties = device().properties;
  properties.slots = 0;
  std::set<int> cpus;
  for (std::size_t each = processes_.size() - device().processes; each < processes_.size();
       ++each) {
    if (processes_[each].stage != Process::Stage::ready) return;
    cpus.insert(processes_[each].cpus.begin(), processes_[each].cpus.end());
    properties.slots += static_cast<std::uint32_t>(processes_[each].slots);
  }
  properties.shares_process = properties.slots > device().processes;
  properties.bound_cpus.assign(cpus.begin(), cpus.end());
  pending_report_.ready = properties;
  reported_ready_ = true;
}

void Agent::on_progress(std::size_t number, const PlanProgress& progress) {
  Process& process = processes_[number];
  const auto held = process.find(progress.plan);
  if (held == process.plans.end()) return;
  if (!held->started || progress.iterations != held->progress.iterations)
    held->last_progress_s = now_s_;
  held->started = true;
  held->progress = progress;
  process.failed_starts = 0;
}

void Agent::on_result(std::size_t number, TaskResult result) {
  Process& process = processes_[number];
  if (process.stage != Process::Stage::ready) return;
  const auto held = process.find(result.plan);
  if (held == process.plans.end()) {
    if (!process.plans.empty()) process.plans.front().started = true;
    return on_process_failure(
        number, "its solver process sent an invalid message (a result of another plan)");
  }
  held->started = true;
  if (std::ranges::count_if(process.plans, &HeldTask::started) > 1) multi_plan_failures_ = 0;
  consecutive_failures_ = 0;
  process.failed_starts = 0;
  if (outage_ && held->active_since_s > outage_->since_s) outage_.reset();
  const double seconds = std::max(result.seconds, prefetch_s / max_prefetch_per_slot);
  process.prefetch_per_slot =
      static_cast<std::size_t>(seconds < short_plan_s ? std::ceil(prefetch_s / seconds) : 0);
  (void)remove_task(process, held);
  if (result.kind == TaskResult::Kind::solved) command_has_solved_ = true;
  const QueueIndex plan = result.plan;
  const std::string failure = result.error;
  const bool is_large = result.encoded_result.size() >= large_result_bytes;
  pending_report_.results.push_back(std::move(result));
  if (is_large) send_report();
  if (!failure.empty()) count_command_failure(plan, failure);
}

/// Leaves, and stops the run, if a solver command has failed for several plans with the same reason
/// before its first success: it would fail for every plan, and use up all their attempts.
void Agent::count_command_failure(QueueIndex plan, const std::string& reason) {
  constexpr std::size_t max_plans = 3;
  if (!device().has_solver_command || command_has_solved_) return;
  std::string without_numbers = reason;
  std::erase_if(without_numbers, [](char each) { return each >= '0' && each <= '9'; });
  if (without_numbers != std::exchange(command_failure_, without_numbers))
    plans_failed_alike_.clear();
  plans_failed_alike_.insert(plan);
  if (plans_failed_alike_.size() == max_plans)
    leave(Bye::Cause::solver_failed,
          fmt::format(
              "the solver command failed for its first {} plans with the same reason; last: {}",
              max_plans, reason));
}

void Agent::tick(double awake_s) {
  now_s_ = awake_s;
  for (std::size_t number = 0; number < processes_.size(); ++number) check_process(number);
  assign_tasks();
  const double interval_s = !pending_report_.has_payload() ? heartbeat_interval_s_
                            : has_idle_slot()              ? 0
                                                           : report_interval_s;
  if (now_s_ - last_report_s_ >= interval_s) send_report();
}

/// Removes a task from a process, whose next prefetched task is in progress from now on.
Task Agent::remove_task(Process& process, std::vector<HeldTask>::iterator held) {
  Task task = std::move(held->task);
  process.plans.erase(held);
  if (process.plans.size() >= process.slots) {
    HeldTask& next = process.plans[process.slots - 1];
    next.active_since_s = next.last_progress_s = now_s_;
  }
  return task;
}

void Agent::assign_tasks() {
  if (outage_ && now_s_ < outage_->next_try_s) return;
  std::size_t deepest = 0;
  for (const Process& process : processes_) deepest = std::max(deepest, process.prefetch_per_slot);
  for (std::size_t depth = 0; depth <= deepest && !backlog_.empty(); ++depth)
    for (std::size_t number = 0; number < processes_.size(); ++number) {
      Process& process = processes_[number];
      const std::size_t target = process.slots * (1 + std::min(depth, process.prefetch_per_slot));
      for (; process.plans.size() < target && !backlog_.empty(); backlog_.pop_front()) {
        outbox.orders.push_back({ProcessCommand::Kind::assign, number, backlog_.front()});
        process.plans.push_back({std::move(backlog_.front()), now_s_, now_s_});
      }
    }
}

bool Agent::has_no_active_process() const {
  return running().empty() && std::ranges::none_of(processes_, [](const Process& process) {
           return process.stage == Process::Stage::starting;
         });
}

bool Agent::has_idle_slot() const {
  return std::ranges::any_of(
      processes_, [](const Process& process) { return process.plans.size() < process.slots; });
}

std::vector<PlanProgress> Agent::running() const {
  std::vector<PlanProgress> all;
  for (const Process& process : processes_)
    for (const HeldTask& held : process.active_tasks()) {
      all.push_back(held.progress);
      all.back().plan = held.task.plan;
      all.back().seconds = now_s_ - held.active_since_s;
    }
  return all;
}

void Agent::send_report() {
  pending_report_.running = running();
  outbox.messages.emplace_back(std::exchange(pending_report_, {}));
  last_report_s_ = now_s_;
}

void Agent::on_source_outage(std::size_t number, const SourceOutage& outage) {
  Process& process = processes_[number];
  const auto held = process.find(outage.plan);
  if (held == process.plans.end()) return;
  backlog_.push_front(remove_task(process, held));
  on_outage(outage.reason);
}

void Agent::on_outage(const std::string& reason) {
  if (!outage_) {
    outage_ = Outage{now_s_, now_s_};
    outbox.warnings.push_back(fmt::format("on {}: {}; waiting up to {:.0f} s for it",
                                          device().properties.host, reason, source_timeout_s));
  }
  if (now_s_ - outage_->since_s >= source_timeout_s)
    return leave(Bye::Cause::source_outage, reason);
  if (now_s_ >= outage_->next_try_s) outage_->next_try_s = now_s_ + source_pause_s;
}

void Agent::on_process_exit(std::size_t number, const ProcessExit& exit) {
  const auto stage = processes_[number].stage;
  const bool died = exit.cause == ProcessExit::Cause::crashed;
  if (stage == Process::Stage::starting && exit.cause == ProcessExit::Cause::source_outage) {
    on_outage(exit.reason);
    if (!bye_) start(number, outage_->next_try_s - now_s_);
  } else if (stage == Process::Stage::starting && !reported_ready_ &&
             exit.cause == ProcessExit::Cause::not_startable) {
    switch_device(exit.reason);
  } else if (stage == Process::Stage::starting) {
    on_start_failure(
        number, died ? fmt::format("a solver process {} at its start", exit.reason) : exit.reason);
  } else if (stage == Process::Stage::ready && exit.cause == ProcessExit::Cause::device_timeout) {
    on_device_timeout(number, exit.reason);
  } else if (stage == Process::Stage::ready) {
    on_process_failure(number, died ? "its solver process " + exit.reason : exit.reason);
  }
}

/// Handles a process that ended without a plan in progress: starts it again, or switches to the
/// next device.
void Agent::on_start_failure(std::size_t number, const std::string& problem) {
  const int failures = ++processes_[number].failed_starts;
  // The program of a user may need minutes for each attempt.
  if (failures < max_start_attempts && device().has_solver_command)
    warn(problem + "; starting it again");
  if (failures < max_start_attempts)
    return start(number, failures == max_start_attempts - 1 ? pause_before_last_start_s : 0);
  const auto& gpu = device().properties.gpu;
  if (reported_ready_)
    switch_device(
        fmt::format("a solver process failed to start in {} consecutive attempts; last: {}",
                    max_start_attempts, problem));
  else if (gpu)
    switch_device(fmt::format("GPU {} ({}, {}) cannot be used: {}", gpu->ordinal, gpu->name,
                              gpu->uuid, problem));
  else
    switch_device(problem);
}

/// Handles a process that ended, or that sent invalid data, while plans were in progress. A single
/// plan fails; several plans are returned as suspects.
void Agent::on_process_failure(std::size_t number, const std::string& reason) {
  const auto started = take_started_tasks(number);
  if (started.empty()) return on_start_failure(number, reason + " before it started a plan");
  start(number);
  if (started.size() == 1) return record_plan_failure(started.front(), reason);
  for (const HeldTask& held : started) pending_report_.suspects.push_back(held.task.plan);
  warn(fmt::format("{}; retrying its {} plans one at a time", reason, started.size()));
  if (++multi_plan_failures_ >= max_multi_plan_failures)
    give_up_device(fmt::format("{} consecutive failures with several plans in progress; last: {}",
                               multi_plan_failures_, reason));
}

void Agent::on_device_timeout(std::size_t number, const std::string& reason) {
  for (const HeldTask& held : take_started_tasks(number))
    pending_report_.returned.push_back(held.task.plan);
  start(number);
  if (++device_timeouts_ >= max_device_timeouts)
    return give_up_device(fmt::format("{} ({} timeouts)", reason, device_timeouts_));
  warn(fmt::format("{}; retrying its plans in a new process", reason));
}

/// Returns the started plans of a process, and moves its other plans back to the backlog.
std::vector<Agent::HeldTask> Agent::take_started_tasks(std::size_t number) {
  std::vector<HeldTask> plans = std::exchange(processes_[number].plans, {});
  const auto others =
      std::stable_partition(plans.begin(), plans.end(), std::mem_fn(&HeldTask::started));
  for (auto each = plans.end(); each != others;) backlog_.push_front(std::move((--each)->task));
  plans.erase(others, plans.end());
  return plans;
}

void Agent::record_plan_failure(const HeldTask& held, const std::string& what) {
  const auto& [plan, id, entry_offsets] = held.task;
  const std::string reason = what + progress_text(held.progress);
  pending_report_.results.push_back({.plan = plan,
                                     .kind = TaskResult::Kind::retryable,
                                     .seconds = now_s_ - held.active_since_s,
                                     .error = reason});
  // The same plan may be assigned again. A second failure of it is not further evidence against the
  // device.
  if (consecutive_failures_ == 0 || plan != last_failed_plan_) ++consecutive_failures_;
  last_failed_plan_ = plan;
  // A program of the user is more likely to be the cause than the GPU.
  if (device().properties.gpu && !device().has_solver_command &&
      consecutive_failures_ >= max_consecutive_failures)
    give_up_device(fmt::format("{} consecutive plans failed on it; last: {}: {}",
                               consecutive_failures_, id, reason));
  count_command_failure(plan, what);
}

void Agent::give_up_device(const std::string& reason) {
  switch_device(fmt::format("giving up {}: {}", device().properties.device, reason));
}

void Agent::switch_device(const std::string& reason) {
  const bool unused_gpu = !reported_ready_ && device().properties.gpu;
  if (device_ + 1 == devices_.size())
    return leave(Bye::Cause::failed,
                 unused_gpu ? reason + "; to use the CPU, use --device cpu" : reason);
  outbox.warnings.push_back(
      fmt::format("on {}: {}; {}", device().properties.host, reason,
                  unused_gpu ? "solving on the CPU instead" : "solving its plans on the CPU"));
  for (std::size_t number = 0; number < processes_.size(); ++number)
    for (const HeldTask& held : take_started_tasks(number))
      pending_report_.returned.push_back(held.task.plan);
  stop_processes();
  ++device_;
  start_device();
}

/// Adds a warning about the device in use.
void Agent::warn(const std::string& message) {
  const std::string device_name =
      device().has_solver_command ? "" : device().properties.device + " ";
  outbox.warnings.push_back(
      fmt::format("{}on {}: {}", device_name, device().properties.host, message));
}

void Agent::check_process(std::size_t number) {
  Process& process = processes_[number];
  if (process.stage == Process::Stage::backing_off && now_s_ >= process.since_s)
    return start(number);
  if (process.stage == Process::Stage::starting && now_s_ - process.since_s > start_timeout_s)
    return on_start_failure(number, fmt::format("{} within {:.0f} s",
                                                device().has_solver_command
                                                    ? "the program did not send {\"ready\": true}"
                                                    : "a solver process did not start",
                                                start_timeout_s));
  const double limit_s = device().progress_timeout_s > 0 ? device().progress_timeout_s
                                                         : std::numeric_limits<double>::infinity();
  for (const HeldTask& held : process.active_tasks())
    if (now_s_ - held.last_progress_s >
        (held.started ? limit_s : std::min(limit_s, start_timeout_s)))
      return on_progress_timeout(number, held.task.plan);
}

/// Replaces a process with a plan that makes no progress. That plan fails, unless the process has
/// not started it; the other plans of the process are returned.
void Agent::on_progress_timeout(std::size_t number, QueueIndex plan) {
  const auto started = take_started_tasks(number);
  const HeldTask* hung = nullptr;
  for (const HeldTask& held : started) {
    if (held.task.plan == plan)
      hung = &held;
    else
      pending_report_.returned.push_back(held.task.plan);
  }
  if (hung == nullptr) return on_start_failure(number, "a solver process did not start its plan");
  start(number);
  std::string reason = fmt::format("no progress for {:g} s", device().progress_timeout_s);
  if (device().has_solver_command && hung->progress.iterations == 0)
    reason += "; give a longer --plan-timeout, or let the program send progress";
  record_plan_failure(*hung, reason);
}

}  // namespace wallheat
