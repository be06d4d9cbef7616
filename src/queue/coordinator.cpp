#include "queue/coordinator.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace wallheat {
namespace {

// A worker is excluded after system errors with this many plans in a row.
constexpr int max_host_errors = 3;

// Checks of all workers per heartbeat interval. There may be ten thousand workers, so tick() does
// not check them at each call.
constexpr int checks_per_heartbeat = 8;

/// Returns the reason of a plan that is given up because workers were lost while they solved it.
std::string loss_reason(int workers, const WorkerInfo& last) {
  if (workers == 1) return "was in progress on " + last.name() + " when this worker was lost";
  return "was in progress on " + std::to_string(workers) +
         " workers when they were lost; last: " + last.name();
}

}  // namespace

Coordinator::Coordinator(const QueueVector<PlanQueue::InitialState>& plans, int workers,
                         const Options& options)
    : options_(options),
      queue_(plans, options.max_attempts),
      workers_(static_cast<std::size_t>(workers) + 1) {
  for (int worker = 1; worker <= workers; ++worker)
    state_of(worker).info = std::make_shared<const WorkerInfo>(WorkerInfo{worker, {}});
  stage_counts_[static_cast<std::size_t>(Stage::starting)] = static_cast<std::size_t>(workers);
  queue_.set_more_workers_expected(workers > 0);
  if (!options.is_deterministic) queue_.forbid_copies();
}

void Coordinator::set_time(double now_s) {
  now_s_ = now_s;
  awake_s_ = now_s - stalled_s_;
  queue_.set_time(now_s);
}

void Coordinator::set_stage(WorkerState& state, Stage stage) {
  --stage_counts_.at(static_cast<std::size_t>(state.stage));
  ++stage_counts_.at(static_cast<std::size_t>(stage));
  state.stage = stage;
  queue_.set_more_workers_expected(count(Stage::starting) > 0);
}

Event& Coordinator::emit(Event::Kind kind, int worker) {
  Event& event = outbox.events.emplace_back();
  event.kind = kind;
  event.worker = state_of(worker).info;
  event.time_s = now_s_;
  return event;
}

Event& Coordinator::emit(Event::Kind kind, int worker, QueueIndex plan) {
  Event& event = emit(kind, worker);
  event.plan = plan;
  event.attempts = queue_.attempts(plan);
  event.failures = queue_.failures(plan);
  event.predicted_s = static_cast<float>(queue_.predicted_s(worker, plan));
  return event;
}

// Messages from workers.

void Coordinator::on_report(int worker, WorkerReport report, double now_s) {
  set_time(now_s);
  WorkerState& state = state_of(worker);
  state.last_received_s = awake_s_;
  state.reachable = true;
  if (state.stage == Stage::departed) return;
  const bool was_here = state.stage == Stage::active || state.stage == Stage::lost;
  if (state.stage != Stage::active) activate(worker, report);
  if (state.stage != Stage::active) return;
  // The stop was requested before this worker was ready, so it has not received the request.
  if (!was_here && requested_end_) outbox.stop_requests.push_back(worker);
  update_progress(worker, report.running);
  for (TaskResult& result : report.results) on_result(worker, result);
  for (const QueueIndex plan : report.suspects) {
    mark_started(worker, plan, 0);
    queue_.on_returned(worker, plan, true);
  }
  for (const QueueIndex plan : report.returned) queue_.on_returned(worker, plan, false);
  if (was_here && report.ready) {  // it switched to another device
    set_stage(state, Stage::starting);
    activate(worker, report);
  }
  if (!std::exchange(state.awaiting_assignment, true)) awaiting_.push_back(worker);
  report.results.clear();
  emit(Event::Kind::worker_report, worker).report =
      std::make_shared<const WorkerReport>(std::move(report));
  exclude_if_host_is_bad(worker);
}

