#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "queue/agent.hpp"

// What goes wrong at a worker, and who is to blame.

namespace wallheat {
namespace {

// From a busy file system a program can take long to load.
constexpr double start_timeout_s = 120;
// How often in a row a process may end before it has begun with a plan. The last try waits a while.
constexpr int max_start_attempts = 3;
constexpr double pause_before_last_start_s = 1;
// When a GPU is to blame: if this many different plans in a row failed on it; or if it failed this
// often with several plans at once, so that no single one can be blamed.
constexpr int max_consecutive_failures = 3;
constexpr int max_multi_plan_failures = 5;
// Or if it fell silent this often. Each time costs half a minute, and is no plan's fault.
constexpr int max_device_timeouts = 2;
constexpr double source_timeout_s = 120;  // how long plans that cannot be read are waited for
constexpr double source_pause_s = 1;      // before they are tried again

std::string progress_text(const PlanProgress& last) {
  if (last.iterations == 0) return "";
  return fmt::format(" (iteration {}, delta {:.3g} °C)", last.iterations, last.delta);
}

}  // namespace

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
  } else if (stage == Process::Stage::starting) {
    on_start_failure(
        number, died ? fmt::format("a solver process {} at its start", exit.reason) : exit.reason);
  } else if (stage == Process::Stage::ready && exit.cause == ProcessExit::Cause::device_timeout) {
    on_device_timeout(number, exit.reason);
  } else if (stage == Process::Stage::ready) {
    on_process_failure(number, died ? "its solver process " + exit.reason : exit.reason);
  }
}

/// A process ended that was at no plan.
void Agent::on_start_failure(std::size_t number, const std::string& problem) {
  const int failures = ++processes_[number].failed_starts;
  if (failures < max_start_attempts)
    return start(number, failures == max_start_attempts - 1 ? pause_before_last_start_s : 0);
  const auto& gpu = device().properties.gpu;
  if (reported_ready_)
    switch_device(fmt::format("no solver process comes up any more, the last of {} tries: {}",
                              max_start_attempts, problem));
  else if (gpu)
    switch_device(fmt::format("GPU {} ({}, {}) cannot be used: {}", gpu->ordinal, gpu->name,
                              gpu->uuid, problem));
  else
    switch_device(problem);
}

/// A process is of no use any more, and a plan in it may be the reason.
void Agent::on_process_failure(std::size_t number, const std::string& reason) {
  const auto started = take_started_tasks(number);
  if (started.empty()) return on_start_failure(number, reason + " before it began");
  start(number);
  if (started.size() == 1) return record_plan_failure(started.front(), reason);
  for (const HeldTask& held : started) pending_report_.suspects.push_back(held.task.plan);
  warn(fmt::format("{}; trying its {} plans again one by one", reason, started.size()));
  if (++multi_plan_failures_ >= max_multi_plan_failures)
    give_up_device(
        fmt::format("it failed {} times in a row with several plans at once, the last time: {}",
                    multi_plan_failures_, reason));
}

void Agent::on_device_timeout(std::size_t number, const std::string& reason) {
  for (const HeldTask& held : take_started_tasks(number))
    pending_report_.returned.push_back(held.task.plan);
  start(number);
  if (++device_timeouts_ >= max_device_timeouts)
    return give_up_device(fmt::format("{} (time {})", reason, device_timeouts_));
  warn(fmt::format("{}; trying its plans again in a new process", reason));
}

/// Returns what a process had begun with; the rest goes back to the stock.
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
  // The same plan may come back; it is no new evidence against the device.
  if (consecutive_failures_ == 0 || plan != last_failed_plan_) ++consecutive_failures_;
  last_failed_plan_ = plan;
  if (device().properties.gpu && consecutive_failures_ >= max_consecutive_failures)
    give_up_device(fmt::format("{} plans in a row failed on it, the last one, {}: {}",
                               consecutive_failures_, id, reason));
}

void Agent::give_up_device(const std::string& reason) {
  switch_device(fmt::format("{} is given up: {}", device().properties.device, reason));
}

void Agent::switch_device(const std::string& reason) {
  const bool unused_gpu = !reported_ready_ && device().properties.gpu;
  if (device_ + 1 == devices_.size())
    return leave(Bye::Cause::failed, unused_gpu ? reason + "; --device cpu does without" : reason);
  outbox.warnings.push_back(
      fmt::format("on {}: {}; {}", device().properties.host, reason,
                  unused_gpu ? "solving on the CPU instead" : "its plans are solved on the CPU"));
  for (std::size_t number = 0; number < processes_.size(); ++number)
    for (const HeldTask& held : take_started_tasks(number))
      pending_report_.returned.push_back(held.task.plan);
  stop_processes();
  ++device_;
  start_device();
}

/// Says one sentence about the device.
void Agent::warn(const std::string& message) {
  outbox.warnings.push_back(
      fmt::format("{} on {}: {}", device().properties.device, device().properties.host, message));
}

void Agent::check_process(std::size_t number) {
  Process& process = processes_[number];
  if (process.stage == Process::Stage::backing_off && now_s_ >= process.since_s)
    return start(number);
  if (process.stage == Process::Stage::starting && now_s_ - process.since_s > start_timeout_s)
    return on_start_failure(
        number, fmt::format("a solver process did not start within {:.0f} s", start_timeout_s));
  const double limit_s = device().progress_timeout_s > 0 ? device().progress_timeout_s
                                                         : std::numeric_limits<double>::infinity();
  for (const HeldTask& held : process.active_tasks())
    if (now_s_ - held.last_progress_s >
        (held.started ? limit_s : std::min(limit_s, start_timeout_s)))
      return on_progress_timeout(number, held.task.plan);
}

/// The plan that hangs is to blame, unless the process has not begun with it.
void Agent::on_progress_timeout(std::size_t number, std::uint32_t plan) {
  const auto started = take_started_tasks(number);
  const HeldTask* hung = nullptr;
  for (const HeldTask& held : started) {
    if (held.task.plan == plan)
      hung = &held;
    else
      pending_report_.returned.push_back(held.task.plan);
  }
  if (hung == nullptr) return on_start_failure(number, "a solver process does not begin");
  start(number);
  record_plan_failure(*hung, fmt::format("no progress for {:g} s", device().progress_timeout_s));
}

}  // namespace wallheat
