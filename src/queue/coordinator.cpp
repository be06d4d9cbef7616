#include "queue/coordinator.hpp"

#include <algorithm>
#include <utility>

namespace wallheat {
namespace {

// A worker whose host had system errors with this many plans in a row gets no more plans.
constexpr int max_host_errors = 3;

}  // namespace

Coordinator::Coordinator(const std::vector<PlanQueue::InitialState>& plans, int workers,
                         const Options& options)
    : options_(options),
      queue_(plans, options.max_attempts),
      workers_(static_cast<std::size_t>(workers) + 1) {
  for (int worker = 1; worker <= workers; ++worker)
    state_of(worker).info = std::make_shared<const WorkerInfo>(WorkerInfo{worker, {}});
  stage_counts_[static_cast<std::size_t>(Stage::starting)] = static_cast<std::size_t>(workers);
  queue_.set_more_workers_expected(workers > 0);
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

Event& Coordinator::emit(Event::Kind kind, int worker, PlanQueue::Index plan) {
  Event& event = emit(kind, worker);
  event.plan = plan;
  event.attempts = queue_.attempts(plan);
  event.failures = queue_.failures(plan);
  event.predicted_s = static_cast<float>(queue_.predicted_s(worker, plan));
  return event;
}

// What workers say.

void Coordinator::on_report(int worker, WorkerReport report, double now_s) {
  set_time(now_s);
  WorkerState& state = state_of(worker);
  state.last_received_s = awake_s_;
  state.reachable = true;
  if (state.stage == Stage::departed) return;
  const bool was_here = state.stage == Stage::active || state.stage == Stage::lost;
  if (state.stage != Stage::active) activate(worker, report);
  if (state.stage != Stage::active) return;
  // It was not here when the others were told.
  if (!was_here && requested_end_) outbox.stop_requests.push_back(worker);
  update_progress(worker, report.running);
  for (TaskResult& result : report.results) on_result(worker, result);
  for (const PlanQueue::Index plan : report.suspects) {
    mark_started(worker, plan);
    queue_.on_returned(worker, plan, true);
  }
  for (const PlanQueue::Index plan : report.returned) queue_.on_returned(worker, plan, false);
  if (was_here && report.ready) {  // with another device, as the one before was given up
    set_stage(state, Stage::starting);
    activate(worker, report);
  }
  if (!std::exchange(state.awaiting_assignment, true)) awaiting_.push_back(worker);
  report.results.clear();
  emit(Event::Kind::worker_report, worker).report =
      std::make_shared<const WorkerReport>(std::move(report));
  exclude_if_host_is_bad(worker);
}

/// It is ready, or back.
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
                       ? state.info->name() + " is refused: " + bye.reason
                       : bye.reason);
  if (bye.cause == Bye::Cause::source_outage) source_outage_reason_ = bye.reason;
  if (bye.cause == Bye::Cause::interrupted) request_stop("asked to", RunEnd::interrupted);
}

/// What a worker is at. Others may be at the same plan: the one that is farthest counts.
void Coordinator::update_progress(int worker, const std::vector<PlanProgress>& running) {
  for (const PlanProgress& progress : running) {
    mark_started(worker, progress.plan);
    const auto attempt = attempts_.find(progress.plan);
    if (attempt != attempts_.end() && progress.seconds >= attempt->second.progress.seconds)
      attempt->second = {worker, progress};
  }
}

void Coordinator::mark_started(int worker, PlanQueue::Index plan) {
  const int before = queue_.has(plan) ? queue_.attempts(plan) : 0;
  if (!queue_.on_started(worker, plan)) return;
  if (queue_.attempts(plan) > before) attempts_[plan] = {worker, {.plan = plan}};
  emit(Event::Kind::started, worker, plan);
}

void Coordinator::on_result(int worker, TaskResult& result) {
  mark_started(worker, result.plan);
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
  event.reason = std::move(result.error);
  event.seconds = result.seconds;
  attempts_.erase(result.plan);
}

/// Its plans are queued again. The Bye that answers the stop request, and results that come with
/// it, are ignored.
void Coordinator::exclude_if_host_is_bad(int worker) {
  WorkerState& state = state_of(worker);
  if (state.host_errors < max_host_errors || queue_.finished()) return;
  queue_.on_worker_left(worker);
  set_stage(state, Stage::departed);
  if (!requested_end_) outbox.stop_requests.push_back(worker);
  Event& event = emit(Event::Kind::worker_excluded, worker);
  event.reason = std::to_string(state.host_errors) +
                 " plans in a row met system errors; last: " + state.last_host_error;
  source_outage_reason_ = event.worker->name() + ": " + event.reason;
  record_departure(source_outage_reason_);
}

void Coordinator::on_solved(int worker, TaskResult& result) {
  const double predicted_s = queue_.predicted_s(worker, result.plan);  // before it is learnt from
  const auto outcome = queue_.on_solved(worker, result.plan, result.seconds);
  const auto first = first_results_.find(result.plan);
  const bool is_first = outcome == PlanQueue::Outcome::accepted;
  const bool differs =
      !is_first && first != first_results_.end() && first->second.result_hash != result.result_hash;
  Event& event = emit(is_first  ? Event::Kind::finished
                      : differs ? Event::Kind::conflict
                                : Event::Kind::duplicate_result,
                      worker, result.plan);
  event.predicted_s = static_cast<float>(predicted_s);
  event.encoded_result = std::move(result.encoded_result);
  event.gpu_times = std::move(result.gpu_times);
  if (is_first) {
    attempts_.erase(result.plan);
    if (queue_.is_leased(result.plan)) first_results_[result.plan] = {worker, result.result_hash};
  } else if (differs) {
    event.first_worker = state_of(first->second.worker).info;
    ++event.failures;
    first_results_.erase(first);
  }
}

// What they are told.

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

}  // namespace wallheat
