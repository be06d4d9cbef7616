#include <algorithm>
#include <cmath>
#include <utility>

#include "queue/coordinator.hpp"

// Who is alive, and how a run ends.

namespace wallheat {
namespace {

constexpr int checks_per_heartbeat = 8;  // at all ranks, of which there may be ten thousand

/// Why a plan has failed that no worker has answered.
std::string loss_reason(int workers, const WorkerInfo& last) {
  if (workers == 1) return "was running at " + last.name() + " when it fell silent";
  return "was running at " + std::to_string(workers) + " workers when they fell silent, last at " +
         last.name();
}

}  // namespace

std::optional<RunEnd> Coordinator::end() const {
  if (queue_.finished()) return RunEnd::finished;
  const bool any_at_work = count(Stage::active) > 0;
  if (requested_end_) {
    const bool is_over = !any_at_work || awake_s_ - stop_requested_s_ > options_.stop_timeout_s;
    return is_over ? requested_end_ : std::nullopt;
  }
  if (any_at_work || count(Stage::starting) > 0) return std::nullopt;
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

/// Gives it up if it is silent, and tells it that rank 0 lives.
void Coordinator::check_liveness(int worker) {
  WorkerState& state = state_of(worker);
  const char* const unresponsive = "has said nothing for";
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
    for (const PlanQueue::Index plan : queue_.on_worker_lost(worker)) {
      Event& event = emit(Event::Kind::plan_given_up, worker, plan);
      event.reason = loss_reason(options_.max_attempts, *state.info);
      event.attempts = std::max(event.attempts, options_.max_attempts);
      event.failures = std::max(event.failures, options_.max_attempts);
      attempts_.erase(plan);
    }
  }
  // A worker that has left still listens until the end. What is sent to a dead rank takes room from
  // the living.
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
  no_workers_reason_ = (any_was_ready_ ? "all workers have left, the last because of: "
                                       : "no worker could start: ") +
                       reason;
}

/// If nobody has plans: is there anything that somebody could do in time?
void Coordinator::stop_if_nothing_fits() {
  if (requested_end_ || queue_.finished() || count(Stage::active) == 0 ||
      count(Stage::starting) > 0)
    return;
  for (const bool allow_same_worker : {false, true})
    for (int worker = 1; !queue_.any_leased() && worker < static_cast<int>(workers_.size());
         ++worker)
      assign(worker, allow_same_worker);
  if (!queue_.any_leased())
    request_stop("no plan is left that would end within the time limit", RunEnd::out_of_time);
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
  std::vector<PlanQueue::Index> plans;
  for (const auto& [plan, attempt] : attempts_) plans.push_back(plan);
  std::sort(plans.begin(), plans.end());
  for (const PlanQueue::Index plan : plans) {
    const auto& [worker, last] = attempts_.at(plan);
    emit(Event::Kind::aborted, worker, plan).progress = last;
  }
}

}  // namespace wallheat
