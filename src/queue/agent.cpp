#include "queue/agent.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace wallheat {
namespace {

constexpr double report_interval_s = 0.005;
// If plans take less than this, a process has enough of them in its socket to last for a while: a
// busy core may have no time for the worker for some milliseconds.
constexpr double short_plan_s = 0.1;
constexpr double prefetch_s = 0.02;
constexpr std::size_t max_prefetch_per_slot = 32;
// A record of this size is sent at once, so that no message comes near MPI's limit of 2 GiB.
constexpr std::size_t large_result_bytes = 1 << 20;

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
    return on_start_failure(number, "a solver process says what it should not at its start");
  process.stage = Process::Stage::ready;
  process.slots = ready.slots;
  process.prefetch_per_slot = 0;
  process.cpus = ready.cpus;
  outage_.reset();  // it has opened the source
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
    return on_process_failure(number,
                              "its solver process sent an invalid answer (the wrong message)");
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
  const bool is_large = result.encoded_result.size() >= large_result_bytes;
  pending_report_.results.push_back(std::move(result));
  if (is_large) send_report();
}

void Agent::tick(double awake_s) {
  now_s_ = awake_s;
  for (std::size_t number = 0; number < processes_.size(); ++number) check_process(number);
  assign_tasks();
  // As long as no lane waits for plans, the news of a few milliseconds travels together.
  const double interval_s = !pending_report_.has_payload() ? heartbeat_interval_s_
                            : has_idle_slot()              ? 0
                                                           : report_interval_s;
  if (now_s_ - last_report_s_ >= interval_s) send_report();
}

/// The process is done with a plan, so the next one has its turn.
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
      const std::size_t most = process.slots * (1 + std::min(depth, process.prefetch_per_slot));
      for (; process.plans.size() < most && !backlog_.empty(); backlog_.pop_front()) {
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

}  // namespace wallheat
