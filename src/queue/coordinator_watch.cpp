#include <algorithm>
#include <cmath>
#include <utility>

#include "queue/coordinator.hpp"

// Who is alive, and how a run ends.

namespace wallheat {
namespace {

constexpr int looks_a_sign = 8;  // at all ranks, of which there may be ten thousand

/// Why a plan has failed that no worker has answered.
std::string reason_of_loss(int workers, const WorkerInfo& last) {
  if (workers == 1) return "was running at " + last.name() + " when it fell silent";
  return "was running at " + std::to_string(workers) + " workers when they fell silent, last at " +
         last.name();
}

}  // namespace

std::optional<RunEnd> Coordinator::end() const {
  if (queue_.finished()) return RunEnd::finished;
  const bool any_at_work = count(Stage::working) > 0;
  if (stop_) {
    const bool is_over = !any_at_work || awake_s_ - stop_s_ > options_.stop_s;
    return is_over ? stop_ : std::nullopt;
  }
  if (any_at_work || count(Stage::expected) > 0) return std::nullopt;
  return source_away_.empty() ? RunEnd::nobody_left : RunEnd::source_away;
}

void Coordinator::tick(double now_s, double time_left_s, double slept_s) {
  slept_s_ += slept_s;
  set_time(now_s);
  deadline_s_ = now_s + time_left_s;
  if (time_left_s <= 0) ask_to_stop("the time limit", RunEnd::out_of_time);
  if (end() == RunEnd::source_away) ask_to_stop(source_away_, RunEnd::source_away);
  if (now_s - looked_s_ < options_.sign_s / looks_a_sign) return;
  looked_s_ = now_s;
  for (int worker = 1; worker < static_cast<int>(ranks_.size()); ++worker) watch(worker);
  std::erase_if(first_answers_, [&](const auto& each) { return !queue_.is_held(each.first); });
  if (std::isfinite(time_left_s)) end_if_nothing_fits();
}

/// Gives it up if it is silent, and tells it that rank 0 lives.
void Coordinator::watch(int worker) {
  Rank& rank = at(worker);
  const char* const mute = "has said nothing for";
  const bool is_silent = rank.listens && awake_s_ - rank.heard_s > options_.silence_s;
  if (rank.stage == Stage::expected) {
    if (is_silent)
      lose(worker, Stage::overdue, mute, options_.silence_s);
    else if (!rank.listens && awake_s_ > options_.start_s)
      lose(worker, Stage::overdue, mute, options_.start_s);
    else if (awake_s_ > 2 * options_.start_s)
      lose(worker, Stage::overdue, "is not ready after", 2 * options_.start_s);
  } else if (rank.stage == Stage::working && is_silent) {
    lose(worker, Stage::silent, mute, options_.silence_s);
    for (const PlanQueue::Plan plan : queue_.silent(worker)) {
      Event& event = tell(Event::Kind::lost, worker, plan);
      event.reason = reason_of_loss(options_.max_attempts, *rank.info);
      event.attempts = std::max(event.attempts, options_.max_attempts);
      event.failures = std::max(event.failures, options_.max_attempts);
      attempts_.erase(plan);
    }
  }
  // A worker that has left still listens until the end. What is sent to a dead rank takes room from
  // the living.
  if (is_silent && rank.stage != Stage::left) rank.listens = false;
  if (!rank.listens || now_s_ - rank.sent_s < options_.sign_s) return;
  rank.sent_s = now_s_;
  outbox.work.push_back({worker, {}});
}

void Coordinator::lose(int worker, Stage stage, const std::string& what, double seconds) {
  move(at(worker), stage);
  Event& event = tell(Event::Kind::worker_lost, worker);
  event.reason =
      event.worker->name() + " " + what + " " + std::to_string(std::lround(seconds)) + " s";
  event.seconds = seconds;
  remember(event.reason);
}

void Coordinator::remember(const std::string& reason) {
  last_reason_ = (any_was_ready_ ? "all workers have left, the last because of: "
                                 : "no worker could start: ") +
                 reason;
}

/// If nobody has plans: is there anything that somebody could do in time?
void Coordinator::end_if_nothing_fits() {
  if (stop_ || queue_.finished() || count(Stage::working) == 0 || count(Stage::expected) > 0)
    return;
  for (const bool at_last : {false, true})
    for (int worker = 1; !queue_.any_held() && worker < static_cast<int>(ranks_.size()); ++worker)
      give(worker, at_last);
  if (!queue_.any_held())
    ask_to_stop("no plan is left that would end within the time limit", RunEnd::out_of_time);
}

void Coordinator::ask_to_stop(const std::string& why, RunEnd end) {
  if (stop_) return;
  stop_ = end;
  stop_s_ = awake_s_;
  Event& event = outbox.events.emplace_back();
  event.reason = why;
  event.time_s = now_s_;
  for (int worker = 1; worker < static_cast<int>(ranks_.size()); ++worker) {
    const Stage stage = at(worker).stage;
    if (stage == Stage::working || stage == Stage::silent) outbox.stops.push_back(worker);
  }
}

void Coordinator::record_abandoned() {
  std::vector<PlanQueue::Plan> plans;
  for (const auto& [plan, attempt] : attempts_) plans.push_back(plan);
  std::sort(plans.begin(), plans.end());
  for (const PlanQueue::Plan plan : plans) {
    const auto& [worker, last] = attempts_.at(plan);
    tell(Event::Kind::abandoned, worker, plan).last = last;
  }
}

}  // namespace wallheat
