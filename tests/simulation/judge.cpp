#include "simulation/judge.hpp"

namespace wallheat {
namespace {

using Kind = Event::Kind;

/// Throws Violation unless `is_right`: an event is missing, or an event was emitted that did not
/// happen.
void check_event(bool is_right, Kind kind, int worker, Plan plan) {
  if (!is_right)
    throw Violation{"every event is emitted once and in order; violated by kind " +
                    std::to_string(static_cast<int>(kind)) + " of worker " +
                    std::to_string(worker) + ", plan " +
                    std::to_string(static_cast<std::uint32_t>(plan))};
}

}  // namespace

Judge::Judge(const Scene& scene, const World& world, std::size_t ranks)
    : coordinator(scene.starts, static_cast<int>(ranks) - 1, {.max_attempts = scene.max_attempts}),
      scene_(scene),
      world_(world),
      plans_(scene.plans.size()),
      workers_(ranks) {
  for (const Plan plan : queue_indices(plans_.size())) {
    plans_[plan].attempts = scene.starts[plan].attempts;
    plans_[plan].failures = scene.starts[plan].failures;
  }
}

void Judge::expect(Kind kind, int worker, Plan plan, double predicted_s) {
  const PlanTruth& truth = plans_[plan];
  expected_.push_back(
      {kind, worker, plan, truth.attempts, truth.failures, truth.first_by, predicted_s});
}

// Messages to rank 0.

void Judge::on_report(int from, WorkerReport report) {
  WorkerTruth& worker = workers_[from];
  worker.last_message_s = awake_s();
  worker.has_sent_message = true;
  const bool is_here = !worker.left && (worker.joined || report.ready);
  if (is_here) {
    const bool was_here = std::exchange(worker.joined, true);
    if (!was_here) expect(Kind::worker_ready, from);
    if (worker.lost) expect(Kind::worker_recovered, from);
    worker.lost = false;
    note(from, report.running);
    double predicted_s = -1;  // of the first result; the predictions of the others depend on it
    if (!report.results.empty())
      predicted_s = coordinator.queue().predicted_s(from, report.results.front().plan);
    for (const TaskResult& result : report.results)
      resolve(from, result, std::exchange(predicted_s, -1));
    for (const Plan plan : report.suspects) {
      begin(from, plan);
      give_back(from, plan);
      plans_[plan].losses = std::max(plans_[plan].losses, 1);
    }
    for (const Plan plan : report.returned) give_back(from, plan);
    if (was_here && report.ready) {
      worker.has_duration_model = false;
      expect(Kind::worker_ready, from);
    }
    expect(Kind::worker_report, from);
    exclude_if_bad(from);
  }
  coordinator.on_report(from, std::move(report), world_.now);
  take_events();
}

void Judge::on_bye(int from, const Bye& bye) {
  WorkerTruth& worker = workers_[from];
  worker.has_sent_message = true;
  const bool is_news = !worker.left;
  if (is_news) {
    is_source_away_ |= bye.cause == Bye::Cause::source_outage;
    note(from, bye.aborted);
    worker.given.clear();
    worker.left = true;
    worker.lost = false;
    departure_s_ = world_.now;
    expect(Kind::worker_departed, from);
  }
  coordinator.on_bye(from, bye, world_.now);
  take_events();
  check(!is_news || bye.cause != Bye::Cause::interrupted || stop_s <= world_.now,
        "a worker that receives a stop signal stops the run");
}

void Judge::on_incompatible(int from) {
  on_bye(from, Bye{Bye::Cause::incompatible, "another version", {}});
}

void Judge::begin(int from, Plan plan) {
  auto& given = workers_[from].given;
  const auto found = std::find_if(given.begin(), given.end(),
                                  [plan](const Given& each) { return each.plan == plan; });
  if (found == given.end() || found->is_begun) return;
  const bool is_copy =
      0 < count([plan](const WorkerTruth& each) {
        return !each.lost &&
               std::any_of(each.given.begin(), each.given.end(), [plan](const Given& other) {
                 return other.plan == plan && other.is_begun;
               });
      });
  found->is_begun = true;
  found->begun_s = world_.now;
  PlanTruth& truth = plans_[plan];
  if (!is_copy && !truth.is_final) {
    ++truth.attempts;
    truth.is_begun = true;
    truth.last_s = 0;
  }
  expect(Kind::started, from, plan);
}

void Judge::note(int from, const std::vector<PlanProgress>& running) {
  for (const PlanProgress& each : running) {
    begin(from, each.plan);
    plans_[each.plan].last_s = std::max(plans_[each.plan].last_s, each.seconds);
  }
}

void Judge::give_back(int from, Plan plan) {
  std::erase_if(workers_[from].given, [plan](const Given& each) { return each.plan == plan; });
}

/// Forgets the first result after a conflict, because it is no longer a valid reference for other
/// results.
void Judge::forget_first(Plan plan) {
  plans_[plan].is_forgotten = true;
  plans_[plan].compared.clear();
}

void Judge::resolve(int from, const TaskResult& result, double predicted_s) {
  begin(from, result.plan);
  double begun_s = -never;
  for (const Given& each : workers_[from].given)
    if (each.plan == result.plan) begun_s = each.begun_s;
  give_back(from, result.plan);
  PlanTruth& plan = plans_[result.plan];
  if (result.kind == TaskResult::Kind::host_error) on_host_error(from, plan);
  if (result.kind == TaskResult::Kind::solved) {
    on_solved(from, begun_s);
    workers_[from].has_duration_model |= scene_.starts[result.plan].updates > 0;
    is_pace_known_ = true;
    if (!std::exchange(plan.is_answered, true)) {
      plan.is_final = true;
      plan.is_begun = false;
      plan.first_by = from;
      plan.digest = result.result_hash;
      for (int other = 1; other < static_cast<int>(workers_.size()); ++other)
        if (!workers_[other].lost && workers_[other].has(result.plan)) plan.compared.insert(other);
      return expect(Kind::finished, from, result.plan, predicted_s);
    }
    const bool is_compared = plan.compared.erase(from) > 0;
    const bool differs = result.result_hash != plan.digest && (is_compared || !plan.is_forgotten);
    expect(differs ? Kind::conflict : Kind::duplicate_result, from, result.plan, predicted_s);
    expected_.back().may_differ = differs && !is_compared;
    if (!differs) return;
    ++expected_.back().failures;
    if (is_compared) forget_first(result.plan);
    return;
  }
  if (plan.is_final) return;
  ++plan.failures;
  plan.avoid = from;
  plan.open_s = never;  // the set of possible workers has changed
  plan.is_begun = false;
  workers_[from].failed_s = world_.now;
  plan.is_final = result.kind == TaskResult::Kind::failed || plan.failures >= scene_.max_attempts;
  expect(plan.is_final ? Kind::finished : Kind::attempt_failed, from, result.plan, predicted_s);
}

/// Counts a system error as evidence against the host of a worker. The failure of a plan that has
/// failed before counts only if the worker has not solved any plan.
void Judge::on_host_error(int from, const PlanTruth& plan) {
  WorkerTruth& worker = workers_[from];
  worker.host_error_s = world_.now;
  if (worker.has_solved && plan.avoid >= 0) return;
  ++worker.host_errors;
  worker.is_host_bad |= worker.host_errors == 3;
}

void Judge::on_solved(int from, double begun_s) {
  WorkerTruth& worker = workers_[from];
  worker.has_solved = true;
  if (begun_s < worker.host_error_s) return;
  worker.host_errors = 0;
  worker.host_error_s = -never;
}

void Judge::exclude_if_bad(int from) {
  WorkerTruth& worker = workers_[from];
  const bool is_over = std::ranges::all_of(plans_, &PlanTruth::is_final);
  if (!worker.is_host_bad || is_over) return;
  check(scene_.unreadable_plans || scene_.bad_hosts.contains(from),
        "no worker on a good host is excluded");
  expect(Kind::worker_excluded, from);
  worker.given.clear();
  worker.left = worker.is_excluded = true;
  is_source_away_ = true;
  departure_s_ = world_.now;
}

/// Marks a worker as lost. The plans that it was assigned first are those in progress.
void Judge::lose(int from) {
  WorkerTruth& worker = workers_[from];
  worker.lost = true;
  departure_s_ = world_.now;
  unsigned running = scene_.lanes;
  for (const Given& each : worker.given) {
    PlanTruth& plan = plans_[each.plan];
    plan.compared.erase(from);
    if (plan.is_final || running == 0) continue;
    --running;
    if (++plan.losses < scene_.max_attempts) continue;
    plan.is_final = true;
    plan.is_begun = false;
    expect(Kind::plan_given_up, from, each.plan);
    expected_.back().attempts = std::max(plan.attempts, scene_.max_attempts);
    expected_.back().failures = std::max(plan.failures, scene_.max_attempts);
  }
}

// Events of rank 0.

void Judge::take_events() {
  for (const Event& event : std::exchange(coordinator.outbox.events, {})) {
    const int worker = event.worker ? event.worker->rank : 0;
    if (event.kind == Kind::stopping) {
      stop_s = world_.now;
      stop_awake_s_ = awake_s();
      const bool is_before_deadline = world_.now < scene_.deadline_s;
      const bool fits_nothing =
          is_before_deadline && event.reason.find("time limit") != std::string::npos;
      check(!fits_nothing || 0 == count([](const WorkerTruth& each) { return each.is_expected(); }),
            "a run stops for lack of fitting plans only if no worker is expected");
    } else if (event.kind == Kind::worker_lost) {
      WorkerTruth& truth = workers_[worker];
      const double since_message_s = awake_s() - truth.last_message_s;
      check(truth.is_at_work() || truth.is_expected(), "a worker is reported as lost once");
      check(truth.joined              ? since_message_s > 30
            : !truth.has_sent_message ? awake_s() > 180
                                      : since_message_s > 30 || awake_s() > 360,
            "a worker that sends messages does not count as lost");
      if (truth.joined) lose(worker);
      truth.overdue = !truth.joined;
      if (since_message_s > 30) truth.has_sent_message = false;
    } else {
      compare(event);
    }
  }
  if (expected_.empty()) return;
  check_event(false, expected_.front().kind, expected_.front().worker, expected_.front().plan);
}

void Judge::compare(const Event& event) {
  const int worker = event.worker->rank;
  check_event(!expected_.empty(), event.kind, worker, event.plan);
  const Expected expected = expected_.front();
  expected_.pop_front();
  if (expected.may_differ && event.kind == Kind::duplicate_result) return;
  if (expected.may_differ) forget_first(event.plan);
  check_event(event.kind == expected.kind && worker == expected.worker &&
                  event.plan == expected.plan && event.time_s == world_.now,
              expected.kind, expected.worker, expected.plan);
  if (event.kind > Kind::started) return;
  check(event.attempts == expected.attempts,
        "attempts are counted over all sessions, without speculative copies");
  check(event.failures == expected.failures,
        "retryable failures are counted, up to --max-attempts in all sessions");
  const bool is_predicted = expected.predicted_s >= 0;  // it may be NaN
  check(!is_predicted || event.predicted_s == static_cast<float>(expected.predicted_s),
        "the predicted time is the prediction before the attempt");
  if (event.kind == Kind::conflict)
    check(scene_.faulty_workers && event.first_worker->rank == expected.first,
          "a conflicting result is reported with both workers");
  if (event.kind == Kind::aborted)
    check(event.progress.seconds == plans_[event.plan].last_s,
          "a plan in progress without a result is reported as aborted, with its progress");
}

void Judge::check_end() {
  const RunEnd end = *coordinator.end();
  if (end == RunEnd::finished) return;
  const int at_work = count([](const WorkerTruth& each) { return each.is_at_work(); });
  const int expected = count([](const WorkerTruth& each) { return each.is_expected(); });
  if (end == RunEnd::no_workers || end == RunEnd::source_outage) {
    check(at_work + expected == 0, "the run continues while a worker is alive or expected");
    check((end == RunEnd::source_outage) == is_source_away_,
          "a run without workers ends by a source outage only if there was one");
  } else {
    check(at_work == 0 || awake_s() - stop_awake_s_ > 9.9,
          "a stop waits for the last messages of workers, and no longer");
  }
  check(end != RunEnd::out_of_time || scene_.deadline_s < never,
        "a run ends by its time limit only if it has one");
  if (stop_s < world_.now)
    for (const WorkerTruth& each : workers_)
      check(!each.joined || each.left || each.stops == 1, "every worker gets one stop message");
  for (const Plan plan : queue_indices(plans_.size()))
    if (plans_[plan].is_begun) expect(Kind::aborted, 0, plan);
  coordinator.emit_aborted_events();
  for (std::size_t i = 0; i < std::min(expected_.size(), coordinator.outbox.events.size()); ++i)
    expected_[i].worker =
        coordinator.outbox.events[i].worker->rank;  // the worker with the most progress
  take_events();
}

// Messages of rank 0.

void Judge::feed() {
  coordinator.assign_plans(world_.now);
  take_events();
}

void Judge::tick(double stalled_s) {
  stalled_s_ += stalled_s;
  if (stalled_s > 0) quiet_s_ = copies_s_ = world_.now;
  coordinator.tick(world_.now, scene_.deadline_s - world_.now, stalled_s);
  take_events();
}

Coordinator::Outbox Judge::take_outbox() {
  Coordinator::Outbox box = std::exchange(coordinator.outbox, {});
  for (const int to : box.stop_requests)
    check(++workers_[to].stops == 1, "every worker gets one stop message");
  for (const WorkerTruth& each : workers_)
    check(!each.is_excluded || each.stops == 1, "an excluded worker gets a stop message");
  for (const auto& [to, given] : box.assignments) {
    workers_[to].sent_s = world_.now;
    for (const Plan plan : given) check_assignment(to, plan);
  }
  check_invariants();
  return box;
}

void Judge::check_assignment(int to, Plan number) {
  const PlanTruth& plan = plans_[number];
  WorkerTruth& worker = workers_[to];
  const auto seconds = [&](Plan each) { return scene_.plans[each].seconds; };
  check(!plan.is_final, "a finished plan is never assigned");
  check(!worker.left, "a departed or excluded worker gets no plans");
  check(plan.failures == 0 || holders(number) == 0,
        "a plan that has failed gets no speculative copy");
  check(stop_s == never, "no plan is assigned after a stop");
  check(world_.now < scene_.deadline_s, "no plan is assigned after the time limit");
  const bool is_predicted =
      scene_.slow == 0 && worker.has_duration_model && scene_.starts[number].updates > 0;
  check(!is_predicted || world_.now + 1.2 * seconds(number) < scene_.deadline_s,
        "no plan is assigned that would not finish in time");
  const int here = count([](const WorkerTruth& each) { return each.joined && !each.left; });
  const int expected = count([](const WorkerTruth& each) { return each.is_expected(); });
  // With a time limit, this worker may get the plan again if no other worker has plans, because
  // then no other worker has enough time for the plan.
  const bool is_last_way = scene_.deadline_s < never && !coordinator.queue().finished() &&
                           0 == count([&](const WorkerTruth& each) {
                             return &each != &worker && !each.lost && !each.given.empty();
                           });
  const int others_at_work =
      count([&](const WorkerTruth& each) { return &each != &worker && each.is_at_work(); });
  check(plan.avoid != to || worker.host_error_s == -never || others_at_work == 0 || is_last_way,
        "a worker on a bad host gets no plan back while another worker is active");
  check(plan.avoid != to || here + expected < 2 || world_.now - worker.failed_s > 59 || is_last_way,
        "a plan that failed on a worker goes to another one, even if that is not ready yet");
  if (scene_.shares_process)
    check(worker.given.empty() ||
              (!plan.is_suspect() &&
               !(worker.given.size() == 1 && plans_[worker.given.front().plan].is_suspect())),
          "a suspect plan is solved alone in its process");
  std::size_t unfinished = 0;
  for (const Plan other : queue_indices(plans_.size())) {
    unfinished += plans_[other].is_final ? 0 : 1;
    const bool is_open =
        !plans_[other].is_final && !plans_[other].is_suspect() && holders(other) == 0;
    check(!is_open || !scene_.all_known || scene_.deadline_s < never || holders(number) > 0 ||
              1.02 * seconds(number) >= seconds(other),
          "the longest plan is assigned first");
  }
  check(worker.given.size() <= scene_.lanes + unfinished / (2 * here) + 1,
        "no worker has a backlog of more than half of its share");
  check(!worker.has(number), "a plan is never assigned twice to one worker");
  worker.given.push_back({number});
  const int holding = holders(number);
  check(holding == 1 || holding + plan.losses <= scene_.max_attempts,
        "no more workers have a plan than it may lose");
  check(holding <= 3, "a plan has two copies at most");
  check(scene_.shortest_s <= 5 || worker.given.size() <= scene_.lanes,
        "long plans are not prefetched");
}

/// Checks the invariants that hold whenever rank 0 has processed its messages.
void Judge::check_invariants() {
  std::size_t given = 0, open = 0, copied = 0;
  for (const WorkerTruth& each : workers_) given += each.lost ? 0 : each.given.size();
  for (const Plan plan : queue_indices(plans_.size())) {
    PlanTruth& truth = plans_[plan];
    const int holding = holders(plan);
    const bool is_open = !truth.is_final && holding == 0;
    open += is_open ? 1 : 0;
    copied += truth.is_answered && holding > 0 ? 1 : 0;
    if (std::exchange(truth.holding, holding) != holding) truth.copied_s = world_.now;
    truth.open_s = is_open ? std::min(truth.open_s, world_.now) : never;
  }
  check(coordinator.queue().queued_count() == open,
        "the queued plans are those that no worker has");
  check(coordinator.queue().any_leased() == (given > 0),
        "the leased plans are those that a worker has");
  if (coordinator.retained_hashes() <= copied) forgotten_s_ = world_.now;
  check(world_.now - std::max(forgotten_s_, quiet_s_) < 0.3,
        "first results are kept only while further results are possible");
  if (open > 0) copies_s_ = world_.now;
  check(stop_s == never || awake_s() - stop_awake_s_ < 10.2, "a stop takes seconds");
  if (stop_s < never || coordinator.end()) return;
  for (int worker = 1; worker < static_cast<int>(workers_.size()); ++worker) check_worker(worker);
}

void Judge::check_worker(int number) {
  WorkerTruth& worker = workers_[number];
  const double since_message_s = awake_s() - worker.last_message_s;
  if (worker.is_expected())
    check(worker.has_sent_message ? since_message_s < 30.3 && awake_s() < 360.3 : awake_s() < 180.3,
          "a worker without messages, or that never gets ready, counts as lost");
  check(!worker.is_at_work() || since_message_s < 30.3,
        "a worker without messages, or that never gets ready, counts as lost");
  const bool listens =
      worker.has_sent_message && !worker.lost && (worker.left || since_message_s < 30);
  if (!listens) worker.sent_s = world_.now;
  check(world_.now - std::max(worker.sent_s, quiet_s_) < 1.3,
        "rank 0 sends heartbeats to all workers");
  // A worker without messages gets no plans; a suspect plan is solved alone in its process.
  const bool is_idle =
      worker.is_at_work() && since_message_s < 1.1 &&
      (scene_.shares_process ? worker.given.empty() : worker.given.size() < scene_.lanes);
  if (!is_idle || worker.idle_since_s == never) worker.idle_since_s = is_idle ? world_.now : never;
  constexpr double patient_s = 1.3;
  if (!is_idle || world_.now - worker.idle_since_s < patient_s) return;
  const int others_at_work =
      count([&](const WorkerTruth& each) { return &each != &worker && each.is_at_work(); });
  for (const Plan plan : queue_indices(plans_.size())) {
    const PlanTruth& each = plans_[plan];
    const bool fits =
        scene_.deadline_s == never ||
        (scene_.slow == 0 && world_.now + 1.35 * scene_.plans[plan].seconds < scene_.deadline_s);
    if (each.is_final || worker.has(plan) || !fits) continue;
    const bool is_host_bad = worker.host_error_s > -never && others_at_work > 0;
    const bool is_for_others =
        each.avoid == number && (is_host_bad || world_.now - worker.failed_s < 62);
    check(holders(plan) > 0 || is_for_others ||
              world_.now - std::max({each.open_s, quiet_s_, departure_s_}) <= patient_s,
          "no worker is idle while plans are queued");
    // Without a duration model there is no reason to consider a second copy too slow.
    const int holding = holders(plan);
    const bool copyable = holding == 1 || (holding == 2 && !is_pace_known_);
    check(!copyable || each.failures > 0 || holding + each.losses >= scene_.max_attempts ||
              (scene_.shares_process && each.losses > 0) ||
              world_.now - std::max(copies_s_, each.copied_s) <= patient_s,
          "an idle worker gets speculative copies at the end");
  }
}

}  // namespace wallheat