/// Makes a worker active that became ready, or that was lost and has sent a message.
void Coordinator::activate(int worker, WorkerReport& report) {
  WorkerState& state = state_of(worker);
  const bool is_back = state.stage == Stage::lost;
  if (!is_back && !report.ready) return;
  if (!is_back) state.info = std::make_shared<const WorkerInfo>(WorkerInfo{worker, *report.ready});
  set_stage(state, Stage::active);
  any_was_ready_ = true;
  const WorkerProperties& properties = state.info->properties;
  queue_.on_worker_ready(worker, properties.slots, properties.shares_process, properties.device);
  emit(is_back ? Event::Kind::worker_recovered : Event::Kind::worker_ready, worker);
}

void Coordinator::on_bye(int worker, const Bye& bye, double now_s) {
  set_time(now_s);
  WorkerState& state = state_of(worker);
  state.reachable = true;
  if (state.stage == Stage::departed) return;
  if (state.info->properties.host.empty())
    state.info =
        std::make_shared<const WorkerInfo>(WorkerInfo{worker, {.host = bye.host, .device = ""}});
  update_progress(worker, bye.aborted);
  queue_.on_worker_left(worker);
  set_stage(state, Stage::departed);
  emit(Event::Kind::worker_departed, worker).reason = bye.reason;
  record_departure(bye.cause == Bye::Cause::incompatible
                       ? state.info->name() + ": incompatible: " + bye.reason
                       : bye.reason);
  if (bye.cause == Bye::Cause::source_outage) source_outage_reason_ = bye.reason;
  if (bye.cause == Bye::Cause::solver_failed) {
    no_workers_reason_ = state.info->name() + ": " + bye.reason;
    request_stop(bye.reason, RunEnd::no_workers);
  }
  if (bye.cause == Bye::Cause::interrupted) request_stop("stop requested", RunEnd::interrupted);
}

/// Records the plans that a worker has in progress. Several workers may solve a plan; the attempt
/// that has run longest is kept.
void Coordinator::update_progress(int worker, const std::vector<PlanProgress>& running) {
  for (const PlanProgress& progress : running) {
    mark_started(worker, progress.plan, progress.seconds);
    const auto attempt = attempts_.find(progress.plan);
    if (attempt != attempts_.end() && progress.seconds >= attempt->second.progress.seconds)
      attempt->second = {worker, progress};
  }
}

void Coordinator::mark_started(int worker, QueueIndex plan, double seconds) {
  const int before = queue_.has(plan) ? queue_.attempts(plan) : 0;
  if (!queue_.on_started(worker, plan)) return;
  if (queue_.attempts(plan) > before) attempts_[plan] = {worker, {.plan = plan}};
  emit(Event::Kind::started, worker, plan).seconds = seconds;
}

void Coordinator::on_result(int worker, TaskResult& result) {
  mark_started(worker, result.plan, result.seconds);
  if (!queue_.has(result.plan)) return;
  if (result.kind == TaskResult::Kind::solved) return on_solved(worker, result);
  if (result.kind == TaskResult::Kind::host_error) {
    WorkerState& state = state_of(worker);
    state.host_errors = std::max(state.host_errors, queue_.on_host_error(worker, result.plan));
    state.last_host_error = std::exchange(result.error, {});
  }
  const auto outcome =
      queue_.on_failed(worker, result.plan, result.kind != TaskResult::Kind::failed);
  if (outcome == PlanQueue::Outcome::duplicate) return;
  const bool is_final = outcome == PlanQueue::Outcome::failed;
  Event& event =
      emit(is_final ? Event::Kind::finished : Event::Kind::attempt_failed, worker, result.plan);
  event.encoded_result = std::move(result.encoded_result);
  event.program_start_s = result.program_start_s;
  event.reason = std::move(result.error);
  event.seconds = result.seconds;
  attempts_.erase(result.plan);
}

