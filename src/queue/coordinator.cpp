#include "queue/coordinator.hpp"

#include <algorithm>
#include <utility>

namespace wallheat {

Coordinator::Coordinator(const std::vector<PlanQueue::Start>& plans, int workers,
                         const Options& options)
    : options_(options),
      queue_(plans, options.max_attempts),
      ranks_(static_cast<std::size_t>(workers) + 1) {
  for (int worker = 1; worker <= workers; ++worker)
    at(worker).info = std::make_shared<const WorkerInfo>(WorkerInfo{worker, {}});
  counts_[static_cast<std::size_t>(Stage::expected)] = static_cast<std::size_t>(workers);
  queue_.expect_more(workers > 0);
}

void Coordinator::set_time(double now_s) {
  now_s_ = now_s;
  awake_s_ = now_s - slept_s_;
  queue_.set_time(now_s);
}

void Coordinator::move(Rank& rank, Stage stage) {
  --counts_.at(static_cast<std::size_t>(rank.stage));
  ++counts_.at(static_cast<std::size_t>(stage));
  rank.stage = stage;
  queue_.expect_more(count(Stage::expected) > 0);
}

Event& Coordinator::tell(Event::Kind kind, int worker) {
  Event& event = outbox.events.emplace_back();
  event.kind = kind;
  event.worker = at(worker).info;
  event.time_s = now_s_;
  return event;
}

Event& Coordinator::tell(Event::Kind kind, int worker, PlanQueue::Plan plan) {
  Event& event = tell(kind, worker);
  event.plan = plan;
  event.attempts = queue_.attempts(plan);
  event.failures = queue_.failures(plan);
  event.predicted_s = static_cast<float>(queue_.predicted_s(worker, plan));
  return event;
}

// What workers say.

void Coordinator::heard(int worker, WorkerReport report, double now_s) {
  set_time(now_s);
  Rank& rank = at(worker);
  rank.heard_s = awake_s_;
  rank.listens = true;
  if (rank.stage == Stage::left) return;
  const bool was_here = rank.stage == Stage::working || rank.stage == Stage::silent;
  if (rank.stage != Stage::working) join(worker, report);
  if (rank.stage != Stage::working) return;
  // It was not here when the others were told.
  if (!was_here && stop_) outbox.stops.push_back(worker);
  note(worker, report.running);
  for (Result& result : report.results) take(worker, result);
  for (const PlanQueue::Plan plan : report.shaken) {
    start(worker, plan);
    queue_.returned(worker, plan, true);
  }
  for (const PlanQueue::Plan plan : report.returned) queue_.returned(worker, plan, false);
  if (was_here && report.ready) {  // with another device, as the one before was given up
    move(rank, Stage::expected);
    join(worker, report);
  }
  if (!std::exchange(rank.has_spoken, true)) spoken_.push_back(worker);
  report.results.clear();
  tell(Event::Kind::heard, worker).report = std::make_shared<const WorkerReport>(std::move(report));
}

/// It is ready, or back.
void Coordinator::join(int worker, WorkerReport& report) {
  Rank& rank = at(worker);
  const bool is_back = rank.stage == Stage::silent;
  if (!is_back && !report.ready) return;
  if (!is_back) rank.info = std::make_shared<const WorkerInfo>(WorkerInfo{worker, *report.ready});
  move(rank, Stage::working);
  any_was_ready_ = true;
  const WorkerFacts& facts = rank.info->facts;
  queue_.joined(worker, facts.lanes, facts.shares_process, facts.device);
  tell(is_back ? Event::Kind::worker_back : Event::Kind::worker_ready, worker);
}

void Coordinator::heard(int worker, const Bye& bye, double now_s) {
  set_time(now_s);
  Rank& rank = at(worker);
  rank.listens = true;
  if (rank.stage == Stage::left) return;
  if (rank.info->facts.host.empty())
    rank.info =
        std::make_shared<const WorkerInfo>(WorkerInfo{worker, {.host = bye.host, .device = ""}});
  note(worker, bye.abandoned);
  queue_.gone(worker);
  move(rank, Stage::left);
  tell(Event::Kind::worker_left, worker).reason = bye.reason;
  remember(bye.why == Bye::Why::refused ? rank.info->name() + " is refused: " + bye.reason
                                        : bye.reason);
  if (bye.why == Bye::Why::source_away) source_away_ = bye.reason;
  if (bye.why == Bye::Why::interrupted) ask_to_stop("asked to", RunEnd::interrupted);
}

/// What a worker is at. Others may be at the same plan: the one that is farthest counts.
void Coordinator::note(int worker, const std::vector<PlanProgress>& running) {
  for (const PlanProgress& progress : running) {
    start(worker, progress.plan);
    const auto attempt = attempts_.find(progress.plan);
    if (attempt != attempts_.end() && progress.seconds >= attempt->second.last.seconds)
      attempt->second = {worker, progress};
  }
}

void Coordinator::start(int worker, PlanQueue::Plan plan) {
  const int before = queue_.has(plan) ? queue_.attempts(plan) : 0;
  if (!queue_.started(worker, plan)) return;
  if (queue_.attempts(plan) > before) attempts_[plan] = {worker, {.plan = plan}};
  tell(Event::Kind::started, worker, plan);
}

void Coordinator::take(int worker, Result& result) {
  start(worker, result.plan);
  if (!queue_.has(result.plan)) return;
  if (result.kind == Result::Kind::answered) return take_answer(worker, result);
  const auto outcome = queue_.failed(worker, result.plan, result.kind == Result::Kind::retryable);
  if (outcome == PlanQueue::Outcome::second) return;
  const bool is_final = outcome == PlanQueue::Outcome::failed;
  Event& event =
      tell(is_final ? Event::Kind::stored : Event::Kind::failed_try, worker, result.plan);
  event.record = std::move(result.record);
  event.reason = std::move(result.error);
  event.seconds = result.seconds;
  attempts_.erase(result.plan);
}

void Coordinator::take_answer(int worker, Result& result) {
  const double predicted_s = queue_.predicted_s(worker, result.plan);  // before it is learnt from
  const auto outcome = queue_.answered(worker, result.plan, result.seconds);
  const auto first = first_answers_.find(result.plan);
  const bool is_first = outcome == PlanQueue::Outcome::first;
  const bool differs =
      !is_first && first != first_answers_.end() && first->second.digest != result.digest;
  Event& event = tell(is_first  ? Event::Kind::stored
                      : differs ? Event::Kind::conflict
                                : Event::Kind::repeated,
                      worker, result.plan);
  event.predicted_s = static_cast<float>(predicted_s);
  event.record = std::move(result.record);
  event.device_times = std::move(result.device_times);
  if (is_first) {
    attempts_.erase(result.plan);
    if (queue_.is_held(result.plan)) first_answers_[result.plan] = {worker, result.digest};
  } else if (differs) {
    event.first = at(first->second.worker).info;
    ++event.failures;
    first_answers_.erase(first);
  }
}

// What they are told.

void Coordinator::feed(double now_s) {
  set_time(now_s);
  for (const int worker : std::exchange(spoken_, {})) {
    at(worker).has_spoken = false;
    give(worker);
  }
}

void Coordinator::give(int worker, bool at_last) {
  Rank& rank = at(worker);
  if (stop_) return;
  auto plans = queue_.give(worker, deadline_s_ - now_s_, at_last);
  if (plans.empty()) return;
  rank.sent_s = now_s_;
  outbox.work.emplace_back(worker, std::move(plans));
}

}  // namespace wallheat