/// Excludes a worker after too many host errors: its plans are queued again, and it is requested to
/// stop. The Bye with which it answers, and results that it sends before, are ignored.
void Coordinator::exclude_if_host_is_bad(int worker) {
  WorkerState& state = state_of(worker);
  if (state.host_errors < max_host_errors || queue_.finished()) return;
  queue_.on_worker_left(worker);
  set_stage(state, Stage::departed);
  if (!requested_end_) outbox.stop_requests.push_back(worker);
  Event& event = emit(Event::Kind::worker_excluded, worker);
  event.reason = std::to_string(state.host_errors) +
                 " consecutive plans had system errors; last: " + state.last_host_error;
  source_outage_reason_ = event.worker->name() + ": " + event.reason;
  record_departure(source_outage_reason_);
}

void Coordinator::on_solved(int worker, TaskResult& result) {
  // The prediction must not include this result.
  const double predicted_s = queue_.predicted_s(worker, result.plan);
  const auto outcome = queue_.on_solved(worker, result.plan, result.seconds);
  const auto first = first_results_.find(result.plan);
  const bool is_first = outcome == PlanQueue::Outcome::accepted;
  const bool differs = options_.is_deterministic && !is_first && first != first_results_.end() &&
                       first->second.result_hash != result.result_hash;
  Event& event = emit(is_first  ? Event::Kind::finished
                      : differs ? Event::Kind::conflict
                                : Event::Kind::duplicate_result,
                      worker, result.plan);
  event.predicted_s = static_cast<float>(predicted_s);
  event.encoded_result = std::move(result.encoded_result);
  event.gpu_times = std::move(result.gpu_times);
  event.program_start_s = result.program_start_s;
  if (is_first) {
    attempts_.erase(result.plan);
    if (queue_.is_leased(result.plan)) first_results_[result.plan] = {worker, result.result_hash};
  } else if (differs) {
    event.first_worker = state_of(first->second.worker).info;
    ++event.failures;
    first_results_.erase(first);
  }
}

// Messages to workers.

void Coordinator::assign_plans(double now_s) {
  set_time(now_s);
  for (const int worker : std::exchange(awaiting_, {})) {
    state_of(worker).awaiting_assignment = false;
    assign(worker);
  }
}

void Coordinator::assign(int worker, bool allow_same_worker) {
  WorkerState& state = state_of(worker);
  if (requested_end_) return;
  auto plans = queue_.assign(worker, deadline_s_ - now_s_, allow_same_worker);
  if (plans.empty()) return;
  state.last_sent_s = now_s_;
  outbox.assignments.emplace_back(worker, std::move(plans));
}

std::optional<RunEnd> Coordinator::end() const {
  if (queue_.finished()) return RunEnd::finished;
  const bool any_active = count(Stage::active) > 0;
  if (requested_end_) {
    const bool is_over = !any_active || awake_s_ - stop_requested_s_ > options_.stop_timeout_s;
    return is_over ? requested_end_ : std::nullopt;
  }
  if (any_active || count(Stage::starting) > 0) return std::nullopt;
  return source_outage_reason_.empty() ? RunEnd::no_workers : RunEnd::source_outage;
}

void Coordinator::tick(double now_s, double time_left_s, double stalled_s) {
  stalled_s_ += stalled_s;
  set_time(now_s);
  deadline_s_ = now_s + time_left_s;
  if (time_left_s <= 0) request_stop("the time limit", RunEnd::out_of_time);
  if (end() == RunEnd::source_outage) request_stop(source_outage_reason_, RunEnd::source_outage);
  if (now_s - last_check_s_ < options_.heartbeat_interval_s / checks_per_heartbeat) return;
  last_check_s_ = now_s;
  for (int worker = 1; worker < static_cast<int>(workers_.size()); ++worker) check_liveness(worker);
  std::erase_if(first_results_, [&](const auto& each) { return !queue_.is_leased(each.first); });
  if (std::isfinite(time_left_s)) stop_if_nothing_fits();
}

/// Marks a worker as lost if it has timed out. Sends it a heartbeat if one is due.
void Coordinator::check_liveness(int worker) {
  WorkerState& state = state_of(worker);
  const char* const unresponsive = "sent no message for";
  const bool has_timed_out =
      state.reachable && awake_s_ - state.last_received_s > options_.heartbeat_timeout_s;
  if (state.stage == Stage::starting) {
    if (has_timed_out)
      mark_lost(worker, Stage::late, unresponsive, options_.heartbeat_timeout_s);
    else if (!state.reachable && awake_s_ > options_.startup_timeout_s)
      mark_lost(worker, Stage::late, unresponsive, options_.startup_timeout_s);
    else if (awake_s_ > 2 * options_.startup_timeout_s)
      mark_lost(worker, Stage::late, "is not ready after", 2 * options_.startup_timeout_s);
  } else if (state.stage == Stage::active && has_timed_out) {
    mark_lost(worker, Stage::lost, unresponsive, options_.heartbeat_timeout_s);
    for (const QueueIndex plan : queue_.on_worker_lost(worker)) {
      Event& event = emit(Event::Kind::plan_given_up, worker, plan);
      event.reason = loss_reason(options_.max_attempts, *state.info);
      event.attempts = std::max(event.attempts, options_.max_attempts);
      event.failures = std::max(event.failures, options_.max_attempts);
      attempts_.erase(plan);
    }
  }
  // A departed worker still receives messages until the run ends. Messages to a dead rank are not
  // sent, because they would occupy buffers that the other ranks need.
  if (has_timed_out && state.stage != Stage::departed) state.reachable = false;
  if (!state.reachable || now_s_ - state.last_sent_s < options_.heartbeat_interval_s) return;
  state.last_sent_s = now_s_;
  outbox.assignments.push_back({worker, {}});
}

void Coordinator::mark_lost(int worker, Stage stage, const std::string& what, double seconds) {
  set_stage(state_of(worker), stage);
  Event& event = emit(Event::Kind::worker_lost, worker);
  event.reason =
      event.worker->name() + " " + what + " " + std::to_string(std::lround(seconds)) + " s";
  event.seconds = seconds;
  record_departure(event.reason);
}

void Coordinator::record_departure(const std::string& reason) {
  if (requested_end_) return;  // the workers leave because they must
  no_workers_reason_ =
      (any_was_ready_ ? "no worker remains; last: " : "no worker could start: ") + reason;
}

/// If no plan is leased: assigns a plan that some worker can solve before the time limit. Stops the
/// run if there is none.
void Coordinator::stop_if_nothing_fits() {
  if (requested_end_ || queue_.finished() || count(Stage::active) == 0 ||
      count(Stage::starting) > 0)
    return;
  for (const bool allow_same_worker : {false, true})
    for (int worker = 1; !queue_.any_leased() && worker < static_cast<int>(workers_.size());
         ++worker)
      assign(worker, allow_same_worker);
  if (!queue_.any_leased())
    request_stop("no remaining plan fits into the time limit", RunEnd::out_of_time);
}

void Coordinator::request_stop(const std::string& why, RunEnd end) {
  if (requested_end_) return;
  requested_end_ = end;
  stop_requested_s_ = awake_s_;
  Event& event = outbox.events.emplace_back();
  event.reason = why;
  event.time_s = now_s_;
  for (int worker = 1; worker < static_cast<int>(workers_.size()); ++worker) {
    const Stage stage = state_of(worker).stage;
    if (stage == Stage::active || stage == Stage::lost) outbox.stop_requests.push_back(worker);
  }
}

void Coordinator::emit_aborted_events() {
  std::vector<QueueIndex> plans;
  for (const auto& [plan, attempt] : attempts_) plans.push_back(plan);
  std::sort(plans.begin(), plans.end());
  for (const QueueIndex plan : plans) {
    const auto& [worker, last] = attempts_.at(plan);
    emit(Event::Kind::aborted, worker, plan).progress = last;
  }
}

}  // namespace wallheat
